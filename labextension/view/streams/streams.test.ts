// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test } from 'vitest';

import { HOSTILE, madeNothing } from '../../testing/hostile';
import { life, mountStreams } from './index';
import type { View } from '../elements/dom';
import type { StreamRow, StreamsMessage } from '../wire';

const day = (of: number): string => `2026-11-${String(of).padStart(2, '0')}T12:00:00+00:00`;
const stream = (changes: Partial<StreamRow> = {}): StreamRow => ({
  name: 'arrivals',
  source: 'orders',
  source_type: 'TABLE',
  mode: 'DEFAULT',
  offset: day(10),
  waiting: 3,
  has_data: true,
  stale: false,
  stale_after: day(20),
  reason: null,
  consumers: ['audit'],
  ...changes,
});
const message = (...streams: StreamRow[]): StreamsMessage => ({
  type: 'streams',
  version: 1,
  streams,
  as_of: day(12),
});

let root: HTMLElement;
let view: View<StreamsMessage>;
let chosen: string[];

beforeEach(() => {
  root = document.createElement('div');
  document.body.append(root);
  chosen = [];
  view = mountStreams(root, {
    live: true,
    choose: name => chosen.push(name),
    ask: () => Promise.reject(new Error('not asked')),
  });
});

afterEach(() => root.remove());

test('a bar says how much of the time until stale is used up, words how much is left', () => {
  expect(life(stream(), day(12))).toEqual({ used: 0.2, left: 8 * 86400 });
  view.update(message(stream()));
  expect(root.querySelector('[role=meter]')!.getAttribute('aria-valuenow')).toBe('20');
  expect(root.textContent).toContain('stale in 8 d, at ');
});

test('what waits is counted; what is not known is not said to be nothing', () => {
  const told = (changes: Partial<StreamRow>): string => {
    view.update(message(stream(changes)));
    return [...root.querySelectorAll('dd')].map(fact => fact.textContent)[2]!;
  };
  expect(told({})).toBe('3 commits');
  expect(told({ waiting: 0 })).toBe('nothing');
  expect(told({ waiting: null, has_data: null })).toBe('not known');
  expect(told({ waiting: 2, has_data: false })).toBe('2 commits, without changes of rows');
});

test('a stale stream says since when and why', () => {
  view.update(
    message(stream({ stale: true, stale_after: day(11), reason: 'its files were vacuumed' })),
  );
  expect(root.textContent).toContain('STALE');
  expect(root.textContent).toContain('stale since ');
  expect(root.textContent).toContain('its files were vacuumed');
});

test('source, stream and consumers can be chosen, and the focus outlives an update', () => {
  view.update(message(stream()));
  const links = [...root.querySelectorAll<HTMLElement>('.dtj-link')];
  links.forEach(link => link.click());
  expect(chosen).toEqual(['arrivals', 'orders', 'audit']);
  links[2]!.focus();
  view.update(message(stream({ waiting: 4 })));
  expect(document.activeElement!.textContent).toBe('audit');
});

test('no stream at all says how to make one', () => {
  view.update(message());
  expect(root.textContent).toContain('CREATE STREAM s ON TABLE t');
});

test.each(HOSTILE)('%j is text wherever it stands', text => {
  const fields = {
    name: text,
    source: text,
    source_type: text,
    mode: text,
    reason: text,
    consumers: [text],
  };
  view.update(message(stream(fields)));
  madeNothing(root, text);
});
