// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest';

const { emit, update } = vi.hoisted(() => ({ emit: vi.fn(() => 'id'), update: vi.fn() }));
vi.mock('@jupyterlab/apputils', () => ({ Notification: { emit, update, dismiss: vi.fn() } }));

import { alert } from '../testing/kernel';
import { notifier } from './notify';
import type { Session } from '../client/session';

const session = { choose: vi.fn(), open: vi.fn() } as unknown as Session;
const panel = { isVisible: false, show: vi.fn() };
const toast = (only = alert('LATE', 'daily')) => ({ sentence: 'late', grave: false, only });

beforeEach(() => {
  vi.clearAllMocks();
});

test('beside the open panel nothing is laid over the page, not even by a change', () => {
  const told = notifier(panel);
  panel.isVisible = false;
  told.show(toast(), session);
  expect(emit).toHaveBeenCalledWith(
    'late',
    'warning',
    expect.objectContaining({ autoClose: 6000 }),
  );
  panel.isVisible = true;
  told.show(toast(), session);
  told.change('id', toast(), session);
  expect(emit).toHaveBeenLastCalledWith(
    'late',
    'warning',
    expect.objectContaining({ autoClose: 0 }),
  );
  expect(update).toHaveBeenCalledWith(expect.objectContaining({ autoClose: 0 }));
});

test('its button leads to the table, or to the panel where it is of several', () => {
  interface Options {
    actions: { callback: () => void }[];
  }
  const press = () =>
    (emit.mock.lastCall as unknown as [string, string, Options])[2].actions[0]!.callback();
  const told = notifier(panel);
  told.show(toast(), session);
  press();
  expect(session.open).toHaveBeenCalledWith('daily', 'details');
  told.show({ ...toast(), only: null }, session);
  press();
  expect(panel.show).toHaveBeenCalledOnce();
});
