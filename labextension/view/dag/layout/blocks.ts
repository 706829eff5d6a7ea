/** Many boxes with the same neighbours as one: a grid with a way at the side of each of its
 * columns. */
import { ASPECT, type Point } from './values';

/** This number of boxes that share all their neighbours become a grid. */
export const BLOCK_FROM = 10;
/** Room on both sides of a column of the grid, for the edges. */
const CHANNEL = 20;
const ROWS_APART = 16;

/** One or more boxes that are laid out as one; sizes and places are [along, cross]. */
export interface Block {
  readonly members: readonly number[];
  readonly size: readonly [along: number, cross: number];
  /** The corner of each member within the block. */
  readonly places: readonly Point[];
  /** The points by which an edge gets to or from a member; none for a single box. */
  readonly enter?: (member: number, corner: Point) => Point[];
  readonly leave?: (member: number, corner: Point) => Point[];
}

/** Blocks of all boxes in an order that edges go along, and the edges between blocks, each once. */
export function blocksOf(
  boxes: number,
  edges: readonly (readonly [number, number])[],
  sizes: readonly (readonly [number, number])[],
  gap: number,
): { blocks: Block[]; edges: [number, number][] } {
  const groups = new Map<string, number[]>();
  neighbours(boxes, edges).forEach((key, box) =>
    groups.set(key, [...(groups.get(key) ?? []), box]),
  );
  const blocks: Block[] = [];
  const block = new Int32Array(boxes);
  const lists = [...groups.values()].flatMap(group =>
    group.length >= BLOCK_FROM ? [group] : group.map(box => [box]),
  );
  // members have the same sources and targets, so the place of the first is right for all
  for (const members of lists.sort((a, b) => a[0]! - b[0]!)) {
    members.forEach(box => (block[box] = blocks.length));
    blocks.push(members.length === 1 ? single(members[0]!, sizes) : many(members, sizes, gap));
  }
  const seen = new Set<number>();
  const between: [number, number][] = [];
  for (const [source, target] of edges) {
    const [from, to] = [block[source]!, block[target]!];
    if (!seen.has(from * boxes + to)) {
      seen.add(from * boxes + to);
      between.push([from, to]);
    }
  }
  return { blocks, edges: between };
}

/** A key for each box that says who its neighbours are; a box without any has its own. */
function neighbours(boxes: number, edges: readonly (readonly [number, number])[]): string[] {
  const sources: number[][] = Array.from({ length: boxes }, () => []);
  const targets: number[][] = Array.from({ length: boxes }, () => []);
  for (const [source, target] of edges) {
    sources[target]!.push(source);
    targets[source]!.push(target);
  }
  const sorted = (list: number[]): string => list.sort((a, b) => a - b).join(',');
  return sources.map((list, box) =>
    list.length + targets[box]!.length === 0
      ? `alone ${box}`
      : `${sorted(list)}|${sorted(targets[box]!)}`,
  );
}

function single(member: number, sizes: readonly (readonly [number, number])[]): Block {
  return { members: [member], size: sizes[member]!, places: [[0, 0]] };
}

function many(
  members: readonly number[],
  sizes: readonly (readonly [number, number])[],
  gap: number,
): Block {
  const own = members.map(member => sizes[member]!);
  const { places, size } = grid(own, gap, CHANNEL);
  return {
    members,
    size,
    places,
    enter: (i, [along, cross]) => {
      const [top, side] = places[i]!;
      const way = cross + side - CHANNEL / 2;
      const middle = along + top + own[i]![0] / 2;
      return [
        [along, way],
        [middle - own[i]![0] / 2, way],
        [middle, cross + side],
      ];
    },
    leave: (i, [along, cross]) => {
      const [top, side] = places[i]!;
      const way = cross + side + own[i]![1] + CHANNEL / 2;
      const middle = along + top + own[i]![0] / 2;
      return [
        [middle, cross + side + own[i]![1]],
        [middle + own[i]![0] / 2, way],
        [along + size[0], way],
      ];
    },
  };
}

/** Boxes in rows of equal cells; `channel` is kept free before and behind each along the row. */
export function grid(
  sizes: readonly (readonly [number, number])[],
  gap: number,
  channel: number,
): { places: Point[]; size: [number, number] } {
  const deep = Math.max(...sizes.map(size => size[0]));
  const wide = Math.max(...sizes.map(size => size[1]));
  const pitch = [deep + ROWS_APART, wide + Math.max(gap, 2 * channel)] as const;
  const columns = Math.max(1, Math.ceil(Math.sqrt((sizes.length * ASPECT * pitch[0]) / pitch[1])));
  const rows = Math.ceil(sizes.length / columns);
  const places = sizes.map((_, i): Point => [
    Math.floor(i / columns) * pitch[0],
    (i % columns) * pitch[1] + channel,
  ]);
  const across = Math.min(columns, sizes.length);
  return {
    places,
    size: [rows * pitch[0] - ROWS_APART, across * pitch[1] - Math.max(gap - 2 * channel, 0)],
  };
}
