/** How a dynamic table is kept: its definition's tree, and the statements of its next refresh. */
import { h } from '../elements/dom';
import { button } from '../elements/parts';
import { clean, oneLine } from '../elements/text';
import { count } from '../elements/units';
import type { TreeRow } from '../elements/tree';
import type { Statement, TreeNode } from '../wire';

/** Share of the widest bar: by digits, since a source has millions of rows and its change has ten. */
export function share(value: number, most: number): number {
  return value <= 0 ? 0 : Math.log10(1 + value) / Math.log10(1 + Math.max(value, most));
}

/** A row for each node, with bars for its rows and for their change. */
export function planRows(tree: readonly TreeNode[]): TreeRow[] {
  const most = Math.max(1, ...tree.map(node => Math.max(node.rows ?? 0, node.changed ?? 0)));
  const least = Math.min(...tree.map(node => node.depth));
  return tree.map((node, i) => ({
    key: String(i),
    level: node.depth - least + 1,
    name: node.operator,
    label: told(node),
    class: 'dtj-node',
    content: [
      h(
        'span',
        { class: 'dtj-what' },
        h('span', { class: 'dtj-operator' }, oneLine(node.operator)),
        node.rule ? h('span', { class: 'dtj-rule' }, oneLine(node.rule)) : null,
        node.state ? h('span', { class: 'dtj-soft' }, oneLine(node.state)) : null,
      ),
      bar(node.rows, most, 'edge', ''),
      bar(node.changed, most, 'incremental', 'Δ '),
    ],
  }));
}

function bar(value: number | null, most: number, token: string, sign: string): HTMLElement {
  if (value === null) {
    return h('span', { class: 'dtj-amount' });
  }
  const width = `width:${(100 * share(value, most)).toFixed(1)}%`;
  return h(
    'span',
    { class: `dtj-amount dtj-c-${token}` },
    h('span', { class: 'dtj-track' }, h('span', { style: `display:block;${width}` })),
    h('span', { class: 'dtj-num' }, `${sign}${count(value)}`),
  );
}

function told(node: TreeNode): string {
  const rows =
    node.rows === null ? '' : `about ${count(node.rows)} ${node.rows === 1 ? 'row' : 'rows'}`;
  const changed = node.changed === null ? '' : `about ${count(node.changed)} of them change`;
  return [node.operator, node.rule, node.state, rows, changed].filter(Boolean).join('; ');
}

/** The statements, each folded, with a button that copies it. `tell` shows the outcome. */
export function statements(
  all: readonly Statement[],
  tell: (sentence: string) => void,
): HTMLElement[] {
  return all.map((statement, i) =>
    h(
      'details',
      { class: 'dtj-statement', 'data-key': `statement:${i}:${statement.title}` },
      h('summary', {}, oneLine(statement.title)),
      sqlText(
        statement.sql,
        `Copy the statement: ${oneLine(statement.title)}`,
        `statement${i}`,
        tell,
      ),
    ),
  );
}

/** SQL as it is, with a button that copies it. */
export function sqlText(
  sql: string,
  label: string,
  key: string,
  tell: (sentence: string) => void,
): HTMLElement {
  const text = h('pre', { class: 'dtj-query', tabindex: 0, 'data-key': `${key}:text` }, clean(sql));
  const copy = button('Copy', () => void copied(sql, text).then(tell), {
    'aria-label': label,
    'data-key': `${key}:copy`,
  });
  return h('div', { class: 'dtj-sql' }, text, copy);
}

/** Where a page may not write the clipboard, the text is selected, to be copied by key. */
async function copied(sql: string, shown: HTMLElement): Promise<string> {
  try {
    await navigator.clipboard.writeText(sql);
    return 'Copied';
  } catch {
    document.getSelection()?.selectAllChildren(shown);
    return 'Selected: copy it by key, this page may not';
  }
}
