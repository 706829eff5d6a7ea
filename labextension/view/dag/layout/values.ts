/** What a layout consists of: places and sizes in pixels. */

export type Point = readonly [x: number, y: number];

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A box with its upper left corner, and its layer from 0. */
export interface Placed extends Size {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly layer: number;
}

/**
 * An edge from the border of its source to that of its target. Between points 0 and 1, 2 and 3, …
 * it bends, between 1 and 2, 3 and 4, … it goes straight past a layer or along a block.
 */
export interface Route {
  readonly source: string;
  readonly target: string;
  readonly points: readonly Point[];
  /** Whether the first and the last bend turn across the flow: to the side of a box in a block. */
  readonly aside: readonly [leaving: boolean, entering: boolean];
}

export interface Layout extends Size {
  readonly boxes: ReadonlyMap<string, Placed>;
  readonly routes: readonly Route[];
}

/** Width to height that packed parts and blocks aim at. */
export const ASPECT = 1.6;
