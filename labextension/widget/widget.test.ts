// @vitest-environment happy-dom
import { beforeEach, describe, expect, test, vi } from 'vitest';

import { event, graph, hello, node, settled } from '../testing/kernel';
import type { LiveMessage, ReplayMessage, Request, RowsMessage } from '../view/wire';
import type { Model } from './connection';
import widget from './index';

/** A widget's model whose kernel says what a test says. */
class FakeModel implements Model {
  readonly sent: Request[] = [];
  private readonly _listeners = new Set<readonly [string, (content: unknown) => void]>();

  constructor(private readonly _traits: Record<string, unknown>) {}

  get listeners(): number {
    return this._listeners.size;
  }

  get(name: string): unknown {
    return this._traits[name] ?? null;
  }

  send(content: unknown): void {
    this.sent.push(content as Request);
  }

  on(event: string, callback: (content: unknown) => void): void {
    this._listeners.add([event, callback]);
  }

  off(event: string, callback: (content: unknown) => void): void {
    this._listeners.forEach(one => {
      if (one[0] === event && one[1] === callback) {
        this._listeners.delete(one);
      }
    });
  }

  hear(content: unknown): void {
    this._trigger('msg:custom', content);
  }

  /** Its kernel restarts: the manager of widgets notifies each model. */
  leave(): void {
    this._trigger('comm_live_update');
  }

  private _trigger(event: string, content?: unknown): void {
    [...this._listeners].forEach(([of, callback]) => of === event && callback(content));
  }

  /** Answers the oldest request of this kind. */
  answer(ask: Request['ask'], message: LiveMessage): void {
    const [request] = this.sent.splice(
      this.sent.findIndex(sent => sent.ask === ask),
      1,
    );
    this.hear({ id: request!.id, message });
  }
}

let el: HTMLElement;

beforeEach(() => {
  el = document.createElement('div');
  document.body.replaceChildren(el);
});

const names = () => [...el.querySelectorAll('.dtj-node')].map(found => found.textContent);

test('without a kernel it shows the message that it holds', async () => {
  const model = new FakeModel({ kind: 'graph', message: graph(node('daily')) });
  const end = widget.render({ model, el });
  await settled();
  expect(names().length).toBe(1);
  expect(model.sent.map(({ ask }) => ask)).toEqual(['hello']);
  end();
  expect(model.listeners).toBe(0);
  expect(el.childElementCount).toBe(0);
});

test('a view whose kernel has restarted says so, once, and asks no more', async () => {
  const model = new FakeModel({ kind: 'graph', message: graph(node('daily')) });
  const end = widget.render({ model, el });
  model.answer('hello', hello());
  await settled();
  const before = model.sent.length;
  expect(el.textContent).not.toContain('Not live');
  model.leave();
  model.leave();
  await settled();
  expect([...el.querySelectorAll('[role=status]')].map(said => said.textContent)).toContain(
    'Not live: run the cell again.',
  );
  expect(el.querySelectorAll('.dtjw-left').length).toBe(1);
  expect(names().length).toBe(1);
  expect(model.sent.length).toBe(before);
  end();
  expect(model.listeners).toBe(0);
});

test('with a kernel it asks for what is newer, and follows events', async () => {
  const model = new FakeModel({ kind: 'graph', message: graph(node('daily')) });
  const end = widget.render({ model, el });
  model.answer('hello', hello());
  await settled();
  model.answer('graph', graph(node('daily'), node('weekly')));
  await settled();
  expect(names().length).toBe(2);
  const running = { jobs: 1, jobs_done: 0, tasks: 8, tasks_done: 2, rows: 0, rows_read: 0 };
  model.hear({
    message: event({
      happened: 'progress',
      name: 'daily',
      node: node('daily', { running, state: 'EXECUTING' }),
    }),
  });
  const executing = el.querySelectorAll('.dtj-node[data-state="EXECUTING"]');
  expect([...executing].map(found => found.getAttribute('aria-label'))).toEqual([
    expect.stringContaining('daily'),
  ]);
  end();
});

test('a widget of one table asks for that table', async () => {
  const message: LiveMessage = {
    type: 'lag',
    version: 1,
    name: 'daily',
    target_lag: 60,
    points: [],
    as_of: null,
    idle: [],
  };
  const model = new FakeModel({ kind: 'lag', message });
  const end = widget.render({ model, el });
  model.answer('hello', hello());
  await settled();
  expect(model.sent.map(({ ask, name }) => [ask, name])).toContainEqual(['lag', 'daily']);
  end();
});

describe('a replay', () => {
  const steps = [1, 2].map(number => ({
    number,
    time: `2026-11-22T12:0${number}:00Z`,
    version: number - 1,
    operation: 'WRITE',
    row_count: number,
    inserted: 1,
    deleted: 0,
    schema_change: '',
    digest: null,
  }));
  const message: ReplayMessage = {
    type: 'replay',
    version: 1,
    name: 'orders',
    replay: 'r1',
    schema_mode: 'snapshot_time',
    steps,
  };
  const rowsOf = (step: number): RowsMessage => ({
    type: 'rows',
    version: 1,
    name: 'orders',
    columns: [{ name: 'id', type: 'int' }],
    rows: [[`of ${step}`]],
    marks: ['same'],
    step,
    since: null,
    truncated: false,
  });
  const cells = () => [...el.querySelectorAll('td')].map(cell => cell.textContent);

  test('shows the rows of a step once there is a kernel, and of each that is moved to', async () => {
    const model = new FakeModel({ kind: 'replay', message });
    const end = widget.render({ model, el });
    await settled();
    expect(el.textContent).toContain('need a running kernel');
    model.answer('hello', hello());
    await settled();
    expect(el.textContent).not.toContain('need a running kernel');
    expect(el.querySelector('[aria-label=Schema]')).not.toBeNull();
    model.answer('rows', rowsOf(2));
    await settled();
    expect(cells()).toEqual(['of 2']);
    el.querySelector<HTMLElement>('[data-by="-1"]')!.click();
    await settled();
    expect(model.sent.filter(({ ask }) => ask === 'rows').map(({ step }) => step)).toEqual([1]);
    model.answer('rows', rowsOf(1));
    await settled();
    expect(cells()).toEqual(['of 1']);
    end();
    expect(model.listeners).toBe(0);
  });

  test('of two on a page each has its own switches', async () => {
    vi.resetModules(); // the panel has a copy of these modules, and each widget one
    const { default: other } = await import('./index');
    const ends = [widget, other].map(made =>
      made.render({ model: new FakeModel({ kind: 'replay', message }), el }),
    );
    await settled();
    const groups = [...el.querySelectorAll('[aria-label="Space the snapshots by"]')];
    const names = groups.map(group => group.querySelector('input')!.name);
    expect(new Set(names).size).toBe(2);
    ends.forEach(end => end());
  });
});

test('an unknown kind is said, as text', () => {
  const model = new FakeModel({ kind: '<img src=x>', message: null });
  widget.render({ model, el });
  expect(el.textContent).toContain('Unknown view');
  expect(el.querySelector('img')).toBeNull();
});
