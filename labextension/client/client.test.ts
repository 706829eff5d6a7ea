import { beforeEach, expect, test } from 'vitest';

import { WIRE_VERSION } from '../view/wire';
import { KernelClient } from './client';
import { event, FakeClock, FakeKernel, graph, hello } from '../testing/kernel';

let kernel: FakeKernel;
let clock: FakeClock;
let client: KernelClient;
let phases: string[];

beforeEach(() => {
  kernel = new FakeKernel();
  clock = new FakeClock();
  client = new KernelClient(kernel, clock.timer);
  phases = [];
  client.phased.connect(phase => phases.push(phase.is));
});

const goLive = () => {
  client.signal({ is: 'look' });
  kernel.say(hello());
};

test('nothing is opened until somebody looks', () => {
  client.signal({ is: 'greeted', version: WIRE_VERSION });
  client.signal({ is: 'connected' });
  expect(kernel.wires).toEqual([]);
  client.signal({ is: 'look' });
  client.signal({ is: 'look' });
  expect(kernel.wires.map(wire => wire.role)).toEqual(['listen']);
});

test('a kernel that says hello is live, also without an engine', () => {
  client.signal({ is: 'look' });
  kernel.say(hello(null));
  expect(client.phase).toEqual({ is: 'live', hello: hello(null) });
  kernel.say(hello('/other'));
  expect(client.phase).toEqual({ is: 'live', hello: hello('/other') });
  expect(phases).toEqual(['opening', 'live', 'live']);
  expect(kernel.wires.map(wire => wire.role)).toEqual(['listen', 'ask']);
});

test('a kernel that closes the comm has no extension, until it greets', () => {
  client.signal({ is: 'look' });
  kernel.wire('listen').refuse();
  expect(phases).toEqual(['opening', 'absent']);
  client.signal({ is: 'greeted', version: WIRE_VERSION });
  kernel.say(hello());
  expect(client.live).toBe(true);
  expect(kernel.wires.map(wire => wire.role)).toEqual(['listen', 'listen', 'ask']);
});

test('a greeting while the call waits calls no second time', () => {
  client.signal({ is: 'look' });
  client.signal({ is: 'greeted', version: WIRE_VERSION });
  kernel.say(hello());
  client.signal({ is: 'greeted', version: WIRE_VERSION });
  expect(kernel.wires.map(wire => wire.role)).toEqual(['listen', 'ask']);
});

test.each(['hello', 'greeted'] as const)('another version by %s opens nothing', how => {
  client.signal({ is: 'look' });
  const version = WIRE_VERSION + 1;
  if (how === 'hello') {
    kernel.say(hello('/lake', version));
  } else {
    client.signal({ is: 'greeted', version });
  }
  expect(client.phase).toEqual({ is: 'other-version', kernel: version });
  expect(kernel.openWires).toBe(0);
});

test('it is live once the comm for requests is ready, and not before', async () => {
  client.signal({ is: 'look' });
  kernel.wire('listen').hear({ message: hello() });
  kernel.wire('listen').hear({ message: hello() });
  expect(client.phase.is).toBe('opening');
  await expect(client.ask({ ask: 'graph' })).rejects.toThrow('has not answered yet');
  kernel.wire('ask').hear({ message: hello() });
  expect(client.live).toBe(true);
  expect(kernel.wires.map(wire => wire.role)).toEqual(['listen', 'ask']);
});

test('requests and answers find each other', async () => {
  goLive();
  const first = client.ask({ ask: 'graph' });
  const second = client.ask({ ask: 'lag', name: 'daily' });
  expect(kernel.asked.map(({ ask, name, since }) => [ask, name, since])).toEqual([
    ['graph', null, null],
    ['lag', 'daily', null],
  ]);
  kernel.answer('lag', { type: 'done', version: WIRE_VERSION, sentence: 'lag' });
  kernel.answer('graph', graph());
  expect((await second).type).toBe('done');
  expect((await first).type).toBe('graph');
  expect(clock.waiting).toBe(0);
});

test('an error comes as its sentence and hint, with all that it reports', async () => {
  goLive();
  const asked = client.ask({ ask: 'refresh', name: 'daily' });
  const reported = {
    type: 'error',
    version: WIRE_VERSION,
    code: 'DT-2101',
    sentence: 'It is suspended.',
    hint: 'Resume it.',
    query: null,
    underline: null,
    details: null,
    page: null,
  } as const;
  kernel.answer('refresh', reported);
  await expect(asked).rejects.toThrow('It is suspended. Resume it.');
  await expect(asked).rejects.toMatchObject({ reported });
});

test('nobody is asked while there is no kernel to ask', async () => {
  await expect(client.ask({ ask: 'graph' })).rejects.toThrow('has not been asked');
  client.signal({ is: 'look' });
  await expect(client.ask({ ask: 'graph' })).rejects.toThrow('has not answered yet');
  expect(kernel.asked).toEqual([]);
});

test('a request is given up after a minute, one that may run Spark after half an hour', async () => {
  goLive();
  const quick = client.ask({ ask: 'graph' });
  const slow = client.ask({ ask: 'refresh', name: 'daily' });
  clock.pass(61);
  await expect(quick).rejects.toThrow('within 60 seconds');
  kernel.answer('graph', graph()); // too late: no request waits
  clock.pass(1800);
  await expect(slow).rejects.toThrow('within 1800 seconds');
});

test('what is asked fails at once when the kernel restarts, and the new one is asked for hello', async () => {
  goLive();
  const asked = client.ask({ ask: 'graph' });
  const old = kernel.wire('listen');
  client.signal({ is: 'restarting' });
  await expect(asked).rejects.toThrow('restarting');
  expect([kernel.openWires, clock.waiting]).toEqual([0, 0]);
  client.signal({ is: 'started' }); // the old one, which is about to end
  client.signal({ is: 'disconnected' });
  expect(kernel.openWires).toBe(0);
  client.signal({ is: 'connected' });
  client.signal({ is: 'started' });
  old.hear({ message: hello('/old') });
  expect(client.phase.is).toBe('opening');
  kernel.wire('listen').refuse();
  expect(client.phase.is).toBe('absent');
  expect(kernel.wires.length).toBe(3);
});

test('a lost connection keeps what was said, and is opened anew when it is back', () => {
  goLive();
  client.signal({ is: 'disconnected' });
  expect(client.phase).toEqual({ is: 'lost', hello: hello() });
  expect(kernel.openWires).toBe(0);
  client.signal({ is: 'connected' });
  expect(client.phase).toEqual({ is: 'opening', hello: hello() });
  kernel.say(hello());
  expect(client.live).toBe(true);
});

test('a dead kernel is asked again when it has started', () => {
  goLive();
  client.signal({ is: 'died' });
  client.signal({ is: 'look' });
  expect(client.phase.is).toBe('dead');
  client.signal({ is: 'started' });
  expect(client.phase.is).toBe('opening');
});

test('unloading the extension closes a live connection', () => {
  goLive();
  kernel.wire('listen').refuse();
  kernel.wire('ask').refuse();
  expect(phases).toEqual(['opening', 'live', 'absent']);
});

test('events are told as they come; what is no message is no matter', () => {
  goLive();
  const heard: string[] = [];
  client.happened.connect(({ name }) => heard.push(name ?? ''));
  for (const odd of [null, 1, 'x', {}, { message: 1 }, { message: { type: 7 } }]) {
    kernel.wire('listen').hear(odd);
    kernel.wire('ask').hear(odd);
  }
  kernel.say(event({ happened: 'started', name: 'daily' }));
  expect(heard).toEqual(['daily']);
  expect(client.live).toBe(true);
});

test('a connection that cannot be used is lost, not an error', () => {
  const broken = new KernelClient({
    open: () => {
      throw new Error('Cannot open');
    },
  });
  broken.signal({ is: 'look' });
  expect(broken.phase).toEqual({ is: 'lost', hello: null });
});

test('disposed, it holds nothing', async () => {
  goLive();
  const asked = client.ask({ ask: 'graph' });
  client.dispose();
  await expect(asked).rejects.toThrow('lost');
  expect([kernel.openWires, clock.waiting]).toEqual([0, 0]);
});
