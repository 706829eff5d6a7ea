// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest';

import { HOSTILE, madeNothing } from '../../testing/hostile';
import { costOf } from '../elements/cost';
import type { HealthMessage, HealthRow } from '../wire';
import { mountHealth } from './index';

const host = { ask: vi.fn(), choose: vi.fn(), open: vi.fn(), live: true };
let root: HTMLElement;
let view: ReturnType<typeof mountHealth>;

const row = (name: string, more: Partial<HealthRow> = {}): HealthRow => ({
  name,
  schema: 'default',
  target: 60,
  within: 0.995,
  lag: 3,
  p95: 50,
  refreshes: 14,
  recomputed: 0,
  failed: 0,
  seconds: 28,
  rows: 100,
  bytes: 7_000_000,
  days: 7,
  cause: null,
  ...more,
});

const health = (...tables: HealthRow[]): HealthMessage => ({
  type: 'health',
  version: 1,
  days: 7,
  tables,
});

beforeEach(() => {
  vi.clearAllMocks();
  root = document.createElement('div');
  document.body.replaceChildren(root);
  view = mountHealth(root, host);
});

test('what a table costs is told a day, or since it was made', () => {
  expect(costOf(row('a'))).toBe('2 refreshes, 4 s, 1 MB written a day');
  expect(costOf(row('a', { refreshes: 10 }))).toMatch(/^1[.]4 refreshes/);
  expect(costOf(row('a', { days: 0.125, refreshes: 1 }))).toBe(
    '1 refresh, 28 s, 7 MB written in 3 h',
  );
});

test('tables stand in the order of the kernel, with share, cost and cause', () => {
  const late = row('daily', { within: 0.4, failed: 2, cause: 'No scheduler runs.' });
  view.update(health(late, row('sums', { within: null, p95: null, target: 'DOWNSTREAM' })));
  const rows = [...root.querySelectorAll('li')].map(each => each.textContent);
  expect(rows[0]).toContain('40');
  expect(rows[0]).toContain('2 failed');
  expect(rows[0]).toContain('No scheduler runs.');
  expect(rows[1]).toContain('–');
  expect(root.querySelector('details')).toBeNull();
  root.querySelector<HTMLElement>('.dtj-link')!.click();
  expect(host.open).toHaveBeenCalledWith('daily', 'details');
});

test('several schemas are folds that stay as they were', () => {
  const tables = health(row('a'), row('sales.b', { schema: 'sales' }), row('c'));
  view.update(tables);
  const titles = () => [...root.querySelectorAll('summary')].map(each => each.textContent);
  expect(titles()).toEqual(['default · 2 tables', 'sales · 1 table']);
  root.querySelector('details')!.open = false;
  view.update(tables);
  expect(root.querySelector('details')!.open).toBe(false);
});

test('a lake without dynamic tables says so, and hostile names are text', () => {
  view.update(health());
  expect(root.textContent).toContain('There are no dynamic tables');
  for (const text of HOSTILE) {
    view.update(health(row(text, { cause: text, schema: text }), row('b')));
    madeNothing(root, text);
  }
});
