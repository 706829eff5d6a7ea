// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { mountDetail } from './index';
import { share } from './plan';
import { HOSTILE, madeNothing } from '../../testing/hostile';
import type { Host, Question, View } from '../elements/dom';
import type {
  CardMessage,
  DetailMessage,
  ErrorMessage,
  HistoryRow,
  LiveMessage,
  ProfileMessage,
} from '../wire';

const AT = '2026-11-22T12:00:00+00:00';

const card = (changes: Partial<CardMessage> = {}): CardMessage => ({
  type: 'card',
  version: 1,
  name: 'daily',
  declared_mode: 'AUTO',
  refresh_mode: 'INCREMENTAL',
  mode_reason: '',
  schema: [{ name: 'day', type: 'date' }],
  target_lag: 60,
  warehouse: 'default',
  upstream: ['orders'],
  scheduling_state: 'ACTIVE',
  data_timestamp: AT,
  sample: null,
  notes: [],
  held_back: null,
  ...changes,
});

const detail = (changes: Partial<DetailMessage> = {}): DetailMessage => ({
  type: 'detail',
  version: 1,
  name: 'daily',
  refresh_mode: 'INCREMENTAL',
  mode_reason: 'every operator has a rule',
  hint: '',
  query: 'SELECT 1',
  card: card(),
  tree: [
    { depth: 0, operator: 'the table', rule: 'key (day)', state: 'counted', rows: 100, changed: 1 },
    { depth: 1, operator: 'filter', rule: 'σ(Δ)', state: '', rows: 1000, changed: 2 },
    { depth: 2, operator: 'orders', rule: '', state: '', rows: 2000, changed: null },
    { depth: 1, operator: 'customers', rule: '', state: '', rows: null, changed: null },
  ],
  statements: [{ title: 'the change', sql: 'SELECT 2' }],
  decision: 'INCREMENTAL: 2 rows changed',
  statistics: [{ name: 'rows read', value: '2' }],
  history: { type: 'history', version: 1, rows: [], title: 'Refresh history' },
  error: null,
  late: null,
  cost: null,
  ...changes,
});

const error: ErrorMessage = {
  type: 'error',
  version: 1,
  code: 'DT-2104',
  sentence: 'division by zero',
  hint: 'use try_divide',
  query: 'SELECT\n  𝒂 / b\nFROM t',
  underline: { line: 2, column: 3, length: 5 },
  details: 'at Stack.trace',
  page: null,
};

let root: HTMLElement;
let view: View<DetailMessage>;
let asked: {
  question: Question;
  answer: (message: LiveMessage) => void;
  fail: (why: Error) => void;
}[];
let chosen: string[];
const host = (live: boolean): Host => ({
  live,
  choose: name => chosen.push(name),
  ask: question => new Promise((answer, fail) => asked.push({ question, answer, fail })),
});
const settle = (): Promise<unknown> => new Promise(done => setTimeout(done));
const get = <E extends HTMLElement>(key: string): E =>
  root.querySelector<E>(`[data-key="${key}"]`)!;
const items = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>('[role=treeitem]')];
const press = (key: string): boolean =>
  document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));

beforeEach(() => {
  root = document.createElement('div');
  document.body.append(root);
  [asked, chosen] = [[], []];
  view = mountDetail(root, host(true));
});

afterEach(() => {
  view.dispose();
  root.remove();
});

test('the head says what was asked for, what it came to, and why', () => {
  view.update(detail());
  expect(root.querySelector('.dtj-pill')!.textContent).toBe('AUTO → INCREMENTAL');
  expect(root.textContent).toContain('every operator has a rule');
});

test("the page of an error's code is one click away", () => {
  view.update(detail({ error: { ...error, page: 'DT-2104: Refreshes' } }));
  const page = get('error-page');
  expect(page.querySelector('summary')!.textContent).toBe('About DT-2104');
  expect(page.querySelector('pre')!.textContent).toBe('DT-2104: Refreshes');
});

test('suspending is asked back, and only then done', async () => {
  view.update(detail());
  get('suspend').click();
  expect(root.textContent).toContain('Suspend daily? Its consumers will not be refreshed either.');
  expect(document.activeElement).toBe(get('keep'));
  get('keep').click();
  expect(asked).toEqual([]);
  expect(root.querySelector('.dtj-ask')).toBeNull();
  get('suspend').click();
  get('yes').click();
  expect(asked[0]!.question).toEqual({ ask: 'suspend', name: 'daily' });
  asked[0]!.answer({ type: 'done', version: 1, sentence: 'daily is suspended' });
  await settle();
  expect(root.querySelector('[role=status]')!.textContent).toContain('daily is suspended');
  expect(asked[1]!.question).toEqual({ ask: 'detail', name: 'daily' });
  asked[1]!.answer(detail({ card: card({ scheduling_state: 'SUSPENDED' }) }));
  await settle();
  expect(get('resume').textContent).toBe('Resume');
  expect(root.textContent).toContain('SUSPENDED');
});

test('while a refresh runs it can be cancelled, and is not begun twice', async () => {
  view.update(detail());
  get('refresh').click();
  expect(get<HTMLButtonElement>('refresh').disabled).toBe(true);
  get('cancel').click();
  expect(asked.map(one => one.question.ask)).toEqual(['refresh', 'cancel']);
  asked[0]!.fail(new Error('DT-2301: cancelled'));
  await settle();
  expect(root.querySelector('.dtj-trouble')!.textContent).toContain('DT-2301: cancelled');
  expect(get<HTMLButtonElement>('refresh').disabled).toBe(false);
});

const refreshed = (minute: number, changes: Partial<HistoryRow> = {}): HistoryRow => ({
  name: 'daily',
  state: 'SUCCEEDED',
  data_timestamp: `2026-11-22T12:0${minute}:00Z`,
  action: 'INCREMENTAL',
  trigger: 'MANUAL',
  duration: 0.4,
  rows_inserted: 2,
  rows_deleted: 1,
  rows_read: 3,
  reason: null,
  bytes_written: 2000,
  ...changes,
});

const listed = (...rows: HistoryRow[]): DetailMessage =>
  detail({ history: { ...detail().history, rows } });

const profile = (snapshot: string): ProfileMessage => {
  const result = {
    type: 'result',
    version: 1,
    truncated: false,
    note: snapshot,
    marks: [],
  } as const;
  return {
    type: 'profile',
    version: 1,
    name: 'daily',
    snapshot,
    row_count: 1234,
    columns: {
      ...result,
      title: 'Columns',
      columns: [{ name: 'column', type: 'string' }],
      rows: [['day']],
    },
    sample: {
      ...result,
      title: 'Sample rows',
      columns: [{ name: 'day', type: 'date' }],
      rows: [['2026-11-22']],
    },
  };
};

test('sample rows and columns are read when asked for, and say of which snapshot they are', async () => {
  view.update(detail());
  expect(asked).toEqual([]);
  get('profile').click();
  expect(asked[0]!.question).toEqual({ ask: 'profile', name: 'daily' });
  expect(get<HTMLButtonElement>('profile').disabled).toBe(true);
  asked[0]!.answer(profile('version 7 (noon)'));
  await settle();
  view.update(detail()); // what was read stays
  expect(root.querySelector('.dtj-contents')!.textContent).toContain(
    '1,234 rows in version 7 (noon)',
  );
  expect(root.querySelector('.dtj-contents')!.textContent).toContain('2026-11-22');
  get('profile').click();
  view.update(detail({ name: 'other' }));
  asked[1]!.answer(profile('version 8 (noon)'));
  await settle();
  expect(root.querySelector('.dtj-contents table')).toBeNull();
});

test('a full refresh is asked for by its own button', () => {
  view.update(detail());
  get('full').click();
  expect(asked[0]!.question).toEqual({ ask: 'refresh_full', name: 'daily' });
  expect(get('cancel')).not.toBeNull();
});

test('what the refreshes took and wrote is a bar for each, oldest first', () => {
  const rows = [refreshed(2, { duration: 2 }), refreshed(1, { state: 'FAILED', action: null })];
  view.update(listed(...rows));
  expect(root.querySelector('.dtj-cost')).toBeNull();
  view.update(listed(...rows, refreshed(0, { bytes_written: null })));
  const [seconds, written] = [...root.querySelectorAll('.dtj-cost')];
  expect(seconds!.textContent).toContain('2.8 s in all, at most 2 s');
  expect(written!.textContent).toContain('4,000 B in all');
  const heights = [...seconds!.querySelectorAll('rect')].map(bar =>
    Number(bar.getAttribute('height')),
  );
  expect(heights.map(Math.round)).toEqual([8, 8, 42]);
});

test('that a refresh was started is said until there is a result, and then the result', async () => {
  view.update(listed(refreshed(0)));
  get('refresh').click();
  asked[0]!.answer({ type: 'done', version: 1, sentence: 'Refresh of daily started.' });
  await settle();
  const status = root.querySelector('.dtj-status')!;
  view.update(listed(refreshed(1, { state: 'EXECUTING', action: null }), refreshed(0)));
  expect(status.textContent).toContain('started');
  view.update(listed(refreshed(1), refreshed(0)));
  expect(status.textContent).toContain(
    'daily refreshed: INCREMENTAL, 2 rows inserted, 1 deleted, in 0.4 s.',
  );
  view.update(listed(refreshed(2, { action: 'NO_DATA' }), refreshed(1)));
  expect(status.textContent).toContain('2 rows inserted');
});

test('of a refresh that failed only its error is said', async () => {
  view.update(listed());
  get('refresh').click();
  asked[0]!.answer({ type: 'done', version: 1, sentence: 'Refresh of daily started.' });
  await settle();
  view.update(listed(refreshed(1, { state: 'FAILED', action: null })));
  expect(root.querySelector('.dtj-status')!.textContent).toBe('');
});

test('refreshes without changes are left out where they are the most, until they are wanted', () => {
  const empty = [1, 2, 3].map(minute => refreshed(minute, { action: 'NO_DATA' }));
  view.update(listed(...empty, refreshed(0)));
  const times = () => root.querySelectorAll('.dtj-history time').length;
  expect(times()).toBe(1);
  expect(get('no-data').parentElement!.textContent).toBe(' show 3 unchanged');
  get('no-data').click();
  expect(times()).toBe(4);
  view.update(listed(empty[0]!, refreshed(0), refreshed(4)));
  expect(times()).toBe(3);
});

test('what a refresh took is a share of the longest, in a track of another colour', () => {
  view.update(listed(refreshed(1, { duration: 2 }), refreshed(0, { duration: 0.5 })));
  const bars = [...root.querySelectorAll<HTMLElement>('.dtj-history .dtj-track > span')];
  expect(bars.map(bar => bar.style.width)).toEqual(['100.0%', '25.0%']);
  expect(root.querySelector('.dtj-meter')).toBeNull(); // the outputs of a cell colour that one
});

test.each([
  [{ refresh_mode: 'FULL' }, 'Recomputed in full: there are no incremental rules.'],
  [
    { refresh_mode: 'FULL', card: card({ declared_mode: 'FULL' }) },
    'Recomputed in full, as REFRESH_MODE = FULL says.',
  ],
  [
    { error: { ...error, code: 'DT-1104', sentence: 'Source orders is gone.' } },
    'Its rules cannot be shown: Source orders is gone.',
  ],
  [{}, 'Its rules cannot be shown: the definition is not compiled yet.'],
] as const)('without a tree of rules the cause is said: %j', (changes, words) => {
  view.update(detail({ tree: [], ...changes }));
  const section = [...root.querySelectorAll('section')].find(one =>
    one.textContent.startsWith('How it is maintained'),
  )!;
  expect(section.textContent).toContain(words);
});

test('a table that nothing refreshes says so in its head', () => {
  const held_back = 'Not refreshed: no target lag, and nothing reads it.';
  view.update(detail({ card: card({ target_lag: 'DOWNSTREAM', held_back }) }));
  expect(root.querySelector('.dtj-head')!.textContent).toContain('NOT REFRESHED');
  expect(root.textContent).toContain(held_back);
});

test('a refusal is shown with its code and hint', async () => {
  view.update(detail());
  get('refresh').click();
  asked[0]!.answer(error);
  await settle();
  expect(root.querySelector('[role=status] .dtj-code')!.textContent).toBe('DT-2104');
});

test('a pin has a name, and a version or none', () => {
  view.update(detail());
  get('pin').click();
  const submit = (): boolean =>
    root.querySelector('form')!.dispatchEvent(new Event('submit', { cancelable: true }));
  submit();
  expect(asked).toEqual([]);
  get<HTMLInputElement>('pin-name').value = ' before ';
  get<HTMLInputElement>('pin-version').value = '7';
  submit();
  expect(asked[0]!.question).toEqual({ ask: 'pin', name: 'daily', pin: 'before', version: 7 });
});

test('the tree is walked, closed and opened by key', () => {
  view.update(detail());
  expect(items().map(item => item.getAttribute('aria-level'))).toEqual(['1', '2', '3', '2']);
  expect(items()[1]!.getAttribute('aria-label')).toContain(
    'about 1,000 rows; about 2 of them change',
  );
  expect([
    items()[1]!.getAttribute('aria-posinset'),
    items()[1]!.getAttribute('aria-setsize'),
  ]).toEqual(['1', '2']);
  items()[0]!.focus();
  press('ArrowDown');
  press('ArrowLeft');
  expect(items().map(item => item.querySelector('.dtj-operator')!.textContent)).toEqual([
    'the table',
    'filter',
    'customers',
  ]);
  press('c');
  expect(document.activeElement!.textContent).toContain('customers');
  press('Home');
  press('ArrowDown');
  press('ArrowRight');
  expect(items()).toHaveLength(4);
  expect(items().filter(item => item.tabIndex === 0)).toEqual([document.activeElement]);
});

test('an update keeps folds, the closed part of the tree, the question and the focus', () => {
  view.update(detail());
  get<HTMLDetailsElement>('statements').open = true;
  items()[1]!.focus();
  press('ArrowLeft');
  get('pin').click();
  get<HTMLInputElement>('pin-name').value = 'half a na';
  view.update(detail({ decision: 'NO_DATA' }));
  expect(get<HTMLDetailsElement>('statements').open).toBe(true);
  expect(items()).toHaveLength(3);
  expect(get<HTMLInputElement>('pin-name').value).toBe('half a na');
  expect(document.activeElement).toBe(get('pin-name'));
  items()[1]!.focus();
  view.update(detail());
  expect(document.activeElement).toBe(items()[1]);
});

test('an error is underlined where it is, counted in characters', () => {
  view.update(detail({ error }));
  expect(root.querySelector('.dtj-query u')!.textContent).toBe('𝒂 / b');
  expect(get<HTMLDetailsElement>('error-details').open).toBe(false);
});

test('SQL is copied, or selected where the page may not', async () => {
  view.update(detail());
  const write = vi
    .fn<(text: string) => Promise<void>>()
    .mockResolvedValueOnce(undefined)
    .mockRejectedValueOnce(new Error('no'));
  vi.stubGlobal('navigator', { clipboard: { writeText: write } });
  get('statement0:copy').click();
  await settle();
  expect(write).toHaveBeenCalledWith('SELECT 2');
  expect(root.querySelector('[role=status]')!.textContent).toContain('Copied');
  get('statement0:copy').click();
  await settle();
  expect(root.querySelector('[role=status]')!.textContent).toContain('Selected');
  vi.unstubAllGlobals();
});

test('what it reads can be chosen; without a kernel nothing can be done', () => {
  view.dispose();
  view = mountDetail(root, host(false));
  view.update(detail());
  get('up:orders').click();
  expect(chosen).toEqual(['orders']);
  expect(root.querySelector('[data-key=refresh]')).toBeNull();
});

test('bars go by digits: ten of a million are seen', () => {
  expect(share(1_000_000, 1_000_000)).toBe(1);
  expect(share(10, 1_000_000)).toBeGreaterThan(0.15);
  expect(share(0, 1_000_000)).toBe(0);
});

test.each(HOSTILE)('%j is text wherever it stands', text => {
  const sample = {
    type: 'result',
    version: 1,
    columns: [{ name: text, type: text }],
    rows: [[text]],
    marks: [],
    truncated: false,
    title: text,
    note: text,
  } as const;
  view.update(
    detail({
      name: text,
      mode_reason: text,
      hint: text,
      query: text,
      decision: text,
      card: card({
        name: text,
        warehouse: text,
        upstream: [text],
        schema: [{ name: text, type: text }],
        notes: [text],
        sample,
      }),
      tree: [{ depth: 0, operator: text, rule: text, state: text, rows: 1, changed: 1 }],
      statements: [{ title: text, sql: text }],
      statistics: [{ name: text, value: text }],
      history: {
        type: 'history',
        version: 1,
        title: text,
        rows: [
          {
            name: text,
            state: 'FAILED',
            data_timestamp: AT,
            action: null,
            trigger: 'MANUAL',
            duration: 1,
            rows_inserted: 1,
            rows_deleted: 1,
            rows_read: 1,
            reason: text,
            bytes_written: 1,
          },
        ],
      },
      error: {
        ...error,
        code: text,
        sentence: text,
        hint: text,
        query: text,
        underline: { line: 1, column: 1, length: 99 },
        details: text,
        page: text,
      },
    }),
  );
  get('suspend').click();
  madeNothing(root, text);
});

test('why it is not fresh is said with what helps, but for what the head has already', async () => {
  const late = {
    code: 'UPSTREAM_SUSPENDED',
    sentence: 'up, which it reads, is suspended.',
    root: 'up',
    remedies: [
      { kind: 'resume', label: 'Resume up', name: 'up', target_lag: null },
      { kind: 'refresh', label: 'Refresh now', name: 'daily', target_lag: null },
    ],
  } as const;
  const cost = {
    name: 'daily', schema: 'default', target: 60, within: 0.5, lag: 1, p95: 2, refreshes: 14,
    recomputed: 0, failed: 3, seconds: 7, rows: 1, bytes: 700, days: 7, cause: null,
  } as const; // prettier-ignore
  view.update(detail({ late, cost }));
  const box = root.querySelector<HTMLElement>('.dtj-late')!;
  expect(box.textContent).toContain('up, which it reads, is suspended.');
  const buttons = [...box.querySelectorAll('button')];
  expect(buttons.map(each => each.textContent)).toEqual(['Resume up']);
  expect(root.textContent).toContain('2 refreshes, 1 s, 100 B written a day');
  buttons[0]!.click();
  expect(asked.at(-1)!.question).toEqual({ ask: 'resume', name: 'up', target_lag: null });
  asked.at(-1)!.answer({ type: 'done', version: 1, sentence: 'up resumed.' });
  await settle();
  expect(root.querySelector('.dtj-status')!.textContent).toContain('up resumed.');
  view.update(detail());
  expect(root.querySelector('.dtj-late')).toBeNull();
});
