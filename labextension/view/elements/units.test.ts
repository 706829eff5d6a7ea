import { describe, expect, test } from 'vitest';

import {
  bytes,
  count,
  duration,
  durationTicks,
  instantTicks,
  local,
  micros,
  percent,
  plural,
  utc,
} from './units';

describe('the words of dt_jupyter/wire/units.py', () => {
  test.each([
    [0, '0 s'],
    [0.0004, '0.4 ms'],
    [0.042, '42 ms'],
    [0.42, '0.42 s'],
    [9.999, '10 s'],
    [12.4, '12 s'],
    [59.6, '1 min'],
    [90, '1 min 30 s'],
    [119.7, '2 min'],
    [3599, '59 min 59 s'],
    [7500, '2 h 5 min'],
    [86399, '1 d'],
    [273600, '3 d 4 h'],
    [-90, '−1 min 30 s'],
  ])('%d s is %s', (seconds, words) => {
    expect(duration(seconds)).toBe(words);
  });

  test.each([
    [0, '0'],
    [9999, '9,999'],
    [10000, '10k'],
    [-12345, '−12.3k'],
    [999499, '999k'],
    [999500, '1M'],
    [1234567890, '1.23G'],
  ])('%d is %s', (value, words) => {
    expect(count(value)).toBe(words);
  });

  test('ticks are round and reach to the top', () => {
    expect(durationTicks(61)).toEqual([0, 15, 30, 45, 60]);
    expect(durationTicks(4000)).toEqual([0, 900, 1800, 2700, 3600]);
  });
});

test('a share is never all or nothing when it is not', () => {
  expect([0, 0.0001, 0.5, 0.99999, 1].map(percent)).toEqual([
    '0 %',
    '< 0.1 %',
    '50 %',
    '> 99.9 %',
    '100 %',
  ]);
});

test('a size has its unit', () => {
  expect([0, 9999, 12_345, 6_000_000].map(bytes)).toEqual(['0 B', '9,999 B', '12.3 kB', '6 MB']);
});

test('a count has its noun', () => {
  expect([plural(1, 'row'), plural(2000, 'row'), plural(0, 'refresh', 'refreshes')]).toEqual([
    '1 row',
    '2,000 rows',
    '0 refreshes',
  ]);
});

describe('instants', () => {
  test('microseconds are kept, and tell two instants apart', () => {
    const a = micros('2026-11-22T12:00:00.000001+00:00');
    expect(a - micros('2026-11-22T12:00:00+00:00')).toBe(1);
    expect(micros('2026-11-22T12:00:00.5Z') - micros('2026-11-22T14:00:00+02:00')).toBe(500_000);
  });

  test('UTC has a fraction only where there is one', () => {
    expect(utc('2026-11-22T12:00:00+00:00')).toBe('2026-11-22 12:00:00 UTC');
    expect(utc('2026-11-22T14:00:00.120000+02:00')).toBe('2026-11-22 12:00:00.12 UTC');
    expect(utc('no time')).toBe('no time');
  });

  test('the date is left out beside an instant of the same day', () => {
    expect(local('2026-11-22T12:00:00Z', '2026-11-22T12:30:00Z')).toMatch(
      /^\d\d:00:00$|^\d\d:30:00$/,
    );
    expect(local('2026-11-22T12:00:00Z', '2026-11-25T12:00:00Z')).toMatch(/^2026-11-2\d /);
  });

  test('ticks lie in the span, evenly, and name a day once', () => {
    const start = Date.parse('2026-11-22T12:00:07Z') / 1000;
    const ticks = instantTicks(start, start + 600);
    expect(ticks.map(tick => tick.at - ticks[0]!.at)).toEqual([0, 120, 240, 360, 480]);
    expect(ticks[0]!.at).toBeGreaterThanOrEqual(start);
    expect(ticks.filter(tick => tick.date !== null)).toHaveLength(1);
  });

  test('ticks of years are few', () => {
    expect(instantTicks(0, 40 * 365 * 86400).length).toBeLessThanOrEqual(9);
  });
});
