import { beforeEach, expect, test } from 'vitest';

import { WIRE_VERSION, type LiveMessage } from '../view/wire';
import { KernelClient } from './client';
import { event, FakeClock, FakeKernel, graph, hello, node, settled } from '../testing/kernel';
import { Session } from './session';

let kernel: FakeKernel;
let clock: FakeClock;
let session: Session;

beforeEach(() => {
  kernel = new FakeKernel();
  clock = new FakeClock();
  const client = new KernelClient(kernel, clock.timer);
  session = new Session(client, clock.timer);
  client.signal({ is: 'look' });
  kernel.say(hello());
});

const asks = () => kernel.asked.map(({ ask, name }) => (name === null ? ask : `${ask} ${name}`));
const lag = (name: string): LiveMessage => ({
  type: 'lag',
  version: WIRE_VERSION,
  name,
  target_lag: 60,
  points: [],
  as_of: null,
  idle: [],
});

test('only what is watched is asked for, and once', async () => {
  let drawn = 0;
  expect(asks()).toEqual([]);
  session.watch('graph', () => drawn++);
  session.watch('graph', () => drawn++);
  expect(asks()).toEqual(['graph']);
  kernel.answer('graph', graph(node('daily')));
  await settled();
  expect(drawn).toBe(2);
  expect(session.news('graph').message?.nodes.map(({ name }) => name)).toEqual(['daily']);
});

test('nothing is asked of a kernel without an engine', () => {
  kernel.say(hello(null));
  session.watch('graph', () => undefined);
  expect(asks()).toEqual([]);
  kernel.say(hello());
  expect(asks()).toEqual(['graph']);
});

test('a burst of events costs one request now and one after a rest', async () => {
  session.watch('catalogue', () => undefined);
  kernel.answer('catalogue', graph());
  await settled();
  for (let i = 0; i < 50; i++) {
    kernel.say(event({ happened: 'ended', name: 'daily' }));
  }
  expect(asks()).toEqual([]);
  clock.pass(0.3);
  expect(asks()).toEqual(['catalogue']);
});

test('an event moves its node in the graph that is kept', async () => {
  const heard: string[] = [];
  session.watch('graph', () => undefined);
  session.happened.connect(({ happened }) => {
    const [first] = session.news('graph').message!.nodes;
    heard.push(`${happened} ${first!.state}`);
  });
  kernel.answer('graph', graph(node('daily')));
  await settled();
  kernel.say(
    event({ happened: 'started', name: 'daily', node: node('daily', { state: 'EXECUTING' }) }),
  );
  expect(heard).toEqual(['started EXECUTING']);
  clock.pass(1);
  expect(asks()).toEqual([]); // its state is all that changed
  kernel.say(event({ happened: 'changed' }));
  expect(asks()).toEqual(['graph']);
});

test('the table that is chosen last is the one that is shown', async () => {
  const choices: string[] = [];
  session.choices.connect(chosen => choices.push(chosen!.name));
  session.watch('lag', () => undefined);
  expect(asks()).toEqual([]);
  session.choose('a');
  session.choose('b');
  session.choose('b');
  expect(choices).toEqual(['a', 'b']);
  expect(asks()).toEqual(['lag a', 'lag b']);
  kernel.answer('lag', lag('a')); // of the one before
  await settled();
  expect(session.news('lag').message).toBeNull();
  kernel.answer('lag', lag('b'));
  await settled();
  expect(session.news('lag').message?.name).toBe('b');
  kernel.say(event({ happened: 'ended', name: 'a' }));
  clock.pass(0.3);
  expect(asks()).toEqual([]);
  kernel.say(event({ happened: 'ended', name: 'b' }));
  expect(asks()).toEqual(['lag b']);
});

test('a failure is told beside the newest message that there is', async () => {
  session.watch('graph', () => undefined);
  kernel.answer('graph', graph(node('daily')));
  await settled();
  clock.pass(1);
  session.refresh();
  clock.pass(61);
  await settled();
  expect(session.news('graph').message?.nodes.length).toBe(1);
  expect(session.news('graph').failure).toContain('No answer');
});

test('events that came while nobody followed are caught up with', async () => {
  session.watch('graph', () => undefined);
  kernel.answer('graph', graph(node('daily')));
  await settled();
  clock.pass(1);
  session.following = false;
  kernel.say(event({ happened: 'changed' }));
  expect(asks()).toEqual([]);
  session.following = true;
  expect(asks()).toEqual(['graph']);
});

test('after a restart all that is watched is asked for again', async () => {
  session.watch('graph', () => undefined);
  kernel.answer('graph', graph(node('daily')));
  await settled();
  clock.pass(1);
  session.client.signal({ is: 'restarting' });
  session.client.signal({ is: 'connected' });
  kernel.say(hello());
  expect(asks()).toEqual(['graph']);
});

test('disposed, it asks for nothing and lets nothing wait', async () => {
  session.watch('graph', () => undefined);
  kernel.answer('graph', graph());
  await settled();
  session.dispose();
  expect(clock.waiting).toBe(0);
  expect(kernel.openWires).toBe(0);
});

test('a kernel that restarts knows nothing of what the one before said', async () => {
  session.watch('graph', () => undefined);
  kernel.answer('graph', graph(node('daily')));
  await settled();
  session.client.signal({ is: 'restarting' });
  expect(session.news('graph')).toEqual({ message: null, failure: null });
  session.client.signal({ is: 'connected' });
  kernel.say(hello('/another'));
  expect(asks()).toEqual(['graph']);
});

test('another view of a table is asked for, and the table is chosen', () => {
  const opened: string[] = [];
  session.opened.connect(view => opened.push(view));
  session.open('daily', 'replay');
  expect([session.chosen?.name, opened]).toEqual(['daily', ['replay']]);
});
