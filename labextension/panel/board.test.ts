// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test } from 'vitest';

import { KernelClient } from '../client/client';
import { sink } from '../testing/graphs';
import { FakeClock, FakeKernel, graph, hello, node, settled } from '../testing/kernel';
import { Session } from '../client/session';
import { Board } from './board';

let kernel: FakeKernel;
let session: Session;
let board: Board;
let took: string[];

beforeEach(() => {
  kernel = new FakeKernel();
  const clock = new FakeClock();
  const client = new KernelClient(kernel, clock.timer);
  session = new Session(client, clock.timer);
  client.signal({ is: 'look' });
  kernel.say(hello());
  took = [];
  board = new Board(session, { rightward: false }, tab => took.push(tab));
  document.body.append(board.element);
});

afterEach(() => board.dispose());

const asks = () => kernel.asked.map(({ ask }) => ask);
const tab = (name: string) =>
  [...board.element.querySelectorAll<HTMLElement>('[role=tab]')].find(
    found => found.textContent === name,
  )!;
const shownPanels = () =>
  [...board.element.querySelectorAll<HTMLElement>('[role=tabpanel]')]
    .filter(panel => !panel.hidden)
    .map(panel => document.getElementById(panel.getAttribute('aria-labelledby')!)!.textContent);

test('what is not seen asks for nothing', () => {
  expect(asks()).toEqual([]);
  board.seen(true);
  expect(asks()).toEqual(['graph']);
});

test('a tab shows its panel alone, and is made when it is first looked at', () => {
  board.seen(true);
  tab('Streams').click();
  expect(shownPanels()).toEqual(['Streams']);
  expect(tab('Streams').getAttribute('aria-selected')).toBe('true');
  expect(asks()).toEqual(['graph', 'streams']);
  expect(took).toEqual(['streams']);
  tab('Graph').click();
  expect(asks()).toEqual(['graph', 'streams']);
});

test('arrow keys move through the tabs, around their ends', () => {
  board.seen(true);
  const press = (key: string) =>
    document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  tab('Graph').focus();
  press('ArrowLeft');
  expect(document.activeElement).toBe(tab('Replay'));
  press('ArrowRight');
  press('ArrowRight');
  expect(took).toEqual(['replay', 'graph', 'catalogue']);
  expect(tab('Catalogue').tabIndex).toBe(0);
  expect(tab('Graph').tabIndex).toBe(-1);
});

test('the graph is drawn, and marks what was chosen elsewhere', async () => {
  board.seen(true);
  kernel.answer('graph', graph(node('daily'), node('weekly')));
  await settled();
  session.choose('weekly');
  const selected = board.element.querySelector('.dtj-node[aria-selected=true]');
  expect(selected?.textContent).toContain('weekly');
  expect(board.element.querySelector('.dtjp-chosen bdi')?.textContent).toBe('weekly');
});

test('details are of what is chosen: a source has its own, a stage has none', async () => {
  board.seen(true);
  const stage = node('daily stage 0', { kind: 'stage' });
  kernel.answer('graph', graph(node('daily'), node('orders', { kind: 'table' }), stage));
  await settled();
  tab('Details').click();
  expect(board.element.textContent).toContain('No table is chosen');
  session.choose('daily stage 0');
  expect(board.element.textContent).toContain('daily stage 0 is a stage');
  expect(asks()).toEqual([]);
  session.choose('orders');
  expect(asks()).toEqual(['source']);
  session.choose('daily');
  expect(asks()).toEqual(['source', 'detail', 'lag']);
});

test('details of a sink are its own', async () => {
  board.seen(true);
  kernel.answer('graph', graph(node('daily'), sink('app', 'daily')));
  await settled();
  tab('Details').click();
  session.choose('app');
  expect(asks()).toEqual(['sink']);
});

test('a sink has nothing to replay', async () => {
  board.seen(true);
  kernel.answer('graph', graph(node('daily'), sink('app', 'daily')));
  await settled();
  const links = () =>
    [...board.element.querySelectorAll('.dtjp-chosen button')].map(each => each.textContent);
  session.choose('daily');
  expect(links()).toEqual(['Details', 'Replay']);
  session.choose('app');
  expect(links()).toEqual(['Details']);
  tab('Replay').click();
  expect(board.element.textContent).toContain('app has no snapshots');
});

test('a replay is asked for by hand, and goes when the kernel does', async () => {
  board.seen(true);
  session.choose('daily');
  tab('Replay').click();
  const panel = [...board.element.querySelectorAll<HTMLElement>('[role=tabpanel]')].at(-1)!;
  expect(asks()).not.toContain('replay');
  panel.querySelector('button')!.click();
  kernel.answer('replay', {
    type: 'replay',
    version: 1,
    name: 'daily',
    replay: 'r1',
    schema_mode: 'snapshot_time',
    steps: [],
  });
  await settled();
  expect(panel.querySelector<HTMLElement>('.dtjp-place')!.hidden).toBe(false);
  session.client.signal({ is: 'restarting' });
  expect(panel.querySelector<HTMLElement>('.dtjp-place')!.hidden).toBe(true);
});

test('a replay goes when its engine does', async () => {
  board.seen(true);
  session.choose('daily');
  tab('Replay').click();
  const panel = [...board.element.querySelectorAll<HTMLElement>('[role=tabpanel]')].at(-1)!;
  panel.querySelector('button')!.click();
  kernel.answer('replay', {
    type: 'replay',
    version: 1,
    name: 'daily',
    replay: 'r1',
    schema_mode: 'snapshot_time',
    steps: [],
  });
  await settled();
  session.client.signal({ is: 'hello', hello: hello() });
  expect(panel.querySelector<HTMLElement>('.dtjp-place')!.hidden).toBe(false);
  session.client.signal({ is: 'hello', hello: hello(null) });
  expect(panel.querySelector<HTMLElement>('.dtjp-place')!.hidden).toBe(true);
  expect(panel.querySelector('button')!.disabled).toBe(false);
});

test('what failed is said, and a lost connection too', async () => {
  board.seen(true);
  session.client.signal({ is: 'disconnected' });
  await settled();
  expect(board.element.textContent).toContain('this is the last known state');
  expect(board.element.textContent).toContain('connection to the kernel is lost');
});

test('disposed, it watches nothing', () => {
  board.seen(true);
  board.dispose();
  session.refresh();
  expect(asks()).toEqual(['graph']); // the one from before
  expect(board.element.isConnected).toBe(false);
});
