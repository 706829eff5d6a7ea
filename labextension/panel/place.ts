/** What a panel shows for a document: the board of its kernel, or why there is none. */
import type { ISessionContext } from '@jupyterlab/apputils';

import type { Cells } from '../view/elements/dom';
import type { Held, Kernels } from './kernels';
import type { Empty, Ways } from './empty';

/** A notebook or a console. */
export interface Place {
  readonly path: string;
  readonly title: string;
  readonly context: ISessionContext;
  readonly cells: Cells;
  /** Starts the kernel that was there before, or asks which one. */
  start(): Promise<void>;
}

/** Either a kernel with an engine (also one that is lost for now), or what to say instead. */
export type Shown =
  | { readonly held: Held; readonly empty: null }
  | { readonly held: Held | null; readonly empty: Empty };

export function shownOf(place: Place | null, kernels: Kernels): Shown {
  if (place === null || place.context.isDisposed) {
    return { held: null, empty: { why: 'no-document' } };
  }
  const held = kernels.of(place.context);
  if (held === null) {
    return { held: null, empty: { why: isComing(place.context) ? 'opening' : 'no-kernel' } };
  }
  if (held.language !== null && held.language !== 'python') {
    return { held, empty: { why: 'other-language', detail: held.language } };
  }
  const { phase } = held.session.client;
  const hello = 'hello' in phase ? phase.hello : null;
  if (hello !== null) {
    const why = hello.starting ? 'starting' : 'not-connected';
    const { recent } = hello;
    return hello.lake === null ? { held, empty: { why, recent } } : { held, empty: null };
  }
  if (phase.is === 'live') {
    throw new Error('a live kernel has said hello');
  }
  return phase.is === 'other-version'
    ? { held, empty: { why: phase.is, detail: String(phase.kernel) } }
    : { held, empty: { why: phase.is } };
}

/** Whether a kernel is on its way; one that was shut down is not. */
function isComing({ session, kernelDisplayStatus }: ISessionContext): boolean {
  return session?.kernel != null || COMING.has(kernelDisplayStatus);
}

const COMING: ReadonlySet<string> = new Set(['initializing', 'starting', 'restarting']);

/** What a page without tables can have done for the document at `place`. */
export function waysOf(
  place: Place | null,
  held: Held | null,
  tell: (failure: string) => void,
): Ways {
  return {
    run: code => (held ? runIn(held, code) : Promise.reject(new Error('There is no kernel.'))),
    insert: code => place?.cells.insert(code),
    start: () => place?.start() ?? Promise.resolve(),
    tell,
  };
}

/** Runs code in the kernel of `held`, outside of its cells; resolves with what it printed. */
async function runIn(held: Held, code: string): Promise<string> {
  const future = held.connection.requestExecute({ code, store_history: false });
  let printed = '';
  let raised: string | null = null;
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === 'stream' && 'text' in content) {
      printed += String(content.text);
    } else if (header.msg_type === 'error' && 'evalue' in content) {
      raised = `${String(content.ename)}: ${String(content.evalue)}`;
    }
  };
  const { content } = await future.done;
  if (content.status !== 'ok') {
    throw new Error(raised ?? 'The kernel was interrupted before the code had run.');
  }
  return printed.trim();
}
