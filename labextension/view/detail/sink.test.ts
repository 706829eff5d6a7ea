// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test } from 'vitest';

import { mountSink } from './index';
import { ago, AS_OF, sink } from '../../testing/graphs';
import { HOSTILE, madeNothing } from '../../testing/hostile';
import type { Host, Question, View } from '../elements/dom';
import type { LiveMessage, SinkDelivery, SinkMessage, SinkStanding } from '../wire';

const delivery = (changes: Partial<SinkDelivery> = {}): SinkDelivery => ({
  ...sink('app', 'daily').sink!.last!,
  ...changes,
});

const message = (
  changes: Partial<SinkMessage> = {},
  standing: Partial<SinkStanding> = {},
): SinkMessage => ({
  type: 'sink',
  version: 1,
  name: 'app',
  node: sink('app', 'daily', standing),
  created: AS_OF,
  key: ['day'],
  reductions: [],
  delta_updates: false,
  partitions: 1,
  definition: "CREATE SINK app FROM DYNAMIC TABLE daily\n  INTO 'postgresql://db.example.org/app'",
  deliveries: [delivery()],
  comment: null,
  notes: [],
  error: null,
  ...changes,
});

let root: HTMLElement;
let view: View<SinkMessage>;
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
  view = mountSink(root, host(true));
});

afterEach(() => {
  view.dispose();
  root.remove();
});

test('it says where it delivers to, how it stands, and what each delivery moved', () => {
  const down = { state: 'RETRYING', action: null, end: null, retries: 3, error: 'no' } as const;
  const deliveries = [delivery(down), delivery({ action: 'INITIAL', trigger: 'CREATION' })];
  const error = { type: 'error', version: 1, code: 'DT-6110', sentence: 'no answer' } as const;
  const nothing = { hint: null, query: null, underline: null, details: null, page: null };
  const standing = { state: 'RETRYING', newest: 9, next_try: ago(-12) } as const;
  view.update(message({ deliveries, error: { ...error, ...nothing } }, standing));
  expect(root.querySelector('.dtj-pill')!.textContent).toBe('RETRYING');
  expect(root.querySelector('[role=alert]')!.textContent).toContain('DT-6110no answer');
  const facts = root.querySelector('.dtj-facts')!.textContent;
  expect(facts).toContain('postgresql://db.example.org:5432/app');
  expect(facts).toContain('version7 of 9');
  expect(facts).toContain('next try');
  const [first, why, second] = cells();
  expect(first!.slice(2)).toEqual(['', '1,200', '1,204', '3', '20.5 kB', '3', 'SCHEDULED']);
  expect(why).toEqual(['no']);
  expect(second![0]).toContain('INITIAL');
  expect(second![2]).toBe('1 s');
  get('up:daily').click();
  expect(chosen).toEqual(['daily']);
});

test('what is done by a button is said, and the sink shown as it is then', async () => {
  view.update(message());
  get('refresh').click();
  expect(asked[0]!.question).toEqual({ ask: 'refresh', name: 'app' });
  asked[0]!.answer({ type: 'done', version: 1, sentence: 'Sink app has everything already.' });
  await settle();
  expect(root.querySelector('[role=status]')!.textContent).toContain('has everything already');
  expect(asked[1]!.question).toEqual({ ask: 'sink', name: 'app' });
  asked[1]!.answer(message({}, { state: 'PAUSED' }));
  await settle();
  get('resume').click();
  expect(asked[2]!.question).toEqual({ ask: 'resume', name: 'app' });
});

test.each(['reset', 'suspend'] as const)('to %s it is asked back', async form => {
  view.update(message());
  get(form).click();
  expect(document.activeElement).toBe(get('keep'));
  get('keep').click();
  expect(asked).toEqual([]);
  get(form).click();
  get('yes').click();
  await settle();
  expect(asked.map(one => one.question)).toEqual([{ ask: form, name: 'app' }]);
});

test('without a kernel it shows what it has, and nothing can be done', () => {
  view.dispose();
  view = mountSink(root, host(false));
  view.update(message({ deliveries: [] }));
  expect(get('refresh')).toBeNull();
  expect(root.textContent).toContain('No delivery yet');
});

test.each(HOSTILE)('%j is text wherever it stands', text => {
  const standing = { source: text, scheme: text, address: text, target: text };
  view.update(
    message(
      {
        name: text,
        key: [text],
        reductions: [text],
        definition: text,
        comment: text,
        notes: [text],
        deliveries: [delivery({ state: 'FAILED', error: text, drifted: 2 })],
        error: {
          type: 'error',
          version: 1,
          code: text,
          sentence: text,
          hint: text,
          query: null,
          underline: null,
          details: text,
          page: text,
        },
      },
      standing,
    ),
  );
  get('reset').click();
  madeNothing(root, text);
});

test('rows that the store refused are counted, and sent again by a button', () => {
  view.update(message());
  expect(get('retry')).toBeNull();
  view.update(message({ deliveries: [delivery({ refused: 2 })] }, { dead_letters: 3 }));
  expect(root.textContent).toContain('dead letters3');
  expect(root.textContent).toContain('2 rows refused by the store');
  get('retry').click();
  expect(asked.at(-1)!.question).toEqual({ ask: 'retry_dead_letters', name: 'app' });
});
