// @vitest-environment happy-dom
import { expect, test } from 'vitest';

import { Contents } from './contents';
import type { Host, Question } from '../elements/dom';
import type { LiveMessage, TableRowsMessage } from '../wire';

const ROWS: TableRowsMessage = {
  type: 'tablerows',
  version: 1,
  name: 'daily',
  columns: [{ name: 'day', type: 'date' }],
  rows: [['2026-11-22'], ['2026-11-23']],
  marks: ['same', 'same'],
  at: '2026-11-23T12:00:00Z',
  table_version: 3,
  limit: 200,
  dynamic: true,
  truncated: false,
  chart: [],
};

test('Details show the rows of a table, follow it, and compare it', async () => {
  const asked: Question[] = [];
  const answers: ((message: LiveMessage) => void)[] = [];
  const host: Host = {
    live: true,
    choose: () => undefined,
    ask: question => {
      asked.push(question);
      return new Promise(resolve => answers.push(resolve));
    },
  };
  const contents = new Contents(host);
  const root = contents.element;
  document.body.replaceChildren(root);
  contents.of('daily');
  const press = (key: string) => root.querySelector<HTMLElement>(`[data-key=${key}]`)!.click();
  press('table_rows');
  answers[0]!(ROWS);
  await new Promise(done => setTimeout(done));
  expect(root.querySelector('.dtj-grid .dtj-foot')!.textContent).toBe('2 rows');
  contents.of('daily');
  expect(asked[1]).toEqual({ ask: 'table_rows', name: 'daily', since: '3', limit: 200 });
  press('compare_definition');
  expect(asked[2]).toEqual({ ask: 'compare_definition', name: 'daily' });
  contents.of('other');
  expect(root.querySelector('.dtj-grid')).toBeNull();
});
