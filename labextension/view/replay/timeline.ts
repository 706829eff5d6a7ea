/** The snapshots along a line: a tick each, above it what was inserted and deleted, flags where the
 * schema changed. */
import { s } from '../elements/dom';
import { oneLine } from '../elements/text';
import { local, plural, seconds } from '../elements/units';
import type { ReplayStep } from '../wire';

export type Spacing = 'time' | 'index';

const PAD = 8; // half of the slider's thumb, which does not reach the ends
const BARS = 26; // pixels of the highest bar
const FLAG = 15;
const LETTER = 6.8; // pixels of a letter of a flag, about

/** The position of each step, from 0 to 1: by its time, or one as far from the next as any other. */
export function places(steps: readonly ReplayStep[], spacing: Spacing): number[] {
  const times = steps.map(step => seconds(step.time));
  const [first, last] = [times[0] ?? 0, times[times.length - 1] ?? 0];
  if (spacing === 'time' && last > first) {
    return times.map(time => (time - first) / (last - first));
  }
  return steps.map((_, i) => (steps.length > 1 ? i / (steps.length - 1) : 0));
}

/** The index of the place that is nearest; the first of two. */
export function nearestPlace(at: readonly number[], place: number): number {
  let best = 0;
  at.forEach((one, i) => {
    if (Math.abs(one - place) < Math.abs(at[best]! - place)) {
      best = i;
    }
  });
  return best;
}

/** The picture above the slider. `held` is the index of a step that others are compared with. */
export function timeline(
  steps: readonly ReplayStep[],
  at: readonly number[],
  chosen: number,
  held: number | null,
  width: number,
): SVGSVGElement {
  const x = (i: number): number => Math.round((PAD + at[i]! * (width - 2 * PAD)) * 10) / 10;
  const flags = steps.some(step => step.schema_change) ? FLAG : 0;
  const base = flags + BARS + 6;
  const below = steps.some(step => step.deleted) ? BARS : 0;
  const height = base + below + 4;
  const most = Math.max(1, ...steps.map(step => Math.max(step.inserted ?? 0, step.deleted ?? 0)));
  const tall = (many: number): number => (many ? Math.max(2, Math.sqrt(many / most) * BARS) : 0);
  const wide = Math.max(1, Math.min(8, ((width - 2 * PAD) / Math.max(steps.length, 1)) * 0.6));
  const bars = { inserted: '', deleted: '', ticks: '' };
  let reached = -1;
  steps.forEach((step, i) => {
    const left = x(i) - wide / 2;
    const [up, down] = [tall(step.inserted ?? 0), tall(step.deleted ?? 0)];
    bars.inserted += up ? `M${left} ${base - 3}h${wide}v${-up}h${-wide}z` : '';
    bars.deleted += down ? `M${left} ${base + 3}h${wide}v${down}h${-wide}z` : '';
    if (x(i) >= reached + 1) {
      bars.ticks += `M${x(i)} ${base - 3}v6`;
      reached = x(i);
    }
  });
  const line = { d: `M${PAD} ${base}H${width - PAD}`, class: 'dtj-s-line' };
  return s(
    'svg',
    {
      class: 'dtj-timeline',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      'aria-hidden': 'true',
    },
    s('path', line),
    s('path', { d: bars.ticks, class: 'dtj-s-soft' }),
    s('path', { d: bars.inserted, class: 'dtj-f-ok' }),
    s('path', { d: bars.deleted, class: 'dtj-f-bad' }),
    ...flagged(steps, x, base, width),
    held === null
      ? null
      : s('path', { d: `M${x(held)} ${base - 5}l4 5 -4 5 -4 -5z`, class: 'dtj-f-full' }),
    steps.length
      ? s('path', { d: `M${x(chosen)} ${flags}V${height}`, class: 'dtj-s-incremental dtj-now' })
      : null,
  );
}

/** A flag at each change of the schema, with its words as far as there is room to the next. */
function flagged(
  steps: readonly ReplayStep[],
  x: (i: number) => number,
  base: number,
  width: number,
): SVGElement[] {
  const marked = steps.map((step, i) => [step, i] as const).filter(([step]) => step.schema_change);
  let free = -1;
  return marked.slice(0, 200).flatMap(([step, i], k) => {
    const left = x(i);
    const next = marked[k + 1] ? x(marked[k + 1]![1]) : width;
    const flag = s('path', {
      d: `M${left} ${base}V2l7 3.5 -7 3.5`,
      class: 'dtj-s-reinitialize dtj-flag',
    });
    const room = Math.floor((next - left - 14) / LETTER);
    if (left < free || room < 8) {
      return [flag];
    }
    const whole = oneLine(step.schema_change);
    const words = whole.length > room ? `${whole.slice(0, room - 1)}…` : whole;
    free = left + 14 + words.length * LETTER;
    return [flag, s('text', { x: left + 10, y: 9, class: 'dtj-flag-text' }, words)];
  });
}

/** A step in one line, for the slider's value. */
export function toldStep(step: ReplayStep, of: number): string {
  return [
    `step ${step.number} of ${of}`,
    local(step.time),
    step.operation,
    plural(step.row_count, 'row'),
    step.inserted === null ? '' : `${step.inserted} inserted`,
    step.deleted === null ? '' : `${step.deleted} deleted`,
    step.schema_change && `schema: ${step.schema_change}`,
  ]
    .filter(Boolean)
    .join(', ');
}
