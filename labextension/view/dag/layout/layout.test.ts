import { expect, test } from 'vitest';

import { layered, type Layout, type LayoutOptions } from './index';
import { layersOf, ordered, partsOf, stepsOf, crossings } from './layers';
import { spread } from './positions';
import { random as randomGraph } from '../../../testing/graphs';

type Edge = readonly [string, string];
const SIZE = { width: 200, height: 80 };
const n = (i: number): string => `n${i}`;
const range = (size: number): number[] => Array.from({ length: size }, (_, i) => i);

function randomNames(size: number, depth: number): { names: string[]; edges: Edge[] } {
  const message = randomGraph(size, depth);
  const short = new Map(message.nodes.map((node, i) => [node.name, n(i)]));
  const edges = message.edges.map((edge): Edge => [
    short.get(edge.source)!,
    short.get(edge.target)!,
  ]);
  return { names: [...short.values()], edges };
}

const GRAPHS: Record<string, { names: string[]; edges: Edge[] }> = {
  nothing: { names: [], edges: [] },
  one: { names: ['n0'], edges: [] },
  pair: {
    names: ['n0', 'n1'],
    edges: [
      ['n0', 'n1'],
      ['n0', 'n1'],
    ],
  },
  apart: {
    names: range(7).map(n),
    edges: [
      ['n0', 'n1'],
      ['n2', 'n3'],
    ],
  },
  diamond: {
    names: range(4).map(n),
    edges: [
      ['n0', 'n1'],
      ['n0', 'n2'],
      ['n1', 'n3'],
      ['n2', 'n3'],
    ],
  },
  shortcut: {
    names: range(4).map(n),
    edges: [
      ['n0', 'n1'],
      ['n1', 'n2'],
      ['n2', 'n3'],
      ['n0', 'n3'],
    ],
  },
  chain: { names: range(200).map(n), edges: range(199).map((i): Edge => [n(i), n(i + 1)]) },
  fanOut: { names: range(501).map(n), edges: range(500).map((i): Edge => [n(0), n(i + 1)]) },
  fanIn: { names: range(501).map(n), edges: range(500).map((i): Edge => [n(i), n(500)]) },
  hourglass: {
    names: range(52).map(n),
    edges: range(50).flatMap((i): Edge[] => [
      [n(0), n(i + 1)],
      [n(i + 1), n(51)],
    ]),
  },
  loose: { names: range(300).map(n), edges: [] },
  random: randomNames(300, 12),
};
const CASES = Object.keys(GRAPHS).flatMap(name =>
  [false, true].map(rightward => [name, rightward] as const),
);

function lay(name: string, options: LayoutOptions = {}): Layout {
  const { names, edges } = GRAPHS[name]!;
  const sizes = (node: string) => (Number(node.slice(1)) % 3 ? SIZE : { width: 180, height: 48 });
  return layered(names, sizes, edges, options);
}

test.each(CASES)(
  '%s (rightward %s): no two boxes meet, all lie within the picture',
  (name, rightward) => {
    const { boxes, width, height } = lay(name, { rightward });
    const all = [...boxes.values()];
    expect(all.map(box => box.name)).toEqual(GRAPHS[name]!.names);
    for (const [i, a] of all.entries()) {
      expect(a.x >= -0.01 && a.y >= -0.01).toBe(true);
      expect(a.x + a.width <= width + 0.01 && a.y + a.height <= height + 0.01).toBe(true);
      const met = all
        .slice(i + 1)
        .find(
          b =>
            a.x < b.x + b.width &&
            b.x < a.x + a.width &&
            a.y < b.y + b.height &&
            b.y < a.y + a.height,
        );
      expect(met, `${a.name} meets ${met?.name}`).toBeUndefined();
    }
  },
);

test.each(CASES)(
  '%s (rightward %s): edges go on along the flow, from border to border',
  (name, rightward) => {
    const { boxes, routes } = lay(name, { rightward });
    expect(new Set(routes.map(r => `${r.source} ${r.target}`))).toEqual(
      new Set(GRAPHS[name]!.edges.map(edge => edge.join(' '))),
    );
    const axis = rightward ? 0 : 1;
    for (const { source, target, points } of routes) {
      const [from, to] = [boxes.get(source)!, boxes.get(target)!];
      expect(from.layer).toBeLessThan(to.layer);
      expect(points.length % 2).toBe(0);
      for (const [box, [x, y]] of [
        [from, points[0]!],
        [to, points.at(-1)!],
      ] as const) {
        const onSide = Math.min(Math.abs(x - box.x), Math.abs(x - box.x - box.width));
        const onEnd = Math.min(Math.abs(y - box.y), Math.abs(y - box.y - box.height));
        expect(Math.min(onSide, onEnd)).toBeLessThan(0.01);
        expect(x >= box.x - 0.01 && x <= box.x + box.width + 0.01).toBe(true);
        expect(y >= box.y - 0.01 && y <= box.y + box.height + 0.01).toBe(true);
      }
      for (let i = 1; i < points.length; i++) {
        expect(points[i]![axis]).toBeGreaterThanOrEqual(points[i - 1]![axis] - 0.01);
      }
    }
  },
);

test('a chain that flows down is straight', () => {
  const { boxes } = layered(
    range(9).map(n),
    () => SIZE,
    range(8).map((i): Edge => [n(i), n(i + 1)]),
  );
  expect(new Set([...boxes.values()].map(box => box.x))).toEqual(new Set([0]));
});

test('a long edge goes past the boxes between', () => {
  const { boxes, routes } = lay('shortcut');
  const long = routes.find(route => route.source === 'n0' && route.target === 'n3')!;
  for (const name of ['n1', 'n2']) {
    const box = boxes.get(name)!;
    for (const [x, y] of long.points) {
      expect(x > box.x && x < box.x + box.width && y >= box.y && y <= box.y + box.height).toBe(
        false,
      );
    }
  }
});

test('a fan of 500 is a grid, not a line', () => {
  for (const name of ['fanOut', 'fanIn']) {
    const { width, height } = lay(name);
    expect(width / height).toBeGreaterThan(0.8);
    expect(width / height).toBeLessThan(3);
  }
});

test('an edge against the order or to nowhere is left out', () => {
  const { routes } = layered(['a', 'b'], () => SIZE, [
    ['b', 'a'],
    ['a', 'x'],
    ['a', 'b'],
  ]);
  expect(routes.map(route => [route.source, route.target])).toEqual([['a', 'b']]);
});

test('layers: the longest path, and a source is near to its consumers', () => {
  // 0 → 1 → 2 → 3, 4 → 3
  expect(
    layersOf(5, [
      [0, 1],
      [1, 2],
      [2, 3],
    ]),
  ).toEqual([0, 1, 2, 3, 0]);
  const late: [number, number][] = [
    [0, 1],
    [1, 2],
    [2, 4],
    [3, 4],
  ];
  expect(layersOf(5, late)).toEqual([0, 1, 2, 2, 3]);
});

test('layers of a narrow picture have no more boxes than it is broad', () => {
  const edges: [number, number][] = [
    [0, 4],
    [1, 4],
    [2, 5],
    [3, 5],
    [4, 6],
    [4, 7],
    [4, 8],
    [5, 8],
  ];
  const layer = layersOf(9, edges, 2);
  for (const [from, to] of edges) {
    expect(layer[from]!).toBeLessThan(layer[to]!);
  }
  const many = layer.map(at => layer.filter(other => other === at).length);
  expect(Math.max(...many)).toBe(2);
});

test('crossings that can be avoided are', () => {
  // a complete tangle of straight pairs: 0–5, 1–4, 2–3
  const edges: [number, number][] = [
    [0, 5],
    [1, 4],
    [2, 3],
    [0, 3],
  ];
  const steps = stepsOf(layersOf(6, edges), edges);
  const total = partsOf(steps).reduce((sum, part) => {
    const layers = ordered(part, steps);
    const at = new Float64Array(6);
    layers.forEach(layer => layer.forEach((step, i) => (at[step] = i)));
    return sum + crossings(layers, steps, at);
  }, 0);
  expect(total).toBe(0);
});

test('crossings are counted as pairs of edges', () => {
  const edges: [number, number][] = [
    [0, 3],
    [0, 4],
    [1, 2],
    [1, 3],
  ];
  const steps = stepsOf([0, 0, 1, 1, 1], edges);
  const count = crossings(
    [
      [0, 1],
      [2, 3, 4],
    ],
    steps,
    Float64Array.from([0, 1, 0, 1, 2]),
  );
  expect(count).toBe(3); // 0–3 × 1–2, 0–4 × 1–2, 0–4 × 1–3
});

test('spread: places are kept apart and pulled together', () => {
  expect(spread([0, 10], [1, 1], [4])).toEqual([0, 10]);
  expect(spread([5, 5], [1, 1], [4])).toEqual([3, 7]);
  expect(spread([5, 5], [3, 1], [4])).toEqual([4, 8]);
  expect(spread([9, 0, 0], [1, 1, 1], [2, 2])).toEqual([1, 3, 5]);
});
