import { expect, test } from 'vitest';

import { definingCell } from './defining';

test.each([
  "%%dynamic_table daily --target-lag '5 minutes'\nSELECT 1",
  '%%dt\nCREATE DYNAMIC TABLE daily TARGET_LAG = DOWNSTREAM AS SELECT 1',
  "dt.sql('''create or replace dynamic table\n  if not exists default.`daily` as select 1''')",
  "@dt.dynamic_table('daily', target_lag='1 minute')\ndef f(): ...",
  'dt.create("daily", df, target_lag="1 minute")',
  '%%dt\nCREATE TABLE daily (id INT)',
  "%%dt\nCREATE SINK IF NOT EXISTS daily FROM TABLE t INTO 'file:///x'",
  'dt.create_sink("daily", "t", "file:///x")',
  "df.write.format('delta').saveAsTable('daily')",
])('%j defines it', source => {
  expect(definingCell(['x = 1', source, 'SELECT * FROM daily'], 'daily')).toBe(1);
});

test.each([
  'SELECT * FROM daily',
  '%%dynamic_table daily_two\nSELECT 1',
  '%%dynamic_table daily.two\nSELECT 1',
  'ALTER DYNAMIC TABLE daily SUSPEND',
  'DROP DYNAMIC TABLE daily',
])('%j does not', source => {
  expect(definingCell([source], 'daily')).toBe(-1);
});

test('the last one counts, of another schema only that one, and a name is no pattern', () => {
  const twice = ['%%dynamic_table daily\nSELECT 1', '%%dynamic_table daily\nSELECT 2'];
  expect(definingCell(twice, 'daily')).toBe(1);
  expect(definingCell(twice, 'sales.daily')).toBe(-1);
  expect(definingCell(['CREATE TABLE sales.daily (id INT)'], 'sales.daily')).toBe(0);
  expect(definingCell(twice, 'd.*')).toBe(-1);
  expect(definingCell(['CREATE TABLE `a(b` (id INT)'], '`a(b`')).toBe(0);
});
