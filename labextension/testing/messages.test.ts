/**
 * The live views have the figures that the static pictures have: one file of messages and what is
 * drawn from them, which `tests/unit/widgets/test_messages.py` reads too.
 */
import { describe, expect, test } from 'vitest';

import known from './messages.json';
import { cardSize } from '../view/dag/card';
import { layered } from '../view/dag/layout/index';
import { shapeOf, WHOLE } from '../view/dag/shape';
import {
  hasStanding,
  lagShare,
  lagText,
  modeText,
  outcome,
  rowsText,
  shareToken,
} from '../view/dag/words';
import { count, duration, percent } from '../view/elements/units';
import { together } from '../view/frontiers/together';
import { sawtooth, summary } from '../view/lag/teeth';
import type { FrontiersMessage, GraphMessage, LagMessage } from '../view/wire';

const NOON = Date.parse('2026-11-22T12:00:00Z') / 1000;

interface NodeFigures {
  readonly layer: number;
  readonly mode: string | null;
  readonly outcome: string | null;
  readonly lag: string | null;
  readonly rows: string | null;
  readonly share: number | null;
  readonly token: string | null;
}

interface LagFigures {
  /** Start and end in seconds after noon, lag at both in seconds. */
  readonly teeth: readonly (readonly [number, number, number, number])[];
  readonly now: number | null;
  readonly worst: number | null;
  readonly mean: number | null;
  readonly within: number | null;
  readonly above: number;
  readonly summary: string;
}

interface PairFigures {
  readonly tables: readonly [string, string];
  readonly snapshot: boolean;
  readonly shared: Readonly<Record<string, boolean>>;
  readonly common: string | null;
}

const graph = known.graph.message as GraphMessage;
const figuresOf = (name: string): NodeFigures =>
  (known.graph.expected as Readonly<Record<string, NodeFigures>>)[name]!;
const tables = graph.nodes.filter(hasStanding);

test('boxes lie in these layers', () => {
  const shape = shapeOf(graph, WHOLE);
  const nodes = new Map(graph.nodes.map(node => [node.name, node]));
  const { boxes } = layered(
    shape.names,
    name => cardSize(nodes.get(name)!),
    shape.edges.map(edge => [edge.source, edge.target] as const),
  );
  const layers = graph.nodes.map(({ name }) => [name, boxes.get(name)!.layer]);
  expect(layers).toEqual(graph.nodes.map(({ name }) => [name, figuresOf(name).layer]));
});

test.each(tables)('the card of $name has these words', node => {
  const figures = figuresOf(node.name);
  expect(modeText(node)).toBe(figures.mode);
  expect(outcome(node).text).toBe(figures.outcome);
  expect(lagText(node, null)).toBe(figures.lag);
  expect(rowsText(node)).toBe(figures.rows ?? '');
});

test.each(tables)('the bar of $name has this share and colour', node => {
  const figures = figuresOf(node.name);
  const share = lagShare(node, null);
  if (share === null || figures.share === null) {
    expect(share).toBe(figures.share);
  } else {
    expect(share).toBeCloseTo(figures.share, 6);
    expect(shareToken(share)).toBe(figures.token);
  }
});

describe.each(known.lag)('the lag of $about', ({ message, expected }) => {
  const saw = sawtooth(message as LagMessage);
  const figures = expected as unknown as LagFigures;

  const close = (value: number | null, wanted: number | null): void => {
    if (value === null || wanted === null) {
      expect(value).toBe(wanted);
    } else {
      expect(value).toBeCloseTo(wanted, 6);
    }
  };

  test('has these teeth', () => {
    expect(saw.teeth).toHaveLength(figures.teeth.length);
    saw.teeth.forEach(({ start, end, low, peak }, i) => {
      const found = [start - NOON, end - NOON, low, peak];
      found.forEach((value, k) => close(value, figures.teeth[i]![k]!));
    });
  });

  test('has these figures', () => {
    close(saw.now, figures.now);
    close(saw.worst, figures.worst);
    close(saw.mean, figures.mean);
    close(saw.within, figures.within);
    expect(saw.above).toHaveLength(figures.above);
    expect(summary(saw)).toBe(figures.summary);
  });
});

const { frontiers } = known.frontiers.message as FrontiersMessage;
const pairs = known.frontiers.expected as unknown as readonly PairFigures[];

test.each(pairs)('$tables.0 and $tables.1 read together', ({ tables: names, ...wanted }) => {
  const [a, b] = names.map(name => frontiers.find(one => one.name === name)!);
  const found = together(a!, b!);
  expect(found.snapshot).toBe(wanted.snapshot);
  expect(Object.fromEntries(found.shared)).toEqual(wanted.shared);
  expect(found.common).toBe(wanted.common);
});

const WORDS: Readonly<Record<string, (value: number) => string>> = { duration, count, percent };

test.each(Object.keys(WORDS))('numbers in words: %s', word => {
  const cases = known.units[word as keyof typeof known.units] as [number, string][];
  expect(cases.map(([value]) => [value, WORDS[word]!(value)])).toEqual(cases);
});
