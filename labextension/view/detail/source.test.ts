// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test } from 'vitest';

import { mountSource } from './index';
import { HOSTILE, madeNothing } from '../../testing/hostile';
import type { View } from '../elements/dom';
import type { SourceMessage, StreamRow } from '../wire';

const AT = '2026-11-22T12:00:00+00:00';
const orders = (changes: Partial<SourceMessage> = {}): SourceMessage => ({
  type: 'source',
  version: 1,
  name: 'orders',
  kind: 'table',
  columns: [
    { name: 'id', type: 'int' },
    { name: 'amount', type: 'double' },
  ],
  rows: 1234,
  files: null,
  place: '/lake/orders',
  versions: [
    { version: 1, time: AT, operation: 'WRITE' },
    { version: 0, time: AT, operation: 'CREATE TABLE' },
  ],
  readers: ['daily', 'task load'],
  definition: '',
  stream: null,
  as_of: AT,
  ...changes,
});
const STREAM: StreamRow = {
  name: 'news',
  source: 'orders',
  source_type: 'table',
  mode: 'DEFAULT',
  offset: AT,
  waiting: 3,
  has_data: true,
  stale: false,
  stale_after: '2026-12-06T12:00:00+00:00',
  reason: null,
  consumers: ['loads'],
};

let root: HTMLElement;
let view: View<SourceMessage>;
let [asked, chosen]: [string[], string[]] = [[], []];

beforeEach(() => {
  root = document.createElement('div');
  document.body.append(root);
  [asked, chosen] = [[], []];
  view = mountSource(root, {
    live: true,
    choose: name => chosen.push(name),
    ask: question => {
      asked.push(`${question.ask} ${question.name}`);
      return new Promise(() => undefined);
    },
  });
});

afterEach(() => {
  view.dispose();
  root.remove();
});

const titles = (): string[] => [...root.querySelectorAll('h4')].map(title => title.textContent);
const press = (key: string) => root.querySelector<HTMLElement>(`[data-key="${key}"]`)!.click();

test('a table has rows, columns, versions, readers, and its contents when asked for', () => {
  view.update(orders());
  expect(titles()).toEqual(['Contents', 'Versions']);
  expect(root.querySelector('.dtj-facts')!.textContent).toBe(
    'rows1,234read bydaily, task loadplace/lake/orderscolumnsid intamount double',
  );
  expect([...root.querySelectorAll('tbody tr')].map(row => row.lastChild!.textContent)).toEqual([
    'WRITE',
    'CREATE TABLE',
  ]);
  press('to:daily');
  expect(chosen).toEqual(['daily']);
  press('profile');
  expect(asked).toEqual(['profile orders']);
});

test('a view has its text, and nothing that only a table has', () => {
  view.update(
    orders({ kind: 'view', rows: null, columns: [], versions: [], definition: 'SELECT 1' }),
  );
  expect(root.querySelector('pre')!.textContent).toContain('SELECT 1');
  expect(titles()).toEqual(['Contents']);
  view.update(orders({ readers: [] }));
  expect(root.querySelector('.dtj-facts')!.textContent).toContain('read bynothing');
});

test('a stream says where it stands', () => {
  view.update(orders({ name: 'news', kind: 'stream', versions: [], stream: STREAM }));
  expect(titles()).toEqual(['Position']);
  expect(root.querySelector('.dtj-streams')!.textContent).toContain('3 commits');
});

test.each(HOSTILE)('what a lake calls its things is never markup: %j', text => {
  const versions = [{ version: 0, time: AT, operation: text }];
  const columns = [{ name: text, type: text }];
  view.update(orders({ name: text, columns, versions, readers: [text], place: text }));
  madeNothing(root, text);
});
