import { expect, test } from 'vitest';

import { BOTTOM, fitted, held, inView, meets, reading, showing, TOP, zoomed } from './camera';
import { layered } from './layout/index';
import { Layouts } from './layouts';
import { flowOf } from './lineage';
import { arrowFrom } from './moves';
import { pathOf } from './path';
import { graph, SHOP, SHOP_LINEAGE, source, table } from '../../testing/graphs';
import { found } from './search';
import { shapeOf, topologyKey, WHOLE } from './shape';

const stage = (name: string, parent: string) => table(name, { kind: 'stage', parent });
const pairs = (message: Parameters<typeof shapeOf>[0], scope = WHOLE) =>
  shapeOf(message, scope).edges.map(edge => `${edge.source}>${edge.target}`);

const STAGED = graph(
  [source('a'), stage('t.1', 't'), stage('t.2', 't'), table('t'), table('u')],
  [
    ['a', 't.1'],
    ['t.1', 't.2'],
    ['t.2', 't'],
    ['a', 't.2'],
    ['t', 'u'],
  ],
);

test('hidden stages are folded into their table, until it is unfolded', () => {
  expect(shapeOf(STAGED, WHOLE).names).toEqual(['a', 't', 'u']);
  expect(pairs(STAGED)).toEqual(['a>t', 't>u']);
  const open = { ...WHOLE, unfolded: new Set(['t']) };
  expect(shapeOf(STAGED, open).names).toEqual(['a', 't.1', 't.2', 't', 'u']);
  expect(pairs(STAGED, open)).toEqual(['a>t.1', 't.1>t.2', 't.2>t', 'a>t.2', 't>u']);
});

test('a stage without its table is shown', () => {
  const message = graph([stage('x', 'gone'), table('u')], [['x', 'u']]);
  expect(shapeOf(message, WHOLE).names).toEqual(['x', 'u']);
});

test('upstream and downstream of one node', () => {
  const at = (upstream: boolean, downstream: boolean) =>
    shapeOf(SHOP, { ...WHOLE, centre: 'sessions', upstream, downstream }).names;
  expect(at(true, false)).toEqual(['clicks_stream', 'sessions']);
  expect(at(false, true)).toEqual(['sessions', 'funnel', 'retention', 'funnel_weekly']);
  expect(at(true, true)).toHaveLength(5);
});

test('names are in topological order, even if folding made a cycle', () => {
  const message = graph(
    [stage('t.1', 't'), table('t'), table('u')],
    [
      ['t.1', 'u'],
      ['u', 't'],
    ],
  );
  const { names, edges } = shapeOf(message, WHOLE);
  expect([...names].sort()).toEqual(['t', 'u']);
  const { boxes } = layered(
    names,
    () => ({ width: 9, height: 9 }),
    edges.map(e => [e.source, e.target]),
  );
  expect(boxes.size).toBe(2);
});

test('edges to nowhere are dropped', () => {
  expect(
    pairs(
      graph(
        [table('a')],
        [
          ['a', 'x'],
          ['a', 'a'],
        ],
      ),
    ),
  ).toEqual([]);
});

test('a layout is made once for a topology, whatever the states', () => {
  const layouts = new Layouts();
  let made = 0;
  const lay = (message: typeof SHOP) =>
    layouts.get(topologyKey(shapeOf(message, WHOLE)), () => {
      made++;
      return layered([], () => ({ width: 1, height: 1 }), []);
    });
  const first = lay(SHOP);
  const failed = {
    ...SHOP,
    nodes: SHOP.nodes.map(node => ({ ...node, state: 'FAILED' as const })),
  };
  expect(lay(failed)).toBe(first);
  expect(made).toBe(1);
  lay({ ...SHOP, edges: SHOP.edges.slice(1) });
  expect(made).toBe(2);
});

test('a column flows from what it is computed from to what is computed from it', () => {
  const flow = flowOf(SHOP_LINEAGE, 'amount');
  expect(Object.fromEntries(flow.columns)).toEqual({
    daily_revenue: ['amount'],
    order_lines: ['amount'],
    'shop.items': ['price'],
    'shop.orders': ['quantity'],
    weekly_board: ['revenue'],
    'warehouse.daily_revenue': ['amount'],
  });
  expect(flow.pairs).toContainEqual(['shop.orders', 'order_lines']);
  expect(flowOf(SHOP_LINEAGE, 'nothing').pairs).toEqual([]);
});

test.each([
  ['funnel', ['funnel', 'funnel_weekly']],
  ['FAILED', ['funnel']],
  ['upstream failed', ['funnel_weekly']],
  ['late', ['funnel', 'archive_2025']],
  ['suspended', ['archive_2025']],
  ['view', ['shop.customers_eu']],
  ['full', ['customers_ranked']],
  ['zzz', []],
  ['  ', null],
])('a search for %j finds %j', (text, names) => {
  expect(found(SHOP.nodes, text, Date.parse(SHOP.as_of!))).toEqual(names);
});

test('arrows go along edges and across them', () => {
  const shape = shapeOf(SHOP, WHOLE);
  for (const rightward of [false, true]) {
    const layout = layered(
      shape.names,
      () => ({ width: 100, height: 50 }),
      shape.edges.map(edge => [edge.source, edge.target] as const),
      { rightward },
    );
    const [on, back] = rightward
      ? (['ArrowRight', 'ArrowLeft'] as const)
      : (['ArrowDown', 'ArrowUp'] as const);
    expect(arrowFrom('clicks_stream', on, shape, layout, rightward)).toBe('sessions');
    expect(arrowFrom('sessions', back, shape, layout, rightward)).toBe('clicks_stream');
    expect(arrowFrom('clicks_stream', back, shape, layout, rightward)).toBeNull();
    const beside = arrowFrom(
      'funnel',
      rightward ? 'ArrowDown' : 'ArrowRight',
      shape,
      layout,
      rightward,
    );
    expect(layout.boxes.get(beside!)!.layer).toBe(layout.boxes.get('funnel')!.layer);
  }
});

test('the camera: a point stays under the pointer, all fits, a box comes into view', () => {
  const near = zoomed({ x: 10, y: 20, scale: 1 }, 2, [110, 220]);
  expect(near).toEqual({ x: -90, y: -180, scale: 2 });
  expect(zoomed(near, 1e9, [0, 0]).scale).toBe(2);
  const view = { width: 400, height: 300 };
  expect(fitted({ width: 100, height: 50 }, view)).toEqual({ x: 150, y: 125, scale: 1 });
  expect(fitted({ width: 3520, height: 50 }, view).scale).toBeCloseTo(0.1);
  const box = { x: 1000, y: 10, width: 100, height: 50 };
  const moved = showing({ x: 0, y: 0, scale: 1 }, box, view);
  expect(meets(inView(moved, view), box)).toBe(true);
  expect(showing(moved, box, view)).toEqual(moved);
});

test('a column is read from its beginning, and scrolled to its ends and no further', () => {
  const [world, view] = [
    { width: 336, height: 2000 },
    { width: 360, height: 500 },
  ];
  const start = reading(world, view);
  expect(start).toEqual({ x: 12, y: TOP, scale: 1 });
  expect(held(start, world, view)).toEqual(start);
  expect(held({ x: 90, y: 90, scale: 1 }, world, view)).toEqual(start);
  expect(held({ x: 12, y: -9000, scale: 1 }, world, view).y).toBe(500 - 2000 - BOTTOM);
  expect(held({ x: 12, y: -100, scale: 1 }, { width: 336, height: 90 }, view).y).toBe(TOP);
});

test('a path bends between layers, is straight past them, and ends in a tip', () => {
  const route = {
    source: 'a',
    target: 'b',
    points: [
      [0, 0],
      [0, 10],
      [0, 30],
      [20, 40],
    ],
    aside: [false, false],
  } as const;
  expect(pathOf(route, false)).toBe('M0 0C0 5 0 5 0 10L0 30C0 35 20 35 20 40M16 33L20 40L24 33');
  const side = { ...route, aside: [false, true] } as const;
  expect(pathOf(side, false)).toContain('Q0 40 20 40M13 36L20 40L13 44');
});
