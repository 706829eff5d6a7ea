import { beforeEach, expect, test } from 'vitest';

import { alert, alerts } from '../testing/kernel';
import type { AlertRow } from '../view/wire';
import { BURST, type Notifier, type Toast, Toasts } from './toasts';

const SENTENCE = 'The refresh of daily failed. DT-2105: no';
const HERE = {};

/** What is on the screen, by the ids of notifications. */
class Screen implements Notifier<object> {
  readonly shown = new Map<string, Toast>();
  made = 0;

  show(toast: Toast): string {
    const id = `n${++this.made}`;
    this.shown.set(id, toast);
    return id;
  }

  change(id: string, toast: Toast): void {
    this.shown.set(id, toast);
  }

  dismiss(id: string): void {
    this.shown.delete(id);
  }

  get sentences(): string[] {
    return [...this.shown.values()].map(({ sentence }) => sentence);
  }
}

let screen: Screen;
let now: number;
let toasts: Toasts<object>;

beforeEach(() => {
  screen = new Screen();
  now = 0;
  toasts = new Toasts(screen, () => now);
  hear();
});

const hear = (...rows: AlertRow[]) => toasts.hear(HERE, '/lake', alerts(...rows));
const failed = (name: string, more: Partial<AlertRow> = {}) => alert('FAILED', name, more);

test('each episode is said once, however often it is heard, and no more when it is over', () => {
  hear(failed('daily'));
  hear(failed('daily'));
  expect(screen.sentences).toEqual([SENTENCE]);
  hear();
  expect(screen.sentences).toEqual([]);
  hear(failed('daily', { since: '2026-01-01T02:00:00Z' }));
  expect([screen.made, screen.sentences]).toEqual([2, [SENTENCE]]);
});

test('what stood when the page came is no news, nor to another notebook on the same lake', () => {
  const reloaded = {};
  hear(failed('daily'));
  toasts.hear(reloaded, '/lake', alerts(failed('daily')));
  toasts.hear(reloaded, '/lake', alerts(failed('daily'), failed('weekly')));
  hear(failed('daily'), failed('weekly'));
  expect(screen.made).toBe(1); // in one burst
  expect(screen.sentences).toEqual(['2 alerts: 2 failed. daily, weekly']);
  const later = { ...alerts(failed('daily'), failed('weekly')), as_of: '2026-01-01T02:00:00Z' };
  const fresh = new Toasts(screen, () => now);
  fresh.hear(HERE, '/lake', later);
  fresh.hear(HERE, '/lake', later);
  expect(screen.made).toBe(1);
});

test('twenty at once are one that counts, and one that comes much later another', () => {
  const many = Array.from({ length: 19 }, (_, i) => failed(`t${i}`));
  hear(...many);
  now = BURST - 1;
  hear(...many, alert('LATE', 'slow'));
  expect(screen.sentences).toEqual(['20 alerts: 19 failed, 1 late. t0, t1, t2 and 17 more']);
  now = BURST;
  hear(...many, alert('LATE', 'slow'), alert('LATE', 'slower'));
  expect(screen.sentences[1]).toBe('slower is late.');
  expect([...screen.shown.values()].map(({ grave }) => grave)).toEqual([true, false]);
});

test('of several those that are over are taken away, and what the user hid is not brought back', () => {
  hear(failed('a'), failed('b'));
  hear(failed('b'));
  expect(screen.sentences).toEqual(['The refresh of b failed.']);
  hear(failed('b'), failed('c'));
  now = BURST;
  screen.shown.clear();
  hear(failed('c'));
  expect(screen.sentences).toEqual([]);
});

test('all four kinds, of all that has alerts, in words', () => {
  const said = (row: AlertRow) => {
    const own = new Screen();
    const fresh = new Toasts(own, () => now);
    fresh.hear(HERE, '', alerts());
    fresh.hear(HERE, '', alerts(row));
    return own.sentences[0];
  };
  const error = '[DT-2105] The refresh of daily failed: no';
  expect(said(failed('daily', { message: error }))).toBe(error);
  expect(said(failed('app', { of: 'SINK', message: 'DT-6130: no' }))).toBe(
    'Sink app is paused. DT-6130: no',
  );
  expect(said(failed('task load', { of: 'TASK' }))).toBe('The run of load failed.');
  expect(said(alert('SUSPENDED', 'task load', { of: 'TASK' }))).toBe(
    'Task load is suspended after failures.',
  );
  expect(said(alert('STALE', 's', { of: 'STREAM', message: 'Gone.' }))).toBe(
    'Stream s is stale. Gone.',
  );
  expect(said(alert('LATE', 'app', { of: 'SINK' }))).toBe('Sink app is late.');
});
