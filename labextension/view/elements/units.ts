/**
 * Durations, instants and counts in words, and round ticks for their axes: the words of
 * `dt_jupyter/wire/units.py`, but instants in the browser's own zone.
 */
import { h } from './dom';
import type { Instant } from '../wire';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const UNITS: readonly (readonly [number, string, number, string])[] = [
  [DAY, 'd', HOUR, 'h'],
  [HOUR, 'h', MINUTE, 'min'],
  [MINUTE, 'min', 1, 's'],
];
const LARGER: Readonly<Record<string, number>> = { min: HOUR, h: DAY };
const STEPS: readonly number[] = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map(k => k * MINUTE),
  ...[1, 2, 3, 6, 12].map(k => k * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000].map(k => k * DAY),
];

/** Half to even, as Python rounds. */
function round(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
}

/** `4 ms`, `0.42 s`, `12 s`, `1 min 30 s`, `2 h 5 min`, `3 d 4 h`: two units at most. */
export function duration(seconds: number): string {
  if (seconds < 0) {
    return `−${duration(-seconds)}`;
  }
  if (seconds > 0 && seconds < 0.1) {
    return `${Number((seconds * 1000).toPrecision(2))} ms`;
  }
  if (seconds < 10) {
    return `${Number(seconds.toFixed(2))} s`;
  }
  const whole = round(seconds);
  for (const [size, unit, below, lesser] of UNITS) {
    if (whole >= size) {
      const parts = round(whole / below);
      const each = round(size / below);
      const high = Math.floor(parts / each);
      const low = parts % each;
      if (high * size >= (LARGER[unit] ?? Infinity)) {
        return duration(high * size);
      }
      return `${high} ${unit}${low ? ` ${low} ${lesser}` : ''}`;
    }
  }
  return `${whole} s`;
}

/** All digits: `1,234,567`. */
export function exact(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 }).replace('-', '−');
}

/** `9,999`, `12.3k`, `337k`, `6M`: exact when short, else three digits. */
export function count(value: number): string {
  if (Math.abs(value) < 10_000) {
    return exact(Math.round(value));
  }
  let size = Math.abs(value);
  let unit = '';
  for (unit of ['', 'k', 'M', 'G', 'T']) {
    if (size < 999.5 || unit === 'T') {
      break;
    }
    size /= 1000;
  }
  const digits = size < 1000 ? String(Number(size.toPrecision(3))) : size.toFixed(0);
  return `${value < 0 ? '−' : ''}${digits}${unit}`;
}

/** `9,999 B`, `12.3 kB`, `6 MB`. */
export function bytes(value: number): string {
  const [, digits, unit] = /^(.*?)([kMGT]?)$/.exec(count(value))!;
  return `${digits} ${unit}B`;
}

/** `1 row`, `2,000 rows`; `es` where the plural is not an `s`. */
export function plural(value: number, noun: string, many = `${noun}s`): string {
  return `${exact(value)} ${value === 1 ? noun : many}`;
}

/** `99.2 %`; never 100 % when it is not, nor 0 %. */
export function percent(share: number): string {
  const value = 100 * share;
  if ((value > 0 && value < 0.1) || (value > 99.9 && value < 100)) {
    return value < 1 ? '< 0.1 %' : '> 99.9 %';
  }
  return `${Number(value.toFixed(1))} %`;
}

/** Microseconds since 1970: exact, where `Date` knows milliseconds only. NaN for no instant. */
export function micros(instant: Instant): number {
  const fraction = /\.(\d+)/.exec(instant)?.[1] ?? '';
  const whole = Date.parse(fraction ? instant.replace(`.${fraction}`, '') : instant);
  return whole * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
}

/** Seconds since 1970, for axes. */
export function seconds(instant: Instant): number {
  return micros(instant) / 1e6;
}

const two = (value: number): string => String(value).padStart(2, '0');

function fraction(instant: Instant): string {
  const digits = (/\.(\d+)/.exec(instant)?.[1] ?? '').slice(0, 6).replace(/0+$/, '');
  return digits ? `.${digits}` : '';
}

/** `2013-01-04 12:00:00 UTC`, with a fraction only where there is one. */
export function utc(instant: Instant): string {
  const at = new Date(Math.floor(micros(instant) / 1000));
  if (Number.isNaN(at.getTime())) {
    return instant;
  }
  return `${at.toISOString().slice(0, 19).replace('T', ' ')}${fraction(instant)} UTC`;
}

const localDate = (at: Date): string =>
  `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

const localTime = (at: Date): string =>
  `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

/** `2013-01-04 12:00:00` in the browser's zone; without the date on the day of `beside`. */
export function local(instant: Instant, beside: Instant | null = null): string {
  const at = new Date(Math.floor(micros(instant) / 1000));
  if (Number.isNaN(at.getTime())) {
    return instant;
  }
  const day = localDate(at);
  const short = beside !== null && localDate(new Date(Math.floor(micros(beside) / 1000))) === day;
  return short ? localTime(at) : `${day} ${localTime(at)}`;
}

/** A `time` element in the browser's zone, with UTC and its fraction in the title. */
export function timeElement(instant: Instant, beside: Instant | null = null): HTMLTimeElement {
  return h('time', { datetime: instant, title: utc(instant) }, local(instant, beside));
}

/** The browser's zone by name: `Europe/Paris`. */
export function zone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || 'local time';
}

/** The smallest round step, in seconds, that makes at most `wanted` intervals of `span`. */
export function step(span: number, wanted: number): number {
  return STEPS.find(s => span / s <= wanted) ?? STEPS[STEPS.length - 1]!;
}

/** Round durations from zero up to `top`. */
export function durationTicks(top: number, wanted = 5): number[] {
  const by = step(top, wanted);
  return Array.from({ length: Math.floor(top / by + 1e-9) + 1 }, (_, i) => i * by);
}

/** A round instant, in seconds since 1970, with its label; `date` where a new day begins. */
export interface InstantTick {
  readonly at: number;
  readonly label: string;
  readonly date: string | null;
}

/** Round instants of the browser's zone in [start, end], both in seconds since 1970. */
export function instantTicks(start: number, end: number, wanted = 8): InstantTick[] {
  const by = step(end - start, wanted);
  const midnight = new Date(start * 1000);
  midnight.setHours(0, 0, 0, 0);
  const ticks: InstantTick[] = [];
  let day = '';
  for (let i = by >= DAY ? 0 : Math.ceil((start - midnight.getTime() / 1000) / by - 1e-9); ; i++) {
    const at = new Date(midnight);
    if (by >= DAY) {
      at.setDate(at.getDate() + i * Math.round(by / DAY)); // days are not all 24 hours long
    } else {
      at.setTime(midnight.getTime() + i * by * 1000);
    }
    const second = at.getTime() / 1000;
    if (!(second <= end)) {
      return ticks;
    }
    if (second < start) {
      continue;
    }
    const date = localDate(at);
    const tenth = by < 1 ? `.${Math.floor(at.getMilliseconds() / 100)}` : '';
    const label = by >= DAY ? date : localTime(at).slice(0, by >= MINUTE ? 5 : 8) + tenth;
    ticks.push({ at: second, label, date: by >= DAY || date === day ? null : date });
    day = date;
  }
}
