/** What a panel shows for a document: the board of its kernel, or why there is none. */
import type { ISessionContext } from '@jupyterlab/apputils';

import type { Held, Kernels } from './kernels';
import type { Empty } from './empty';

/** A notebook or a console. */
export interface Place {
  readonly path: string;
  readonly title: string;
  readonly context: ISessionContext;
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
    const coming = !place.context.isReady || place.context.session?.kernel != null;
    return { held: null, empty: { why: coming ? 'opening' : 'no-kernel' } };
  }
  if (held.language !== null && held.language !== 'python') {
    return { held, empty: { why: 'other-language', detail: held.language } };
  }
  const { phase } = held.session.client;
  const hello = 'hello' in phase ? phase.hello : null;
  if (hello !== null) {
    return hello.lake === null ? { held, empty: { why: 'not-connected' } } : { held, empty: null };
  }
  if (phase.is === 'live') {
    throw new Error('a live kernel has said hello');
  }
  return phase.is === 'other-version'
    ? { held, empty: { why: phase.is, detail: String(phase.kernel) } }
    : { held, empty: { why: phase.is } };
}

/** Runs code in the kernel of `held`, beside its cells; resolves with what it printed. */
export async function runIn(held: Held, code: string): Promise<string> {
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
