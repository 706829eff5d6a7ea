/** What differs between two versions, or definitions: in words, and the rows that were inserted and
 * deleted. */
import { h } from './dom';
import { resultTable } from './grid';
import { clean } from './text';
import type { CompareMessage } from '../wire';

export function compared({ title, lines, rows }: CompareMessage): HTMLElement {
  return h(
    'div',
    {},
    h('div', { class: 'dtj-title' }, clean(title)),
    lines.length ? h('pre', { class: 'dtj-query', tabindex: 0 }, clean(lines.join('\n'))) : null,
    rows.rows.length ? resultTable(rows) : null,
  );
}
