// @vitest-environment happy-dom
import type { IStateDB } from '@jupyterlab/statedb';
import { expect, test } from 'vitest';

import { Memory } from './memory';

function stateDB(saved: unknown): IStateDB & { saved: unknown } {
  const db = {
    saved,
    fetch: () => Promise.resolve(db.saved),
    save: (_key: string, value: unknown) => {
      db.saved = value;
      return Promise.resolve();
    },
  };
  return db as unknown as IStateDB & { saved: unknown };
}

test('tab and choices are there again after a reload', async () => {
  const state = stateDB(undefined);
  const before = new Memory(state);
  before.take('streams');
  before.choose('a.ipynb', 'daily');
  before.choose('b.ipynb', 'weekly');
  before.choose('a.ipynb', 'totals');
  const after = new Memory(state);
  await after.restore();
  expect([after.tab, after.chosen('a.ipynb'), after.chosen('b.ipynb')]).toEqual([
    'streams',
    'totals',
    'weekly',
  ]);
  expect(after.chosen('c.ipynb')).toBeNull();
});

test('of many documents those are kept in which something was chosen last', async () => {
  const state = stateDB(undefined);
  const before = new Memory(state);
  for (let i = 0; i < 150; i++) {
    before.choose(`${i}.ipynb`, 'daily');
  }
  const after = new Memory(state);
  await after.restore();
  expect([after.chosen('149.ipynb'), after.chosen('50.ipynb'), after.chosen('49.ipynb')]).toEqual([
    'daily',
    'daily',
    null,
  ]);
});

test.each([
  undefined,
  null,
  7,
  'x',
  [],
  { tab: 'toString', chosen: 3 },
  { tab: 1, chosen: [[1, 2], ['a']] },
])('what was saved as %j is as good as nothing', async saved => {
  const memory = new Memory(stateDB(saved));
  await memory.restore();
  expect(memory.tab).toBe('graph');
  expect(memory.chosen('a')).toBeNull();
});

test('without a place to save, it remembers for as long as the page is there', async () => {
  const memory = new Memory(null);
  await memory.restore();
  memory.choose('a.ipynb', 'daily');
  expect(memory.chosen('a.ipynb')).toBe('daily');
});
