/** Two columns of a table as a picture: bars by word, a line by number or time. */
import { h, s } from '../elements/dom';
import { comparing } from '../elements/order';
import { isNumber } from '../elements/table';
import { oneLine } from '../elements/text';
import type { Column } from '../wire';

const HEIGHT = 180;
const TOP = 24;
const BOTTOM = 34;
const LEFT = 64;
const MOST = 200; // bars
const APART = 90; // pixels between two labels

export interface Drawn {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** The columns that can be drawn up: numbers. */
export const numeric = (columns: readonly Column[]): Column[] => columns.filter(isNumber);

interface Spot {
  readonly label: string;
  readonly at: number;
  readonly value: number;
}

/** The picture, as wide as that; a sentence where there is nothing to draw. */
export function chart(data: Drawn, across: string, up: string, width: number): Element {
  const [x, y] = [across, up].map(name => data.columns.findIndex(c => c.name === name));
  const type = data.columns[x!]?.type ?? '';
  const continuous = isNumber({ name: '', type }) || /^(date|timestamp)/.test(type);
  const spots = spotsOf(data, x!, y!, continuous).slice(0, MOST);
  if (!spots.length) {
    return h('p', { class: 'dtj-foot' }, 'No numbers to draw.');
  }
  const values = spots.map(spot => spot.value);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const span = high - low || 1;
  const bottom = HEIGHT - BOTTOM;
  const upAt = (value: number): number => bottom - ((value - low) / span) * (bottom - TOP);
  const [first, last] = [spots[0]!.at, spots.at(-1)!.at];
  const room = width - LEFT - 10;
  const acrossAt = (spot: Spot, i: number): number =>
    LEFT +
    (continuous
      ? ((spot.at - first) / (last - first || 1)) * room
      : ((i + 0.5) / spots.length) * room);
  return s(
    'svg',
    {
      class: 'dtj-rows-chart',
      width,
      height: HEIGHT,
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: 'img',
      'aria-label': `${oneLine(up)} by ${oneLine(across)}, ${spots.length} values`,
    },
    ...[low, (low + high) / 2, high].flatMap(value => [
      s('path', { class: 'dtj-s-grid', d: `M${LEFT} ${upAt(value)}H${width - 10}` }),
      text(LEFT - 6, upAt(value) + 4, short(value), 'end'),
    ]),
    ...(continuous
      ? [line(spots.map((spot, i) => [acrossAt(spot, i), upAt(spot.value)]))]
      : bars(spots, acrossAt, upAt, (room / spots.length) * 0.7)),
    ...labels(
      spots.map((spot, i) => [acrossAt(spot, i), spot.label]),
      width,
    ),
    text(LEFT, HEIGHT - 2, oneLine(across), 'start'),
    text(0, 11, oneLine(up), 'start'),
  );
}

/** The line below: as many labels as have room. */
function labels(
  all: readonly (readonly [at: number, label: string])[],
  width: number,
): SVGElement[] {
  let free = -Infinity;
  return all.flatMap(([at, label]) => {
    if (at < free) {
      return [];
    }
    free = at + APART;
    const end = at > width - APART / 2;
    return [text(at, HEIGHT - BOTTOM + 16, cut(label, APART / 7), end ? 'end' : 'middle')];
  });
}

/** Rows with both values, in the order of what goes across where that has one. */
function spotsOf({ rows }: Drawn, x: number, y: number, continuous: boolean): Spot[] {
  const spots = rows.flatMap(row => {
    const [label, value] = [row[x], Number(row[y] ?? NaN)];
    return label == null || !Number.isFinite(value) ? [] : [{ label, at: place(label), value }];
  });
  const compare = comparing(false, false);
  return continuous ? spots.sort((a, b) => a.at - b.at || compare(a.label, b.label)) : spots;
}

/** A number, or an instant in milliseconds; Spark writes these without a zone. */
function place(label: string): number {
  const number = Number(label);
  return Number.isNaN(number)
    ? Date.parse(`${label.replace(' ', 'T')}Z`) || Date.parse(label)
    : number;
}

function line(points: readonly (readonly number[])[]): SVGElement {
  const d = `M${points.map(([x, y]) => `${round(x!)} ${round(y!)}`).join('L')}`;
  return points.length > 1
    ? s('path', { d, class: 'dtj-s-incremental', 'stroke-width': 1.7, 'stroke-linejoin': 'round' })
    : s('circle', { cx: points[0]![0]!, cy: points[0]![1]!, r: 3, class: 'dtj-f-incremental' });
}

function bars(
  spots: readonly Spot[],
  across: (spot: Spot, i: number) => number,
  up: (value: number) => number,
  wide: number,
): SVGElement[] {
  return spots.map((spot, i) => {
    const [from, to] = [up(0), up(spot.value)];
    const box = { x: round(across(spot, i) - wide / 2), y: round(Math.min(from, to)) };
    const bar = s('rect', {
      ...box,
      width: round(wide),
      height: Math.max(1, round(Math.abs(from - to))),
      class: 'dtj-f-incremental',
    });
    bar.append(s('title', {}, `${oneLine(spot.label)}: ${spot.value}`));
    return bar;
  });
}

function text(x: number, y: number, words: string, anchor: string): SVGElement {
  return s('text', { x: round(x), y: round(y), 'text-anchor': anchor, class: 'dtj-tick' }, words);
}

const round = (value: number): number => Math.round(value * 10) / 10;

const short = (value: number): string =>
  new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 }).format(value);

function cut(label: string, room: number): string {
  const words = oneLine(label);
  return words.length <= room ? words : `${words.slice(0, Math.max(3, Math.floor(room)))}…`;
}
