/** The drawing of a sawtooth: SVG from values, as wide as its place, bounded however long it is. */
import { s } from '../elements/dom';
import { FAILURES, actionGlyph, cross, ink, tokenOf } from '../icons/marks';
import { duration, durationTicks, instantTicks } from '../elements/units';
import { firstFrom, lagBefore, within } from './teeth';
import type { Refresh, Sawtooth, Span, Tooth } from './teeth';

const MARKS_UPTO = 160; // refreshes; beyond, the line alone shows more than its marks
const NARROW = 520;

/** What is drawn where: instants (seconds since 1970) and lags (seconds) to pixels. */
export class Scale {
  readonly left: number;
  readonly right: number;
  readonly top = 16;
  readonly bottom: number;
  readonly lane: number;
  readonly height: number;

  constructor(
    readonly width: number,
    readonly from: number,
    readonly to: number,
    readonly peak: number,
    tall = 1,
    foot = 36,
  ) {
    const narrow = width < NARROW;
    this.left = narrow ? 50 : 64;
    this.right = width - (narrow ? 10 : 66);
    this.bottom = this.top + (narrow ? 140 : 190) * tall;
    this.lane = this.bottom + 8;
    this.height = this.lane + 14 + foot;
  }

  get narrow(): boolean {
    return this.width < NARROW;
  }

  x(at: number): number {
    return this.left + ((at - this.from) / (this.to - this.from)) * (this.right - this.left);
  }

  at(x: number): number {
    const share = (x - this.left) / (this.right - this.left);
    return this.from + Math.min(1, Math.max(0, share)) * (this.to - this.from);
  }

  y(lag: number): number {
    return this.bottom - (Math.min(lag, this.peak) / this.peak) * (this.bottom - this.top);
  }
}

/** The highest lag that a picture of [from, to] must reach, with some air above. */
export function peakOf(saw: Sawtooth, from: number, to: number): number {
  const worst = within(saw.teeth, from, to).reduce((most, tooth) => Math.max(most, tooth.peak), 0);
  return Math.max(worst * 1.12, (saw.target ?? 0) * 1.2, 1);
}

const n = (value: number): string => String(Math.round(value * 100) / 100);

let clips = 0; // ids are the page's

/** The picture. `relative`: the time axis counts from its start, since it has no date. */
export function picture(saw: Sawtooth, scale: Scale, relative = false): SVGElement[] {
  const teeth = within(saw.teeth, scale.from, scale.to);
  const above = within(saw.above, scale.from, scale.to);
  const shown = visible(saw.refreshes, scale);
  const crowded = shown.length > MARKS_UPTO;
  return [
    ...saw.idle.map(span => idle(span, scale)),
    axes(scale, relative),
    ...line(teeth, scale),
    ...excess(above, saw.target, scale, teeth.length),
    target(saw.target, scale),
    worstOf(above, scale),
    ...(crowded ? [] : [marks(saw, teeth, above, shown, scale)]),
    lane(shown, scale, crowded),
  ];
}

/** A time without a scheduler. */
function idle([from, to]: Span, scale: Scale): SVGElement {
  const inside = (at: number): number => Math.min(scale.right, Math.max(scale.left, scale.x(at)));
  const [x, until] = [inside(from), inside(to)];
  const tall = { y: scale.top, height: scale.lane - scale.top };
  return s('rect', { class: 'dtj-idle', x: n(x), width: n(until - x), ...tall });
}

/** Refreshes with a part in the picture. */
function visible(refreshes: readonly Refresh[], scale: Scale): Refresh[] {
  const last = firstFrom(refreshes, scale.to, refresh => refresh.dataTimestamp);
  return refreshes
    .slice(0, last)
    .filter(({ dataTimestamp, start, end, point }) =>
      point.state === 'EXECUTING' ? true : (end ?? start ?? dataTimestamp) >= scale.from,
    );
}

function text(
  x: number,
  y: number,
  words: string,
  more: Record<string, string | number> = {},
): SVGElement {
  return s('text', { x: n(x), y: n(y), class: 'dtj-tick', ...more }, words);
}

function axes(scale: Scale, relative: boolean): SVGElement {
  const { left, right, bottom, lane } = scale;
  const foot = lane + 18;
  const group = s('g', {});
  for (const lag of durationTicks(scale.peak, scale.narrow ? 4 : 5)) {
    const y = scale.y(lag);
    group.append(
      s('path', { d: `M${left} ${n(y)}H${right}`, class: lag ? 'dtj-s-grid' : 'dtj-s-line' }),
      text(left - 7, y + 3.5, lag ? duration(lag) : '0', { 'text-anchor': 'end' }),
    );
  }
  group.append(s('path', { d: `M${left} ${foot}H${right}`, class: 'dtj-s-line' }));
  const wanted = Math.max(2, Math.floor((right - left) / 76));
  const ticks = relative
    ? durationTicks(scale.to - scale.from, wanted).map(by => ({
        at: scale.from + by,
        label: by ? `+${duration(by)}` : '0',
        date: null,
      }))
    : instantTicks(scale.from, scale.to, wanted);
  for (const { at, label, date } of ticks) {
    const x = scale.x(at);
    const place = { 'text-anchor': 'middle' };
    group.append(
      s('path', { d: `M${n(x)} ${foot}v4`, class: 'dtj-s-line' }),
      text(x, foot + 15, label, place),
    );
    if (date !== null) {
      group.append(text(Math.max(x, left), foot + 28, date, place));
    }
  }
  if (!scale.narrow) {
    group.append(text(left - 7, lane + 11, 'refreshes', { 'text-anchor': 'end' }));
  }
  group.append(s('path', { d: `M${left} ${bottom}H${right}`, class: 'dtj-s-line' }));
  return group;
}

function target(lag: number | null, scale: Scale): SVGElement {
  if (lag === null || lag > scale.peak) {
    return s('g', {});
  }
  const y = scale.y(lag);
  const words = { class: 'dtj-tick dtj-target' };
  return s(
    'g',
    {},
    s('path', {
      d: `M${scale.left} ${n(y)}H${scale.right}`,
      class: 'dtj-s-warn',
      'stroke-dasharray': '6 4',
      'stroke-width': 1.5,
    }),
    ...(scale.narrow
      ? [text(scale.right, y - 4, `target ${duration(lag)}`, { ...words, 'text-anchor': 'end' })]
      : [
          text(scale.right + 6, y - 1, 'target', words),
          text(scale.right + 6, y + 11, duration(lag), words),
        ]),
  );
}

const cornersOf = (teeth: readonly Tooth[], scale: Scale): (readonly [number, number])[] =>
  thinned(
    teeth.flatMap(tooth => [
      [scale.x(tooth.start), scale.y(tooth.low)] as const,
      [scale.x(tooth.end), scale.y(tooth.peak)] as const,
    ]),
  );

/** How thick a line with a number of teeth is, and how opaque. */
function strokeOf(many: number): { 'stroke-width': number; 'stroke-opacity': number } {
  const [width, opacity] = [many > MARKS_UPTO ? 0.9 : 1.7, many > 4 * MARKS_UPTO ? 0.5 : 1];
  return { 'stroke-width': width, 'stroke-opacity': opacity };
}

/** The area and its edge. */
function line(teeth: readonly Tooth[], scale: Scale): SVGElement[] {
  if (!teeth.length) {
    return [];
  }
  const corners = cornersOf(teeth, scale);
  const edge = corners.map(([x, y]) => `${n(x)} ${n(y)}`).join('L');
  const [first, last] = [corners[0]![0], corners[corners.length - 1]![0]];
  const area = `M${n(first)} ${scale.bottom}L${edge}L${n(last)} ${scale.bottom}Z`;
  const stroke = { d: `M${edge}`, 'stroke-linejoin': 'round', ...strokeOf(teeth.length) };
  return [
    s('path', { d: area, class: 'dtj-f-incremental', 'fill-opacity': 0.1, stroke: 'none' }),
    s('path', { ...stroke, class: 'dtj-s-incremental' }),
  ];
}

/** In red what is above the target, of a line of `many` teeth. */
function excess(
  above: readonly Tooth[],
  limit: number | null,
  scale: Scale,
  many: number,
): SVGElement[] {
  if (limit === null || !above.length) {
    return [];
  }
  const [id, y] = [`dtj-above-${++clips}`, scale.y(limit)];
  const rises = above.map(tooth => {
    const [[a, low], [b, peak]] = [
      [scale.x(tooth.start), scale.y(tooth.low)],
      [scale.x(tooth.end), scale.y(tooth.peak)],
    ] as const;
    return {
      wedge: `M${n(a)} ${n(y)}V${n(low)}L${n(b)} ${n(peak)}V${n(y)}Z`,
      edge: `M${n(a)} ${n(low)}L${n(b)} ${n(peak)}`,
    };
  });
  const box = { x: scale.left, y: 0, width: scale.right - scale.left, height: Math.max(0, y) };
  const wedges = rises.map(({ wedge }) => wedge).join('');
  const edges = rises.map(({ edge }) => edge).join('');
  return [
    s('clipPath', { id }, s('rect', box)),
    s(
      'g',
      { 'clip-path': `url(#${id})`, class: 'dtj-above' },
      s('path', { d: wedges, class: 'dtj-f-bad', 'fill-opacity': 0.25, stroke: 'none' }),
      s('path', {
        d: edges,
        'stroke-width': strokeOf(many)['stroke-width'] * 1.2,
        class: 'dtj-s-bad',
      }),
    ),
  ];
}

/** At most four corners for each pixel of width: its first, its lowest and highest, its last. */
export function thinned(
  corners: readonly (readonly [number, number])[],
): (readonly [number, number])[] {
  const kept: (readonly [number, number])[] = [];
  for (let i = 0; i < corners.length;) {
    const pixel = Math.floor(corners[i]![0]);
    let [low, high, next] = [i, i, i];
    for (; next < corners.length && Math.floor(corners[next]![0]) === pixel; next++) {
      low = corners[next]![1] < corners[low]![1] ? next : low;
      high = corners[next]![1] > corners[high]![1] ? next : high;
    }
    const chosen = [...new Set([i, low, high, next - 1])].sort((a, b) => a - b);
    kept.push(...chosen.map(index => corners[index]!));
    i = next;
  }
  return kept;
}

/** Each refresh's action where the lag fell, a cross where one failed, a tip where one was late. */
function marks(
  saw: Sawtooth,
  teeth: readonly Tooth[],
  above: readonly Tooth[],
  shown: readonly Refresh[],
  scale: Scale,
): SVGElement {
  const room = (0.28 * (scale.right - scale.left)) / Math.max(shown.length, 1);
  const r = Math.min(4, Math.max(1.6, room));
  const group = s('g', {});
  for (const tooth of above) {
    const [x, y] = [scale.x(tooth.end), scale.y(tooth.peak)];
    group.append(
      s('path', { d: `M${n(x)} ${n(y - 3)}l-4 -7h8z`, class: 'dtj-f-bad', stroke: 'none' }),
    );
  }
  for (const tooth of teeth) {
    const { point, end } = tooth.refresh;
    if (point.action && end !== null && end >= scale.from) {
      group.append(actionGlyph(point.action, scale.x(tooth.start), scale.y(tooth.low), r));
    }
  }
  for (const { point, end } of shown) {
    if (FAILURES.includes(point.state) && end !== null && end >= scale.from && end <= scale.to) {
      const y = scale.y(lagBefore(saw, end) ?? 0);
      group.append(cross(scale.x(end), y, Math.max(r, 3.2), tokenOf(point)));
    }
  }
  return group;
}

/** In words how high the worst peak above the target is. */
function worstOf(above: readonly Tooth[], scale: Scale): SVGElement {
  const group = s('g', {});
  const worst = above.reduce<Tooth | null>(
    (most, t) => (most && most.peak >= t.peak ? most : t),
    null,
  );
  if (worst) {
    const [x, y] = [scale.x(worst.end), scale.y(worst.peak)];
    const before = x + 70 > scale.right;
    const place = { class: 'dtj-tick dtj-worst', 'text-anchor': before ? 'end' : 'start' };
    group.append(text(x + (before ? -8 : 8), y - 3, duration(worst.peak), place));
  }
  return group;
}

/** Below: a thin line while a refresh waits, a bar while it runs; a stroke for a skip, a cross for a
 * failure. One path for each colour, of any number. */
function lane(shown: readonly Refresh[], scale: Scale, crowded: boolean): SVGElement {
  const middle = scale.lane + 7;
  const drawn = new Map<string, { bars: string[]; waits: string[]; reached: number }>();
  const skips: string[] = [];
  const crosses: SVGElement[] = [];
  for (const { point, dataTimestamp, start, end } of shown) {
    const token = tokenOf(point);
    const low = Math.max(scale.x(start ?? dataTimestamp), scale.left);
    const failed = FAILURES.includes(point.state);
    if (point.state === 'SKIPPED') {
      skips.push(`M${n(low)} ${scale.lane}v14`);
      continue;
    }
    const until = point.state === 'EXECUTING' ? scale.to : (end ?? start ?? dataTimestamp);
    const high = Math.min(scale.x(until), scale.right);
    const key = point.action === 'NO_DATA' ? 'hollow' : token;
    const of = drawn.get(key) ?? { bars: [], waits: [], reached: -1 };
    drawn.set(key, of);
    if (failed && !crowded) {
      crosses.push(cross((low + high) / 2, middle, 3.6, token));
    } else if (!crowded || high > of.reached + 0.5) {
      const width = Math.max(high - low, crowded ? 1 : 2.4);
      of.bars.push(`M${n(low)} ${scale.lane + 2}h${n(width)}v10h${n(-width)}z`);
      of.reached = low + width;
    }
    const from = Math.max(scale.x(dataTimestamp), scale.left);
    if (low - from > 1) {
      of.waits.push(`M${n(from)} ${middle}H${n(low)}`);
    }
  }
  const group = s('g', {});
  for (const [key, { bars, waits }] of drawn) {
    const token = key === 'hollow' ? 'idle' : key;
    const opacity = key === 'hollow' ? 0.4 : 1;
    group.append(
      s('path', { d: waits.join(''), style: `stroke:${ink(token)}`, 'stroke-width': 1.3 }),
      s('path', {
        d: bars.join(''),
        style: `fill:${ink(token)};fill-opacity:${opacity}`,
        stroke: 'none',
      }),
    );
  }
  group.append(
    s('path', { d: skips.join(''), class: 'dtj-s-warn', 'stroke-width': crowded ? 1.2 : 2 }),
    ...crosses,
  );
  return group;
}
