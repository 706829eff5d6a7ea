import type { ISessionContext } from '@jupyterlab/apputils';
import { expect, test } from 'vitest';

import { KernelClient } from '../client/client';
import { Session } from '../client/session';
import { FakeClock, FakeKernel, hello } from '../testing/kernel';
import type { Held, Kernels } from './kernels';
import { type Place, shownOf } from './place';

function placed(status: string, kernel: object | null = null, isReady = false): Place {
  const context = { isDisposed: false, isReady, kernelDisplayStatus: status, session: { kernel } };
  return { context: context as unknown as ISessionContext } as Place;
}

const none = { of: () => null } as unknown as Kernels;

test.each([
  ['initializing', 'opening'],
  ['starting', 'opening'],
  ['unknown', 'no-kernel'], // it was shut down
  ['terminating', 'no-kernel'],
])('without a kernel, %s is %s', (status, why) => {
  expect(shownOf(placed(status), none).empty).toEqual({ why });
});

test('a kernel that is not followed yet is on its way', () => {
  expect(shownOf(placed('idle', {}, true), none).empty).toEqual({ why: 'opening' });
});

test('a kernel that opens an engine says so, and is not asked to connect again', () => {
  const kernel = new FakeKernel();
  const clock = new FakeClock();
  const session = new Session(new KernelClient(kernel, clock.timer), clock.timer);
  const held = { session, language: 'python' } as unknown as Held;
  const kernels = { of: () => held } as unknown as Kernels;
  session.client.signal({ is: 'look' });
  const why = (message: ReturnType<typeof hello>): string | undefined => {
    kernel.say(message);
    return shownOf(placed('busy', {}, true), kernels).empty?.why;
  };
  expect(why(hello(null))).toBe('not-connected');
  expect(why({ ...hello(null), starting: true })).toBe('starting');
  expect(why(hello('/lake'))).toBeUndefined();
});
