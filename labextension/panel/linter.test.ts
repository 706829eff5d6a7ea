// @vitest-environment happy-dom
import { EditorView } from '@codemirror/view';
import { Signal } from '@lumino/signaling';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Linter, placesOf } from './linter';
import type { LintMessage } from '../view/wire';

const FOUND: LintMessage = {
  type: 'lint',
  version: 1,
  problems: [
    { severity: 'warning', code: 'FULL', sentence: 'All rows.', hint: '', start: 5, end: 20 },
    { severity: 'error', code: 'DT-1102', sentence: 'No a.', hint: 'b?', start: 12, end: 13 },
  ],
};

const ask = vi.fn();
let text = '';
let wanted = true;
let kernel = { status: 'idle' };
let session = { ready: true, ask };
let view: EditorView;
let changed: Signal<object, undefined>;

function start(): void {
  const owner = {};
  changed = new Signal(owner);
  view = new EditorView({ doc: text, parent: document.body });
  const cell = {
    isDisposed: false,
    editor: { editor: view },
    model: { type: 'code', contentChanged: changed, sharedModel: { getSource: () => text } },
  };
  const notebooks = {
    activeCell: cell,
    activeCellChanged: new Signal(owner),
    currentWidget: { sessionContext: {} },
  };
  const kernels = { of: () => ({ session, connection: kernel }) };
  new Linter(notebooks as never, kernels as never, () => wanted);
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllMocks();
  [text, wanted] = ['%%dt\nSELECT a FROM t', true];
  kernel = { status: 'idle' };
  session = { ready: true, ask };
  ask.mockResolvedValue(FOUND);
});
afterEach(() => vi.useRealTimers());

const marked = () => [...view.dom.querySelectorAll('.dtje-problem')].map(each => each.textContent);

test('errors are underlined once nobody types, and it is asked once', async () => {
  start();
  for (let i = 0; i < 5; i++) {
    await vi.advanceTimersByTimeAsync(300);
    changed.emit(undefined);
  }
  expect(ask).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1000);
  expect(ask.mock.calls).toEqual([[{ ask: 'lint', text }]]);
  expect(marked()).toEqual(['a']);
  expect(placesOf(FOUND).map(place => place.text)).toEqual(['DT-1102: No a. b?']);
});

test('a busy kernel is asked when it has nothing to do', async () => {
  kernel.status = 'busy';
  start();
  await vi.advanceTimersByTimeAsync(5000);
  expect(ask).not.toHaveBeenCalled();
  kernel.status = 'idle';
  await vi.advanceTimersByTimeAsync(1000);
  expect(ask).toHaveBeenCalledTimes(1);
});

test.each([
  ['turned off', () => (wanted = false)],
  ['no engine is open', () => (session.ready = false)],
  ['a cell of Python', () => (text = 'x = 1')],
])('nothing is asked: %s', async (_, change) => {
  change();
  start();
  await vi.advanceTimersByTimeAsync(5000);
  expect(ask).not.toHaveBeenCalled();
  expect(marked()).toEqual([]);
});

test('an answer for another text is not shown, nor one that failed', async () => {
  start();
  ask.mockImplementationOnce(() => {
    text = '%%dt\nSELECT b FROM t';
    return Promise.resolve(FOUND);
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(marked()).toEqual([]);
  ask.mockRejectedValueOnce(new Error('gone'));
  changed.emit(undefined);
  await vi.advanceTimersByTimeAsync(1000);
  expect(marked()).toEqual([]);
});
