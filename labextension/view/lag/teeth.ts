/**
 * The lag of a dynamic table over time (DT paper, 5.2), as `dt_jupyter/widgets/sawtooth_points.py`: it rises
 * one second per second, and falls at the end of each refresh to that end minus its data timestamp.
 */
import { FAILURES } from '../icons/marks';
import { duration, percent, plural, seconds } from '../elements/units';
import type { LagMessage, RefreshPoint } from '../wire';

/** A refresh with its times in seconds since 1970. */
export interface Refresh {
  readonly point: RefreshPoint;
  readonly dataTimestamp: number;
  readonly start: number | null;
  readonly end: number | null;
}

/** From one commit to the next, or to now: the lag rises from `low` to `peak`, in seconds. */
export interface Tooth {
  readonly start: number;
  readonly end: number;
  readonly dataTimestamp: number;
  readonly low: number;
  readonly peak: number;
  readonly refresh: Refresh;
}

/** From and to, in seconds since 1970. */
export type Span = readonly [number, number];

export interface Sawtooth {
  readonly name: string;
  readonly target: number | null;
  readonly refreshes: readonly Refresh[];
  readonly teeth: readonly Tooth[];
  /** The time that is known, in seconds since 1970; null before the first refresh. */
  readonly span: Span | null;
  readonly now: number | null;
  readonly worst: number | null;
  /** Mean over time. */
  readonly mean: number | null;
  /** Share of the time with a scheduler in which the lag was at most the target. */
  readonly within: number | null;
  /** When no scheduler ran, in order and disjoint: in them no target is missed. */
  readonly idle: readonly Span[];
  /** The parts of teeth above the target while a scheduler ran. */
  readonly above: readonly Tooth[];
}

export function sawtooth(message: LagMessage): Sawtooth {
  const refreshes = message.points.map(timed).sort((a, b) => a.dataTimestamp - b.dataTimestamp);
  const asOf = message.as_of === null ? null : seconds(message.as_of);
  const teeth = teethOf(refreshes, asOf);
  const whole = teeth.reduce((sum, tooth) => sum + (tooth.peak - tooth.low), 0);
  const last = teeth[teeth.length - 1];
  const target = message.target_lag;
  const idle = last ? idleIn(message, teeth[0]!.start, last.end) : [];
  const held = teeth.flatMap(tooth => outside(tooth, idle));
  const heldFor = held.reduce((sum, tooth) => sum + (tooth.peak - tooth.low), 0);
  const good = (t: Tooth, limit: number): number =>
    Math.min(t.peak, Math.max(limit, t.low)) - t.low;
  const area = teeth.reduce((sum, t) => sum + ((t.peak - t.low) * (t.peak + t.low)) / 2, 0);
  return {
    name: message.name,
    target,
    refreshes,
    teeth,
    span: spanOf(refreshes, asOf),
    now: last?.peak ?? null,
    worst: last ? teeth.reduce((worst, tooth) => Math.max(worst, tooth.peak), 0) : null,
    mean: !last ? null : whole ? area / whole : last.low,
    within:
      target === null || !last
        ? null
        : heldFor
          ? held.reduce((sum, tooth) => sum + good(tooth, target), 0) / heldFor
          : Number(last.low <= target),
    idle,
    above: target === null ? [] : held.filter(tooth => tooth.peak > target),
  };
}

/** The times without a scheduler that lie in [from, to], cut to it. */
function idleIn(message: LagMessage, from: number, to: number): Span[] {
  return message.idle
    .map((time): Span => [Math.max(seconds(time.start), from), Math.min(seconds(time.end), to)])
    .filter(([start, end]) => start < end);
}

/** The parts of a tooth outside of those times. */
function outside(tooth: Tooth, times: readonly Span[]): Tooth[] {
  const found: Tooth[] = [];
  let start = tooth.start;
  const add = (end: number): void => {
    const [low, peak] = [start - tooth.dataTimestamp, end - tooth.dataTimestamp];
    found.push({ ...tooth, start, end, low, peak });
  };
  for (const [from, to] of times) {
    if (to > start && from < tooth.end) {
      if (from > start) {
        add(from);
      }
      start = to;
    }
  }
  if (start < tooth.end || start === tooth.start) {
    add(tooth.end);
  }
  return found;
}

/** For how many seconds no scheduler ran. */
export function idleSeconds(saw: Sawtooth): number {
  return saw.idle.reduce((sum, [from, to]) => sum + (to - from), 0);
}

function timed(point: RefreshPoint): Refresh {
  return {
    point,
    dataTimestamp: seconds(point.data_timestamp),
    start: point.start === null ? null : seconds(point.start),
    end: point.end === null ? null : seconds(point.end),
  };
}

function teethOf(refreshes: readonly Refresh[], asOf: number | null): Tooth[] {
  const done = refreshes
    .filter(refresh => refresh.point.state === 'SUCCEEDED' && refresh.end !== null)
    .sort((a, b) => a.end! - b.end! || a.dataTimestamp - b.dataTimestamp);
  let newest = -Infinity;
  return done.map((refresh, i) => {
    const start = refresh.end!;
    const end = done[i + 1]?.end ?? Math.max(start, asOf ?? start);
    newest = Math.max(newest, refresh.dataTimestamp);
    return { start, end, dataTimestamp: newest, low: start - newest, peak: end - newest, refresh };
  });
}

function spanOf(refreshes: readonly Refresh[], asOf: number | null): [number, number] | null {
  if (!refreshes.length) {
    return null;
  }
  let [first, last] = [Infinity, -Infinity];
  for (const { dataTimestamp, start, end } of refreshes) {
    first = Math.min(first, start ?? dataTimestamp);
    last = Math.max(last, end ?? start ?? dataTimestamp);
  }
  return [first, Math.max(last, asOf ?? last, first + 1)];
}

/** The first index in sorted `values` whose key is at least `at`. */
export function firstFrom<T>(values: readonly T[], at: number, key: (value: T) => number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(values[middle]!) < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** The teeth that lie in [from, to], cut to it. */
export function within(teeth: readonly Tooth[], from: number, to: number): Tooth[] {
  const found: Tooth[] = [];
  for (let i = firstFrom(teeth, from, tooth => tooth.end); i < teeth.length; i++) {
    const tooth = teeth[i]!;
    if (tooth.start > to) {
      break;
    }
    const start = Math.max(tooth.start, from);
    const end = Math.min(tooth.end, to);
    const [low, peak] = [start - tooth.dataTimestamp, end - tooth.dataTimestamp];
    found.push({ ...tooth, start, end, low, peak });
  }
  return found;
}

/** The lag just before a moment, in seconds; null where the table has no contents or past now. */
export function lagBefore(saw: Sawtooth, at: number): number | null {
  const tooth = saw.teeth[firstFrom(saw.teeth, at, one => one.end)];
  return tooth && tooth.start < at ? at - tooth.dataTimestamp : null;
}

/** Outcomes and how often each was, failures and skips only: `1 FAILED, 2 SKIPPED`. */
export function troubles(saw: Sawtooth): string {
  return [...FAILURES, 'SKIPPED' as const]
    .map(
      state => [saw.refreshes.filter(({ point }) => point.state === state).length, state] as const,
    )
    .filter(([many]) => many)
    .map(([many, state]) => `${many} ${state}`)
    .join(', ');
}

/** The sawtooth in a sentence. */
export function summary(saw: Sawtooth): string {
  const parts = [saw.target === null ? 'target DOWNSTREAM' : `target ${duration(saw.target)}`];
  if (saw.now !== null && saw.worst !== null && saw.mean !== null) {
    parts.push(
      `now ${duration(saw.now)}`,
      `worst ${duration(saw.worst)}`,
      `mean ${duration(saw.mean)}`,
    );
  }
  if (saw.within !== null) {
    parts.push(`within target ${percent(saw.within)} of the time`);
  }
  if (saw.idle.length) {
    parts.push(`no scheduler for ${duration(idleSeconds(saw))}`);
  }
  parts.push(plural(saw.refreshes.length, 'refresh', 'refreshes'));
  return [...parts, troubles(saw)].filter(Boolean).join(', ');
}

/** Waiting and duration of a refresh, in seconds, where they are known. */
export function parts(refresh: Refresh): { w: number | null; d: number | null } {
  const { dataTimestamp, start, end } = refresh;
  return {
    w: start === null ? null : start - dataTimestamp,
    d: start === null || end === null ? null : end - start,
  };
}

/** A refresh in one line. */
export function told(saw: Sawtooth, refresh: Refresh, time: (instant: string) => string): string {
  const { point, end } = refresh;
  const { w, d } = parts(refresh);
  const before = end === null ? null : lagBefore(saw, end);
  const low = point.state === 'SUCCEEDED' && end !== null ? end - refresh.dataTimestamp : null;
  return [
    [point.state, point.action].filter(Boolean).join(' '),
    `data timestamp ${time(point.data_timestamp)}`,
    w === null ? '' : `waited ${duration(w)}`,
    d === null ? '' : `ran ${duration(d)}`,
    low === null ? '' : `lag ${before === null ? '' : `${duration(before)} `}→ ${duration(low)}`,
    point.detail ?? '',
  ]
    .filter(Boolean)
    .join(', ');
}
