/** Rows of a result, and of a difference, as a table: NULL differs from a string, a mark from a
 * cell. */
import { h } from './dom';
import { oneLine } from './text';
import type { Child } from './dom';
import type { Column, Mark } from '../wire';

const NUMBERS = /^(int|bigint|smallint|tinyint|long|short|byte|float|double|decimal)(?!erval)/i;
const MOST_CHARS = 400; // of a cell; a longer one is in its title

/** What a mark is called and how it is signed; a row that stayed has neither. */
export const MARKS: Readonly<Record<Mark | 'updated', { sign: string; word: string }>> = {
  same: { sign: '', word: '' },
  inserted: { sign: '+', word: 'inserted' },
  deleted: { sign: '−', word: 'deleted' },
  before: { sign: '−', word: 'before' },
  after: { sign: '+', word: 'after' },
  updated: { sign: '~', word: 'updated' },
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

/** The headings of columns: a name over its type. */
export function headings(columns: readonly Column[]): Heading[] {
  return columns.map(column => ({
    right: isNumber(column),
    text: h(
      'span',
      {},
      oneLine(column.name),
      h('span', { class: 'dtj-type' }, oneLine(column.type)),
    ),
  }));
}

/** A mark as the first cell of its row. */
export function markCell(mark: Mark | 'updated'): HTMLElement {
  const { sign, word } = MARKS[mark] ?? MARKS.same;
  const parts = sign ? [h('span', { class: 'dtj-plus', 'aria-hidden': 'true' }, sign), word] : [];
  return h('th', { scope: 'row', class: 'dtj-mark' }, ...parts);
}

/** The place of the other side of an update, which is next to it: before, then after. */
export function counterpart(marks: readonly Mark[], i: number): number | null {
  if (marks[i] === 'before' && marks[i + 1] === 'after') {
    return i + 1;
  }
  return marks[i] === 'after' && marks[i - 1] === 'before' ? i - 1 : null;
}

/** The names of the columns that updates have changed. */
export function changedColumns(data: Rows, marks: readonly Mark[]): string[] {
  const changed = new Set<number>();
  data.rows.forEach((cells, i) => {
    const after = marks[i] === 'before' ? data.rows[counterpart(marks, i) ?? -1] : undefined;
    cells.forEach((value, at) => after && after[at] !== value && changed.add(at));
  });
  return data.columns.filter((_, at) => changed.has(at)).map(column => oneLine(column.name));
}

/** Scrolls the rows in `place` sideways until the first value that an update changed is seen,
 * next to the column of marks, which stays. */
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

/** A value; a long one is whole in its title. */
export function cell(value: string | null, right: boolean, moved: boolean): HTMLElement {
  const classes = [right && 'dtj-num', moved && 'dtj-moved'].filter(Boolean).join(' ');
  if (value === null) {
    return h('td', { class: classes || null }, h('span', { class: 'dtj-null' }, 'NULL'));
  }
  const text = oneLine(value);
  const long = text.length > MOST_CHARS;
  const shown = long ? `${text.slice(0, MOST_CHARS)}…` : text;
  return h('td', { class: classes || null, title: text.length > 40 ? text : null }, shown);
}
