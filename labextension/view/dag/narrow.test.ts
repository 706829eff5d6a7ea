// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { graph, SHOP, SHOP_LINEAGE, source, table } from '../../testing/graphs';
import type { Cells, Host } from '../elements/dom';
import type { GraphMessage, LiveMessage } from '../wire';
import { type DagView, mountDag } from './index';

const DONE: LiveMessage = { type: 'done', version: 1, sentence: 'Done, all of it.' };
const WIDTH = 360;
const HEIGHT = 500;
let root: HTMLElement;
let view: DagView;
const cells = { insert: vi.fn(), jump: vi.fn(() => true) } satisfies Cells;
const ask = vi.fn((question: { ask: string }) =>
  Promise.resolve(question.ask === 'lineage' ? (SHOP_LINEAGE as LiveMessage) : DONE),
);
const host: Host = { live: true, ask, choose: vi.fn(), cells, open: vi.fn() };

beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllMocks();
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(WIDTH);
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(HEIGHT);
  root = document.createElement('div');
  document.body.append(root);
  view = mountDag(root, host);
});

afterEach(() => {
  view.dispose();
  root.remove();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function show(message: GraphMessage): Promise<void> {
  view.update(message);
  await vi.advanceTimersByTimeAsync(50);
}

const dag = (): HTMLElement => root.querySelector<HTMLElement>('.dtj-dag')!;
const card = (name: string): HTMLElement =>
  root.querySelector<HTMLElement>(`.dtj-node[data-name="${name}"]`)!;
const cards = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>('.dtj-node')];
const world = (): string => root.querySelector<HTMLElement>('.dtj-world')!.style.transform;
const item = (command: string): HTMLElement =>
  root.querySelector<HTMLElement>(`[data-command="${command}"]`)!;

function press(key: string): void {
  document.activeElement!.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
  );
}

test('in a narrow view the graph is one column at its own size, and is scrolled', async () => {
  await show(SHOP);
  expect(new Set(cards().map(each => each.style.left)).size).toBe(1);
  const { left, width } = cards()[0]!.style;
  expect(parseFloat(left) + parseFloat(width)).toBeLessThanOrEqual(WIDTH - 24);
  expect(world()).toContain('scale(1)');
  expect(dag().dataset['detail']).toBe('near');
  expect(root.querySelector<HTMLElement>('.dtj-thumb')!.hidden).toBe(false);
});

test('all in view makes it small, its own size brings it back', async () => {
  await show(SHOP);
  card('sessions').focus();
  press('0');
  expect(world()).not.toContain('scale(1)');
  press('1');
  expect(world()).toContain('scale(1)');
});

test('a badge goes to its node, and the search can be cleared', async () => {
  const many = Array.from({ length: 20 }, (_, i) => table(`t${i}`));
  await show(graph([source('s'), ...many, table('last', { state: 'FAILED', error: 'no' })], []));
  const before = world();
  root.querySelector<HTMLElement>('.dtj-chip[data-word="failed"]')!.click();
  expect(world()).not.toBe(before);
  expect(root.querySelector<HTMLElement>('.dtj-here')!.dataset['name']).toBe('last');
  const clear = root.querySelector<HTMLElement>('[aria-label="Clear the search"]')!;
  expect(clear.hidden).toBe(false);
  clear.click();
  expect(root.querySelector('.dtj-dim')).toBeNull();
  expect(clear.hidden).toBe(true);
});

test('a long name keeps both its ends', async () => {
  const name = 'revenue_by_customer_and_country_daily';
  await show(graph([table(name), table('short')], []));
  const parts = [...card(name).querySelectorAll('.dtj-node-name > *')];
  expect(parts.map(part => part.textContent)).toEqual([
    'revenue_by_customer_and',
    '_country_daily',
  ]);
  expect(card(name).title).toContain(name);
  expect(card('short').querySelectorAll('.dtj-node-name > *')).toHaveLength(1);
});

test('the menu of a node opens by its button, the right button and a key', async () => {
  await show(SHOP);
  view.choose('sessions');
  await vi.advanceTimersByTimeAsync(400);
  card('sessions').querySelector<HTMLElement>('.dtj-node-more')!.click();
  expect(document.activeElement).toBe(item('cancel')); // it is being refreshed
  press('Escape');
  expect(root.querySelector('[role=menu]')).toBeNull();
  expect(document.activeElement).toBe(card('sessions'));
  const right = new MouseEvent('contextmenu', { bubbles: true, cancelable: true });
  card('daily_revenue').dispatchEvent(right);
  expect(right.defaultPrevented).toBe(true);
  expect(document.activeElement).toBe(item('refresh'));
  press('ArrowUp');
  expect(document.activeElement).toBe(item('drop'));
  press('Escape');
  card('shop.orders').focus();
  press('m');
  expect([...root.querySelectorAll('[role=menuitem]')].map(each => each.textContent)).toEqual([
    'Details',
    'What reads this',
    'Replay',
    'Go to its cell',
    'Copy SELECT',
  ]);
  expect(host.choose).not.toHaveBeenCalled();
});

test('what the menu does is told, and gone when there is nothing more to say', async () => {
  await show(SHOP);
  card('daily_revenue').focus();
  press('m');
  item('refresh').click();
  expect(ask).toHaveBeenCalledWith({ ask: 'refresh', name: 'daily_revenue' });
  await vi.advanceTimersByTimeAsync(0);
  expect(root.querySelector('.dtj-told')!.textContent).toContain('Done, all of it.');
  await vi.advanceTimersByTimeAsync(9000);
  expect(root.querySelector('.dtj-told')!.textContent).toBe('');
});

test('a drop and a suspension ask before; the suspension names what stops with it', async () => {
  await show(SHOP);
  card('order_lines').focus();
  press('m');
  item('suspend').click();
  const form = root.querySelector('.dtj-menu-form')!;
  expect(form.textContent).toContain('These stop with it: ');
  expect(form.textContent).toContain('daily_revenue');
  form.querySelector<HTMLElement>('.dtj-main')!.click();
  expect(ask).toHaveBeenLastCalledWith({ ask: 'suspend', name: 'order_lines' });
  press('m');
  item('drop').click();
  expect(ask).toHaveBeenCalledTimes(1);
  press('Escape');
  expect(ask).toHaveBeenCalledTimes(1);
});

test('a target lag is set in its unit, or to downstream', async () => {
  await show(SHOP);
  card('daily_revenue').focus();
  press('m');
  item('lag').click();
  const [many, unit] = [
    root.querySelector('input[type=number]')!,
    root.querySelector<HTMLSelectElement>('.dtj-menu select')!,
  ];
  expect([(many as HTMLInputElement).value, unit.value]).toEqual(['5', 'minutes']);
  (many as HTMLInputElement).value = '2';
  unit.value = 'hours';
  root.querySelector('form')!.dispatchEvent(new Event('submit', { cancelable: true }));
  const question = { ask: 'alter', name: 'daily_revenue' };
  expect(ask).toHaveBeenLastCalledWith({ ...question, target_lag: 7200 });
  press('m');
  item('lag').click();
  root.querySelector<HTMLSelectElement>('.dtj-menu select')!.value = 'downstream';
  root.querySelector('form')!.dispatchEvent(new Event('submit', { cancelable: true }));
  expect(ask).toHaveBeenLastCalledWith({ ...question, target_lag: null });
});

test('its cell, its history and a replay are asked of the host', async () => {
  await show(SHOP);
  for (const command of ['jump', 'history', 'replay']) {
    card('daily_revenue').focus();
    press('m');
    item(command).click();
  }
  expect(cells.jump).toHaveBeenCalledWith('daily_revenue');
  expect(cells.insert).toHaveBeenCalledWith(expect.stringContaining('dt.history("daily_revenue")'));
  expect(host.open).toHaveBeenCalledWith('daily_revenue', 'replay');
  cells.jump.mockReturnValueOnce(false);
  press('m');
  item('jump').click();
  await vi.advanceTimersByTimeAsync(0);
  expect(root.querySelector('.dtj-told')!.textContent).toContain('No cell of this document');
});

test('where there is no table yet, its example becomes a cell', async () => {
  await show(graph([], []));
  const insert = [...root.querySelectorAll('button')].find(
    each => each.textContent === 'Insert as a cell',
  );
  insert!.click();
  expect(cells.insert).toHaveBeenCalledWith(expect.stringContaining('%%dynamic_table'));
});

test('what reads a table is listed, its own readers first, and leads to them', async () => {
  await show(SHOP);
  card('shop.orders').focus();
  press('r');
  const box = root.querySelector<HTMLElement>('.dtj-menu-answer')!;
  const listed = [...box.querySelectorAll('li')].map(each => each.textContent);
  expect(box.getAttribute('aria-label')).toBe('What reads shop.orders');
  const through = listed.findIndex(each => each.endsWith('through others'));
  expect(through).toBeGreaterThan(0);
  expect(listed.slice(through).every(each => each.endsWith('through others'))).toBe(true);
  box.querySelector<HTMLElement>('.dtj-link')!.click();
  expect(root.querySelector('.dtj-menu')).toBeNull();
  expect((document.activeElement as HTMLElement).dataset['name']).toBe(listed[0]!.split(' ')[0]);
});

const VERIFIED: LiveMessage = {
  type: 'result',
  version: 1,
  columns: [{ name: 'rows_compared', type: 'bigint' }],
  rows: [['9']],
  truncated: false,
  title: '✓ daily_revenue equals its query',
  note: null,
} as unknown as LiveMessage;

test('a verification and a failure are answered beside the node', async () => {
  await show(SHOP);
  card('daily_revenue').focus();
  ask.mockResolvedValueOnce(VERIFIED);
  press('v');
  const box = () => root.querySelector<HTMLElement>('.dtj-menu-answer')!;
  expect(box().textContent).toContain('Comparing with its query');
  expect(ask).toHaveBeenLastCalledWith({ ask: 'verify', name: 'daily_revenue' });
  await vi.advanceTimersByTimeAsync(1);
  expect(box().textContent).toContain('daily_revenue equals its query');
  expect(box().textContent).toContain('9');
  press('Escape');
  expect(box()).toBeNull();
  press('x'); // it has not failed
  expect(box()).toBeNull();
});

test('a definition is put into a cell to be edited', async () => {
  await show(SHOP);
  card('daily_revenue').focus();
  ask.mockResolvedValueOnce({ type: 'script', version: 1, sql: 'CREATE OR ALTER …' });
  press('e');
  await vi.advanceTimersByTimeAsync(1);
  expect(ask).toHaveBeenLastCalledWith({ ask: 'definition', name: 'daily_revenue' });
  expect(cells.insert).toHaveBeenCalledWith('%%dt\nCREATE OR ALTER …');
});
