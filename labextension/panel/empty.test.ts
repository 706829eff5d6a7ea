// @vitest-environment happy-dom
import { expect, test } from 'vitest';

import { settled } from '../testing/kernel';
import { type Emptiness, emptyPage } from './empty';

const never = () => Promise.reject(new Error('not to be run'));

test.each<Emptiness>([
  'unasked',
  'opening',
  'absent',
  'other-version',
  'lost',
  'restarting',
  'dead',
  'no-document',
  'no-kernel',
  'other-language',
  'not-connected',
])('%s says what is so', why => {
  const page = emptyPage({ why, detail: '7' }, never);
  expect(page.querySelector('strong')?.textContent).not.toBe('');
  expect(page.querySelectorAll('pre').length).toBe(
    why === 'absent' || why === 'not-connected' ? 1 : 0,
  );
});

test('the code is run, and what it printed is shown', async () => {
  const ran: string[] = [];
  const page = emptyPage({ why: 'not-connected' }, code => {
    ran.push(code);
    return Promise.resolve('Connected: <b>lake</b>');
  });
  const [run] = page.querySelectorAll('button');
  run!.click();
  expect(run!.disabled).toBe(true);
  expect(page.textContent).toContain('Running %dt connect');
  await settled();
  expect(ran).toEqual(['%dt connect']);
  expect(page.textContent).toContain('Connected: <b>lake</b>');
  expect(page.querySelector('b')).toBeNull();
  expect(run!.disabled).toBe(false);
});

test('what the code raised is shown', async () => {
  const page = emptyPage({ why: 'absent' }, () => Promise.reject(new Error('No module')));
  page.querySelector('button')!.click();
  await settled();
  expect(page.querySelector('.dtj-trouble')?.textContent).toContain('No module');
});

test('a language is shown as text', () => {
  const page = emptyPage({ why: 'other-language', detail: '<img src=x onerror=alert(1)>' }, never);
  expect(page.querySelector('img')).toBeNull();
  expect(page.textContent).toContain('<img');
});
