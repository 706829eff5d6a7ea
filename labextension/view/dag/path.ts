/** An edge as the data of one SVG path: smooth between the layers, straight past them, and its tip. */
import type { Point, Route } from './layout/index';

const WING = 4;
const TIP = 7;

/** The data of a path; the head of the arrow is part of it. */
export function pathOf({ points, aside }: Route, rightward: boolean): string {
  const last = points.length - 1;
  const parts = [`M${text(points[0]!)}`];
  for (let i = 1; i <= last; i++) {
    const [from, to] = [points[i - 1]!, points[i]!];
    if (i % 2 === 0) {
      parts.push(`L${text(to)}`);
    } else if ((i === 1 && aside[0]) || (i === last && aside[1])) {
      parts.push(`Q${text(corner(from, to, rightward === (i === last)))} ${text(to)}`);
    } else {
      parts.push(`C${bend(from, to, rightward)} ${text(to)}`);
    }
  }
  return `${parts.join('')}${head(points[last]!, rightward !== aside[1])}`;
}

/** Where a turn to the side has its corner. */
function corner(from: Point, to: Point, level: boolean): Point {
  return level ? [to[0], from[1]] : [from[0], to[1]];
}

function bend(from: Point, to: Point, rightward: boolean): string {
  const middle: Point = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  return rightward
    ? `${text([middle[0], from[1]])} ${text([middle[0], to[1]])}`
    : `${text([from[0], middle[1]])} ${text([to[0], middle[1]])}`;
}

function head([x, y]: Point, level: boolean): string {
  const wings: readonly Point[] = level
    ? [
        [x - TIP, y - WING],
        [x - TIP, y + WING],
      ]
    : [
        [x - WING, y - TIP],
        [x + WING, y - TIP],
      ];
  return `M${text(wings[0]!)}L${text([x, y])}L${text(wings[1]!)}`;
}

function text([x, y]: Point): string {
  return `${round(x)} ${round(y)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
