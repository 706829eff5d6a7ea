import { expect, test } from 'vitest';

import { sink } from '../testing/graphs';
import { event, node } from '../testing/kernel';
import { Failures } from './toasts';

const SENTENCE = 'The refresh of daily failed. DT-2105: no';

const ended = (state: 'FAILED' | 'SUCCEEDED' | 'UPSTREAM_FAILED' | 'EXECUTING') =>
  event({ happened: 'ended', name: 'daily', node: node('daily', { state, error: 'DT-2105: no' }) });

test('a failure is said once, until the table has been well', () => {
  const failures = new Failures();
  expect(failures.hear(ended('SUCCEEDED'))).toBeNull();
  expect(failures.hear(ended('FAILED'))).toEqual({ name: 'daily', sentence: SENTENCE });
  expect(failures.hear(ended('FAILED'))).toBeNull();
  expect(failures.hear(ended('SUCCEEDED'))).toBeNull();
  expect(failures.hear(ended('FAILED'))).not.toBeNull();
});

test('a sentence that names the table stands alone', () => {
  const error = '[DT-2105] The refresh of daily failed: no';
  const told = { ...ended('FAILED'), node: node('daily', { state: 'FAILED', error }) };
  expect(new Failures().hear(told)?.sentence).toBe(error);
});

test('what follows from another failure, runs, or is of no table, is not said', () => {
  const failures = new Failures();
  expect(failures.hear(ended('UPSTREAM_FAILED'))).toBeNull();
  expect(failures.hear(ended('EXECUTING'))).toBeNull();
  expect(failures.hear(event({ happened: 'changed' }))).toBeNull();
  expect(failures.hear({ ...ended('FAILED'), happened: 'started' })).toBeNull();
});

test('of a sink it is said that it is paused, not that it is tried again', () => {
  const failures = new Failures();
  const told = (state: 'RETRYING' | 'PAUSED') =>
    event({
      happened: 'ended',
      name: 'app',
      node: sink('app', 'daily', { state }, { error: 'DT-6130: no' }),
    });
  expect(failures.hear(told('RETRYING'))).toBeNull();
  const sentence = 'Sink app is paused. DT-6130: no';
  expect(failures.hear(told('PAUSED'))).toEqual({ name: 'app', sentence });
  expect(failures.hear(told('PAUSED'))).toBeNull();
});
