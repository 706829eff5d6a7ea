// @vitest-environment happy-dom
import { expect, test } from 'vitest';

import { AS_OF, graph, SHOP, sink, source, table } from '../../testing/graphs';
import { HOSTILE } from '../../testing/hostile';
import type { GraphMessage } from '../wire';
import { columned } from './layout/column';
import { elided, svgOf } from './picture';
import { shapeOf, WHOLE } from './shape';

function picture(message: GraphMessage): string {
  const { names, edges } = shapeOf(message, WHOLE);
  const pairs = edges.map(edge => [edge.source, edge.target] as const);
  const layout = columned(names, () => ({ width: 264, height: 94 }), pairs, 312);
  const nodes = new Map(message.nodes.map(node => [node.name, node]));
  const now = Date.parse(AS_OF);
  return svgOf({ layout, nodes, rightward: false, now }, token => `rgb(1,2,3)/*${token}*/`);
}

test('a picture has every node and edge, and no variable of a style sheet', () => {
  const svg = picture(SHOP);
  for (const name of ['shop.orders', 'daily_revenue', 'sessions']) {
    expect(svg).toContain(`>${name}<`);
  }
  expect(svg).toContain('incremental');
  expect(svg).not.toContain('var(');
  expect(svg).not.toContain('class=');
  expect(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"')).toBe(true);
});

test.each(HOSTILE)('%j is text in it', name => {
  const below = sink('below', name, { scheme: name, target: name, state: 'PAUSED' });
  const nodes = [source('s'), table(name, { error: name }), below];
  const made = picture(
    graph(nodes, [
      ['s', name],
      [name, 'below'],
    ]),
  );
  const read = new DOMParser().parseFromString(made, 'image/svg+xml');
  expect(read.querySelector('script, img, [onerror], [onload]')).toBeNull();
});

test('names keep both their ends', () => {
  expect(elided('short', 10)).toBe('short');
  expect(elided('revenue_by_country_daily', 11)).toBe('reven…daily');
  expect(elided('abc', 1)).toBe('a…');
});
