// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test } from 'vitest';

import { mountTask } from './index';
import { ago, AS_OF, task, taskRun } from '../../testing/graphs';
import { HOSTILE, madeNothing } from '../../testing/hostile';
import type { Host, Question, View } from '../elements/dom';
import type { LiveMessage, TaskMessage, TaskStanding } from '../wire';

const message = (
  changes: Partial<TaskMessage> = {},
  standing: Partial<TaskStanding> = {},
): TaskMessage => ({
  type: 'task',
  version: 1,
  name: 'task load',
  node: task('load', standing),
  created: AS_OF,
  definition: 'CREATE TASK load AS INSERT INTO archive SELECT * FROM new_orders',
  after: [],
  reads: ['new_orders'],
  writes: ['archive'],
  runs: [taskRun()],
  comment: null,
  error: null,
  ...changes,
});

let root: HTMLElement;
let view: View<TaskMessage>;
let asked: { question: Question; answer: (message: LiveMessage) => void }[];
let chosen: string[];
const host = (live: boolean): Host => ({
  live,
  choose: name => chosen.push(name),
  ask: question => new Promise(answer => asked.push({ question, answer })),
});
const settle = (): Promise<unknown> => new Promise(done => setTimeout(done));
const get = (key: string): HTMLElement => root.querySelector<HTMLElement>(`[data-key="${key}"]`)!;
const cells = (): string[][] =>
  [...root.querySelectorAll('.dtj-history tbody tr')].map(row =>
    [...row.querySelectorAll('td')].map(cell => cell.textContent),
  );

beforeEach(() => {
  root = document.createElement('div');
  document.body.append(root);
  [asked, chosen] = [[], []];
  view = mountTask(root, host(true));
});

afterEach(() => {
  view.dispose();
  root.remove();
});

test('runs that had nothing to do are folded, and grey when they are wanted', () => {
  const quiet = taskRun({ state: 'SKIPPED', rows: null, message: 'It is false.', quiet: true });
  const lost = taskRun({ state: 'SKIPPED', rows: null, message: 'load, before it, is FAILED.' });
  view.update(message({ runs: [quiet, quiet, quiet, lost, taskRun()] }));
  const outcomes = () => cells().filter(row => row.length > 1);
  expect(outcomes().map(([outcome]) => outcome)).toEqual(['SKIPPED', 'SUCCEEDED']);
  expect(root.querySelector('.dtj-c-warn')!.textContent).toBe('SKIPPED');
  expect(get('no-data').parentElement!.textContent).toBe(' show 3 skipped (nothing to do)');
  get('no-data').click();
  expect(outcomes()).toHaveLength(5);
  expect(root.querySelectorAll('.dtj-history .dtj-c-soft')).toHaveLength(3);
});

test('it says when it runs, what it reads and writes, and what became of each run', () => {
  const failed = taskRun({ state: 'FAILED', rows: null, attempt: 2, message: 'no such column' });
  const waits = taskRun({ state: 'SCHEDULED', start: null, end: null, rows: null });
  const error = { type: 'error', version: 1, code: 'DT-1101', sentence: 'no such column' } as const;
  const nothing = { hint: null, query: null, underline: null, details: null, page: null };
  const runs = [failed, taskRun({ trigger: 'EXECUTE TASK' }), waits];
  const more = { runs, after: ['task first'], error: { ...error, ...nothing } };
  view.update(message(more, { next: ago(-60), failures: 2 }));
  expect(root.querySelector('.dtj-pill')!.textContent).toBe('STARTED');
  expect(root.querySelector('[role=alert]')!.textContent).toContain('DT-1101no such column');
  const facts = root.querySelector('.dtj-facts')!.textContent;
  for (const known of ['5 minutes', 'SYSTEM$STREAM_HAS_DATA', 'next', 'failed in a row2']) {
    expect(facts).toContain(known);
  }
  const [first, why, second, third] = cells();
  expect(first!.slice(2)).toEqual(['1 s', '', '2', 'SCHEDULE']);
  expect(why).toEqual(['no such column']);
  expect(second!.slice(2)).toEqual(['1 s', '2', '1', 'EXECUTE TASK']);
  expect(third!.slice(2, 4)).toEqual(['', '']);
  for (const name of ['task first', 'new_orders', 'archive']) {
    get(`to:${name}`).click();
  }
  expect(chosen).toEqual(['task first', 'new_orders', 'archive']);
});

test('what is done by a button is said, and the task shown as it is then', async () => {
  view.update(message());
  expect(get('resume')).toBeNull();
  get('suspend').click();
  expect(asked[0]!.question).toEqual({ ask: 'suspend', name: 'task load' });
  expect(get('refresh').hasAttribute('disabled')).toBe(true);
  asked[0]!.answer({ type: 'done', version: 1, sentence: 'Task load suspended.' });
  await settle();
  expect(root.querySelector('[role=status]')!.textContent).toContain('Task load suspended.');
  expect(asked[1]!.question).toEqual({ ask: 'task', name: 'task load' });
  asked[1]!.answer(message({}, { state: 'SUSPENDED', next: null }));
  await settle();
  expect(get('suspend')).toBeNull();
  get('refresh').click();
  expect(asked[2]!.question).toEqual({ ask: 'refresh', name: 'task load' });
});

test('without a kernel nothing can be done, and a task that never ran says so', () => {
  view.dispose();
  view = mountTask(root, host(false));
  view.update(message({ runs: [] }, { last: null }));
  expect(get('refresh')).toBeNull();
  expect(root.textContent).toContain('No run yet');
});

test.each(HOSTILE)('%j is text', text => {
  const runs = [taskRun({ state: 'FAILED', message: text })];
  view.update(
    message(
      { name: `task ${text}`, runs, definition: text, reads: [text], comment: text },
      { runs_when: text, condition: text },
    ),
  );
  madeNothing(root, text);
});
