// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { axes, mountFrontiers } from './index';
import { newestCommon, together } from './together';
import { HOSTILE, madeNothing } from '../../testing/hostile';
import type { View } from '../elements/dom';
import type { Frontier, FrontiersMessage, FrontierSource } from '../wire';

const at = (minute: number): string => `2026-11-22T12:${String(minute).padStart(2, '0')}:00+00:00`;
const source = (name: string, version: number | null, newest = version): FrontierSource => ({
  name,
  kind: 'table',
  version,
  newest,
});

const frontier = (
  name: string,
  minute: number | null,
  sources: FrontierSource[],
  readable: number[] = [],
): Frontier => ({
  name,
  data_timestamp: minute === null ? null : at(minute),
  version: 3,
  sources,
  data_timestamps: readable.map(at),
});

describe('two tables read together', () => {
  const a = frontier('a', 10, [source('orders', 5), source('items', 2)], [10, 8, 6]);

  test('are a snapshot at one data timestamp with shared sources at one version', () => {
    const found = together(a, frontier('b', 10, [source('orders', 5), source('other', 9)], [10]));
    expect(found.snapshot).toBe(true);
    expect(found.sentence).toContain('A query over a and b is a snapshot');
    expect([...found.shared]).toEqual([['orders', true]]);
  });

  test('are none at two data timestamps, but can be read at the newest common one', () => {
    const found = together(a, frontier('b', 8, [source('orders', 4)], [8, 6]));
    expect(found.snapshot).toBe(false);
    expect(found.common).toBe(at(8));
    expect(found.sentence).toContain('differ by 2 min');
    expect(found.sentence).toContain('different versions of orders');
    expect(found.sentence).toContain('the newest data timestamp that they have in common');
  });

  test('may have no moment in common', () => {
    expect(together(a, frontier('b', 9, [], [9, 7])).sentence).toContain(
      'No common data timestamp is left at which both can be read.',
    );
  });

  test('where one reads the other, must stand on its version', () => {
    const b = (version: number): Frontier => frontier('b', 10, [source('a', version)], [10]);
    expect(together(a, b(3)).snapshot).toBe(true);
    expect(together(a, b(2)).snapshot).toBe(false);
  });

  test('say which has no contents yet', () => {
    expect(together(a, frontier('b', null, [])).sentence).toBe('b has no contents yet.');
  });

  test('share an instant however it is written, to the microsecond', () => {
    expect(newestCommon(['2026-11-22T12:00:00.000001Z'], ['2026-11-22T12:00:00Z'])).toBeNull();
    expect(newestCommon(['2026-11-22T12:00:00Z'], ['2026-11-22T13:00:00+01:00'])).toBe(
      '2026-11-22T12:00:00Z',
    );
  });
});

test('an axis reaches over all versions of its source', () => {
  const found = axes([
    frontier('a', 1, [source('orders', 5, 9)]),
    frontier('b', 1, [source('orders', 3, 9), source('x', null)]),
  ]);
  expect(found).toMatchObject([{ name: 'orders', least: 3, most: 9 }, { name: 'x' }]);
});

describe('the view', () => {
  let root: HTMLElement;
  let view: View<FrontiersMessage>;
  let chosen: string[];
  const message = (frontiers: Frontier[]): FrontiersMessage => ({
    type: 'frontiers',
    version: 1,
    frontiers,
    as_of: at(12),
  });
  const two = message([
    frontier('a', 10, [source('orders', 5, 7)], [10]),
    frontier('b', 10, [source('orders', 5, 7)], [10]),
  ]);
  const verdict = (): HTMLElement => root.querySelector('[role=status]')!;
  const who = (name: string): HTMLElement => root.querySelector(`[data-key="who:${name}"]`)!;

  beforeEach(() => {
    root = document.createElement('div');
    document.body.append(root);
    chosen = [];
    view = mountFrontiers(root, {
      live: true,
      choose: name => chosen.push(name),
      ask: () => Promise.reject(new Error('not asked')),
    });
  });

  afterEach(() => root.remove());

  test('a version is told with how far it is behind', () => {
    view.update(two);
    expect(root.querySelector('[role=img]')!.getAttribute('aria-label')).toBe(
      'version 5, 2 behind',
    );
  });

  test('two that are chosen are compared, and stay chosen over an update', () => {
    view.update(two);
    who('a').click();
    expect(verdict().textContent).toContain('a is behind the newest version of 1 source');
    who('b').click();
    expect(verdict().textContent).toContain('is a snapshot');
    expect([...root.querySelectorAll('.dtj-agree')].map(mark => mark.textContent)).toEqual([
      '=',
      '=',
    ]);
    view.update(message([...two.frontiers, frontier('c', 9, [])]));
    expect(verdict().textContent).toContain('A query over a and b is a snapshot');
    expect(who('b').getAttribute('aria-pressed')).toBe('true');
    expect(chosen).toEqual([]); // comparing does not lead away; a double click does
    who('b').dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
    expect(chosen).toEqual(['b']);
  });

  test('the one with the focus is compared with the chosen one', () => {
    view.update(two);
    who('a').click();
    who('b').dispatchEvent(new FocusEvent('focusin', { bubbles: true }));
    expect(verdict().textContent).toContain('A query over a and b');
  });

  test('a chosen table that is gone is chosen no more', () => {
    view.update(two);
    who('a').click();
    view.update(message([two.frontiers[1]!]));
    expect(root.querySelector('[aria-pressed=true]')).toBeNull();
  });

  test('no table at all is said', () => {
    view.update(message([]));
    expect(root.textContent).toContain('No dynamic table yet');
  });

  test.each(HOSTILE)('%j is text wherever it stands', text => {
    const hostile = (name: string): Frontier =>
      frontier(name, 10, [{ ...source(text, 5), kind: text }]);
    view.update(message([hostile(text), hostile('b')]));
    for (const one of root.querySelectorAll<HTMLElement>('.dtj-who')) {
      one.click();
    }
    madeNothing(root, text);
  });
});
