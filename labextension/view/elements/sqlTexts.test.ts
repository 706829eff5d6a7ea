import { expect, test } from 'vitest';

import type { CatalogueItem } from '../wire';
import { definitionCell, historyCell, NEW_TABLE, newTableOf, selectOf } from './sqlTexts';

test('a name that SQL would not read is quoted', () => {
  expect(selectOf('daily')).toBe('SELECT * FROM daily');
  expect(selectOf('sales.daily')).toBe('SELECT * FROM sales.daily');
  expect(selectOf('`a b`.daily')).toBe('SELECT * FROM `a b`.daily');
  expect(selectOf('a`; DROP')).toBe('SELECT * FROM `a``; DROP`');
});

test('a definition is edited in a cell of the magic', () => {
  expect(definitionCell('CREATE OR ALTER DYNAMIC TABLE daily AS SELECT 1')).toBe(
    '%%dt\nCREATE OR ALTER DYNAMIC TABLE daily AS SELECT 1',
  );
});

const item = (kind: string, name: string, ...columns: [string, string][]): CatalogueItem => ({
  kind,
  name,
  state: '',
  about: '',
  columns: columns.map(([column, type]) => ({ name: column, type })),
});

test.each([
  [[item('stream', 's')], NEW_TABLE],
  [
    [
      item('dynamic_table', 'daily', ['day', 'date']),
      item('table', 'sales.`odd t`', ['id', 'int'], ['item', 'string'], ['amount', 'double']),
    ],
    'SELECT item, sum(amount) AS amount\nFROM sales.`odd t`\nGROUP BY item',
  ],
  [
    [item('table', 't', ['order_id', 'int'], ['my column', 'string'])],
    'SELECT `my column`, count(*) AS many\nFROM t\nGROUP BY `my column`',
  ],
  [
    [item('table', 't', ['a.b', 'int'], ['n', 'decimal(10,2)'])],
    'SELECT `a.b`, sum(n) AS n\nFROM t\nGROUP BY `a.b`',
  ],
])('a new table is over one that the lake has: %j', (items, sql) => {
  expect(newTableOf(items)).toContain(sql);
  expect(newTableOf(items)).toContain('%%dynamic_table my_table');
});

test('a name in a cell of Python is a string of Python', () => {
  expect(historyCell('a"b')).toContain('dt.history("a\\"b")');
});
