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
