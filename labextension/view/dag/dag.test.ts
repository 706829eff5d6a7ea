// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { Host } from '../elements/dom';
import { oneLine } from '../elements/text';
import type { EventMessage, GraphMessage, GraphNode, LiveMessage } from '../wire';
import { mountDag, type DagView } from './index';
import {
  AS_OF,
  ago,
  graph,
  SHOP,
  SHOP_LINEAGE,
  sink,
  source,
  table,
  task,
} from '../../testing/graphs';

let root: HTMLElement;
let view: DagView;
let now = Date.parse(AS_OF);
let answer: () => Promise<LiveMessage>;
const host = { live: true, ask: vi.fn(() => answer()), choose: vi.fn() } satisfies Host;

beforeEach(() => {
  vi.useFakeTimers();
  now = Date.parse(AS_OF);
  answer = async () => SHOP_LINEAGE;
  host.ask.mockClear();
  host.choose.mockClear();
  root = document.createElement('div');
  document.body.append(root);
  mount();
});

afterEach(() => {
  view.dispose();
  root.remove();
  vi.useRealTimers();
});

function mount(live = true): void {
  view?.dispose();
  view = mountDag(root, { ...host, live }, { clock: () => now, rightward: false });
}

/** Show a message and let the frame be drawn in which cards are filled. */
async function show(message: GraphMessage): Promise<void> {
  view.update(message);
  await vi.advanceTimersByTimeAsync(50);
}

const card = (name: string): HTMLElement =>
  root.querySelector<HTMLElement>(`.dtj-node[data-name="${name}"]`)!;
const cards = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>('.dtj-node')];
const part = (name: string, what: string): HTMLElement =>
  card(name).querySelector<HTMLElement>(`.dtj-node-${what}`)!;
const focused = (): string | undefined => (document.activeElement as HTMLElement).dataset['name'];
const dim = (): string[] =>
  cards()
    .filter(each => each.classList.contains('dtj-dim'))
    .map(each => each.dataset['name']!);

function press(key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more });
  document.activeElement!.dispatchEvent(event);
  return event;
}

function find(text: string): HTMLInputElement {
  const input = root.querySelector('input')!;
  input.value = text;
  input.dispatchEvent(new Event('input', { bubbles: true }));
  return input;
}

function event(node: GraphNode, at = AS_OF): EventMessage {
  return { type: 'event', version: 1, happened: 'ended', at, name: node.name, node, seconds: 1 };
}

test('nothing yet: how to make the first dynamic table; it goes when there is one', async () => {
  await show(graph([], []));
  expect(root.querySelector('.dtj-empty')!.textContent).toContain('%%dynamic_table');
  await show(graph([table('a')], []));
  expect(root.querySelector('.dtj-empty')).toBeNull();
  expect(cards()).toHaveLength(1);
});

test('a card shows state by shape and word, mode, action, lag and rows', async () => {
  await show(SHOP);
  expect(part('daily_revenue', 'name').textContent).toBe('daily_revenue');
  expect(part('daily_revenue', 'mode').textContent).toBe('auto → incremental');
  expect(part('daily_revenue', 'outcome').textContent).toBe('INCREMENTAL');
  expect(part('daily_revenue', 'lag').textContent).toBe('lag 12 s of 5 min');
  expect(part('daily_revenue', 'rows').textContent).toBe('730 rows');
  expect(part('daily_revenue', 'sign').querySelector('svg')).not.toBeNull();
  expect(part('sessions', 'outcome').textContent).toBe('EXECUTING 42 %');
  expect(part('archive_2025', 'outcome').textContent).toBe('SUSPENDED');
  expect(part('funnel', 'lag').textContent).toContain('DT-2103');
  expect(part('funnel', 'error').querySelector('svg')).not.toBeNull();
  expect(card('daily_revenue').getAttribute('aria-label')).toMatch(
    /^daily_revenue, dynamic table, .*lag 12 seconds of 5 minutes/,
  );
});

test('an event touches only the DOM of its node, and moves no box', async () => {
  await show(SHOP);
  const places = cards().map(each => each.getAttribute('style'));
  const touched = new Set<string>();
  const observer = new MutationObserver(records => {
    for (const { target } of records) {
      const element = target instanceof Element ? target : target.parentElement!;
      touched.add(element.closest<HTMLElement>('.dtj-node')?.dataset['name'] ?? element.tagName);
    }
  });
  observer.observe(root.querySelector('.dtj-nodes')!, {
    subtree: true,
    childList: true,
    attributes: true,
    characterData: true,
  });
  const failed = {
    ...SHOP.nodes.find(node => node.name === 'daily_revenue')!,
    state: 'FAILED' as const,
    action: null,
    error: 'DT-2103: no',
  };
  view.happened(event(failed));
  await vi.advanceTimersByTimeAsync(0);
  observer.disconnect();
  expect([...touched]).toEqual(['daily_revenue']);
  expect(part('daily_revenue', 'outcome').textContent).toBe('FAILED');
  expect(cards().map(each => each.getAttribute('style'))).toEqual(places);
});

test('an update with other states keeps the same elements; another graph keeps those that stay', async () => {
  await show(SHOP);
  const before = cards();
  await show({
    ...SHOP,
    nodes: SHOP.nodes.map(node =>
      node.kind === 'dynamic_table' ? { ...node, state: 'FAILED' as const } : node,
    ),
  });
  expect(cards()).toEqual(before);
  const kept = card('sessions');
  await show(
    graph(
      [...SHOP.nodes.filter(node => node.name === 'sessions'), table('new')],
      [['sessions', 'new']],
    ),
  );
  expect(card('sessions')).toBe(kept);
  expect(cards().map(each => each.dataset['name'])).toEqual(['sessions', 'new']);
});

test('events of unknown nodes, or without one, change nothing', async () => {
  await show(SHOP);
  view.happened(event(table('unknown')));
  view.happened({ ...event(table('x')), node: null });
  expect(cards()).toHaveLength(14);
});

test('edges flow while their table is refreshed', async () => {
  await show(SHOP);
  expect(root.querySelectorAll('.dtj-flow')).toHaveLength(1);
  const sessions = SHOP.nodes.find(node => node.name === 'sessions')!;
  view.happened(event({ ...sessions, state: 'SUCCEEDED', running: null }));
  expect(root.querySelectorAll('.dtj-flow')).toHaveLength(0);
  expect(root.querySelectorAll('.dtj-edge.dtj-broken')).toHaveLength(1);
});

test('lag goes on between messages, on the clock of the kernel', async () => {
  now += 3_600_000; // the browser's clock is an hour ahead
  await show(SHOP);
  expect(part('order_lines', 'lag').textContent).toBe('lag 8 s of 1 min');
  now += 60_000;
  await vi.advanceTimersByTimeAsync(1100);
  expect(part('order_lines', 'lag').textContent).toBe('lag 1 min 8 s of 1 min');
  expect(part('order_lines', 'lag').hasAttribute('data-late')).toBe(true);
});

test('without a kernel it stays as it was told', async () => {
  mount(false);
  await show(SHOP);
  now += 60_000;
  await vi.advanceTimersByTimeAsync(5000);
  expect(part('order_lines', 'lag').textContent).toBe('lag 8 s of 1 min');
  card('order_lines').click();
  expect(root.querySelector('.dtj-columns')).toBeNull();
  expect(host.choose).toHaveBeenCalledWith('order_lines');
});

test('one node is in the order of tabs; arrows go along edges, Home and End to the ends', async () => {
  await show(SHOP);
  expect(cards().filter(each => each.tabIndex === 0)).toHaveLength(1);
  card('clicks_stream').focus();
  press('ArrowDown');
  expect(focused()).toBe('sessions');
  expect(cards().filter(each => each.tabIndex === 0)).toEqual([card('sessions')]);
  press('ArrowUp');
  expect(focused()).toBe('clicks_stream');
  press('End');
  expect(focused()).toBe(cards().at(-1)!.dataset['name']);
  press('Home');
  expect(focused()).toBe(cards()[0]!.dataset['name']);
});

test('a key that means something is kept from the page, another one is not', async () => {
  await show(SHOP);
  card('sessions').focus();
  expect(press('ArrowDown').defaultPrevented).toBe(true);
  expect(press('q').defaultPrevented).toBe(false);
  expect(press('toString').defaultPrevented).toBe(false);
  expect(press('0', { ctrlKey: true }).defaultPrevented).toBe(false);
});

test('Enter chooses: the host hears of it, and the columns unfold', async () => {
  await show(SHOP);
  card('daily_revenue').focus();
  press('Enter');
  expect(host.choose).toHaveBeenCalledWith('daily_revenue');
  expect(host.ask).toHaveBeenCalledWith({ ask: 'lineage', name: 'daily_revenue' });
  expect(card('daily_revenue').getAttribute('aria-selected')).toBe('true');
  await vi.advanceTimersByTimeAsync(0);
  const columns = [...root.querySelectorAll<HTMLElement>('.dtj-column')];
  expect(columns.map(each => each.firstChild!.textContent)).toEqual(['day', 'amount', 'orders']);
  columns[1]!.click();
  expect(host.choose).toHaveBeenLastCalledWith('daily_revenue', 'amount');
  expect(part('shop.items', 'columns').textContent).toBe('price');
  expect(dim()).toContain('sessions');
  expect(dim()).not.toContain('weekly_board');
  expect(root.querySelectorAll('.dtj-edge.dtj-lit')).toHaveLength(5);
  card('daily_revenue').focus();
  press('Escape');
  expect(dim()).toEqual([]);
  press('Escape');
  expect(root.querySelector('.dtj-columns')).toBeNull();
});

test('a lineage that cannot be had says why', async () => {
  await show(SHOP);
  answer = () => Promise.reject(new Error('The kernel is busy.'));
  card('sessions').click();
  await vi.advanceTimersByTimeAsync(0);
  expect(root.querySelector('.dtj-columns')!.textContent).toContain('The kernel is busy.');
});

test('chosen from outside, the host is not told', async () => {
  await show(SHOP);
  view.choose('funnel');
  expect(card('funnel').getAttribute('aria-selected')).toBe('true');
  view.choose('daily_revenue$stage_1');
  expect(card('daily_revenue').getAttribute('aria-selected')).toBe('true');
  view.choose('nowhere');
  expect(root.querySelector('[aria-selected]')).toBeNull();
  expect(host.choose).not.toHaveBeenCalled();
});

test('a search dims the others and steps through what it found', async () => {
  await show(SHOP);
  card('sessions').focus();
  press('/');
  expect(document.activeElement).toBe(root.querySelector('input'));
  find('funnel');
  expect(dim()).toHaveLength(12);
  const output = root.querySelector('output')!;
  expect(output.textContent).toBe('2');
  press('Enter');
  expect(output.textContent).toBe('1 of 2');
  expect(root.querySelector<HTMLElement>('.dtj-here')!.dataset['name']).toBe('funnel');
  press('Enter');
  press('Enter');
  expect(output.textContent).toBe('1 of 2');
  press('Enter', { shiftKey: true });
  expect(output.textContent).toBe('2 of 2');
  press('Escape');
  expect(dim()).toEqual([]);
  expect(focused()).toBe('funnel_weekly');
  find('zzz');
  expect(output.textContent).toBe('none');
});

test('the legend counts states and searches for them', async () => {
  await show(SHOP);
  const chip = root.querySelector<HTMLElement>('.dtj-chip[data-word="skipped"]')!;
  expect(chip.textContent).toBe('1skipped');
  chip.click();
  expect(chip.getAttribute('aria-pressed')).toBe('true');
  expect(
    cards()
      .filter(each => each.classList.contains('dtj-match'))
      .map(each => each.dataset['name']),
  ).toEqual(['retention']);
  chip.click();
  expect(dim()).toEqual([]);
});

test('u and d leave what is up- and downstream, Escape brings all back', async () => {
  await show(SHOP);
  card('sessions').focus();
  press('u');
  expect(cards().map(each => each.dataset['name'])).toEqual(['clicks_stream', 'sessions']);
  expect(focused()).toBe('sessions');
  press('d');
  expect(cards()).toHaveLength(5);
  press('d');
  press('u');
  expect(cards()).toHaveLength(14);
  press('d');
  press('Escape');
  expect(cards()).toHaveLength(14);
});

test('hidden stages unfold by their control and by a key', async () => {
  await show(SHOP);
  expect(card('daily_revenue$stage_1')).toBeNull();
  expect(card('daily_revenue').getAttribute('aria-expanded')).toBe('false');
  part('daily_revenue', 'stages').click();
  expect(card('daily_revenue$stage_1')).not.toBeNull();
  expect(card('daily_revenue').getAttribute('aria-expanded')).toBe('true');
  card('daily_revenue').focus();
  press('s');
  expect(card('daily_revenue$stage_1')).toBeNull();
  expect(focused()).toBe('daily_revenue');
  expect(host.choose).not.toHaveBeenCalled();
});

test('a changed state is said politely, many at once in short', async () => {
  await show(SHOP);
  const said = root.querySelector('[aria-live="polite"]')!;
  view.happened(event(table('retention', { data_timestamp: ago(1) })));
  await vi.advanceTimersByTimeAsync(700);
  expect(said.textContent).toBe('retention succeeded, incremental');
  await show({
    ...SHOP,
    nodes: SHOP.nodes.map(node =>
      node.kind === 'dynamic_table' ? { ...node, state: 'CANCELLED' as const } : node,
    ),
  });
  await vi.advanceTimersByTimeAsync(700);
  expect(said.textContent).toMatch(/; and 6 more$/);
});

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  '</script><script>alert(1)</script>',
  'javascript:alert(1)',
  'a`b"c\'d',
  '\u202Egnp.exe',
  'עברית',
  'x'.repeat(5000),
  '../../etc',
  'a\0b',
  '__proto__',
  'constructor',
  '',
];

test('hostile names are text', async () => {
  const nodes = HOSTILE.map(name =>
    table(name, { error: name, mode_reason: name, warehouse: name }),
  );
  await show(
    graph(
      nodes,
      HOSTILE.slice(1, 4).map(name => [HOSTILE[0]!, name] as const),
    ),
  );
  answer = async () => ({
    ...SHOP_LINEAGE,
    columns: HOSTILE.map(name => ({ name, type: name })),
    edges: HOSTILE.map(name => ({
      source: name,
      source_column: name,
      target: HOSTILE[0]!,
      target_column: name,
    })),
  });
  cards()[0]!.click();
  await vi.advanceTimersByTimeAsync(0);
  root.querySelector<HTMLElement>('.dtj-column')!.click();
  find('<img');
  expect(cards()).toHaveLength(HOSTILE.length);
  expect(root.querySelector('img, script, iframe, a, [onerror], [onload]')).toBeNull();
  const first = cards().find(each => each.dataset['name'] === HOSTILE[0])!;
  expect(first.querySelector('.dtj-node-name')!.textContent).toMatch(/^<img.*\(1\)>$/);
  expect(first.title).toContain(HOSTILE[0]);
  expect(root.textContent).not.toContain('\u202E');
  expect(root.textContent).not.toContain('\0');
});

test.each(HOSTILE)('%j is text in a sink', async text => {
  const store = { state: 'PAUSED', scheme: text, address: text, target: text } as const;
  await show(graph([table('t'), sink(text, 't', store, { error: text })], [['t', text]]));
  card('t').focus();
  press('End');
  press('m');
  expect(root.querySelector('img, script, iframe, a, [onerror], [onload]')).toBeNull();
  const shown = cards().find(each => each.dataset['kind'] === 'sink')!;
  expect(shown.querySelector('.dtj-node-lag')!.textContent).toBe(oneLine(text));
  expect(root.textContent).not.toContain('\u202E');
  expect(root.textContent).not.toContain('\0');
});

const DOWN = 'DT-6110: <img src=x onerror=alert(1)> does not answer';
const below = graph(
  [
    table('daily'),
    sink('app', 'daily'),
    sink('hook', 'daily', { state: 'PAUSED', scheme: 'https' }, { error: DOWN }),
  ],
  [
    ['daily', 'app'],
    ['daily', 'hook'],
  ],
);
const items = (): string[] =>
  [...root.querySelectorAll('[role=menuitem]')].map(item => item.textContent);

test('a sink shows its store, its state and what it stored; a failure has a badge', async () => {
  await show(below);
  expect(part('app', 'mode').textContent).toBe('postgresql → revenue');
  expect(part('app', 'outcome').textContent).toBe('ACTIVE');
  expect(part('app', 'lag').textContent).toBe('lag 0 s of 5 min');
  expect(part('app', 'rows').textContent).toBe('1,204 stored');
  expect(part('app', 'error').children).toHaveLength(0);
  expect(part('hook', 'error').children).toHaveLength(1);
  expect(part('hook', 'lag').textContent).toBe(DOWN);
  expect(root.querySelector('img')).toBeNull();
  const chip = root.querySelector<HTMLElement>('.dtj-chip[data-word="paused"]')!;
  expect(chip.textContent).toBe('1paused');
  chip.click();
  expect(focusedMatch()).toBe('hook');
  expect(root.textContent).toContain('2 sinks');
});

const focusedMatch = (): string | undefined =>
  root.querySelector<HTMLElement>('.dtj-here')!.dataset['name'];

test('the menu of a sink delivers, and resets it only when asked twice', async () => {
  await show(below);
  answer = async () => ({ type: 'done', version: 1, sentence: 'Sink app delivered.' });
  card('app').focus();
  press('m');
  expect(items()).toEqual([
    'Deliver now',
    'Suspend …',
    'Target lag …',
    'Copy definition',
    'Reset …',
    'Drop …',
  ]);
  root.querySelector<HTMLElement>('[data-command=refresh]')!.click();
  await vi.advanceTimersByTimeAsync(0);
  expect(host.ask).toHaveBeenLastCalledWith({ ask: 'refresh', name: 'app' });
  expect(root.querySelector('.dtj-told')!.textContent).toContain('Sink app delivered.');
  host.ask.mockClear();
  press('m');
  root.querySelector<HTMLElement>('[data-command=reset]')!.click();
  await vi.advanceTimersByTimeAsync(0);
  expect(host.ask).not.toHaveBeenCalled();
  expect(root.querySelector('.dtj-menu-form')!.textContent).toContain('Its target is emptied');
  root.querySelector<HTMLElement>('.dtj-menu-form .dtj-main')!.click();
  await vi.advanceTimersByTimeAsync(0);
  expect(host.ask).toHaveBeenLastCalledWith({ ask: 'reset', name: 'app' });
});

test('a sink that is chosen has no columns to ask for; a paused one is resumed', async () => {
  await show(below);
  card('hook').click();
  await vi.advanceTimersByTimeAsync(0);
  expect(host.choose).toHaveBeenCalledWith('hook');
  expect(host.ask).not.toHaveBeenCalled();
  card('hook').focus();
  press('m');
  expect(items()).toContain('Resume');
});

const LOAD = graph(
  [
    source('news'),
    task('load'),
    task('sweep', { state: 'SUSPENDED', runs_when: 'after load', last: null, next: null }),
  ],
  [
    ['news', 'task load'],
    ['task load', 'task sweep'],
  ],
);

test('a task shows when it runs, what came of its last run, and when it is next', async () => {
  await show(LOAD);
  expect(part('task load', 'mode').textContent).toBe('5 minutes');
  expect(part('task load', 'outcome').textContent).toBe('SUCCEEDED');
  expect(part('task load', 'next').textContent).toBe('next in 5 min');
  expect(part('task load', 'rows').textContent).toBe('2 rows');
  expect(part('task sweep', 'mode').textContent).toBe('after load');
  expect(part('task sweep', 'outcome').textContent).toBe('SUSPENDED');
  expect(root.textContent).toContain('2 tasks');
  expect(root.querySelector('.dtj-chip[data-word="suspended"]')!.textContent).toBe('1suspended');
});

test('the menu of a task runs, resumes and suspends it; it has no columns', async () => {
  await show(LOAD);
  answer = async () => ({ type: 'done', version: 1, sentence: 'Task load succeeded, 2 rows.' });
  card('task load').click();
  await vi.advanceTimersByTimeAsync(0);
  expect(host.choose).toHaveBeenCalledWith('task load');
  expect(host.ask).not.toHaveBeenCalled();
  card('task load').focus();
  press('m');
  expect(items()).toEqual(['Run now', 'Suspend …', 'Copy definition', 'Drop …']);
  root.querySelector<HTMLElement>('[data-command=refresh]')!.click();
  await vi.advanceTimersByTimeAsync(0);
  expect(host.ask).toHaveBeenLastCalledWith({ ask: 'refresh', name: 'task load' });
  expect(root.querySelector('.dtj-told')!.textContent).toContain('Task load succeeded, 2 rows.');
  card('task sweep').focus();
  press('m');
  expect(items()).toContain('Resume');
});

test.each([
  ['one', graph([table('a')], [])],
  [
    'no edges',
    graph(
      Array.from({ length: 40 }, (_, i) => source(`s${i}`)),
      [],
    ),
  ],
  [
    'a fan',
    graph(
      [source('s'), ...Array.from({ length: 500 }, (_, i) => table(`t${i}`))],
      Array.from({ length: 500 }, (_, i) => ['s', `t${i}`] as const),
    ),
  ],
])('%s is shown', async (_, message) => {
  await show(message);
  expect(cards()).toHaveLength(message.nodes.length);
  expect(root.querySelectorAll('.dtj-edge')).toHaveLength(message.edges.length);
});

test('the page has one style sheet of each kind, however many graphs', () => {
  const sheets = document.querySelectorAll('style[data-dtj]').length;
  const other = mountDag(root, host);
  expect(document.querySelectorAll('style[data-dtj]')).toHaveLength(sheets);
  expect(sheets).toBe(2);
  other.dispose();
  expect(root.querySelectorAll('.dtj-dag')).toHaveLength(1);
});
