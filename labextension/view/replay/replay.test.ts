// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { HOSTILE, madeNothing } from '../../testing/hostile';
import { mountReplay } from './index';
import { csv, guarded } from '../elements/csv';
import { fileName, json } from './save';
import { mostlyStill, movedSteps, stillSteps } from './steps';
import { nearestPlace, places } from './timeline';
import { toldRows } from './told';
import type { Host, Question, View } from '../elements/dom';
import type { LiveMessage, Mark, ReplayMessage, ReplayStep, RowsMessage } from '../wire';

const step = (number: number, minute: number, changes: Partial<ReplayStep> = {}): ReplayStep => ({
  number,
  time: new Date(Date.UTC(2026, 10, 22, 12, minute)).toISOString(),
  version: number - 1,
  operation: 'WRITE',
  row_count: 10 * number,
  inserted: 10,
  deleted: 0,
  schema_change: '',
  digest: null,
  ...changes,
});

const replay = (changes: Partial<ReplayMessage> = {}): ReplayMessage => ({
  type: 'replay',
  version: 1,
  name: 'orders',
  replay: 'r1',
  schema_mode: 'snapshot_time',
  steps: [step(1, 0), step(2, 1), step(3, 10, { schema_change: 'added column note' }), step(4, 20)],
  ...changes,
});

const rows = (changes: Partial<RowsMessage> = {}): RowsMessage => ({
  type: 'rows',
  version: 1,
  name: 'orders',
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'item', type: 'string' },
  ],
  rows: [['1', 'rug']],
  marks: ['same'],
  step: 4,
  since: null,
  truncated: false,
  ...changes,
});

describe('a file of the rows', () => {
  test.each(['=1+1', '+1', '-1+1', '@SUM(A1)', '\tx', '\rx'])(
    '%j is no formula in a spreadsheet',
    text => {
      expect(guarded(text)).toBe(`'${text}`);
    },
  );

  test('a negative number of a number column stays one', () => {
    expect([guarded('-12.5', true), guarded('-12.5'), guarded('-1+cmd', true)]).toEqual([
      '-12.5',
      "'-12.5",
      "'-1+cmd",
    ]);
  });

  test('names of columns are guarded too; NULL and an empty text differ; quotes are doubled', () => {
    const message = rows({
      columns: [
        { name: '=id', type: 'bigint' },
        { name: 'item', type: 'string' },
      ],
      rows: [
        ['-1', 'a "rug", red'],
        ['2', null],
        ['3', ''],
        ['4', "=cmd|' /C calc'!A0"],
      ],
      marks: ['same', 'same', 'same', 'same'],
    });
    expect(csv(message)).toBe(
      `'=id,item\r\n-1,"a ""rug"", red"\r\n2,\r\n3,""\r\n4,'=cmd|' /C calc'!A0\r\n`,
    );
  });

  test('marks of a difference are the first column', () => {
    expect(csv(rows({ marks: ['inserted'] }))).toBe('change,id,item\r\ninserted,1,rug\r\n');
  });

  test('JSON has columns by place, so that two of one name are both there', () => {
    const columns = [
      { name: '__proto__', type: 'string' },
      { name: '__proto__', type: 'string' },
    ];
    const read: unknown = JSON.parse(json(rows({ columns, rows: [['a', null]] })));
    expect(read).toMatchObject({ columns, rows: [['a', null]] });
  });

  test('a file name is a name only', () => {
    expect(fileName(rows({ name: '../../etc/pass wd', since: 2 }), 'csv')).toBe(
      '_etc_pass_wd_step_4_since_2.csv',
    );
  });
});

test('snapshots stand by their time, or evenly', () => {
  expect(places(replay().steps, 'time')).toEqual([0, 0.05, 0.5, 1]);
  expect(places(replay().steps, 'index')).toEqual([0, 1 / 3, 2 / 3, 1]);
  expect(places([step(1, 0)], 'time')).toEqual([0]);
  expect(nearestPlace([0, 0.05, 0.5, 1], 0.4)).toBe(2);
});

test('a step stays where something moved, where that is not known, and at both ends', () => {
  const steps = [
    step(1, 0, { inserted: 0 }),
    step(2, 1, { inserted: 0 }),
    step(3, 2, { inserted: 0, deleted: 1 }),
    step(4, 3, { inserted: null, deleted: null }),
    step(5, 4, { inserted: 0, schema_change: 'added column note' }),
    step(6, 5, { inserted: 0 }),
  ];
  expect(movedSteps(steps).map(({ number }) => number)).toEqual([1, 3, 4, 5, 6]);
  expect(stillSteps(steps)).toBe(1);
  expect(mostlyStill(steps)).toBe(false);
});

test('what is shown is told with its counts; an update is one, not two', () => {
  const marks: Mark[] = ['inserted', 'before', 'after', 'deleted', 'same'];
  const shown = rows({ marks, rows: marks.map(mark => ['1', mark]), since: 3 });
  expect(toldRows(shown)).toBe(
    'Step 4 since step 3: 5 rows, 1 inserted, 1 deleted, 1 updated (item)',
  );
});

describe('the view', () => {
  let root: HTMLElement;
  let view: View<ReplayMessage>;
  let asked: {
    question: Question;
    answer: (message: LiveMessage) => void;
    fail: (why: Error) => void;
  }[];

  const host = (live: boolean): Host => ({
    live,
    choose: () => undefined,
    ask: question => new Promise((answer, fail) => asked.push({ question, answer, fail })),
  });
  const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
  const last = (): (typeof asked)[number] => asked[asked.length - 1]!;
  const get = <E extends HTMLElement>(key: string): E =>
    root.querySelector<E>(`[data-key="${key}"]`)!;
  const key = (name: string): boolean =>
    get('slider').dispatchEvent(new KeyboardEvent('keydown', { key: name }));
  const cells = (): string[] => [...root.querySelectorAll('td')].map(cell => cell.textContent);

  beforeEach(() => {
    vi.useFakeTimers();
    root = document.createElement('div');
    document.body.append(root);
    asked = [];
    view = mountReplay(root, host(true));
  });

  afterEach(() => {
    view.dispose();
    vi.useRealTimers();
    root.remove();
  });

  test('it begins at the newest snapshot and asks for its rows', async () => {
    view.update(replay());
    expect(asked.map(one => one.question)).toEqual([{ ask: 'rows', replay: 'r1', step: 4 }]);
    last().answer(rows());
    await settle();
    expect(cells()).toEqual(['1', 'rug']);
  });

  test('keys go from snapshot to snapshot, however far apart they are', async () => {
    view.update(replay());
    key('ArrowLeft');
    key('ArrowLeft');
    expect(get('slider').getAttribute('aria-valuetext')).toContain('step 2 of 4');
    key('Home');
    expect(get('slider').getAttribute('aria-valuetext')).toContain('step 1 of 4');
    await vi.advanceTimersByTimeAsync(70);
    expect(asked.map(one => one.question.step)).toEqual([4, 1]); // the one passed by was not asked for
  });

  test('rows of an older step never replace those of a newer one', async () => {
    view.update(replay());
    root.querySelector<HTMLElement>('[data-by="-1"]')!.click();
    expect(asked.map(one => one.question.step)).toEqual([4, 3]);
    asked[1]!.answer(rows({ step: 3, rows: [['3', 'newer']] }));
    await settle();
    asked[0]!.answer(rows({ step: 4, rows: [['4', 'older']] }));
    await settle();
    expect(cells()).toEqual(['3', 'newer']);
  });

  test('a late failure of an older step says nothing either', async () => {
    view.update(replay());
    root.querySelector<HTMLElement>('[data-by="-1"]')!.click();
    asked[1]!.answer(rows({ step: 3, rows: [['3', 'newer']] }));
    await settle();
    asked[0]!.fail(new Error('too late'));
    await settle();
    expect(root.textContent).not.toContain('too late');
  });

  test('a difference is asked for against the step before, or against one that is held', () => {
    view.update(replay());
    const against = get<HTMLSelectElement>('against');
    against.value = 'previous';
    against.dispatchEvent(new Event('change'));
    expect(last().question).toEqual({ ask: 'rows', replay: 'r1', step: 4, against: 3 });
    get('hold').click();
    key('Home');
    expect(get<HTMLSelectElement>('against').value).toBe('held');
    vi.advanceTimersByTime(70);
  });

  test('a step counts what it moved as the rows below it do', async () => {
    view.update(replay());
    const told = (): string => root.querySelector('.dtj-step')!.textContent;
    expect(told()).not.toContain('updated');
    const against = get<HTMLSelectElement>('against');
    against.value = 'previous';
    against.dispatchEvent(new Event('change'));
    const marks: Mark[] = ['before', 'after'];
    last().answer(rows({ marks, since: 3, rows: [['1', 'rug'], ['1', 'mat']] })); // prettier-ignore
    await settle();
    expect(told()).toContain('1 updated');
    expect(told()).not.toContain('inserted');
    expect(root.textContent).toContain('Step 4 since step 3: 2 rows, 1 updated (item)');
  });

  test('another schema is asked for over the same span, and the step stays', async () => {
    view.update(replay());
    key('Home');
    const radio = root.querySelector<HTMLInputElement>('input[value=current]')!;
    radio.checked = true;
    radio.dispatchEvent(new Event('change'));
    const { since, until, ...question } = asked.find(
      one => one.question.ask === 'replay',
    )!.question;
    expect(question).toEqual({ ask: 'replay', name: 'orders', schema_mode: 'current' });
    expect([since, until]).toEqual([replay().steps[0]!.time, replay().steps[3]!.time]);
    asked
      .find(one => one.question.ask === 'replay')!
      .answer(replay({ replay: 'r2', schema_mode: 'current' }));
    await settle();
    expect(get('slider').getAttribute('aria-valuetext')).toContain('step 1 of 4');
    expect(last().question).toEqual({ ask: 'rows', replay: 'r2', step: 1 });
  });

  test('playing waits for the rows of a step before it goes on, and ends at the last', async () => {
    view.update(replay());
    get('play').click();
    expect(last().question.step).toBe(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect(last().question.step).toBe(1);
    for (const number of [1, 2, 3, 4]) {
      expect(last().question.step).toBe(number);
      last().answer(rows({ step: number }));
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(get('play').textContent).toContain('Play');
  });

  test('an update keeps the step and the focus', () => {
    view.update(replay());
    key('ArrowLeft');
    get('slider').focus();
    view.update(replay({ steps: [...replay().steps, step(5, 30)] }));
    expect(get('slider').getAttribute('aria-valuetext')).toContain('step 3 of 5');
    expect(document.activeElement).toBe(get('slider'));
  });

  test('a change of the schema is a flag with its words, and a button that goes there', () => {
    view.update(replay());
    expect(root.querySelectorAll('.dtj-flag')).toHaveLength(1);
    get('schema3').click();
    expect(root.querySelector('.dtj-step')!.textContent).toContain('step 3 of 4');
  });

  test('what could not be read is said', async () => {
    view.update(replay());
    last().fail(new Error('DT-4101: before the oldest snapshot'));
    await settle();
    expect(root.querySelector('.dtj-trouble')!.textContent).toContain('DT-4101');
  });

  test('without a kernel the snapshots are walked, and nothing is asked', () => {
    view.dispose();
    view = mountReplay(root, host(false));
    view.update(replay());
    key('Home');
    vi.advanceTimersByTime(100);
    expect(asked).toEqual([]);
    expect(root.textContent).toContain('need a running kernel');
  });

  test('snapshots without changes are left out where they are the most, until they are wanted', () => {
    const still = (number: number): ReplayStep => step(number, number, { inserted: 0 });
    const steps = [step(1, 0), still(2), still(3), still(4), step(5, 5), still(6), still(7)];
    view.update(replay({ steps }));
    const box = root.querySelector<HTMLInputElement>('[data-key=still]')!;
    expect(box.checked).toBe(false);
    expect(root.textContent).toContain('3 snapshots');
    expect(box.parentElement!.textContent).toBe(' show 4 unchanged');
    box.click();
    expect(root.textContent).toContain('7 snapshots');
    view.update(replay({ steps }));
    expect(root.textContent).toContain('7 snapshots');
  });

  test('in another schema the same snapshots are walked', () => {
    const steps = [step(1, 0), step(2, 1, { inserted: 0, schema_change: 'added' }), step(3, 2)];
    const still = step(4, 3, { inserted: 0 });
    view.update(replay({ steps: [...steps, still, step(5, 4)] }));
    expect(root.textContent).toContain('5 snapshots');
    const later = steps.map(each => ({ ...each, inserted: 0, schema_change: '' }));
    view.update(replay({ steps: [...later, still, step(5, 4)], schema_mode: 'current' }));
    expect(root.textContent).toContain('5 snapshots');
  });

  test('no snapshot at all is said', () => {
    view.update(replay({ steps: [] }));
    expect(root.textContent).toContain('No snapshot in this span');
  });

  test.each(HOSTILE)('%j is text wherever it stands', async text => {
    const hostile = step(1, 0, { operation: text, schema_change: text, digest: text });
    view.update(replay({ name: text, schema_mode: text, steps: [hostile] }));
    last().answer(
      rows({ name: text, columns: [{ name: text, type: text }], rows: [[text]], step: 1 }),
    );
    await settle();
    madeNothing(root, text);
  });
});
