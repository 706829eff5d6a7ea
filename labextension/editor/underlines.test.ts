// @vitest-environment happy-dom
import { EditorView } from '@codemirror/view';
import { expect, test } from 'vitest';

import { underline, unitsOf } from './underlines';

const place = (from: number, to: number, text = 'DT-1102: no') => ({
  from,
  to,
  severity: 'error',
  text,
});

function marked(view: EditorView): string[] {
  return [...view.dom.querySelectorAll('.dtje-problem')].map(each => each.textContent);
}

test('places are underlined, move with the text, and are replaced', () => {
  const view = new EditorView({ doc: 'SELECT amout FROM t', parent: document.body });
  underline(view, []);
  expect(marked(view)).toEqual([]);
  underline(view, [place(7, 12)]);
  expect(marked(view)).toEqual(['amout']);
  view.dispatch({ changes: { from: 0, insert: '-- x\n' } });
  expect(marked(view)).toEqual(['amout']);
  view.dispatch({ changes: { from: 12, to: 17 } });
  expect(marked(view)).toEqual([]);
  underline(view, [place(0, 4), place(900, 901)]);
  expect(marked(view)).toEqual(['-- x']);
  underline(view, []);
  expect(marked(view)).toEqual([]);
});

test('characters of two units are counted as one', () => {
  expect(unitsOf('abc')(2)).toBe(2);
  const units = unitsOf('a🙂b');
  expect([0, 1, 2, 3, 9].map(units)).toEqual([0, 1, 3, 4, 4]);
});
