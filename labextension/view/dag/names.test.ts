// @vitest-environment happy-dom
import { expect, test } from 'vitest';

import { table, source } from '../../testing/graphs';
import { zoomedAt, onScreen } from './camera';
import { cardSize } from './card';
import { bothEnds, nameRoom, ShortNames, writeName } from './names';

const STOCK = ['store', 'state', 'style', 'season', 'size', 'supplier', 'shelf', 'section'];

test('names that begin alike differ as they are read, at any scale', () => {
  for (const make of [table, source]) {
    const nodes = STOCK.map(what => make(`stock_by_${what}_per_day_and_country_in_euro_2`));
    for (const scale of [0.3, 0.45, 0.6, 0.89]) {
      const rooms = nodes.map(n => nameRoom(n, cardSize(n), 'middle', scale, false)!);
      const shown = nodes.map((n, i) => bothEnds(n.name, rooms[i]!.characters));
      shown.forEach((text, i) => expect(text.length).toBeLessThanOrEqual(rooms[i]!.characters + 1));
      shown.forEach(text => expect(text).toMatch(/^st?.*o_2$/));
    }
  }
  expect(nameRoom(table('t'), cardSize(table('t')), 'near', 1, false)).toBeNull();
});

test.each([
  ['stock_by_store', 20, 'stock_by_store'],
  ['stock_by_store_daily', 12, 'stock…_daily'],
  ['stock_by_state', 10, 'sto…_state'],
  ['abcdefghijklmnop', 8, 'ab…lmnop'],
  ['ab', 1, 'ab'.slice(0, 0) + '…ab'],
])('%s in %i characters is %s', (name, room, text) => {
  expect(bothEnds(name, room)).toBe(text);
});

test('of names with the same beginning and end what differs is shown', () => {
  const names = STOCK.map(what => `stock_by_${what}_and_country_daily`);
  const beside = new ShortNames([...names, 'orders']);
  for (const room of [8, 12, 20]) {
    const shown = names.map(name => beside.short(name, room));
    expect(new Set(shown).size).toBe(names.length);
    shown.forEach(text => expect(Array.from(text).length).toBeLessThanOrEqual(room));
  }
  expect(beside.short('orders', 12)).toBe('orders');
});

test('a name that has nothing of its own keeps both ends', () => {
  const twice = ['delays_by_hour', 'delays_by_maker', 'delays_by_hour'];
  expect(new ShortNames(twice).short('delays_by_hour', 10)).toBe('dela…_hour');
  const inner = new ShortNames(['stock_of_all_daily', 'stock_of_all_all_daily']);
  expect(inner.short('stock_of_all_daily', 12)).not.toContain('……');
});

test('a line may end after a word, and what is there is written once', () => {
  const place = document.createElement('span');
  const room = { characters: 40, lines: 2 };
  writeName(place, 'stock_by.store', room);
  expect(place.innerHTML).toBe('stock_<wbr>by.<wbr>store');
  const [first] = place.childNodes;
  writeName(place, 'stock_by.store', room);
  expect(place.firstChild).toBe(first);
  writeName(place, 'stock_by.store', { ...room, lines: 1 });
  expect(place.innerHTML).toBe('stock_by.store'); // a second line would not be seen
  writeName(place, 'stock_by.store', null);
  expect(place.textContent).toBe('stock_by.store');
});

test('a card is widened for its name, up to a half', () => {
  expect(cardSize(table('t')).width).toBe(264);
  const widths = ['x'.repeat(30), 'x'.repeat(400)].map(name => cardSize(table(name)).width);
  expect(widths[0]).toBeGreaterThan(264);
  expect(widths[1]).toBe(396);
});

test('what is chosen is in view after any number of steps closer and away', () => {
  const [box, view] = [
    { x: 4_000, y: 40, width: 264, height: 94 },
    { width: 400, height: 300 },
  ];
  let camera = { x: 0, y: 0, scale: 0.2 };
  for (let step = 0; step < 18; step++) {
    const factor = step < 10 ? 1.25 : 0.8;
    camera = zoomedAt(camera, factor, box, view);
    const seen = onScreen(camera, box);
    const middle = [seen.x + seen.width / 2, seen.y + seen.height / 2];
    expect(middle[0]).toBeGreaterThan(0);
    expect(middle[0]).toBeLessThan(view.width);
    expect(middle[1]).toBeGreaterThan(0);
    expect(middle[1]).toBeLessThan(view.height);
  }
});
