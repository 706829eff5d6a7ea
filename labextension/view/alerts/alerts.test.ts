// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest';

import { alert, alerts } from '../../testing/kernel';
import { HOSTILE, madeNothing } from '../../testing/hostile';
import { mountAlerts } from './index';

const host = { ask: vi.fn(), choose: vi.fn(), open: vi.fn(), live: true };
let root: HTMLElement;
let view: ReturnType<typeof mountAlerts>;

beforeEach(() => {
  vi.clearAllMocks();
  root = document.createElement('div');
  document.body.replaceChildren(root);
  view = mountAlerts(root, host);
});

const find = (selector: string) => root.querySelector<HTMLElement>(selector);
const said = () => find('[role=status]')?.textContent;
const rows = () => [...root.querySelectorAll('li')].map(row => row.textContent);

test('nothing is there without alerts, but the place in which they are said', () => {
  view.update(null);
  view.update(alerts());
  expect(find('section')).toBeNull();
  expect(said()).toBe('');
});

test('one alert is said as it is, and leads to its table', () => {
  view.update(alerts(alert('FAILED', 'daily')));
  expect(said()).toBe('The refresh of daily failed. DT-2105: no');
  expect(find('details')).toBeNull();
  find('.dtj-link')!.click();
  expect(host.open).toHaveBeenCalledWith('daily', 'details');
});

test('many are counted and folded, and the place of the focus is kept', () => {
  const many = Array.from({ length: 20 }, (_, i) => alert('FAILED', `t${i}`));
  view.update(alerts(...many));
  expect(find('summary')?.textContent).toBe('20 alerts: 20 failed');
  find('details')!.setAttribute('open', '');
  root.querySelectorAll<HTMLElement>('.dtj-link')[4]!.focus();
  view.update(alerts(...many.slice(1), alert('STALE', 's', { of: 'STREAM' })));
  expect(find('details')?.hasAttribute('open')).toBe(true);
  expect(document.activeElement?.textContent).toBe('t4');
  root.querySelectorAll<HTMLElement>('.dtj-link')[19]!.click();
  expect(host.choose).toHaveBeenCalledWith('s');
});

test('ages go on with the kernel, and what keeps a late table is said', () => {
  vi.useFakeTimers({ now: 0 });
  view.dispose();
  view = mountAlerts(root, host);
  const late = alert('LATE', 'daily', {
    message: 'Its lag is 16 s, its target lag 10 s.',
    behind_since: '2025-12-31T23:59:44Z',
    since: '2025-12-31T23:59:59Z',
    target: 10,
    cause: 'UPSTREAM_SUSPENDED: up is suspended.',
  });
  const shown = () => rows()[0]!.replace('LATEdaily', '');
  view.update(alerts(late));
  const why = 'UPSTREAM_SUSPENDED: up is suspended.';
  expect(shown()).toBe(`daily is late. Its lag is 16 s of 10 s. ${why}for 1 s`);
  expect(said()).toBe(`daily is late. Its target lag is 10 s. ${why}`); // not read out each second
  vi.advanceTimersByTime(1_200_000);
  expect(shown()).toBe(`daily is late. Its lag is 20 min 16 s of 10 s. ${why}for 20 min`);
  view.dispose();
  vi.advanceTimersByTime(60_000);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test('without a kernel an alert does not age', () => {
  view.dispose();
  view = mountAlerts(root, { ...host, live: false });
  const since = '2025-12-31T23:59:00Z';
  view.update(alerts(alert('FAILED', 'daily', { since })));
  expect(rows()[0]).toContain('for 1 min');
});

test('hidden by a button, they come back with another one, and not by being told again', () => {
  view.update(alerts(alert('LATE', 'a')));
  find('[aria-label="Hide this alert"]')!.click();
  view.update(alerts(alert('LATE', 'a')));
  expect([find('section'), said()]).toEqual([null, '']);
  view.update(alerts(alert('LATE', 'a'), alert('LATE', 'b')));
  expect(rows().length).toBe(2);
});

test.each(HOSTILE)('hostile texts are texts: %j', text => {
  view.update(alerts(alert('FAILED', text, { message: text })));
  madeNothing(root, text);
});

const RESUME = { kind: 'resume', label: 'Resume up', name: 'up', target_lag: null } as const;
const SHOW = { kind: 'show', label: 'Show up', name: 'up', target_lag: null } as const;
const RAISE = { kind: 'raise_lag', label: 'Raise', name: 'daily', target_lag: 60 } as const;

test('what helps is a button, and what came of it stays where it stands', async () => {
  const late = alert('LATE', 'daily', { remedies: [RESUME, RAISE, SHOW] });
  view.update(alerts(late));
  const buttons = [...root.querySelectorAll<HTMLElement>('.dtj-remedies button')];
  expect(buttons.map(each => each.textContent)).toEqual(['Resume up', 'Raise', 'Show up']);
  host.ask.mockResolvedValueOnce({ type: 'done', version: 1, sentence: 'up resumed.' });
  buttons[0]!.click();
  expect(host.ask).toHaveBeenLastCalledWith({ ask: 'resume', name: 'up', target_lag: null });
  await vi.waitFor(() => expect(find('.dtj-alerts-answer')?.textContent).toContain('up resumed.'));
  view.update(alerts(late));
  expect(find('.dtj-alerts-answer')?.textContent).toContain('up resumed.');
  host.ask.mockRejectedValueOnce(new Error('DT-5201'));
  root.querySelectorAll<HTMLElement>('.dtj-remedies button')[1]!.click();
  expect(host.ask).toHaveBeenLastCalledWith({ ask: 'alter', name: 'daily', target_lag: 60 });
  await vi.waitFor(() => expect(find('.dtj-alerts-answer')?.textContent).toContain('DT-5201'));
  root.querySelectorAll<HTMLElement>('.dtj-remedies button')[2]!.click();
  expect(host.open).toHaveBeenCalledWith('up', 'details');
  view.update(alerts());
  view.update(alerts(alert('LATE', 'other', { remedies: [RESUME] })));
  expect(find('.dtj-alerts-answer')?.textContent).toBe('');
});

test('without a kernel there are no buttons', () => {
  view.dispose();
  view = mountAlerts(root, { ...host, live: false });
  view.update(alerts(alert('LATE', 'daily', { remedies: [RESUME] })));
  expect(find('.dtj-remedies')).toBeNull();
});
