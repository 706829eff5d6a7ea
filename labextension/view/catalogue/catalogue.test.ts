// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test } from 'vitest';

import { grouped, mountCatalogue } from './index';
import { HOSTILE, madeNothing } from '../../testing/hostile';
import type { View } from '../elements/dom';
import type { CatalogueItem, CatalogueMessage } from '../wire';

const item = (
  kind: string,
  name: string,
  state = '',
  about = '',
  columns: CatalogueItem['columns'] = [],
): CatalogueItem => ({ kind, name, state, about, columns });
const message = (items: CatalogueItem[], lake = 'lake'): CatalogueMessage => ({
  type: 'catalogue',
  version: 1,
  items,
  lake,
});
const ITEMS = [
  item('table', 'orders', '', '6M rows'),
  item('table', 'customers'),
  item('dynamic_table', 'daily', 'FAILED'),
  item('stream', 'arrivals', 'STALE'),
];

let root: HTMLElement;
let view: View<CatalogueMessage>;
let chosen: string[];
const names = (): string[] => [...root.querySelectorAll('.dtj-what')].map(name => name.textContent);
const focused = (): string => (document.activeElement as HTMLElement).getAttribute('aria-label')!;
const press = (key: string): boolean =>
  document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
const filter = (text: string): void => {
  const box = root.querySelector('input')!;
  box.value = text;
  box.dispatchEvent(new Event('input'));
};

beforeEach(() => {
  root = document.createElement('div');
  document.body.append(root);
  chosen = [];
  view = mountCatalogue(root, {
    live: true,
    choose: name => chosen.push(name),
    ask: () => Promise.reject(new Error('not asked')),
  });
});

afterEach(() => root.remove());

test('the columns of a table are folded below it, found by the filter, and can be chosen', () => {
  const columns = [
    { name: 'id', type: 'int' },
    { name: 'placed', type: 'date' },
  ];
  view.update(message([item('table', 'orders', '', '', columns), item('table', 'customers')]));
  const orders = () => root.querySelector<HTMLElement>('[data-key="catalogue:Tables/orders"]')!;
  expect(orders().getAttribute('aria-expanded')).toBe('false');
  expect(root.textContent).not.toContain('placed');
  orders().querySelector<HTMLElement>('.dtj-twist')!.click();
  expect(chosen).toEqual([]);
  expect(root.textContent).toContain('placeddate');
  view.update(message([item('table', 'orders', '', '', columns)]));
  expect(orders().getAttribute('aria-expanded')).toBe('true'); // what was opened stays open
  root.querySelector<HTMLElement>('[data-key="catalogue:Tables/orders//placed"]')!.click();
  expect(chosen).toEqual(['orders']);
  filter('placed');
  expect(names()).toEqual(['orders']);
});

test('kinds come in their order, names in theirs; a kind of tomorrow is shown too', () => {
  const groups = grouped([...ITEMS, item('warehouses', 'default'), item('hologram', 'x')], '');
  expect(groups.map(([title, items]) => [title, items.map(one => one.name)])).toEqual([
    ['Dynamic tables', ['daily']],
    ['Streams', ['arrivals']],
    ['Tables', ['customers', 'orders']],
    ['Warehouses', ['default']],
    ['hologram', ['x']],
  ]);
});

test('the filter looks at name, kind, state and description, all words of it', () => {
  view.update(message(ITEMS));
  filter('table 6m');
  expect(names()).toEqual(['orders']);
  filter('stale');
  expect(names()).toEqual(['arrivals']);
  filter('zebra');
  expect(root.textContent).toContain('Nothing matches “zebra”');
});

test('keys walk, find by letters and choose; one row is in the order of tabs', () => {
  view.update(message(ITEMS));
  root.querySelector('input')!.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown' }));
  expect(focused()).toBe('Dynamic tables, 1');
  press('ArrowDown');
  expect(focused()).toBe('daily, FAILED');
  press('Enter');
  expect(chosen).toEqual(['daily']);
  press('o');
  press('r');
  expect(focused()).toBe('orders, 6M rows');
  press('ArrowLeft');
  expect(focused()).toBe('Tables, 2');
  press('ArrowLeft');
  expect(names()).toEqual(['daily', 'arrivals']);
  expect(root.querySelectorAll('[role=treeitem][tabindex="0"]')).toHaveLength(1);
});

test('a click chooses', () => {
  view.update(message(ITEMS));
  root.querySelectorAll<HTMLElement>('.dtj-entry')[1]!.click();
  expect(chosen).toEqual(['arrivals']);
});

test('an update keeps the filter, the focus and what is closed', () => {
  view.update(message(ITEMS));
  filter('table');
  root.querySelectorAll<HTMLElement>('.dtj-kind')[0]!.click();
  expect(names()).toEqual(['customers', 'orders']);
  root.querySelectorAll<HTMLElement>('.dtj-entry')[1]!.focus();
  view.update(message([...ITEMS, item('table', 'addresses')]));
  expect(names()).toEqual(['addresses', 'customers', 'orders']);
  expect(focused()).toBe('orders, 6M rows');
});

test('thousands of a kind are not all drawn, and it says so', () => {
  view.update(message(Array.from({ length: 3000 }, (_, i) => item('table', `t${i}`))));
  expect(names()).toHaveLength(500);
  expect(root.textContent).toContain('2,500 more');
});

test('an empty lake says what to do', () => {
  view.update(message([]));
  expect(root.textContent).toContain('The lake is empty');
});

test.each(HOSTILE)('%j is text wherever it stands', text => {
  view.update(
    message([item(text, text, text, text), item('table', text), item('table', text)], text),
  );
  madeNothing(root, text);
});
