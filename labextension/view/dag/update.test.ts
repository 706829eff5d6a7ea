import { expect, test } from 'vitest';

import { AS_OF, graph, SHOP, SHOP_LINEAGE, sink, source, table } from '../../testing/graphs';
import type { EventMessage, GraphNode } from '../wire';
import { firstState, matchOf, type State } from './state';
import { update, type Action, type Effect } from './update';

const NOW = Date.parse(AS_OF);
const CHAIN = graph(
  [source('a'), table('b'), table('c')],
  [
    ['a', 'b'],
    ['b', 'c'],
  ],
);

/** The state after some actions, and what is to be done about the last one. */
function after(state: State, ...actions: Action[]): readonly [State, Effect[]] {
  let effects: Effect[] = [];
  for (const action of actions) {
    [state, ...effects] = update(Object.freeze(state), action, NOW);
  }
  return [state, effects];
}

const [shop] = after(firstState(true, false), { is: 'graph', message: SHOP });
const [chain] = after(firstState(true, false), { is: 'graph', message: CHAIN });

function ended(node: GraphNode): Extract<Action, { is: 'event' }> {
  const event: EventMessage = {
    type: 'event',
    version: 1,
    happened: 'ended',
    at: AS_OF,
    name: node.name,
    node,
    seconds: 1,
  };
  return { is: 'event', event };
}

test('a graph is shown with its stages folded, and its first node in the order of tabs', () => {
  expect(shop.shape.names).not.toContain('daily_revenue$stage_1');
  expect(shop.home.get('daily_revenue$stage_1')).toBe('daily_revenue');
  expect(shop.roving).toBe(shop.shape.names[0]);
});

test('what changes nothing gives the same state and asks for nothing', () => {
  const nothing: Action[] = [
    { is: 'hover', name: null },
    { is: 'rove', name: chain.roving! },
    { is: 'step', by: 1 },
    { is: 'narrow', way: 'upstream' },
    { is: 'unfold', name: 'b' },
    { is: 'follow', column: 'x' },
    { is: 'back' },
    ended(table('elsewhere')),
    ended(CHAIN.nodes[1]!),
  ];
  for (const action of nothing) {
    const [next, effects] = after(chain, action);
    expect(next, action.is).toBe(chain);
    expect(effects, action.is).toEqual([]);
  }
});

test('an event replaces one node, says so, and leaves the shape as it is', () => {
  const failed = table('b', { state: 'FAILED', action: null });
  const [next, effects] = after(chain, ended(failed));
  expect(next.nodes.get('b')).toEqual(failed);
  expect(next.nodes.get('a')).toBe(chain.nodes.get('a'));
  expect(next.shape).toBe(chain.shape);
  expect(effects).toEqual([{ is: 'say', text: 'b failed' }]);
  expect(chain.nodes.get('b')!.state).toBe('SUCCEEDED');
});

test('a choice by the user is told and asks for columns, one by another view is only shown', () => {
  const [picked, effects] = after(chain, { is: 'pick', name: 'b' });
  expect(effects.map(effect => effect.is)).toEqual(['ask', 'tell']);
  expect(picked).toMatchObject({ chosen: 'b', roving: 'b', columns: { name: 'b', answer: null } });
  const [chosen, shown] = after(picked, { is: 'choose', name: 'c' });
  expect(shown).toEqual([{ is: 'look', name: 'c' }]);
  expect(chosen.columns).toBeNull();
});

test('without a kernel no columns are asked for', () => {
  const [still] = after(firstState(false, false), { is: 'graph', message: CHAIN });
  const [picked, effects] = after(still, { is: 'pick', name: 'b' });
  expect(effects).toEqual([{ is: 'tell', name: 'b' }]);
  expect(picked.columns).toBeNull();
});

test('the same node again closes its columns', () => {
  const pick: Action = { is: 'pick', name: 'b' };
  expect(after(chain, pick, pick)[0].columns).toBeNull();
  expect(after(chain, pick, pick, pick)[0].columns).not.toBeNull();
});

test('an answer for columns that were closed meanwhile is for nobody', () => {
  const [first] = after(chain, { is: 'pick', name: 'b' });
  const [second] = after(first, { is: 'pick', name: 'c' });
  const late: Action = { is: 'answer', columns: first.columns!, answer: SHOP_LINEAGE };
  expect(after(second, late)[0]).toBe(second);
  expect(after(first, late)[0].columns!.answer).toBe(SHOP_LINEAGE);
});

test('each step back takes back one thing, the last one first', () => {
  const [picked] = after(shop, { is: 'narrow', way: 'upstream' }, { is: 'pick', name: 'sessions' });
  const [followed] = after(
    picked,
    { is: 'narrow', way: 'downstream' },
    { is: 'search', text: 'funnel' },
    { is: 'answer', columns: picked.columns!, answer: SHOP_LINEAGE },
    { is: 'follow', column: 'amount' },
  );
  const taken: string[] = [];
  let state = followed;
  for (let next = after(state, { is: 'back' })[0]; next !== state;) {
    const keys = ['flow', 'columns', 'matches', 'chosen'] as const;
    const gone = keys.filter(key => state[key] !== null && next[key] === null);
    taken.push(...gone, ...(state.scope.centre !== null && !next.scope.centre ? ['scope'] : []));
    state = next;
    next = after(state, { is: 'back' })[0];
  }
  expect(taken).toEqual(['flow', 'columns', 'matches', 'scope', 'chosen']);
});

test('a table that goes takes its choice and its part of the graph with it', () => {
  const [narrow] = after(chain, { is: 'choose', name: 'c' }, { is: 'narrow', way: 'upstream' });
  expect(narrow.scope.centre).toBe('c');
  const [next] = after(narrow, { is: 'graph', message: graph([source('a'), table('b')], []) });
  expect(next.scope.centre).toBeNull();
  expect(next.chosen).toBeNull();
  expect(next.shape.names).toEqual(['a', 'b']);
});

test('a search stays at its match when the graph is told anew, and begins anew with its text', () => {
  const [found] = after(shop, { is: 'search', text: 'funnel' }, { is: 'step', by: -1 });
  expect(matchOf(found)).toBe('funnel_weekly');
  const [told] = after(found, { is: 'graph', message: SHOP });
  expect(matchOf(told)).toBe('funnel_weekly');
  expect(matchOf(after(told, { is: 'search', text: 'funnel' })[0])).toBeUndefined();
});

test('what the user did with the camera is forgotten by what shows another part', () => {
  const [moved] = after(chain, { is: 'byHand' }, { is: 'choose', name: 'b' });
  expect(moved.byHand).toBe(true);
  for (const action of [{ is: 'turn', rightward: true }, { is: 'fit' }, { is: 'widen' }] as const) {
    expect(after(moved, action)[0].byHand, action.is).toBe(false);
  }
});

const FAILED = { state: 'FAILED' as const, action: null, error: 'DT-2103: no' };

test('a badge searches by state alone, goes to what it finds, and goes with its last node', () => {
  const nodes = [source('a'), table('failed_orders'), table('c', FAILED)];
  const [broken] = after(firstState(true, false), { is: 'graph', message: graph(nodes, []) });
  const badge = { is: 'search', text: 'failed', badge: true } as const;
  const [found, effects] = after(broken, badge);
  expect(found.matches).toEqual(['c']);
  expect(effects).toContainEqual({ is: 'look', name: 'c' });
  const [mended] = after(found, ended(table('c')));
  expect([mended.text, mended.matches, mended.badge]).toEqual(['', null, false]);
  const [typed] = after(broken, { is: 'search', text: 'failed' }, ended(table('c')));
  expect([typed.text, typed.matches]).toEqual(['failed', ['failed_orders']]);
});

test('a menu opens at its node, asks before it does harm, and gives the focus back', () => {
  const [open] = after(chain, { is: 'menu', name: 'b' });
  expect(open.menu).toEqual({ name: 'b', form: null });
  const refresh = after(open, { is: 'command', command: 'refresh' });
  expect(refresh[0].menu).toBeNull();
  expect(refresh[1]).toContainEqual({ is: 'do', name: 'b', command: 'refresh' });
  const [asked, nothing] = after(open, { is: 'command', command: 'drop' });
  expect(asked.menu).toEqual({ name: 'b', form: 'drop' });
  expect(nothing).toEqual([]);
  expect(after(asked, { is: 'confirm' })[1]).toEqual([
    { is: 'focus', name: 'b' },
    { is: 'do', name: 'b', command: 'drop', lag: undefined },
  ]);
  const [closed, effects] = after(asked, { is: 'back' });
  expect(closed.menu).toBeNull();
  expect(effects).toEqual([{ is: 'focus', name: 'b' }]);
  const [gone] = after(asked, { is: 'graph', message: graph([source('a')], []) });
  expect(gone.menu).toBeNull();
});

test('what came of a command stays until its node has changed', () => {
  const told = { name: 'b', text: 'Refresh of b started.', kind: 'done' } as const;
  const [said] = after(chain, { is: 'told', told }, ended(table('c', FAILED)));
  expect(said.told).toEqual(told);
  const [running] = after(said, {
    is: 'event',
    event: { ...ended(table('b', { state: 'EXECUTING' })).event, happened: 'started' },
  });
  expect(running.told).toEqual(told);
  expect(after(running, ended(table('b', FAILED)))[0].told).toBeNull();
});

test('what a delivery came to stays, though its node changes with it', () => {
  const message = graph([table('b'), sink('app', 'b')], [['b', 'app']]);
  const told = { name: 'app', text: 'Sink app delivered.', kind: 'done' } as const;
  const [state] = after(
    firstState(true, false),
    { is: 'graph', message },
    { is: 'told', told },
    ended(sink('app', 'b', { state: 'RETRYING' })),
  );
  expect(state.told).toEqual(told);
});
