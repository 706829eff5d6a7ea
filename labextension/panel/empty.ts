/** What the panel says where it has no tables to show, and the code that would change it. */
import type { Phase } from '../client/phase';
import { h } from '../view/elements/dom';
import { button, liveRegion, nothing, said } from '../view/elements/parts';
import { oneLine } from '../view/elements/text';
import { WIRE_VERSION } from '../view/wire';

/** Why there is nothing to show. */
export type Emptiness =
  | Exclude<Phase['is'], 'live'>
  | 'no-document'
  | 'no-kernel'
  | 'other-language'
  | 'starting'
  | 'not-connected';

export interface Empty {
  readonly why: Emptiness;
  /** A language or a version, where the sentence names one. */
  readonly detail?: string;
  /** The lakes that the user opened last. */
  readonly recent?: readonly string[];
}

/** What the page can have done for the user. */
export interface Ways {
  /** Runs code in the kernel and gives what it wrote; rejects with what it raised. */
  run(code: string): Promise<string>;
  /** Puts code into a new cell of the document. */
  insert(code: string): void;
  /** Starts a kernel for the document. */
  start(): Promise<void>;
  /** Says what failed, if the page has gone since. */
  tell(failure: string): void;
}

interface Words {
  readonly sentence: string;
  readonly way: string | null;
  readonly code?: string;
  /** What the button is called that starts a kernel. */
  readonly start?: string;
}

function words({ why, detail = '' }: Empty): Words {
  switch (why) {
    case 'no-document':
      return { sentence: 'No notebook', way: 'Open a notebook to see its dynamic tables here.' };
    case 'no-kernel':
      return { sentence: 'No kernel', way: 'Start one to see its tables.', start: 'Start' };
    case 'other-language':
      return {
        sentence: `The kernel runs ${detail}`,
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
    case 'starting':
      return {
        sentence: 'Connecting',
        way: 'Spark is starting. This takes some seconds; the tables appear when it is ready.',
      };
    case 'not-connected':
      return {
        sentence: 'No lake is open',
        way: 'Connect to one. Without a name it is the folder “lake” next to the notebook:',
        code: '%dt connect',
      };
    case 'other-version':
      return {
        sentence: 'Two versions of dt_jupyter',
        way:
          `The kernel uses version ${detail} of the messages, this page version ` +
          `${WIRE_VERSION}. Restart the kernel and reload the page.`,
      };
    case 'lost':
      return {
        sentence: 'The connection to the kernel is lost',
        way: 'This resumes when it is back.',
      };
    case 'restarting':
      return { sentence: 'The kernel is restarting', way: null };
    case 'dead':
      return { sentence: 'The kernel has died', way: 'Restart it to continue.', start: 'Restart' };
  }
}

/** The page for `empty`; where a line of code or a kernel helps, it offers that. */
export function emptyPage(empty: Empty, ways: Ways): HTMLElement {
  const { sentence, way, code, start } = words(empty);
  const page = nothing(sentence, way);
  if (code !== undefined) {
    page.append(offer(code, ways));
  }
  if (start !== undefined) {
    page.append(starter(start, ways));
  }
  const recent = (empty.recent ?? []).filter(lake => connecting(lake) !== null);
  if (empty.why === 'not-connected' && recent.length) {
    page.append(recentLakes(recent, ways));
  }
  return h('div', { class: 'dtj dtj-view dtjp-empty', 'data-why': empty.why }, page);
}

/** The cell that connects to a lake; null for a path that has both kinds of quotes. */
function connecting(lake: string): string | null {
  const quote = ["'", '"'].find(each => !lake.includes(each));
  return quote === undefined || /[\r\n]/.test(lake) ? null : `%dt connect ${quote}${lake}${quote}`;
}

/** The lakes that were opened last, a button each. */
function recentLakes(lakes: readonly string[], ways: Ways): HTMLElement {
  const status = liveRegion({ class: 'dtj-status dtjp-output' });
  const buttons = lakes.map(lake => {
    const name = lake.split(/[\\/]/).filter(Boolean).at(-1) ?? lake;
    return button(
      h('span', {}, oneLine(name), h('span', { class: 'dtj-soft' }, ` ${oneLine(lake)}`)),
      () => void open(lake),
      { class: 'dtj-button dtjp-lake', title: lake },
    );
  });
  const open = async (lake: string) => {
    buttons.forEach(each => (each.disabled = true));
    status.replaceChildren(h('span', { class: 'dtj-soft' }, `Connecting to ${oneLine(lake)} …`));
    try {
      status.replaceChildren(said(await ways.run(connecting(lake)!)));
    } catch (failure) {
      const { message } = failure as Error;
      status.replaceChildren(said(message, 'trouble'));
      if (!status.isConnected) {
        ways.tell(message);
      }
    }
    buttons.forEach(each => (each.disabled = false));
  };
  return h(
    'section',
    { class: 'dtjp-recent', 'aria-label': 'Recent lakes' },
    h('h4', {}, 'Recent lakes'),
    ...buttons,
    status,
  );
}

function starter(label: string, ways: Ways): HTMLElement {
  const status = liveRegion({ class: 'dtj-status dtjp-output' });
  const go = button(
    label,
    () => {
      go.disabled = true;
      ways.start().catch((failure: unknown) => {
        go.disabled = false;
        status.replaceChildren(said((failure as Error).message, 'trouble'));
      });
    },
    { class: 'dtj-button dtj-main' },
  );
  return h('div', { class: 'dtjp-offer' }, go, status);
}

function offer(code: string, ways: Ways): HTMLElement {
  const status = liveRegion({ class: 'dtj-status dtjp-output' });
  const go = button('Run in this kernel', () => void start(), { class: 'dtj-button dtj-main' });
  const insert = button('Insert as a cell', () => ways.insert(code));
  const copy = button('Copy', () => {
    void navigator.clipboard.writeText(code).then(
      () => status.replaceChildren(said('Copied.')),
      () => status.replaceChildren(said('The browser does not allow copying here.', 'caution')),
    );
  });
  const start = async () => {
    go.disabled = true;
    status.replaceChildren(h('span', { class: 'dtj-soft' }, `Running ${code} …`));
    try {
      const wrote = await ways.run(code);
      status.replaceChildren(wrote ? said(wrote) : '');
    } catch (failure) {
      const { message } = failure as Error;
      status.replaceChildren(said(message, 'trouble'));
      if (!status.isConnected) {
        ways.tell(message);
      }
    }
    go.disabled = false;
  };
  return h(
    'div',
    { class: 'dtjp-offer' },
    h('pre', { class: 'dtj-query' }, code),
    h('div', { class: 'dtj-bar' }, go, insert, copy),
    status,
  );
}
