// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { HOSTILE, madeNothing } from '../../testing/hostile';
import { mountSawtooth } from './index';
import { thinned } from './chart';
import { notch, settingsOf, valueAt } from './simulator';
import { lagBefore, sawtooth, summary, within } from './teeth';
import type { Host, Question } from '../elements/dom';
import type { LagMessage, LiveMessage, RefreshPoint, SimulationMessage } from '../wire';

const at = (second: number): string =>
  new Date(Date.UTC(2026, 10, 22, 12) + second * 1000).toISOString();

const done = (data: number, start: number, end: number): RefreshPoint => ({
  data_timestamp: at(data),
  state: 'SUCCEEDED',
  start: at(start),
  end: at(end),
  action: 'INCREMENTAL',
  detail: null,
});

const skipped = (data: number): RefreshPoint => ({
  data_timestamp: at(data),
  state: 'SKIPPED',
  start: null,
  end: null,
  action: null,
  detail: 'busy',
});

const lag = (points: RefreshPoint[], changes: Partial<LagMessage> = {}): LagMessage => ({
  type: 'lag',
  version: 1,
  name: 'daily',
  target_lag: 60,
  points,
  as_of: null,
  idle: [],
  ...changes,
});

describe('the sawtooth', () => {
  test('rises a second per second, and falls at a commit to end minus data timestamp', () => {
    const saw = sawtooth(lag([done(0, 2, 5), done(48, 49, 53)], { as_of: at(100) }));
    expect(saw.teeth.map(({ low, peak }) => [low, peak])).toEqual([
      [5, 53],
      [5, 52],
    ]);
    expect([saw.now, saw.worst, saw.within]).toEqual([52, 53, 1]);
    expect(saw.mean).toBeCloseTo((48 * 29 + 47 * 28.5) / 95);
  });

  test('the share within the target counts time, not refreshes', () => {
    const saw = sawtooth(lag([done(0, 0, 10), done(100, 100, 110)], { target_lag: 60 }));
    expect(saw.within).toBe(0.5); // of 10 … 110 s the first 50 s
  });

  test('a failure and a skip begin no tooth', () => {
    const failed: RefreshPoint = { ...done(48, 49, 53), state: 'FAILED', action: null };
    const saw = sawtooth(lag([done(0, 2, 5), failed, skipped(96)], { as_of: at(120) }));
    expect(saw.teeth.map(tooth => tooth.peak)).toEqual([120]);
    expect(summary(saw)).toContain('3 refreshes, 1 FAILED, 1 SKIPPED');
  });

  test('just before a commit the lag is that of the tooth before', () => {
    const saw = sawtooth(lag([done(0, 2, 5), done(48, 49, 53)]));
    const zero = saw.teeth[0]!.dataTimestamp;
    expect([53, 5, 500].map(second => lagBefore(saw, zero + second))).toEqual([53, null, null]);
  });

  test('a window of it is cut at both ends', () => {
    const saw = sawtooth(lag([done(0, 2, 5), done(48, 49, 53)], { as_of: at(100) }));
    const start = saw.teeth[0]!.start;
    const cut = within(saw.teeth, start + 10, start + 58);
    expect(cut.map(({ low, peak }) => [low, peak])).toEqual([
      [15, 53],
      [5, 15],
    ]);
  });

  test('a tooth is parted by the times without a scheduler, which are cut to what is known', () => {
    const idle = [
      { start: at(-500), end: at(-400) },
      { start: at(20), end: at(70) },
      { start: at(90), end: at(900) },
    ];
    const saw = sawtooth(lag([done(0, 2, 5)], { as_of: at(100), idle }));
    expect(saw.idle.map(([from, to]) => to - from)).toEqual([50, 10]);
    expect(saw.above.map(({ low, peak }) => [low, peak])).toEqual([[70, 90]]);
    expect(saw.within).toBeCloseTo(15 / 35);
    expect(saw.worst).toBe(100);
  });

  test('without a refresh there is nothing to draw', () => {
    expect(sawtooth(lag([]))).toMatchObject({ span: null, worst: null, within: null, mean: null });
  });
});

test('a line is thinned to what a pixel shows: its ends, its lowest and its highest', () => {
  const corners = Array.from({ length: 10_000 }, (_, i) => [i / 100, i % 7] as const);
  const kept = thinned(corners);
  expect(kept.length).toBeLessThanOrEqual(400);
  expect(kept[0]).toEqual(corners[0]);
  expect(kept.at(-1)).toEqual(corners.at(-1));
  expect(new Set(kept.map(([, y]) => y))).toContain(6);
});

test('a slider goes from seconds to days by ratio, and back', () => {
  const control = { least: 1, most: 86400 };
  expect([valueAt(control, 0), valueAt(control, 240)]).toEqual([1, 86400]);
  for (const value of [1, 10, 300, 7200, 86400]) {
    expect(valueAt(control, notch(control, value)) / value).toBeCloseTo(1, 1);
  }
});

test('the simulator begins with what the table does now', () => {
  const points = [done(0, 1, 5), done(50, 51, 55), done(100, 101, 105)];
  const idle: RefreshPoint = { ...done(150, 151, 151.01), action: 'NO_DATA' };
  expect(settingsOf(lag([...points, idle], { target_lag: 120 }))).toEqual({
    target_lag: 120,
    refresh_seconds: 4,
    interval: 50,
    concurrency: 1,
  });
});

describe('the view', () => {
  let root: HTMLElement;
  let asked: { question: Question; answer: (message: LiveMessage) => void }[];
  const host = (live: boolean): Host => ({
    live,
    choose: () => undefined,
    ask: question => new Promise(answer => asked.push({ question, answer })),
  });

  const simulation = (changes: Partial<SimulationMessage> = {}): SimulationMessage => ({
    type: 'simulation',
    version: 1,
    lag: lag([done(0, 0, 2), done(24, 24, 26)]),
    period: 24,
    refresh_seconds: 2,
    mean_lag: 14,
    maximum_lag: 26,
    within_target: 1,
    load: 0.5,
    ...changes,
  });

  beforeEach(() => {
    vi.useFakeTimers();
    root = document.createElement('div');
    document.body.append(root);
    asked = [];
  });

  afterEach(() => {
    vi.useRealTimers();
    root.remove();
  });

  test('without a kernel there is a picture and a sentence, and nothing is asked', () => {
    mountSawtooth(root, host(false)).update(lag([done(0, 2, 5)], { as_of: at(90) }));
    expect(root.querySelector('.dtj-simulator')).toBeNull();
    expect(root.textContent).toContain('needs a running kernel');
    expect(root.querySelector('.dtj-above')).not.toBeNull();
    expect(asked).toEqual([]);
  });

  test('each change is asked once it rests for a moment, with the table and all settings', () => {
    mountSawtooth(root, host(true)).update(lag([done(0, 2, 5)]));
    expect(asked).toHaveLength(1);
    const numbers = [...root.querySelectorAll<HTMLInputElement>('input[type=number]')];
    for (const value of ['30', '20', '15']) {
      numbers[0]!.value = value;
      numbers[0]!.dispatchEvent(new Event('input'));
      vi.advanceTimersByTime(30);
    }
    expect(asked).toHaveLength(1);
    vi.advanceTimersByTime(60);
    expect(asked).toHaveLength(2);
    expect(asked[1]!.question).toEqual({
      ask: 'simulate',
      name: 'daily',
      target_lag: 15,
      refresh_seconds: 3,
      interval: 60,
      concurrency: 1,
    });
  });

  test('a late answer to an older question is not shown', async () => {
    mountSawtooth(root, host(true)).update(lag([done(0, 2, 5)]));
    const number = root.querySelector<HTMLInputElement>('input[type=number]')!;
    number.value = '30';
    number.dispatchEvent(new Event('input'));
    vi.advanceTimersByTime(60);
    asked[1]!.answer(simulation({ mean_lag: 222 }));
    await vi.advanceTimersByTimeAsync(0);
    asked[0]!.answer(simulation({ mean_lag: 111 }));
    await vi.advanceTimersByTimeAsync(0);
    expect(root.querySelector('.dtj-foretold')!.textContent).toContain('3 min 42 s');
    expect(root.querySelector('.dtj-foretold')!.textContent).not.toContain('1 min 51 s');
  });

  test('more work than the warehouse can do is warned of', async () => {
    mountSawtooth(root, host(true)).update(lag([done(0, 2, 5)]));
    asked[0]!.answer(simulation({ load: 1.4 }));
    await vi.advanceTimersByTimeAsync(0);
    expect(root.textContent).toContain(
      'More work than the warehouse can do: 1.4 seconds of it each second',
    );
  });

  test('how often it is refreshed is read from the refreshes, not from the schedule', async () => {
    mountSawtooth(root, host(true)).update(lag([done(0, 2, 5)]));
    const points = [done(0, 0, 20), skipped(12), done(24, 24, 44), skipped(36), done(48, 48, 68)];
    asked[0]!.answer(simulation({ lag: lag(points), period: 12 }));
    await vi.advanceTimersByTimeAsync(0);
    const figures = [...root.querySelectorAll('.dtj-foretold .dtj-figure')];
    expect(figures.map(figure => figure.textContent)).toContain(
      'refresh every24 stried every 12 s',
    );
  });

  test('a value out of bounds is marked and not asked', () => {
    mountSawtooth(root, host(true)).update(lag([done(0, 2, 5)]));
    const number = root.querySelector<HTMLInputElement>('input[type=number]')!;
    number.value = '-3';
    number.dispatchEvent(new Event('input'));
    vi.advanceTimersByTime(100);
    expect(number.getAttribute('aria-invalid')).toBe('true');
    expect(asked).toHaveLength(1);
  });

  test('refreshes are walked by key, each told with its wait and run, and an update keeps the place', () => {
    const view = mountSawtooth(root, host(false));
    const points = [done(0, 2, 5), done(48, 49, 53), skipped(96)];
    view.update(lag(points));
    const picture = root.querySelector<HTMLElement>('[role=slider]')!;
    picture.dispatchEvent(new FocusEvent('focus'));
    expect(picture.getAttribute('aria-valuetext')).toContain('SKIPPED');
    picture.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }));
    expect(picture.getAttribute('aria-valuetext')).toContain('waited 1 s, ran 4 s, lag 53 s → 5 s');
    view.update(lag([...points, done(144, 145, 150)]));
    expect(picture.getAttribute('aria-valuenow')).toBe('2');
    expect(picture.getAttribute('aria-valuemax')).toBe('4');
  });

  test('a brush over the time zooms, a double click shows all again', () => {
    mountSawtooth(root, host(false)).update(
      lag([done(0, 2, 5), done(480, 481, 485)], { as_of: at(500) }),
    );
    const picture = root.querySelector<HTMLElement>('[role=slider]')!;
    const labels = (): string =>
      [...root.querySelectorAll('.dtj-plot text')].map(t => t.textContent).join(' ');
    const whole = labels();
    const pointer = (type: string, x: number): boolean =>
      picture.dispatchEvent(new MouseEvent(type, { clientX: x, button: 0, bubbles: true }));
    pointer('pointerdown', 100);
    pointer('pointermove', 200);
    pointer('pointerup', 200);
    expect(labels()).not.toBe(whole);
    expect(root.querySelector<HTMLElement>('.dtj-head .dtj-button')!.hidden).toBe(false);
    pointer('dblclick', 150);
    expect(labels()).toBe(whole);
  });

  test('ten thousand refreshes stay few elements', () => {
    const points = Array.from({ length: 10_000 }, (_, i) => done(i * 48, i * 48 + 1, i * 48 + 4));
    mountSawtooth(root, host(false)).update(lag(points));
    expect(root.querySelectorAll('*').length).toBeLessThan(300);
  });

  test.each(HOSTILE)('%j is text wherever it stands', text => {
    mountSawtooth(root, host(false)).update(
      lag([{ ...done(0, 2, 5), detail: text }], { name: text }),
    );
    root.querySelector<HTMLElement>('[role=slider]')!.dispatchEvent(new FocusEvent('focus'));
    madeNothing(root, text);
  });

  test('without a refresh it says so', () => {
    mountSawtooth(root, host(false)).update(lag([]));
    expect(root.textContent).toContain('No refresh yet');
  });

  test('after dispose nothing is left, and no late answer is drawn', async () => {
    const view = mountSawtooth(root, host(true));
    view.update(lag([done(0, 2, 5)]));
    view.dispose();
    asked[0]!.answer(simulation());
    await vi.advanceTimersByTimeAsync(0);
    expect(root.childElementCount).toBe(0);
  });
});
