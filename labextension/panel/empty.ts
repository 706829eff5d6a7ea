/** What the panel says where it has no tables to show, and the code that would change it. */
import type { Phase } from '../client/phase';
import { h } from '../view/elements/dom';
import { button, liveRegion, nothing, said } from '../view/elements/parts';
import { WIRE_VERSION } from '../view/wire';

/** Why there is nothing to show. */
export type Emptiness =
  Exclude<Phase['is'], 'live'> | 'no-document' | 'no-kernel' | 'other-language' | 'not-connected';

export interface Empty {
  readonly why: Emptiness;
  /** A language or a version, where the sentence names one. */
  readonly detail?: string;
}

/** Runs code in the kernel and gives what it wrote; rejects with what it raised. */
export type Run = (code: string) => Promise<string>;

interface Words {
  readonly sentence: string;
  readonly way: string | null;
  readonly code?: string;
}

function words({ why, detail = '' }: Empty): Words {
  switch (why) {
    case 'no-document':
      return { sentence: 'No notebook', way: 'Open a notebook to see its dynamic tables here.' };
    case 'no-kernel':
      return { sentence: 'No kernel', way: 'This notebook has no kernel: choose or start one.' };
    case 'other-language':
      return {
        sentence: `The kernel speaks ${detail}`,
        way: 'Dynamic tables need a Python kernel.',
      };
    case 'unasked':
    case 'opening':
      return {
        sentence: 'Waiting for the kernel',
        way: 'If a cell is running, the answer comes when it ends.',
      };
    case 'absent':
      return {
        sentence: 'dt_jupyter is not loaded',
        way: 'Load it in this kernel to see its dynamic tables:',
        code: '%load_ext dt_jupyter',
      };
    case 'not-connected':
      return {
        sentence: 'No lake is open',
        way: 'Connect to one. Without a name it is the folder “lake” beside the notebook:',
        code: '%dt connect',
      };
    case 'other-version':
      return {
        sentence: 'Two versions of dt_jupyter',
        way:
          `The kernel speaks version ${detail} of the messages, this page version ` +
          `${WIRE_VERSION}. Restart the kernel and reload the page.`,
      };
    case 'lost':
      return {
        sentence: 'The connection to the kernel is lost',
        way: 'This goes on when it is back.',
      };
    case 'restarting':
      return { sentence: 'The kernel is restarting', way: null };
    case 'dead':
      return { sentence: 'The kernel has died', way: 'Restart it to go on.' };
  }
}

/** The page for `empty`; where a line of code helps, it can be copied, and run by `run`. */
export function emptyPage(empty: Empty, run: Run): HTMLElement {
  const { sentence, way, code } = words(empty);
  const page = nothing(sentence, way);
  if (code !== undefined) {
    page.append(offer(code, run));
  }
  return h('div', { class: 'dtj dtj-view dtjp-empty', 'data-why': empty.why }, page);
}

function offer(code: string, run: Run): HTMLElement {
  const status = liveRegion({ class: 'dtj-status dtjp-output' });
  const go = button('Run in this kernel', () => void start(), { class: 'dtj-button dtj-main' });
  const copy = button('Copy', () => {
    void navigator.clipboard.writeText(code).then(
      () => status.replaceChildren(said('Copied.')),
      () => status.replaceChildren(said('The browser allows no copying here.', 'caution')),
    );
  });
  const start = async () => {
    go.disabled = true;
    status.replaceChildren(h('span', { class: 'dtj-soft' }, `Running ${code} …`));
    try {
      const wrote = await run(code);
      status.replaceChildren(wrote ? said(wrote) : '');
    } catch (failure) {
      status.replaceChildren(said((failure as Error).message, 'trouble'));
    }
    go.disabled = false;
  };
  return h(
    'div',
    { class: 'dtjp-offer' },
    h('pre', { class: 'dtj-query' }, code),
    h('div', { class: 'dtj-bar' }, go, copy),
    status,
  );
}
