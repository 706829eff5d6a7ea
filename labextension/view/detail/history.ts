/** The newest refreshes of a table, a row each: outcome, times, what moved, and why below. */
import { h } from '../elements/dom';
import { ACTION_TOKENS, STATE_TOKENS, icon, stateGlyph } from '../icons/marks';
import { pill } from '../elements/parts';
import { scrolling } from '../elements/table';
import { oneLine } from '../elements/text';
import { duration, exact, plural, timeElement } from '../elements/units';
import type { Child } from '../elements/dom';
import type { HistoryMessage, HistoryRow, RefreshState } from '../wire';

/** States of a refresh that has not ended. */
export const UNDECIDED: ReadonlySet<RefreshState> = new Set(['SCHEDULED', 'EXECUTING']);

/** Distinguishes a refresh from those before it. */
export function keyOf(row: HistoryRow | undefined): string {
  return row ? `${row.data_timestamp} ${row.trigger}` : '';
}

/** The outcome of a refresh that succeeded, in a sentence. */
export function resultOf({ name, action, duration: took, ...rows }: HistoryRow): string {
  const seconds = took === null ? '' : `, in ${duration(took)}`;
  if (action === 'NO_DATA') {
    return `${name} refreshed: nothing had changed${seconds}.`;
  }
  const inserted = plural(rows.rows_inserted ?? 0, 'row');
  return `${name} refreshed: ${action}, ${inserted} inserted, ${exact(rows.rows_deleted ?? 0)} deleted${seconds}.`;
}

const isEmpty = (row: HistoryRow): boolean => row.state === 'SUCCEEDED' && row.action === 'NO_DATA';

/**
 * The refreshes, and a box that shows those that found no change; `all` is null until the user used
 * it: then they are left out where most are so.
 */
export function historyTable(
  message: HistoryMessage,
  all: boolean | null,
  switched: (all: boolean) => void,
): HTMLElement {
  const draw = (rows: readonly HistoryRow[]) => table({ ...message, rows });
  return folded(message.rows, isEmpty, 'unchanged', { all, switched }, draw);
}

/** Whether the quiet rows are shown; `all` is null until the user chose. */
export interface Folding {
  readonly all: boolean | null;
  readonly switched: (all: boolean) => void;
}

/** Rows, and a box that shows the quiet ones, with their number. */
export function folded<R>(
  rows: readonly R[],
  isQuiet: (row: R) => boolean,
  words: string,
  { all, switched }: Folding,
  draw: (rows: readonly R[]) => HTMLElement,
): HTMLElement {
  const quiet = rows.filter(isQuiet).length;
  const whole = all ?? quiet <= rows.length / 2;
  const box = h('input', { type: 'checkbox', 'data-key': 'no-data' });
  box.checked = whole;
  box.addEventListener('change', () => switched(box.checked));
  return h(
    'div',
    {},
    quiet ? h('label', { class: 'dtj-small' }, box, ` show ${exact(quiet)} ${words}`) : null,
    draw(whole ? rows : rows.filter(row => !isQuiet(row))),
  );
}

function table(message: HistoryMessage): HTMLElement {
  const longest = Math.max(0, ...message.rows.map(row => row.duration ?? 0));
  const headings = [
    { text: 'outcome' },
    { text: 'data timestamp' },
    { text: 'took' },
    { text: 'inserted', right: true },
    { text: 'deleted', right: true },
    { text: 'read', right: true },
    { text: 'trigger' },
  ];
  const rows = message.rows.flatMap((row, i) => shown(row, longest, i % 2 === 1));
  return h('div', { class: 'dtj-history' }, scrolling(message.title, headings, rows));
}

function shown(row: HistoryRow, longest: number, even: boolean): HTMLElement[] {
  const number = (value: number | null): HTMLElement =>
    h('td', { class: 'dtj-num' }, value === null ? '' : exact(value));
  const class_ = even ? 'dtj-even' : null;
  const first = h(
    'tr',
    { class: class_ },
    h('td', {}, h('span', { class: 'dtj-outcome' }, ...outcome(row))),
    h('td', { class: 'dtj-soft' }, timeElement(row.data_timestamp)),
    h('td', {}, ...took(row.duration, longest)),
    number(row.rows_inserted),
    number(row.rows_deleted),
    number(row.rows_read),
    h('td', { class: 'dtj-soft' }, row.trigger ?? ''),
  );
  const why = row.reason
    ? h(
        'tr',
        { class: `dtj-why ${class_ ?? ''}` },
        h('td', { colspan: 7, class: 'dtj-wrap' }, oneLine(row.reason)),
      )
    : null;
  return why ? [first, why] : [first];
}

function outcome(row: HistoryRow): Child[] {
  const trouble = row.state !== 'SUCCEEDED';
  const word = trouble
    ? h(
        'span',
        { class: `dtj-c-${STATE_TOKENS[row.state] ?? 'idle'}`, style: 'font-weight:600' },
        row.state,
      )
    : h('span', { class: 'dtj-unseen' }, row.state);
  return [
    icon(stateGlyph(row.state)),
    word,
    row.action ? pill(row.action, ACTION_TOKENS[row.action] ?? 'idle') : null,
  ];
}

function took(seconds: number | null, longest: number): Child[] {
  if (seconds === null) {
    return [];
  }
  const share = longest > 0 ? Math.max(0.02, seconds / longest) : 0;
  const meter = h(
    'span',
    { class: 'dtj-track', 'aria-hidden': 'true' },
    h('span', { style: `width:${(100 * share).toFixed(1)}%` }),
  );
  return [h('span', { class: 'dtj-took' }, duration(seconds)), meter];
}
