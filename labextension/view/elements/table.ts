/** Rows of a result, and of a difference, as a table: NULL is told from a text, a mark from a cell. */
import { h } from './dom';
import { oneLine } from './text';
import { plural } from './units';
import type { Child } from './dom';
import type { Column, Mark, ResultMessage } from '../wire';

const NUMBERS = /^(int|bigint|smallint|tinyint|long|short|byte|float|double|decimal)(?!erval)/i;
const MOST_ROWS = 1000; // that are drawn
const MOST_CHARS = 400; // of a cell; a longer one is in its title

/** What a mark is called and how it is signed; a row that stayed has neither. */
export const MARKS: Readonly<Record<Mark, { sign: string; word: string }>> = {
  same: { sign: '', word: '' },
  inserted: { sign: '+', word: 'inserted' },
  deleted: { sign: '−', word: 'deleted' },
  before: { sign: '−', word: 'before' },
  after: { sign: '+', word: 'after' },
};

export interface Rows {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | null)[])[];
  readonly marks?: readonly Mark[];
}

export const isNumber = (column: Column): boolean => NUMBERS.test(column.type);

/** A heading and whether its column is flush right. */
export interface Heading {
  readonly text: Child;
  readonly right?: boolean;
}

/** A table that scrolls within itself, by keyboard as well. `label` names it. */
export function scrolling(
  label: string,
  headings: readonly Heading[],
  rows: readonly Node[],
): HTMLElement {
  const head = headings.map(({ text, right }) =>
    h('th', { scope: 'col', class: right ? 'dtj-num' : null }, text),
  );
  const table = h(
    'table',
    { class: 'dtj-t' },
    h('thead', {}, h('tr', {}, ...head)),
    h('tbody', {}, ...rows),
  );
  const place = { class: 'dtj-scroll', role: 'region', 'aria-label': oneLine(label), tabindex: 0 };
  return h('div', { ...place, 'data-key': `table:${label}` }, table);
}

/** The rows with their types; where any row is marked, a first column says how in sign and word. */
export function rowsTable(label: string, data: Rows): HTMLElement {
  const marks = data.marks?.some(mark => mark !== 'same') ? data.marks : null;
  const right = data.columns.map(isNumber);
  const headings: Heading[] = data.columns.map((column, i) => ({
    right: right[i]!,
    text: h(
      'span',
      {},
      oneLine(column.name),
      h('span', { class: 'dtj-type' }, oneLine(column.type)),
    ),
  }));
  const rows = data.rows.slice(0, MOST_ROWS).map((cells, i) => {
    const mark = marks?.[i] ?? 'same';
    const other = marks ? counterpart(data, marks, i) : null;
    const shown = cells.map((value, column) =>
      cell(value, right[column]!, other !== null && other[column] !== value),
    );
    return h(
      'tr',
      { class: mark === 'same' ? null : `dtj-${mark}` },
      marks ? h('th', { scope: 'row', class: 'dtj-mark' }, ...signed(mark)) : null,
      ...shown,
    );
  });
  return scrolling(label, marks ? [{ text: 'change' }, ...headings] : headings, rows);
}

function signed(mark: Mark): Child[] {
  const { sign, word } = MARKS[mark] ?? MARKS.same;
  return sign ? [h('span', { class: 'dtj-plus', 'aria-hidden': 'true' }, sign), word] : [];
}

/** The other side of an update, which stands beside it: before, then after. */
function counterpart(
  data: Rows,
  marks: readonly Mark[],
  i: number,
): readonly (string | null)[] | null {
  if (marks[i] === 'before' && marks[i + 1] === 'after') {
    return data.rows[i + 1] ?? null;
  }
  return marks[i] === 'after' && marks[i - 1] === 'before' ? (data.rows[i - 1] ?? null) : null;
}

/** The names of the columns that updates have changed. */
export function changedColumns(data: Rows, marks: readonly Mark[]): string[] {
  const changed = new Set<number>();
  data.rows.forEach((cells, i) => {
    const after = marks[i] === 'before' ? counterpart(data, marks, i) : null;
    cells.forEach((value, at) => after && after[at] !== value && changed.add(at));
  });
  return data.columns.filter((_, at) => changed.has(at)).map(column => oneLine(column.name));
}

/** Scrolls the rows in `place` sideways until the first value that an update changed is seen,
 * beside the column of marks, which stays. */
export function showChanged(place: HTMLElement): void {
  const region = place.querySelector<HTMLElement>('.dtj-scroll');
  const moved = region?.querySelector<HTMLElement>('td.dtj-moved');
  if (!region || !moved) {
    return;
  }
  const marks = region.querySelector<HTMLElement>('th.dtj-mark')?.offsetWidth ?? 0;
  const [left, right] = [moved.offsetLeft, moved.offsetLeft + moved.offsetWidth];
  const seen = left - marks >= region.scrollLeft && right <= region.scrollLeft + region.clientWidth;
  if (!seen) {
    region.scrollLeft = Math.max(0, left - marks);
  }
}

function cell(value: string | null, right: boolean, moved: boolean): HTMLElement {
  const classes = [right && 'dtj-num', moved && 'dtj-moved'].filter(Boolean).join(' ');
  if (value === null) {
    return h('td', { class: classes || null }, h('span', { class: 'dtj-null' }, 'NULL'));
  }
  const text = oneLine(value);
  const long = text.length > MOST_CHARS;
  const shown = long ? `${text.slice(0, MOST_CHARS)}…` : text;
  return h('td', { class: classes || null, title: text.length > 40 ? text : null }, shown);
}

/** How many rows are shown, and what was read. */
export function footer(message: ResultMessage): string {
  const shown = Math.min(message.rows.length, MOST_ROWS);
  const more = message.truncated || shown < message.rows.length;
  const rows = more ? `the first ${plural(shown, 'row')}` : plural(shown, 'row');
  return message.note ? `${rows} · ${oneLine(message.note)}` : rows;
}

/** A result: title, rows, and what was read. */
export function resultTable(message: ResultMessage): HTMLElement {
  return h(
    'div',
    {},
    message.title ? h('div', { class: 'dtj-title' }, oneLine(message.title)) : null,
    rowsTable(message.title ?? 'rows', message),
    h('div', { class: 'dtj-foot' }, footer(message)),
  );
}
