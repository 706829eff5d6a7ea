/**
 * A layered layout of an acyclic graph, in pixels. `along` is the way that edges flow, `cross` the
 * other way; a layout that flows down has along = y. Nothing is random, so a graph is always laid
 * out the same.
 *
 * Many boxes with the same neighbours become one block, a grid, so that a fan of 500 is not a line
 * of 500; parts without a connection are packed into rows.
 */
import { layersOf, ordered, partsOf, stepsOf, type Steps } from './layers';
import { positions } from './positions';
import { blocksOf, grid, type Block } from './blocks';
import { ASPECT, type Layout, type Placed, type Point, type Route, type Size } from './values';

export type { Layout, Placed, Point, Route, Size } from './values';

export interface LayoutOptions {
  readonly rightward?: boolean;
  readonly betweenLayers?: number;
  readonly betweenBoxes?: number;
  /** The most boxes side by side in a layer: for a narrow picture. */
  readonly breadth?: number;
}

const WAY_GAP = 12;
const PORT = 10;
const PORT_SHARE = 0.5;
/** How much the distance of layers grows for each pixel that an edge goes sideways, from where, and
 * at most. */
const ROOM_SHARE = 0.07;
const NEAR_ASIDE = 400;
const MOST_ROOM = 240;
/** Boxes of a layer lie in its middle, but not further than this from its beginning. */
const DROP = 40;

interface Frame {
  readonly rightward: boolean;
  readonly breadth: number;
  readonly layersApart: number;
  readonly boxesApart: number;
}

/** A connected part in its own coordinates (along, cross), and how large it is. */
interface Part {
  readonly boxes: [name: string, along: number, cross: number, layer: number][];
  readonly routes: Route[]; // points are [along, cross]
  readonly along: number;
  readonly cross: number;
}

/**
 * Places boxes so that every edge follows the flow and no two boxes meet. `names` are in
 * topological order; an edge against that order, or to no box, is left out.
 */
export function layered(
  names: readonly string[],
  sizeOf: (name: string) => Size,
  edges: Iterable<readonly [source: string, target: string]>,
  options: LayoutOptions = {},
): Layout {
  const { rightward = false, betweenLayers = 56, betweenBoxes = 24, breadth = Infinity } = options;
  const frame: Frame = { rightward, breadth, layersApart: betweenLayers, boxesApart: betweenBoxes };
  const rank = new Map(names.map((name, i) => [name, i]));
  const forward: [number, number][] = [];
  const known = new Set<number>();
  for (const [source, target] of edges) {
    const [from, to] = [rank.get(source), rank.get(target)];
    if (
      from !== undefined &&
      to !== undefined &&
      from < to &&
      !known.has(from * names.length + to)
    ) {
      known.add(from * names.length + to);
      forward.push([from, to]);
    }
  }
  const sizes = names.map(name => turned(sizeOf(name), rightward));
  const blocks = blocksOf(names.length, forward, sizes, betweenBoxes);
  const parts = placedParts(names, blocks, frame);
  return packed(parts, names, sizeOf, rightward, betweenBoxes * 2);
}

/** A size as [along, cross]. */
function turned(size: Size, rightward: boolean): [number, number] {
  return rightward ? [size.width, size.height] : [size.height, size.width];
}

function placedParts(
  names: readonly string[],
  { blocks, edges }: { blocks: readonly Block[]; edges: readonly (readonly [number, number])[] },
  frame: Frame,
): Part[] {
  const layer = layersOf(blocks.length, edges, frame.breadth);
  const steps = stepsOf(layer, edges);
  const sizes = Array.from(steps.layer, (_, i) => blocks[i]?.size[1] ?? 0);
  const members = partsOf(steps);
  const alone = members.filter(part => part.length === 1 && blocks[part[0]!]!.members.length === 1);
  const joined = members.filter(part => !alone.includes(part));
  joined.sort((a, b) => b.length - a.length);
  const parts = joined.map(part => {
    const layers = ordered(part, steps).filter(each => each.length > 0);
    const cross = positions(layers, sizes, steps, frame.boxesApart, WAY_GAP);
    return placed(layers, cross, steps, blocks, names, frame);
  });
  return alone.length
    ? [
        ...parts,
        loose(
          alone.map(part => blocks[part[0]!]!),
          names,
          frame,
        ),
      ]
    : parts;
}

/** Boxes without edges, as a grid. */
function loose(blocks: readonly Block[], names: readonly string[], frame: Frame): Part {
  const sizes = blocks.map(block => block.size);
  const { places, size } = grid(sizes, frame.boxesApart, 0);
  return {
    boxes: places.map(([along, cross], i) => [names[blocks[i]!.members[0]!]!, along, cross, 0]),
    routes: [],
    along: size[0],
    cross: size[1],
  };
}

function placed(
  layers: readonly (readonly number[])[],
  cross: ReadonlyMap<number, number>,
  steps: Steps,
  blocks: readonly Block[],
  names: readonly string[],
  frame: Frame,
): Part {
  const spans: [number, number][] = [];
  let [start, end] = [0, 0];
  for (const layer of layers) {
    end = start + Math.max(0, ...layer.map(step => blocks[step]?.size[0] ?? 0));
    spans.push([start, end]);
    start = end + frame.layersApart + room(layer, steps, cross);
  }
  const first = steps.layer[layers[0]![0]!]!;
  const span = (step: number): [number, number] => spans[steps.layer[step]! - first]!;
  const begin = (step: number): number => {
    const [low, high] = span(step);
    return low + Math.min(DROP, (high - low - blocks[step]!.size[0]) / 2);
  };
  const own = new Set(layers.flat());
  const chains = steps.chains.filter(chain => own.has(chain[0]!));
  const part: Part = {
    boxes: [],
    routes: [],
    along: end,
    cross: Math.max(
      ...layers.flat().map(step => cross.get(step)! + (blocks[step]?.size[1] ?? 0) / 2),
    ),
  };
  const corners = new Map<number, Point>();
  for (const step of own) {
    const block = blocks[step];
    if (block) {
      const corner: Point = [begin(step), cross.get(step)! - block.size[1] / 2];
      corners.set(step, corner);
      block.members.forEach((member, i) => {
        const [along, across] = block.places[i]!;
        part.boxes.push([
          names[member]!,
          corner[0] + along,
          corner[1] + across,
          steps.layer[step]! - first,
        ]);
      });
    }
  }
  const out = ports(chains, cross, blocks, true);
  const into = ports(chains, cross, blocks, false);
  chains.forEach((chain, i) => {
    const [source, target] = [chain[0]!, chain.at(-1)!];
    const past = chain
      .slice(1, -1)
      .flatMap(step => span(step).map((at): Point => [at, cross.get(step)!]));
    const leaves: Point = [corners.get(source)![0] + blocks[source]!.size[0], out[i]!];
    const enters: Point = [corners.get(target)![0], into[i]!];
    const [from, to] = [blocks[source]!, blocks[target]!];
    from.members.forEach((one, m) => {
      to.members.forEach((two, n) => {
        const head = from.leave ? from.leave(m, corners.get(source)!) : [leaves];
        const tail = to.enter ? to.enter(n, corners.get(target)!) : [enters];
        part.routes.push({
          source: names[one]!,
          target: names[two]!,
          points: [...head, ...past, ...tail],
          aside: [from.leave !== undefined, to.enter !== undefined],
        });
      });
    });
  });
  return part;
}

/** Layers have a larger distance if an edge between them goes far sideways, so that it is not a
 * level line. */
function room(layer: readonly number[], steps: Steps, cross: ReadonlyMap<number, number>): number {
  let aside = 0;
  for (const step of layer) {
    for (const next of steps.after[step]!) {
      aside = Math.max(aside, Math.abs(cross.get(step)! - cross.get(next)!));
    }
  }
  return Math.min(MOST_ROOM, Math.max(0, aside - NEAR_ASIDE) * ROOM_SHARE);
}

/** Where each edge meets its box across the flow: side by side, in the order in which they come. */
function ports(
  chains: readonly (readonly number[])[],
  cross: ReadonlyMap<number, number>,
  blocks: readonly Block[],
  leaving: boolean,
): number[] {
  const ends = new Map<number, number[]>();
  const near = chains.map((chain, i) => {
    const end = leaving ? chain[0]! : chain.at(-1)!;
    ends.set(end, [...(ends.get(end) ?? []), i]);
    return cross.get(leaving ? chain[1]! : chain.at(-2)!)!;
  });
  const found = new Array<number>(chains.length).fill(0);
  for (const [step, edges] of ends) {
    const apart = Math.min(PORT, (blocks[step]!.size[1] * PORT_SHARE) / edges.length);
    edges.sort((a, b) => near[a]! - near[b]!);
    edges.forEach((edge, i) => {
      found[edge] = cross.get(step)! + (i - (edges.length - 1) / 2) * apart;
    });
  }
  return found;
}

/** The parts in rows, each row about as wide as a picture of the wanted aspect. */
function packed(
  parts: readonly Part[],
  names: readonly string[],
  sizeOf: (name: string) => Size,
  rightward: boolean,
  gap: number,
): Layout {
  const extent = (part: Part): [width: number, height: number] =>
    rightward ? [part.along, part.cross] : [part.cross, part.along];
  const area = parts.reduce((sum, part) => {
    const [width, height] = extent(part);
    return sum + (width + gap) * (height + gap);
  }, 0);
  const room = Math.max(...parts.map(part => extent(part)[0]), Math.sqrt(area * ASPECT));
  const found = new Map<string, Placed>();
  const routes: Route[] = [];
  let [x, y, tall, width] = [0, 0, 0, 0];
  for (const part of parts) {
    const [wide, high] = extent(part);
    if (x > 0 && x + wide > room) {
      [x, y, tall] = [0, y + tall + gap, 0];
    }
    const point = ([along, cross]: Point): Point =>
      rightward ? [x + along, y + cross] : [x + cross, y + along];
    for (const [name, along, cross, layer] of part.boxes) {
      const [left, top] = point([along, cross]);
      found.set(name, { name, x: left, y: top, ...sizeOf(name), layer });
    }
    for (const route of part.routes) {
      routes.push({ ...route, points: route.points.map(point) });
    }
    x += wide + gap;
    tall = Math.max(tall, high);
    width = Math.max(width, x - gap);
  }
  const boxes = new Map(names.map(name => [name, found.get(name)!]));
  return { boxes, routes, width, height: parts.length ? y + tall : 0 };
}
