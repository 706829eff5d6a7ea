import { expect, test } from 'vitest';

import { event, node } from '../testing/kernel';
import { Failures } from './toasts';

const ended = (state: 'FAILED' | 'SUCCEEDED' | 'UPSTREAM_FAILED' | 'EXECUTING') =>
  event({ happened: 'ended', name: 'daily', node: node('daily', { state, error: 'DT-2105: no' }) });

test('a failure is said once, until the table has been well', () => {
  const failures = new Failures();
  expect(failures.hear(ended('SUCCEEDED'))).toBeNull();
  expect(failures.hear(ended('FAILED'))).toEqual({ name: 'daily', sentence: 'DT-2105: no' });
  expect(failures.hear(ended('FAILED'))).toBeNull();
  expect(failures.hear(ended('SUCCEEDED'))).toBeNull();
  expect(failures.hear(ended('FAILED'))).not.toBeNull();
});

test('what follows from another failure, runs, or is of no table, is not said', () => {
  const failures = new Failures();
  expect(failures.hear(ended('UPSTREAM_FAILED'))).toBeNull();
  expect(failures.hear(ended('EXECUTING'))).toBeNull();
  expect(failures.hear(event({ happened: 'changed' }))).toBeNull();
  expect(failures.hear({ ...ended('FAILED'), happened: 'started' })).toBeNull();
});
