// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { graph, source, table } from '../../testing/graphs';
import type { GraphMessage } from '../wire';
import { type DagOptions, type DagView, mountDag } from './index';

/** A chain of five, and one source that five read. */
const CHAIN = graph(
  [source('a'), ...['b', 'c', 'd', 'e'].map(name => table(name))],
  ['ab', 'bc', 'cd', 'de'].map(pair => [pair[0]!, pair[1]!]),
);
const FAN = graph(
  [source('a'), ...['b', 'c', 'd', 'e', 'f'].map(name => table(name))],
  ['b', 'c', 'd', 'e', 'f'].map(name => ['a', name]),
);
const WIDE = [1600, 370] as const;
const TALL = [700, 1400] as const;

let root: HTMLElement;
let view: DagView;
let size: readonly [number, number];

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockImplementation(() => size[0]);
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockImplementation(() => size[1]);
  root = document.createElement('div');
  document.body.append(root);
});

afterEach(() => {
  view.dispose();
  root.remove();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function show(message: GraphMessage, options: DagOptions = {}): Promise<void> {
  view = mountDag(root, { live: true, choose: vi.fn(), ask: vi.fn() }, options);
  view.update(message);
  await vi.advanceTimersByTimeAsync(50);
}

const card = (name: string): HTMLElement =>
  root.querySelector<HTMLElement>(`.dtj-node[data-name="${name}"]`)!;
const turn = (): HTMLElement => root.querySelector<HTMLElement>('[aria-label^="Lay the graph"]')!;

function direction(): 'down' | 'right' {
  const [a, b] = [card('a').style, card('b').style];
  return parseFloat(b.top) > parseFloat(a.top) + 40 ? 'down' : 'right';
}

test.each([
  [CHAIN, WIDE, 'right'],
  [CHAIN, TALL, 'down'],
  [FAN, WIDE, 'down'],
  [FAN, TALL, 'right'],
] as const)(
  'of itself a graph goes the way that is larger in its place',
  async (message, at, way) => {
    size = at;
    await show(message);
    expect(direction()).toBe(way);
    expect(turn().title).toBe(`Lay the graph out ${way === 'down' ? 'right' : 'down'}`);
  },
);

test.each([
  [true, 'right'],
  [false, 'down'],
] as const)('one that was chosen stays', async (rightward, way) => {
  size = rightward ? TALL : WIDE;
  await show(CHAIN, { rightward });
  expect(direction()).toBe(way);
});

test('the button turns it, and the arrows of the keyboard with it', async () => {
  size = WIDE;
  await show(CHAIN);
  const press = (key: string): void => {
    document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  };
  const focused = (): string | undefined => (document.activeElement as HTMLElement).dataset['name'];
  card('a').focus();
  press('ArrowRight');
  expect(focused()).toBe('b');
  turn().click();
  await vi.advanceTimersByTimeAsync(50);
  expect(direction()).toBe('down');
  card('a').focus();
  press('ArrowDown');
  expect(focused()).toBe('b');
  size = TALL;
  turn().click();
  await vi.advanceTimersByTimeAsync(50);
  expect(direction()).toBe('right');
});
