import { expect, test } from 'vitest';

import { isResult } from './result';

const GOOD = { columns: [{ name: 'id', type: 'int' }], rows: [['1'], [null]], title: null };

test('rows with a cell for each column are a result', () => {
  expect(isResult(GOOD)).toBe(true);
  expect(isResult({ columns: [], rows: [[], []] })).toBe(true);
});

test.each([
  null,
  undefined,
  'rows',
  {},
  { ...GOOD, rows: [['1', '2']] },
  { ...GOOD, rows: [[1]] },
  { ...GOOD, rows: {} },
  { ...GOOD, columns: [null] },
  { ...GOOD, columns: [{ name: 'id', type: { toString: 1 } }] },
  { ...GOOD, title: ['x'] },
  { ...GOOD, marks: 'same' },
])('%j is none, whoever wrote it', value => {
  expect(isResult(value)).toBe(false);
});
