/**
 * The phase of a kernel, seen from the page: a pure step from phase to phase.
 */
import { type HelloMessage, WIRE_VERSION } from '../view/wire';

/** `hello` is the kernel's newest word about itself, kept while the connection is restored. */
export type Phase =
  | { readonly is: 'unasked' }
  | { readonly is: 'opening'; readonly hello: HelloMessage | null }
  | { readonly is: 'absent' }
  | { readonly is: 'other-version'; readonly kernel: number }
  | { readonly is: 'live'; readonly hello: HelloMessage }
  | { readonly is: 'lost'; readonly hello: HelloMessage | null }
  | { readonly is: 'restarting' }
  | { readonly is: 'dead' };

/**
 * `look`: a view wants to show this kernel. `greeted`: it has just loaded the extension. `closed`:
 * it closed a comm of ours, which is how it answers when it knows nothing of us.
 */
export type Signal =
  | { readonly is: 'look' }
  | { readonly is: 'greeted'; readonly version: number }
  | { readonly is: 'hello'; readonly hello: HelloMessage }
  | { readonly is: 'closed' }
  | { readonly is: 'disconnected' }
  | { readonly is: 'connected' }
  | { readonly is: 'restarting' }
  | { readonly is: 'started' }
  | { readonly is: 'died' };

/** The next phase, and whether the kernel is to be called (again) on the way into it. */
export interface Step {
  readonly phase: Phase;
  readonly open: boolean;
}

export const UNASKED: Phase = { is: 'unasked' };

export function step(phase: Phase, signal: Signal): Step {
  switch (signal.is) {
    case 'look':
      return phase.is === 'unasked' ? opening(null) : still(phase);
    case 'greeted':
      if (signal.version !== WIRE_VERSION) {
        return still({ is: 'other-version', kernel: signal.version });
      }
      // A call that waits reaches the extension now; one that is answered stays so.
      return phase.is === 'unasked' || speaks(phase) ? still(phase) : opening(null);
    case 'hello':
      return still(
        signal.hello.version === WIRE_VERSION
          ? { is: 'live', hello: signal.hello }
          : { is: 'other-version', kernel: signal.hello.version },
      );
    case 'closed':
      return still(phase.is === 'opening' || phase.is === 'live' ? { is: 'absent' } : phase);
    case 'disconnected':
      return still(speaks(phase) ? { is: 'lost', hello: helloOf(phase) } : phase);
    case 'connected':
      return phase.is === 'lost' || phase.is === 'restarting'
        ? opening(helloOf(phase))
        : still(phase);
    case 'restarting':
      return still(phase.is === 'unasked' ? phase : { is: 'restarting' });
    case 'started':
      // A kernel that restarts is still heard while it ends: the new one comes with a connection.
      return phase.is === 'dead' ? opening(null) : still(phase);
    case 'died':
      return still({ is: 'dead' });
  }
}

/** Whether comms are open in this phase. */
export function speaks(phase: Phase): boolean {
  return phase.is === 'opening' || phase.is === 'live';
}

export function helloOf(phase: Phase): HelloMessage | null {
  return 'hello' in phase ? phase.hello : null;
}

function opening(hello: HelloMessage | null): Step {
  return { phase: { is: 'opening', hello }, open: true };
}

function still(phase: Phase): Step {
  return { phase, open: false };
}
