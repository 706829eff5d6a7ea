/**
 * Layers and their order. A graph is arrays of numbers here: a step is a box (0 … boxes − 1) or the
 * way of a long edge past one layer.
 *
 * Source: Sugiyama, Tagawa, Toda 1981 (layers, barycentres); counting crossings as inversions is
 * Barth, Jünger, Mutzel 2002.
 */

export interface Steps {
  /** Steps that are boxes come first. */
  readonly boxes: number;
  readonly layer: number[];
  /** Steps of the layer before and after each step. */
  readonly before: number[][];
  readonly after: number[][];
  /** The steps of each edge, from its source to its target. */
  readonly chains: readonly (readonly number[])[];
}

/** Work that exchanges of neighbours may take, in pairs compared: small graphs never reach it. */
const EXCHANGES = 1_500_000;
const SWEEPS = 12;

/**
 * The longest path from a source gives the layer; a source then moves up to its consumers.
 * `edges` go from a lower to a higher index. No layer gets more than `breadth` boxes with edges:
 * the next ones go to a later layer (Coffman, Graham 1972, without their order).
 */
export function layersOf(
  boxes: number,
  edges: readonly (readonly [number, number])[],
  breadth = Infinity,
): number[] {
  const sources: number[][] = Array.from({ length: boxes }, () => []);
  const nearest = new Array<number>(boxes).fill(Infinity);
  const joined = new Set(edges.flat());
  const layer = new Array<number>(boxes).fill(0);
  const many: number[] = [];
  const put = (box: number, at: number): void => {
    layer[box] = at;
    many[at] = (many[at] ?? 0) + (joined.has(box) ? 1 : 0);
  };
  edges.forEach(([source, target]) => sources[target]!.push(source));
  for (let box = 0; box < boxes; box++) {
    let at = sources[box]!.reduce((lowest, source) => Math.max(lowest, layer[source]! + 1), 0);
    while (joined.has(box) && (many[at] ?? 0) >= breadth) {
      at++;
    }
    put(box, at);
  }
  edges.forEach(
    ([source, target]) => (nearest[source] = Math.min(nearest[source]!, layer[target]!)),
  );
  for (let box = boxes - 1; box >= 0; box--) {
    const last =
      sources[box]!.length || nearest[box] === Infinity ? layer[box]! : nearest[box]! - 1;
    for (let at = last; at > layer[box]!; at--) {
      if ((many[at] ?? 0) < breadth) {
        many[layer[box]!]!--;
        put(box, at);
      }
    }
  }
  return layer;
}

/** Boxes and edges with a step in every layer that an edge passes. */
export function stepsOf(layer: number[], edges: readonly (readonly [number, number])[]): Steps {
  const steps = { boxes: layer.length, layer: [...layer], before: [], after: [], chains: [] };
  const { before, after, chains } = steps as unknown as {
    before: number[][];
    after: number[][];
    chains: number[][];
  };
  layer.forEach(() => (before.push([]), after.push([])));
  for (const [source, target] of edges) {
    const chain = [source];
    for (let at = layer[source]! + 1; at < layer[target]!; at++) {
      chain.push(steps.layer.length);
      steps.layer.push(at);
      before.push([]);
      after.push([]);
    }
    chain.push(target);
    chains.push(chain);
    for (let i = 1; i < chain.length; i++) {
      after[chain[i - 1]!]!.push(chain[i]!);
      before[chain[i]!]!.push(chain[i - 1]!);
    }
  }
  return steps;
}

/** Connected parts, each in depth-first order, which is already a fair one to start from. */
export function partsOf(steps: Steps): number[][] {
  const seen = new Uint8Array(steps.layer.length);
  const parts: number[][] = [];
  for (let start = 0; start < steps.boxes; start++) {
    const part: number[] = [];
    const stack = [start];
    while (stack.length) {
      const step = stack.pop()!;
      if (!seen[step]) {
        seen[step] = 1;
        part.push(step);
        const { before, after } = steps;
        for (const links of [before[step]!, after[step]!]) {
          for (let i = links.length - 1; i >= 0; i--) {
            stack.push(links[i]!);
          }
        }
      }
    }
    if (part.length) {
      parts.push(part);
    }
  }
  return parts;
}

/** The steps of a part by layer, in the order with the fewest crossings that was found. */
export function ordered(part: readonly number[], steps: Steps): number[][] {
  const layers: number[][] = [];
  for (const step of part) {
    (layers[steps.layer[step]!] ??= []).push(step);
  }
  for (let i = 0; i < layers.length; i++) {
    layers[i] ??= [];
  }
  const at = new Float64Array(steps.layer.length);
  layers.forEach(layer => layer.forEach((step, i) => (at[step] = i)));
  let fewest = crossings(layers, steps, at);
  let best = layers.map(layer => [...layer]);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    sweepOnce(layers, steps, at, sweep % 2 === 0);
    const count = crossings(layers, steps, at);
    if (count < fewest) {
      fewest = count;
      best = layers.map(layer => [...layer]);
    }
  }
  if (fewest > 0) {
    exchange(best, steps, at);
  }
  return best;
}

function sweepOnce(layers: number[][], steps: Steps, at: Float64Array, down: boolean): void {
  const mean = new Float64Array(at.length);
  const links = down ? steps.before : steps.after;
  const first = down ? 1 : layers.length - 2;
  for (let i = first; down ? i < layers.length : i >= 0; i += down ? 1 : -1) {
    const layer = layers[i]!;
    const beside = layers[down ? i - 1 : i + 1]!.length;
    const scale = Math.max(beside, 1) / Math.max(layer.length, 1);
    for (const step of layer) {
      const near = links[step]!;
      let sum = 0;
      for (const other of near) {
        sum += at[other]!;
      }
      mean[step] = near.length ? sum / near.length : at[step]! * scale;
    }
    layer.sort((a, b) => mean[a]! - mean[b]!);
    layer.forEach((step, place) => (at[step] = place));
  }
}

/** Exchange neighbours where that removes crossings, until none does or the work is used up. */
function exchange(layers: number[][], steps: Steps, at: Float64Array): void {
  layers.forEach(layer => layer.forEach((step, i) => (at[step] = i)));
  let left = EXCHANGES;
  for (let better = true; better && left > 0;) {
    better = false;
    for (const layer of layers) {
      for (let i = 0; i + 1 < layer.length && left > 0; i++) {
        const one = layer[i]!;
        const two = layer[i + 1]!;
        let gain = 0;
        for (const links of [steps.before, steps.after]) {
          const [u, v] = [links[one]!, links[two]!];
          left -= u.length * v.length + 1;
          gain += tangles(u, v, at) - tangles(v, u, at);
        }
        if (gain > 0) {
          layer[i] = two;
          layer[i + 1] = one;
          at[one] = i + 1;
          at[two] = i;
          better = true;
        }
      }
    }
  }
}

function tangles(upper: readonly number[], lower: readonly number[], at: Float64Array): number {
  let count = 0;
  for (const u of upper) {
    for (const v of lower) {
      if (at[u]! > at[v]!) {
        count++;
      }
    }
  }
  return count;
}

/** Crossings between neighbouring layers: inversions of the order of the edges' far ends. */
export function crossings(layers: readonly number[][], steps: Steps, at: Float64Array): number {
  let total = 0;
  for (let i = 0; i + 1 < layers.length; i++) {
    const size = layers[i + 1]!.length;
    const tree = new Int32Array(size + 1); // a Fenwick tree: how many ends are at most here
    let seen = 0;
    for (const step of layers[i]!) {
      const ends = steps.after[step]!.map(next => at[next]! + 1);
      for (const end of ends) {
        total += seen;
        for (let k = end; k > 0; k -= k & -k) {
          total -= tree[k]!;
        }
      }
      for (const end of ends) {
        for (let k = end; k <= size; k += k & -k) {
          tree[k]!++;
        }
        seen++;
      }
    }
  }
  return total;
}
