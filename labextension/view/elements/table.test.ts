// @vitest-environment happy-dom
import { describe, expect, test } from 'vitest';

import { HOSTILE, madeNothing } from '../../testing/hostile';
import { Grid, resultTable } from './grid';
import { showChanged } from './table';
import type { Rows } from './table';
import type { ResultMessage } from '../wire';

function rowsTable(label: string, data: Rows): HTMLElement {
  const grid = new Grid();
  grid.show(data, { label });
  return grid.element;
}

const footer = (message: ResultMessage) =>
  resultTable(message).querySelector('.dtj-foot')!.textContent;

const result = (changes: Partial<ResultMessage> = {}): ResultMessage => ({
  type: 'result',
  version: 1,
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'note', type: 'string' },
  ],
  rows: [
    ['1', 'rug'],
    ['2', null],
  ],
  truncated: false,
  title: null,
  note: null,
  marks: [],
  ...changes,
});

test('numbers are flush right, NULL is told from a text', () => {
  const table = rowsTable(
    'items',
    result({
      rows: [
        ['1', 'NULL'],
        ['2', null],
      ],
    }),
  );
  const cells = [...table.querySelectorAll('td')];
  expect(cells.map(cell => cell.className)).toEqual(['dtj-num', '', 'dtj-num', '']);
  expect(cells[1]!.querySelector('.dtj-null')).toBeNull();
  expect(cells[3]!.querySelector('.dtj-null')?.textContent).toBe('NULL');
});

test('a mark is told by sign and word, and an update by the cells that moved', () => {
  const table = rowsTable('items', {
    columns: result().columns,
    rows: [
      ['1', 'rug'],
      ['1', 'car'],
      ['3', 'box'],
      ['4', 'cup'],
      ['5', 'pen'],
    ],
    marks: ['before', 'after', 'inserted', 'deleted', 'same'],
  });
  const marks = [...table.querySelectorAll('.dtj-mark')].map(mark => mark.textContent);
  expect(marks).toEqual(['−before', '+after', '+inserted', '−deleted', '']);
  expect([...table.querySelectorAll('.dtj-moved')].map(cell => cell.textContent)).toEqual([
    'rug',
    'car',
  ]);
});

test('where nothing is marked there is no column for it', () => {
  const table = rowsTable('items', { ...result(), marks: ['same', 'same'] });
  expect(table.querySelectorAll('thead th')).toHaveLength(2);
});

test('the footer says how many rows, and of what', () => {
  expect(footer(result())).toBe('2 rows');
  expect(footer(result({ truncated: true, note: 'Snapshot' }))).toBe('the first 2 rows · Snapshot');
});

test.each(HOSTILE)('%j is text in a cell, a heading, a type and a title', text => {
  const columns = [{ name: text, type: text }];
  const made = resultTable(result({ columns, rows: [[text]], title: text, note: text }));
  madeNothing(made, text);
});

test('rows that nobody looks at are not drawn, but counted', () => {
  const rows = Array.from({ length: 5000 }, (_, i) => [String(i), 'x']);
  const made = resultTable(result({ rows }));
  expect(made.querySelectorAll('tbody tr')).toHaveLength(2000);
  expect(made.textContent).toContain('5,000 rows');
});

describe('the first changed value', () => {
  /** A row of values 100 pixels wide each, of which the browser shows 250, next to marks of 60. */
  function placed(changed: number): { place: HTMLElement; region: HTMLElement } {
    const columns = Array.from({ length: 9 }, (_, i) => ({ name: `c${i}`, type: 'int' }));
    const rows = ['1', '2'].map(value => columns.map((_, i) => (i === changed ? value : '0')));
    const marks = ['before', 'after'] as const;
    const place = document.createElement('div');
    place.append(rowsTable('rows', { columns, rows, marks }));
    const region = place.querySelector<HTMLElement>('.dtj-scroll')!;
    Object.defineProperty(region, 'clientWidth', { value: 250 });
    place.querySelectorAll('th.dtj-mark').forEach(mark => {
      Object.defineProperty(mark, 'offsetWidth', { value: 60 });
    });
    place.querySelectorAll('td').forEach((cell, i) => {
      Object.defineProperty(cell, 'offsetLeft', { value: 60 + 100 * (i % 9) });
      Object.defineProperty(cell, 'offsetWidth', { value: 100 });
    });
    return { place, region };
  }

  test.each([
    [0, 0],
    [1, 100],
    [7, 700],
  ])('of column %i is scrolled into view', (changed, scrolled) => {
    const { place, region } = placed(changed);
    showChanged(place);
    expect(region.scrollLeft).toBe(scrolled);
  });

  test('that is seen already is left where it is', () => {
    const { place, region } = placed(1);
    region.scrollLeft = 90;
    showChanged(place);
    expect(region.scrollLeft).toBe(90);
  });
});
