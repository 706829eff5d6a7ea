/**
 * Where the steps of a layer lie across the flow: the least-squares places under the distances that
 * their order needs, by pooling adjacent violators, layer by layer until they settle.
 */
import type { Steps } from './layers';

const SETTLES = 30;
/** Pull between two boxes, box and way, way and way: the ways pull hardest, so that they are straight. */
const PULL = [1, 2, 8] as const;

/** The centre of each step of `layers`, from 0; `sizes` are across the flow, 0 for a way. */
export function positions(
  layers: readonly (readonly number[])[],
  sizes: ArrayLike<number>,
  steps: Steps,
  gap: number,
  wayGap: number,
): Map<number, number> {
  const at = new Float64Array(steps.layer.length);
  const apart = layers.map(layer => distances(layer, sizes, steps.boxes, gap, wayGap));
  layers.forEach((layer, i) =>
    layer.forEach(
      (step, k) => (at[step] = k === 0 ? sizes[step]! / 2 : at[layer[k - 1]!]! + apart[i]![k - 1]!),
    ),
  );
  for (let settle = 0; settle < SETTLES; settle++) {
    const down = settle % 2 === 0;
    const both = settle >= SETTLES / 2;
    for (let k = 0; k < layers.length; k++) {
      const i = down ? k : layers.length - 1 - k;
      pull(
        layers[i]!,
        apart[i]!,
        at,
        steps,
        both ? [steps.before, steps.after] : [down ? steps.before : steps.after],
      );
    }
  }
  let edge = Infinity;
  for (const step of layers.flat()) {
    edge = Math.min(edge, at[step]! - sizes[step]! / 2);
  }
  return new Map(layers.flat().map(step => [step, at[step]! - edge]));
}

function distances(
  layer: readonly number[],
  sizes: ArrayLike<number>,
  boxes: number,
  gap: number,
  wayGap: number,
): number[] {
  return layer.slice(1).map((step, k) => {
    const ways = step >= boxes && layer[k]! >= boxes;
    return (sizes[step]! + sizes[layer[k]!]!) / 2 + (ways ? wayGap : gap);
  });
}

function pull(
  layer: readonly number[],
  apart: readonly number[],
  at: Float64Array,
  steps: Steps,
  sides: readonly (readonly (readonly number[])[])[],
): void {
  const wanted = new Float64Array(layer.length);
  const weights = new Float64Array(layer.length);
  layer.forEach((step, i) => {
    for (const links of sides) {
      for (const near of links[step]!) {
        const force = PULL[Number(step >= steps.boxes) + Number(near >= steps.boxes)]!;
        wanted[i]! += at[near]! * force;
        weights[i]! += force;
      }
    }
    if (weights[i] === 0) {
      wanted[i] = at[step]!;
      weights[i] = 1;
    } else {
      wanted[i]! /= weights[i]!;
    }
  });
  const found = spread(wanted, weights, apart);
  layer.forEach((step, i) => (at[step] = found[i]!));
}

/** Places with xᵢ₊₁ − xᵢ ≥ apartᵢ that are nearest to `wanted`, in weighted least squares. */
export function spread(
  wanted: ArrayLike<number>,
  weights: ArrayLike<number>,
  apart: readonly number[],
): number[] {
  const offsets = [0];
  for (const gap of apart) {
    offsets.push(offsets[offsets.length - 1]! + gap);
  }
  const blocks: [mean: number, weight: number, count: number][] = [];
  for (let i = 0; i < wanted.length; i++) {
    let [mean, weight, count] = [wanted[i]! - offsets[i]!, weights[i]!, 1];
    for (let last = blocks.at(-1); last !== undefined && last[0] >= mean; last = blocks.at(-1)) {
      mean = (mean * weight + last[0] * last[1]) / (weight + last[1]);
      weight += last[1];
      count += last[2];
      blocks.pop();
    }
    blocks.push([mean, weight, count]);
  }
  const places: number[] = [];
  for (const [mean, , count] of blocks) {
    for (let k = 0; k < count; k++) {
      places.push(mean + offsets[places.length]!);
    }
  }
  return places;
}
