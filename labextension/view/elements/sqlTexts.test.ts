import { expect, test } from 'vitest';

import type { DetailMessage } from '../wire';
import { definitionOf, historyCell, selectOf } from './sqlTexts';

test('a name that SQL would not read is quoted', () => {
  expect(selectOf('daily')).toBe('SELECT * FROM daily');
  expect(selectOf('sales.daily')).toBe('SELECT * FROM sales.daily');
  expect(selectOf('`a b`.daily')).toBe('SELECT * FROM `a b`.daily');
  expect(selectOf('a`; DROP')).toBe('SELECT * FROM `a``; DROP`');
});

test('a definition is the statement that makes the table', () => {
  const card = { target_lag: 300, warehouse: 'default', declared_mode: 'AUTO' };
  const detail = { name: 'daily', query: 'SELECT 1 AS one', card } as unknown as DetailMessage;
  expect(definitionOf(detail)).toBe(
    "CREATE OR REPLACE DYNAMIC TABLE daily\n  TARGET_LAG = '300 seconds'\n" +
      '  WAREHOUSE = default\n  REFRESH_MODE = AUTO\nAS\nSELECT 1 AS one',
  );
  const below = { ...detail, card: { ...card, target_lag: 'DOWNSTREAM' } } as unknown;
  expect(definitionOf(below as DetailMessage)).toContain('TARGET_LAG = DOWNSTREAM\n');
});

test('a name in a cell of Python is a string of Python', () => {
  expect(historyCell('a"b')).toContain('dt.history("a\\"b")');
});
