/** What stands where there is no graph yet: how to make the first dynamic table. */
import { h } from '../elements/dom';
import { button } from '../elements/parts';
import { NEW_TABLE } from '../elements/sqlTexts';

/** `insert` puts the example into a cell; null where there is none to put it into. */
export function empty(insert: ((code: string) => void) | null): HTMLElement {
  return h(
    'div',
    { class: 'dtj-empty' },
    h('strong', {}, 'No dynamic tables yet'),
    h('span', {}, 'Make one from a query, and the graph of what it reads appears here:'),
    h('pre', { class: 'dtj-query' }, NEW_TABLE),
    insert && button('Insert as a cell', () => insert(NEW_TABLE)),
  );
}
