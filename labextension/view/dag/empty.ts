/** What is shown if there is no graph yet: how to make the first dynamic table. */
import { h } from '../elements/dom';
import { button } from '../elements/parts';
import { NEW_TABLE } from '../elements/sqlTexts';

/**
 * `insert` puts the example into a cell; null where there is none to put it into. The example is
 * over a table that the lake has, once that is known.
 */
export function empty(
  insert: ((code: string) => void) | null,
  example: Promise<string> | null,
): HTMLElement {
  const shown = h('pre', { class: 'dtj-query' }, NEW_TABLE);
  void example?.then(code => (shown.textContent = code));
  return h(
    'div',
    { class: 'dtj-empty', 'data-known': example !== null },
    h('strong', {}, 'No dynamic tables yet'),
    h('span', {}, 'Make one from a query, and the graph of what it reads appears here:'),
    shown,
    insert && button('Insert as a cell', () => insert(shown.textContent)),
  );
}
