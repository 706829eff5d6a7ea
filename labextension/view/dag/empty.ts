/** What stands where there is no graph yet: how to make the first dynamic table. */
import { h } from '../elements/dom';

const EXAMPLE = `%%dynamic_table daily --target-lag '5 minutes'
SELECT day, sum(amount) AS amount
FROM orders
GROUP BY day`;

export function empty(): HTMLElement {
  return h(
    'div',
    { class: 'dtj-empty' },
    h('strong', {}, 'No dynamic tables yet'),
    h('span', {}, 'Make one from a query, and the graph of what it reads appears here:'),
    h('pre', { class: 'dtj-query' }, EXAMPLE),
  );
}
