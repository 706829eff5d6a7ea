import { expect, test } from 'vitest';

import { AS_OF, ago, sink, source, table, task, taskRun } from '../../testing/graphs';
import {
  changeText,
  facts,
  lagOf,
  lagShare,
  lagText,
  modeText,
  nextText,
  outcome,
  sentence,
  standingText,
} from './words';

const NOW = Date.parse(AS_OF);

test('a node is one sentence', () => {
  expect(sentence(table('daily'), NOW)).toBe(
    'daily, dynamic table, auto to incremental, succeeded, incremental, lag 12 seconds of 5 minutes, 1,204 rows',
  );
  expect(sentence(source('orders', { rows: 1 }), NOW)).toBe('orders, table, 1 row');
  const late = table('late', {
    data_timestamp: ago(361),
    state: 'FAILED',
    action: null,
    error: 'DT-2103: no',
  });
  expect(sentence(late, NOW)).toContain('failed, lag 6 minutes 1 second of 5 minutes, late');
  expect(sentence(late, NOW)).toContain('error: DT-2103: no');
});

test('lag goes on with the clock; without one it is as told', () => {
  const node = table('daily');
  expect(lagOf(node, NOW + 48_000)).toBe(60);
  expect(lagOf(node, null)).toBe(12);
  expect(lagText(node, NOW + 348_400)).toBe('lag 6 min of 5 min');
  expect(lagShare(node, NOW + 288_000)).toBe(1);
});

test.each([
  [{ target_lag: 'DOWNSTREAM', held_to: 60 }, 'lag 12 s of 1 min'],
  [{ target_lag: 'DOWNSTREAM', held_to: null }, 'lag 12 s · downstream'],
  [{ target_lag: null, held_to: null }, 'lag 12 s'],
  [{ lag_seconds: null, data_timestamp: null }, 'target 5 min'],
] as const)('%j is told as %j', (fields, text) => {
  expect(lagText(table('daily', fields), NOW)).toBe(text);
});

test('the mode is what was asked for and what it came to', () => {
  expect(modeText(table('t'))).toBe('auto → incremental');
  expect(modeText(table('t', { declared_mode: 'FULL', refresh_mode: 'FULL' }))).toBe('full');
  expect(modeText(source('t'))).toBe('');
});

test.each([
  [{}, 'INCREMENTAL'],
  [{ scheduling_state: 'SUSPENDED' }, 'SUSPENDED'],
  [{ state: 'FAILED', action: null }, 'FAILED'],
  [{ state: null, action: null }, 'not initialised'],
  [
    {
      state: 'EXECUTING',
      running: { jobs: 1, jobs_done: 0, tasks: 0, tasks_done: 0, rows: 0, rows_read: 0 },
    },
    'EXECUTING',
  ],
  [
    {
      state: 'EXECUTING',
      running: { jobs: 1, jobs_done: 0, tasks: 8, tasks_done: 3, rows: 0, rows_read: 0 },
    },
    'EXECUTING 37 %',
  ],
  [
    {
      state: 'EXECUTING',
      running: { jobs: 1, jobs_done: 1, tasks: 8, tasks_done: 8, rows: 0, rows_read: 0 },
    },
    'EXECUTING 99 %',
  ],
] as const)('the outcome of %j is %j', (fields, text) => {
  expect(outcome(table('t', fields)).text).toBe(text);
});

test('the tooltip has a line for all that is known', () => {
  expect(facts(table('t', { error: 'a\nb' }), NOW).split('\n')).toEqual([
    't (dynamic table)',
    'mode: auto → incremental',
    'why: CHEAPER',
    'scheduling: ACTIVE',
    'warehouse: main',
    'last refresh: SUCCEEDED INCREMENTAL',
    'lag: 12 s of 5 min',
    'data timestamp: 2026-11-22 11:59:48 UTC',
    'rows: 1,204',
    'error: a⏎b',
  ]);
});

const IDLE = table('t', {
  target_lag: 'DOWNSTREAM',
  held_to: null,
  held_back: 'Not refreshed: no target lag, and nothing reads it.',
  error: 'NO_READER: Not refreshed: no target lag, and nothing reads it.',
});

test('a table that nothing refreshes is amber and says why, in the place of its lag', () => {
  expect(outcome(IDLE)).toEqual({ text: 'NOT REFRESHED', token: 'warn', action: null });
  expect(standingText(IDLE, NOW)).toBe('no target lag, and nothing reads it');
  expect(sentence(IDLE, NOW)).toContain(
    'not refreshed: no target lag, and nothing reads it, 1,204 rows',
  );
  expect(sentence(IDLE, NOW)).not.toContain('error');
  expect(facts(IDLE, NOW)).toContain(`standing: ${IDLE.held_back}`);
});

test.each([
  [{ held_back: null, error: null }, 'INCREMENTAL', 'lag 12 s · downstream'],
  [{ scheduling_state: 'SUSPENDED' }, 'SUSPENDED', 'lag 12 s · downstream'],
  [
    {
      state: 'EXECUTING',
      running: { jobs: 1, jobs_done: 0, tasks: 0, tasks_done: 0, rows: 0, rows_read: 0 },
    },
    'EXECUTING',
    'lag 12 s · downstream',
  ],
] as const)('one that is not idle, by %j, says %j', (fields, text, standing) => {
  const node = { ...IDLE, ...fields };
  expect(outcome(node).text).toBe(text);
  expect(standingText(node, NOW)).toBe(standing);
});

test('a task that had nothing to do is grey', () => {
  const quiet = taskRun({ state: 'SKIPPED', quiet: true });
  expect(outcome(task('load', { last: quiet }))).toEqual({
    text: 'SKIPPED',
    token: 'soft',
    action: null,
  });
  const lost = { ...quiet, quiet: false };
  expect(outcome(task('load', { last: lost })).token).toBe('warn');
});

test('a change is worth hearing when the state or the data is another', () => {
  const old = table('t');
  expect(changeText(undefined, old)).toBeNull();
  expect(changeText(old, { ...old, rows: 9 })).toBeNull();
  expect(changeText(old, { ...old, state: 'FAILED', action: null })).toBe('t failed');
  expect(changeText(old, { ...old, data_timestamp: AS_OF })).toBe('t succeeded, incremental');
  expect(changeText(old, { ...old, scheduling_state: 'SUSPENDED' })).toBe('t suspended');
});

test('the next refresh is counted down to the next multiple of the period', () => {
  const node = table('daily', { period: 48 });
  const tick = Math.ceil(NOW / 48_000) * 48_000;
  expect(nextText(node, tick)).toBe('next in 48 s');
  expect(nextText(node, tick + 47_100)).toBe('next in 1 s');
  expect(facts(node, tick + 1_000)).toContain('next refresh: in 47 s');
  const slow = table('slow', { period: 6144 });
  expect(nextText(slow, Math.ceil(NOW / 6_144_000) * 6_144_000)).toBe('next in 1 h 43 min');
  expect(nextText(table('off'), tick)).toBe('');
  expect(nextText({ ...node, state: 'EXECUTING' }, tick)).toBe('');
  expect(nextText({ ...node, scheduling_state: 'SUSPENDED' }, tick)).toBe('');
});

const DOWN = sink(
  'app',
  'daily',
  { state: 'RETRYING', behind_since: ago(400), next_try: ago(-12), version: 7, newest: 9 },
  { lag_seconds: 400, error: 'DT-6110: no answer' },
);

test('a sink says where it delivers to, how it stands and what it did last', () => {
  expect(sentence(sink('app', 'daily'), NOW)).toBe(
    'app, sink, into postgresql to revenue, active, lag 0 seconds of 5 minutes, 1,204 stored',
  );
  expect(sentence(DOWN, NOW)).toContain(
    'retrying, lag 6 minutes 40 seconds of 5 minutes, late, 1,204 stored, error: DT-6110',
  );
  const told = facts(DOWN, NOW);
  expect(told).toContain('store: postgresql://db.example.org:5432/app\ntarget: revenue');
  expect(told).toContain('delivered version: 7 of 9');
  expect(told).toContain('1,200 loaded, 1,204 stored, 3 deleted');
  expect(told).toContain('next try: in 12 s');
});

test('the lag of a sink goes on while its store lacks something, else it is none', () => {
  expect(lagOf(DOWN, NOW + 5_000)).toBe(405);
  expect(lagOf(sink('app', 'daily'), NOW + 5_000)).toBe(0);
});

test('of a sink another state is worth hearing, a delivery is not', () => {
  const active = sink('app', 'daily');
  expect(changeText(active, DOWN)).toBe('app retrying');
  expect(changeText(active, sink('app', 'daily', { state: 'SUSPENDED' }))).toBe('app suspended');
  expect(changeText(active, sink('app', 'daily', { version: 8, newest: 8 }))).toBeNull();
});

test('a task says when it runs, how its last run ended and when the next one is', () => {
  expect(sentence(task('load'), NOW)).toBe('task load, task, 5 minutes, succeeded');
  expect(facts(task('load', { failures: 3 }), NOW)).toContain('failed in a row: 3');
  expect(facts(task('load'), NOW)).toContain('last run: SUCCEEDED at');
  const failed = task('load', {}, { state: 'FAILED', error: 'no such column' });
  expect(sentence(failed, NOW)).toContain('failed, error: no such column');
  expect(changeText(task('load'), failed)).toBe('task load failed');
  expect(changeText(task('load'), task('load', { state: 'SUSPENDED' }))).toBe(
    'task load suspended',
  );
});
