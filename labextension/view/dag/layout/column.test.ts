import { expect, test } from 'vitest';

import { SHOP } from '../../../testing/graphs';
import { columned } from './column';
import { shapeOf, WHOLE } from '../shape';

const SIZE = { width: 264, height: 94 };
const { names, edges } = shapeOf(SHOP, WHOLE);
const pairs = edges.map(edge => [edge.source, edge.target] as const);

test.each([260, 312, 336, 600])(
  'a column of %i pixels: nothing is wider, no two boxes meet',
  width => {
    const { boxes, ...layout } = columned(names, () => SIZE, pairs, width);
    expect([...boxes.keys()]).toEqual(names);
    expect(layout.width).toBeLessThanOrEqual(width);
    const down = [...boxes.values()].sort((a, b) => a.y - b.y);
    expect(new Set(down.map(box => box.x)).size).toBe(1);
    down.slice(1).forEach((box, i) => expect(box.y).toBeGreaterThan(down[i]!.y + down[i]!.height));
    expect(Math.min(...down.map(box => box.width))).toBeGreaterThanOrEqual(180);
  },
);

test('every edge goes down, and those that pass a box go beside it', () => {
  const { boxes, routes } = columned(names, () => SIZE, pairs, 312);
  expect(routes).toHaveLength(pairs.length);
  for (const { source, target, points, aside } of routes) {
    expect(boxes.get(source)!.y).toBeLessThan(boxes.get(target)!.y);
    const left = boxes.get(source)!.x;
    if (aside[0]) {
      points.slice(1, -1).forEach(([x]) => expect(x).toBeLessThan(left));
      points.forEach(([x]) => expect(x).toBeGreaterThanOrEqual(0));
    }
  }
});

test('a chain stays together, and two sources over the same rows have two lanes', () => {
  const chains = columned(
    ['a', 'b', 'c', 'd'],
    () => SIZE,
    [
      ['a', 'c'],
      ['b', 'd'],
    ],
    312,
  );
  const down = [...chains.boxes.values()].sort((x, y) => x.y - y.y).map(box => box.name);
  expect(down).toEqual(['a', 'c', 'b', 'd']);
  const crossed = columned(
    ['a', 'b', 'c', 'd'],
    () => SIZE,
    [
      ['a', 'c'],
      ['a', 'd'],
      ['b', 'c'],
      ['b', 'd'],
    ],
    312,
  );
  const lane = (source: string, target: string): number =>
    crossed.routes.find(route => route.source === source && route.target === target)!.points[1]![0];
  expect(lane('a', 'd')).toBe(lane('a', 'c'));
  expect(lane('b', 'd')).not.toBe(lane('a', 'd'));
});

test('a fan of 500 has one lane, and 40 sources over each other still leave room for names', () => {
  const fan = Array.from({ length: 500 }, (_, i) => `t${i}`);
  const wide = columned(
    ['s', ...fan],
    () => SIZE,
    fan.map(name => ['s', name] as const),
    312,
  );
  expect(wide.boxes.get('t9')!.width).toBeGreaterThan(280);
  const sources = Array.from({ length: 40 }, (_, i) => `s${i}`);
  const both = sources.flatMap(name => [[name, 'x'] as const, [name, 'y'] as const]);
  const tight = columned([...sources, 'x', 'y'], () => SIZE, both, 312);
  expect(tight.boxes.get('x')!.width).toBeGreaterThan(220);
});

test('nothing is an empty column', () => {
  expect(columned([], () => SIZE, [], 312)).toMatchObject({ width: 0, height: 0, routes: [] });
});
