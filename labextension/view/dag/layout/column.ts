/**
 * One column, for a narrow view: boxes below each other at the width that there is, and their edges
 * in lanes next to them, one lane for each source, as a log of commits is drawn.
 */
import type { Layout, Placed, Point, Route, Size } from './values';

const GAP = 26;
const LANE = 10;
const MOST_LANES = 56;
/** Room between the lanes and the boxes: the tip of an arrow. */
const BESIDE = 16;
const TURN = 8;
/** Edges leave below the middle of a box and enter above it. */
const PORT = 7;
const DOWN = 26;
const NARROWEST = 180;
const WIDEST = 400;

/** From the row of a source to that of the last box that reads it. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Places `names`, in topological order, in a column as wide as `width` allows. An edge against
 * that order, or to no box, is left out.
 */
export function columned(
  names: readonly string[],
  sizeOf: (name: string) => Size,
  edges: readonly (readonly [source: string, target: string])[],
  width: number,
): Layout {
  const rank = new Map(names.map((name, i) => [name, i]));
  const forward = edges.filter(([a, b]) => (rank.get(a) ?? Infinity) < (rank.get(b) ?? -1));
  const order = inDepth(names, forward);
  const row = new Map(order.map((name, i) => [name, i]));
  const far = forward.filter(([a, b]) => row.get(b)! > row.get(a)! + 1);
  const lanes = lanesOf(spansOf(far, row));
  const many = Math.max(0, ...[...lanes.values()].map(lane => lane + 1));
  const apart = many === 0 ? 0 : Math.min(LANE, MOST_LANES / many);
  const gutter = many === 0 ? 0 : Math.ceil(many * apart) + BESIDE;
  const boxes = placed(order, forward, sizeOf, gutter, width);
  const laneAt = (from: number): number => gutter - BESIDE - lanes.get(from)! * apart;
  const routes = forward.map(([source, target]): Route => {
    const [from, to] = [boxes.get(source)!, boxes.get(target)!];
    const at = row.get(source)!;
    return row.get(target) === at + 1 ? straight(from, to) : aside(from, to, laneAt(at));
  });
  const last = order.length ? boxes.get(order.at(-1)!)! : null;
  return {
    boxes: new Map(names.map(name => [name, boxes.get(name)!])),
    routes,
    width: last ? gutter + last.width : 0,
    height: last ? last.y + last.height : 0,
  };
}

/** A topological order that continues with what reads the box before, so that chains stay together. */
function inDepth(
  names: readonly string[],
  edges: readonly (readonly [string, string])[],
): string[] {
  const waits = new Map(names.map(name => [name, 0]));
  const targets = new Map<string, string[]>(names.map(name => [name, []]));
  for (const [source, target] of edges) {
    waits.set(target, waits.get(target)! + 1);
    targets.get(source)!.push(target);
  }
  const stack = names.filter(name => waits.get(name) === 0).reverse();
  const order: string[] = [];
  for (let name = stack.pop(); name !== undefined; name = stack.pop()) {
    order.push(name);
    const ready: string[] = [];
    for (const target of targets.get(name)!) {
      waits.set(target, waits.get(target)! - 1);
      if (waits.get(target) === 0) {
        ready.unshift(target);
      }
    }
    stack.push(...ready);
  }
  return order;
}

function placed(
  order: readonly string[],
  edges: readonly (readonly [string, string])[],
  sizeOf: (name: string) => Size,
  gutter: number,
  width: number,
): Map<string, Placed> {
  const wide = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(width - gutter)));
  const boxes = new Map<string, Placed>();
  const sources = new Map<string, string[]>();
  edges.forEach(([a, b]) => sources.set(b, [...(sources.get(b) ?? []), a]));
  let y = 0;
  for (const name of order) {
    const { height } = sizeOf(name);
    const above = (sources.get(name) ?? []).map(source => boxes.get(source)!.layer + 1);
    boxes.set(name, { name, x: gutter, y, width: wide, height, layer: Math.max(0, ...above) });
    y += height + GAP;
  }
  return boxes;
}

function spansOf(
  edges: readonly (readonly [string, string])[],
  row: ReadonlyMap<string, number>,
): Span[] {
  const last = new Map<number, number>();
  for (const [source, target] of edges) {
    const from = row.get(source)!;
    last.set(from, Math.max(last.get(from) ?? 0, row.get(target)!));
  }
  return [...last].map(([from, to]) => ({ from, to }));
}

/** The lane of each source by its row, from the inside: short spans inside, no two over each other. */
function lanesOf(spans: readonly Span[]): Map<number, number> {
  const lanes: Span[][] = [];
  const found = new Map<number, number>();
  for (const span of [...spans].sort((a, b) => a.to - a.from - (b.to - b.from))) {
    const free = lanes.findIndex(lane =>
      lane.every(other => other.to < span.from || span.to < other.from),
    );
    const at = free < 0 ? lanes.push([]) - 1 : free;
    lanes[at]!.push(span);
    found.set(span.from, at);
  }
  return found;
}

function straight(from: Placed, to: Placed): Route {
  const x = from.x + DOWN;
  const points: readonly Point[] = [
    [x, from.y + from.height],
    [x, to.y],
  ];
  return { source: from.name, target: to.name, points, aside: [false, false] };
}

function aside(from: Placed, to: Placed, lane: number): Route {
  const [leaves, enters] = [from.y + from.height / 2 + PORT, to.y + to.height / 2 - PORT];
  const points: readonly Point[] = [
    [from.x, leaves],
    [lane, leaves + TURN],
    [lane, enters - TURN],
    [to.x, enters],
  ];
  return { source: from.name, target: to.name, points, aside: [true, true] };
}
