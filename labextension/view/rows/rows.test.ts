// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest';

import { HOSTILE, madeNothing } from '../../testing/hostile';
import { event } from '../../testing/kernel';
import { chart } from './chart';
import { compared } from '../elements/compared';
import { mountRows, type LiveRows } from './index';
import type { Host, Question } from '../elements/dom';
import type { LiveMessage, TableRowsMessage } from '../wire';

const rows = (changes: Partial<TableRowsMessage> = {}): TableRowsMessage => ({
  type: 'tablerows',
  version: 1,
  name: 'daily',
  columns: [
    { name: 'day', type: 'date' },
    { name: 'total', type: 'bigint' },
  ],
  rows: [
    ['2026-11-22', '5'],
    ['2026-11-23', '7'],
  ],
  marks: ['same', 'same'],
  at: '2026-11-23T12:00:00Z',
  table_version: 3,
  limit: 200,
  dynamic: true,
  truncated: false,
  chart: [],
  ...changes,
});

let root: HTMLElement;
let view: LiveRows;
let asked: Question[];
let answers: ((message: LiveMessage | Error) => void)[];

const host: Host = {
  live: true,
  choose: () => undefined,
  ask: question => {
    asked.push(question);
    return new Promise((resolve, reject) =>
      answers.push(said => (said instanceof Error ? reject(said) : resolve(said))),
    );
  },
};

beforeEach(() => {
  root = document.createElement('div');
  document.body.replaceChildren(root);
  [asked, answers] = [[], []];
  view = mountRows(root, host);
  view.update(rows());
});

const settled = () => new Promise(done => setTimeout(done));
const ended = (name: string) => event({ happened: 'ended', name });
const told = () => root.querySelector('.dtj-grid .dtj-foot')!.textContent;
const marks = () => [...root.querySelectorAll('.dtj-mark')].map(mark => mark.textContent);

const MOVED = rows({
  rows: [['2026-11-22', '5'], ['2026-11-22', '6'], ['2026-11-23', '7'], ['2026-11-24', '1']],
  marks: ['before', 'after', 'deleted', 'inserted'],
  table_version: 4,
}); // prettier-ignore

test('after each refresh of the table what moved since is asked for, and marked', async () => {
  view.happened(ended('other'));
  expect(asked).toEqual([]);
  view.happened(ended('daily'));
  expect(asked).toEqual([{ ask: 'table_rows', name: 'daily', since: '3', limit: 200 }]);
  answers[0]!(MOVED);
  await settled();
  expect(marks()).toEqual(['~updated', '−deleted', '+inserted']);
  expect(told()).toBe('2 rows, 1 came, 1 went, 1 changed');
  view.happened(ended('daily'));
  expect(asked[1]!.since).toBe('4');
});

test('what moved last stays marked where a refresh brought nothing', async () => {
  view.update(MOVED);
  view.happened(ended('daily'));
  answers[0]!(rows({ rows: [['2026-11-22', '6'], ['2026-11-24', '1']], table_version: 5 })); // prettier-ignore
  await settled();
  expect(marks()).toEqual(['~updated', '−deleted', '+inserted']);
  expect(root.textContent).toContain('version 5');
});

test('one question is on its way; what came meanwhile is asked for by the next', async () => {
  ['daily', 'daily', 'daily'].forEach(name => view.happened(ended(name)));
  expect(asked).toHaveLength(1);
  answers[0]!(MOVED);
  await settled();
  expect(asked.map(({ since }) => since)).toEqual(['3', '4']);
});

test('a failure is said, and the next question is of now alone', async () => {
  view.happened(ended('daily'));
  answers[0]!(new Error('Version 3 is gone.'));
  await settled();
  expect(root.textContent).toContain('Version 3 is gone.');
  view.happened(ended('daily'));
  expect(asked[1]!.since).toBeNull();
  answers[1]!(rows());
  await settled();
  expect(root.textContent).not.toContain('gone');
});

test('a table that nothing refreshes follows whatever is refreshed', () => {
  view.update(rows({ name: 'orders', dynamic: false, table_version: null }));
  view.happened(ended('daily'));
  expect(asked[0]!.since).toBe('2026-11-23T12:00:00Z');
});

test('what is gone asks no more', () => {
  view.dispose();
  view.happened(ended('daily'));
  expect([asked, root.childElementCount]).toEqual([[], 0]);
});

test('the picture is drawn of what is there, and by choice', () => {
  expect(root.querySelector('svg')).toBeNull();
  const box = root.querySelector<HTMLInputElement>('[data-key=chart]')!;
  box.checked = true;
  box.dispatchEvent(new Event('change'));
  expect(root.querySelector('svg')!.getAttribute('aria-label')).toBe('total by day, 2 values');
  view.update(MOVED);
  expect(root.querySelector('svg')!.getAttribute('aria-label')).toBe('total by day, 2 values');
  expect([...root.querySelectorAll('select')].map(({ value }) => value)).toEqual(['day', 'total']);
});

test.each([
  ['string', ['b', 'a'], 2, 0],
  ['date', ['2026-01-02', '2026-01-01'], 0, 1],
  ['timestamp', ['2026-01-02 10:00:00', '2026-01-01 10:00:00.5'], 0, 1],
  ['int', ['2', '1'], 0, 1],
])('%s goes across as bars or a line', (type, values, bars, lines) => {
  const columns = [{ name: 'x', type }, { name: 'y', type: 'int' }]; // prettier-ignore
  const drawn = chart(
    { columns, rows: values.map((value, i) => [value, String(i)]) },
    'x',
    'y',
    600,
  );
  expect(drawn.querySelectorAll('rect')).toHaveLength(bars);
  expect(drawn.querySelectorAll('path.dtj-s-incremental')).toHaveLength(lines);
  expect(drawn.outerHTML).not.toContain('NaN');
});

test('without a number there is nothing to draw', () => {
  const columns = [{ name: 'x', type: 'string' }, { name: 'y', type: 'double' }]; // prettier-ignore
  const made = chart({ columns, rows: [['a', null], ['b', 'NaN'], [null, '1']] }, 'x', 'y', 600); // prettier-ignore
  expect(made.textContent).toBe('No numbers to draw.');
});

test.each(HOSTILE)('%j is text wherever it stands', text => {
  const columns = [{ name: text, type: 'string' }, { name: 'n', type: 'int' }]; // prettier-ignore
  view.update(
    rows({ name: text, columns, rows: [[text, '1']], marks: ['same'], chart: [text, 'n'] }),
  );
  madeNothing(root, text);
});

test('what differs is told in words, with the rows below', () => {
  const made = compared({
    type: 'compare',
    version: 1,
    title: 'orders from 1 to 2',
    lines: ['schema: +kind string', 'rows: 2 → 2, +1 −1'],
    rows: {
      type: 'result', version: 1, columns: [{ name: 'id', type: 'int' }], rows: [['1'], ['1']],
      marks: ['deleted', 'inserted'], truncated: false, title: 'Rows that differ', note: null,
    }, // prettier-ignore
  });
  expect(made.querySelector('pre')!.textContent).toContain('+kind string');
  expect([...made.querySelectorAll('.dtj-mark')].map(mark => mark.textContent)).toEqual([
    '−deleted',
    '+inserted',
  ]);
});
