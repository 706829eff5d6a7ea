// @vitest-environment happy-dom
import { expect, test } from 'vitest';

import { settled } from '../testing/kernel';
import { type Emptiness, type Empty, emptyPage, type Ways } from './empty';

const never: Ways = {
  run: () => Promise.reject(new Error('not to be run')),
  insert: () => expect.fail('not to be inserted'),
  start: () => Promise.reject(new Error('not to be started')),
  tell: () => expect.fail('not to be told'),
};

function put(empty: Empty, ways: Partial<Ways>): HTMLElement {
  const page = emptyPage(empty, { ...never, ...ways });
  document.body.replaceChildren(page);
  return page;
}

const press = (page: HTMLElement, label: string): HTMLButtonElement => {
  const found = [...page.querySelectorAll('button')].find(each => each.textContent === label)!;
  found.click();
  return found;
};

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
  'starting',
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
  const run = (code: string): Promise<string> => {
    ran.push(code);
    return Promise.resolve('Connected: <b>lake</b>');
  };
  const page = put({ why: 'not-connected' }, { run });
  const go = press(page, 'Run in this kernel');
  expect(go.disabled).toBe(true);
  expect(page.textContent).toContain('Running %dt connect');
  await settled();
  expect(ran).toEqual(['%dt connect']);
  expect(page.textContent).toContain('Connected: <b>lake</b>');
  expect(page.querySelector('b')).toBeNull();
  expect(go.disabled).toBe(false);
});

test('what the code raised is shown', async () => {
  const run = (): Promise<string> => Promise.reject(new Error('No module'));
  const page = put({ why: 'absent' }, { run });
  page.querySelector('button')!.click();
  await settled();
  expect(page.querySelector('.dtj-trouble')?.textContent).toContain('No module');
});

test('a language is shown as text', () => {
  const page = emptyPage({ why: 'other-language', detail: '<img src=x onerror=alert(1)>' }, never);
  expect(page.querySelector('img')).toBeNull();
  expect(page.textContent).toContain('<img');
});

test('what failed when the page was another one already is told elsewhere', async () => {
  const told: string[] = [];
  const run = (): Promise<string> => Promise.reject(new Error('No Java'));
  const page = put({ why: 'not-connected' }, { run, tell: failure => void told.push(failure) });
  press(page, 'Run in this kernel');
  page.remove();
  await settled();
  expect(told).toEqual(['No Java']);
});

test('the code can be put into a cell', () => {
  const inserted: string[] = [];
  press(put({ why: 'absent' }, { insert: code => void inserted.push(code) }), 'Insert as a cell');
  expect(inserted).toEqual(['%load_ext dt_jupyter']);
});

test('while Spark starts nothing is offered that would start it again', () => {
  const page = put({ why: 'starting' }, {});
  expect(page.textContent).toContain('Spark is starting');
  expect(page.querySelector('button, pre')).toBeNull();
});

test.each([
  ['no-kernel', 'Start'],
  ['dead', 'Restart'],
] as const)('%s: a button starts one, and what fails is said', async (why, label) => {
  const start = (): Promise<void> => Promise.reject(new Error('No such kernel'));
  const page = put({ why }, { start });
  const go = press(page, label);
  expect(go.disabled).toBe(true);
  await settled();
  expect(page.textContent).toContain('No such kernel');
  expect(go.disabled).toBe(false);
});

test('the lakes that were opened last are offered, and opened by one click', async () => {
  const ran: string[] = [];
  const run = (code: string): Promise<string> => {
    ran.push(code);
    return Promise.resolve('Connected: sales');
  };
  const recent = ['/data/sales', "/data/it's <b>", `/data/"'`];
  const page = put({ why: 'not-connected', recent }, { run });
  const lakes = [...page.querySelectorAll<HTMLButtonElement>('.dtjp-lake')];
  expect(lakes.map(each => each.textContent)).toEqual([
    'sales /data/sales',
    "it's <b> /data/it's <b>",
  ]);
  lakes[0]!.click();
  expect(lakes[1]!.disabled).toBe(true);
  await settled();
  lakes[1]!.click();
  await settled();
  expect(ran).toEqual(["%dt connect '/data/sales'", `%dt connect "/data/it's <b>"`]);
  expect(page.textContent).toContain('Connected: sales');
  expect(put({ why: 'starting', recent }, {}).querySelector('.dtjp-recent')).toBeNull();
});
