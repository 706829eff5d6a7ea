// @vitest-environment happy-dom
import { beforeEach, describe, expect, test, vi } from 'vitest';

import { Grid, resultTable } from './grid';
import { comparing } from './order';
import * as save from './save';
import type { Gridded, Looks } from './grid';
import type { Mark, ResultMessage } from '../wire';

const COLUMNS = [
  { name: 'id', type: 'bigint' },
  { name: 'note', type: 'string' },
];
const ROWS = [
  ['10', 'rug'],
  ['9', null],
  ['2', 'NULL'],
  ['100', ''],
];

let grid: Grid;

function shown(changes: Partial<Gridded> = {}, looks: Partial<Looks> = {}): HTMLElement {
  grid.show({ columns: COLUMNS, rows: ROWS, ...changes }, { label: 'items', ...looks });
  return grid.element;
}

beforeEach(() => {
  grid = new Grid();
  document.body.replaceChildren(grid.element);
});

const table = () => grid.element.querySelector('table')!;
const heads = () => [...grid.element.querySelectorAll<HTMLElement>('thead th')];
const column = (i: number) =>
  [...table().tBodies[0]!.children].map(row => row.children[i]!.textContent);
const told = () => grid.element.querySelector('.dtj-foot')!.textContent;
const press = (key: string, more: KeyboardEventInit = {}) =>
  document.activeElement!.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }),
  );
function filter(text: string): void {
  const input = grid.element.querySelector('input')!;
  input.value = text;
  input.dispatchEvent(new Event('input'));
}

test('a heading sorts by what its values are: up, down, and as they came', () => {
  shown();
  const sorts = [0, 1, 2].map(() => {
    heads()[0]!.click();
    return [heads()[0]!.getAttribute('aria-sort'), ...column(0)];
  });
  expect(sorts).toEqual([
    ['ascending', '2', '9', '10', '100'],
    ['descending', '100', '10', '9', '2'],
    ['none', '10', '9', '2', '100'],
  ]);
});

test('NULL is last either way, and no text is taken for it', () => {
  shown();
  heads()[1]!.click();
  expect(column(1)).toEqual(['', 'NULL', 'rug', 'NULL']);
  heads()[1]!.click();
  expect(column(1)).toEqual(['rug', 'NULL', '', 'NULL']);
  expect(table().tBodies[0]!.children[3]!.querySelectorAll('.dtj-null')).toHaveLength(1);
});

test.each([
  [true, ['-1', '0', '1.5', '12345678901234567890', '12345678901234567891', 'NaN', null]],
  [true, ['-12345678901234567891', '-12345678901234567890', '1E3', '1E10']],
  [true, ['0.10000000000000000001', '0.10000000000000000002']],
  [false, ['', '10', '9', 'a', null]],
])('of a column of numbers (%s) the order is %j', (numbers, values) => {
  const compare = comparing(numbers, false);
  expect([...values].reverse().sort(compare)).toEqual(values);
});

test('the filter leaves rows with the text, says how many, and is kept for newer rows', () => {
  shown();
  filter('1');
  expect(column(0)).toEqual(['10', '100']);
  expect(told()).toBe('2 of 4 rows');
  shown({ rows: [...ROWS, ['21', 'x']], truncated: true });
  expect([column(0), told()]).toEqual([['10', '100', '21'], '3 of the first 5 rows']);
  filter('');
  expect(column(0)).toHaveLength(5);
});

test('other columns begin without a filter and in the order in which they come', () => {
  shown();
  filter('1');
  heads()[0]!.click();
  shown({ columns: [COLUMNS[1]!, COLUMNS[0]!] });
  expect([column(0), heads()[0]!.getAttribute('aria-sort')]).toEqual([
    ['10', '9', '2', '100'],
    'none',
  ]);
});

describe('by key', () => {
  const at = () => document.activeElement!.textContent;

  test('cells are walked, and Enter on a heading sorts', () => {
    shown();
    expect(grid.element.querySelectorAll('[tabindex="0"]')).toHaveLength(1);
    heads()[0]!.focus();
    const walked = ['ArrowDown', 'ArrowRight', 'ArrowDown', 'End', 'Home'].map(key => {
      press(key);
      return at();
    });
    expect(walked).toEqual(['10', 'rug', 'NULL', 'NULL', '9']);
    press('Home', { ctrlKey: true });
    press('Enter');
    expect([at(), column(0)[0]]).toEqual(['idbigint', '2']);
    press('End', { ctrlKey: true });
    expect(at()).toBe('');
    expect(grid.element.querySelectorAll('[tabindex="0"]')).toHaveLength(1);
  });

  test('the way leads to rows that were not drawn', () => {
    shown({ rows: Array.from({ length: 5000 }, (_, i) => [String(i), 'x']) });
    heads()[0]!.focus();
    press('End', { ctrlKey: true });
    press('Home');
    expect(at()).toBe('4999');
  });

  test('the focus stays where it is when newer rows come', async () => {
    shown();
    heads()[0]!.focus();
    press('ArrowDown');
    shown({ rows: [['7', 'new'], ...ROWS] });
    await Promise.resolve();
    expect(at()).toBe('7');
  });

  test('no key of the grid is a key of the notebook', () => {
    const heard = vi.fn();
    document.body.addEventListener('keydown', heard);
    shown();
    heads()[0]!.focus();
    ['ArrowDown', 'Home', 'Enter'].forEach(key => press(key));
    expect(heard).toHaveBeenCalledTimes(1); // Enter on a value does nothing
    document.body.removeEventListener('keydown', heard);
  });
});

describe('an update', () => {
  const marks: Mark[] = ['same', 'before', 'after', 'inserted'];
  const rows = [
    ['3', 'c'],
    ['9', 'a'],
    ['1', 'z'],
    ['2', '<b>x</b>'],
  ];

  test('is one row, with what was and what is', () => {
    shown({ rows, marks }, { merged: true });
    expect(column(0)).toEqual(['', '~updated', '+inserted']); // the mark of each
    expect(column(1)).toEqual(['3', '9 → 1', '2']);
    expect(told()).toBe('3 rows');
    expect(grid.element.querySelector('b')).toBeNull();
  });

  test('is two rows that stay together where they are not merged', () => {
    shown({ rows, marks });
    heads()[1]!.click();
    expect(column(1)).toEqual(['9', '1', '2', '3']);
    filter('z');
    expect(column(0)).toEqual(['−before', '+after']);
  });
});

test('what is downloaded and copied is what is seen: filtered, and in its order', async () => {
  const saved = vi.spyOn(save, 'download').mockImplementation(() => undefined);
  const copied = vi.fn().mockResolvedValue(undefined);
  vi.stubGlobal('navigator', { clipboard: { writeText: copied } });
  shown({}, { label: '../my items' });
  filter('1');
  heads()[0]!.click();
  heads()[0]!.click();
  const [copy, csv] = [...grid.element.querySelectorAll('button')];
  csv!.click();
  expect(saved.mock.calls[0]).toEqual([
    'id,note\r\n100,""\r\n10,rug\r\n',
    '_my_items.csv',
    'text/csv',
  ]);
  copy!.click();
  await Promise.resolve();
  expect(copied).toHaveBeenCalledWith('id\tnote\r\n100\t""\r\n10\trug\r\n');
  vi.unstubAllGlobals();
});

test.each([
  [[], [], 'rows: none and no columns', '0 rows'],
  [[], [[], [], []], 'rows without columns', '3 rows'],
  [COLUMNS, [], 'columns without rows', '0 rows'],
])('%j × %j: %s', (columns, rows, _, words) => {
  shown({ columns, rows });
  expect(told()).toBe(words);
  expect(heads()).toHaveLength(columns.length);
});

test('200 columns of a hundred rows are drawn in part', () => {
  const columns = Array.from({ length: 200 }, (_, i) => ({ name: `c${i % 7}`, type: 'int' }));
  const rows = Array.from({ length: 100 }, () => columns.map(() => '1'));
  shown({ columns, rows });
  expect(table().tBodies[0]!.children).toHaveLength(50);
  expect(heads()).toHaveLength(200);
});

test('a result has its title, and what it read', () => {
  const message: ResultMessage = {
    type: 'result', version: 1, columns: COLUMNS, rows: ROWS, truncated: true, title: 'First rows',
    note: 'Snapshot', marks: [],
  }; // prettier-ignore
  const made = resultTable(message);
  expect(made.querySelector('.dtj-title')!.textContent).toBe('First rows');
  expect(made.querySelector('.dtj-foot')!.textContent).toBe('the first 4 rows · Snapshot');
});
