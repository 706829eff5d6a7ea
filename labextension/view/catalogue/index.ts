/** What a lake holds, as a tree by kind, with a box that filters it. */
import { h, s } from '../elements/dom';
import { STATE_TOKENS, icon, ink, stateGlyph } from '../icons/marks';
import { frame, keepingPlace, nothing } from '../elements/parts';
import { oneLine } from '../elements/text';
import { Tree } from '../elements/tree';
import { exact, plural } from '../elements/units';
import treeCss from '../elements/tree.raw.css';
import css from './catalogue.raw.css';
import type { Host, View } from '../elements/dom';
import type { TreeRow } from '../elements/tree';
import type { CatalogueItem, CatalogueMessage, Column, RefreshState } from '../wire';

const MOST = 500; // items of a kind that are drawn; the filter finds the others

const KINDS: readonly (readonly [kind: string, title: string])[] = [
  ['dynamic_table', 'Dynamic tables'],
  ['stream', 'Streams'],
  ['table', 'Tables'],
  ['view', 'Views'],
  ['sink', 'Sinks'],
  ['task', 'Tasks'],
  ['warehouse', 'Warehouses'],
  ['pin', 'Pins'],
];

/** Words that are not an outcome of a refresh. */
const WORDS: Readonly<Record<string, string>> = {
  ACTIVE: 'ok',
  OK: 'ok',
  RUNNING: 'run',
  STARTED: 'ok',
  RESUMED: 'ok',
  SUSPENDED: 'warn',
  'NOT REFRESHED': 'warn',
  STALE: 'bad',
  EXPIRED: 'warn',
  BROKEN: 'bad',
  WAITING: 'incremental',
  RETRYING: 'warn',
  PAUSED: 'bad',
};

/** Shows the catalogue; what is chosen in it is reported to the host. */
export function mountCatalogue(root: HTMLElement, host: Host): View<CatalogueMessage> {
  return new CatalogueView(root, host);
}

/** Items of each kind, in the order of kinds and then of names; a kind without any is left out. */
export function grouped(
  items: readonly CatalogueItem[],
  filter: string,
): [title: string, items: CatalogueItem[]][] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = items.filter(item => {
    const columns = item.columns.map(column => column.name).join(' ');
    const text =
      `${item.name} ${item.kind.replace(/_/g, ' ')} ${item.state} ${item.about} ${columns}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
  const kinds = new Map(KINDS.map(([kind, title]) => [kind, title]));
  const groups = new Map<string, CatalogueItem[]>(KINDS.map(([kind]) => [kind, []]));
  for (const item of found) {
    const kind = item.kind.toLowerCase().replace(/ /g, '_');
    const known = kinds.has(kind)
      ? kind
      : kinds.has(kind.replace(/s$/, ''))
        ? kind.replace(/s$/, '')
        : kind;
    groups.set(known, [...(groups.get(known) ?? []), item]);
  }
  return [...groups]
    .filter(([, list]) => list.length)
    .map(([kind, list]) => [
      kinds.get(kind) ?? kind.replace(/_/g, ' '),
      list.sort((a, b) => a.name.localeCompare(b.name)),
    ]);
}

class CatalogueView implements View<CatalogueMessage> {
  private readonly _frame: HTMLElement;
  private readonly _lake = h('div', { class: 'dtj-lake' });
  private readonly _box = h('input', {
    class: 'dtj-input',
    type: 'search',
    placeholder: 'Filter by name, column, kind',
    'aria-label': 'Filter the catalogue',
    'data-key': 'filter',
  });
  private readonly _found = h('div', {
    class: 'dtj-unseen',
    role: 'status',
    'aria-live': 'polite',
  });
  private readonly _tree = new Tree('Catalogue', 'catalogue');
  private readonly _none = h('div');
  private _message: CatalogueMessage | null = null;

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'catalogue', treeCss + css);
    this._frame.append(
      this._lake,
      h('div', { class: 'dtj-filter' }, this._box),
      this._found,
      this._tree.element,
      this._none,
    );
    this._box.addEventListener('input', () => this._draw());
    this._box.addEventListener('keydown', event => {
      event.stopPropagation();
      if (event.key === 'ArrowDown') {
        event.preventDefault();
        this._tree.element.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
      } else if (event.key === 'Escape' && this._box.value) {
        this._box.value = '';
        this._draw();
      }
    });
  }

  update(message: CatalogueMessage): void {
    this._message = message;
    this._draw();
  }

  dispose(): void {
    this._frame.remove();
  }

  private _draw(): void {
    const message = this._message;
    if (!message) {
      return;
    }
    const filter = this._box.value.trim();
    const groups = grouped(message.items, filter);
    const many = groups.reduce((sum, [, items]) => sum + items.length, 0);
    keepingPlace(this._frame, () => {
      this._lake.textContent = message.lake ? `Lake ${oneLine(message.lake)}` : '';
      this._lake.hidden = !message.lake;
      this._tree.element.hidden = !groups.length;
      this._tree.show(groups.flatMap(([title, items]) => this._rows(title, items)));
      this._found.textContent = filter ? plural(many, 'match', 'matches') : '';
      this._none.replaceChildren(
        ...(groups.length
          ? []
          : [
              filter && message.items.length
                ? nothing(
                    `Nothing matches “${filter}”`,
                    'Names, columns, kinds, states and descriptions are searched.',
                  )
                : nothing(
                    'The lake is empty',
                    'Make a table with CREATE TABLE, and a dynamic table over it with %%dynamic_table.',
                  ),
            ]),
      );
    });
  }

  private _rows(title: string, items: readonly CatalogueItem[]): TreeRow[] {
    const head = {
      key: title,
      level: 1,
      name: title,
      label: `${title}, ${items.length}`,
      class: 'dtj-kind',
      content: [
        h('span', {}, oneLine(title)),
        h('span', { class: 'dtj-many' }, exact(items.length)),
      ],
    };
    const seen = new Map<string, number>();
    const drawn = items.slice(0, MOST);
    const rows = drawn.flatMap((item): TreeRow[] => {
      const nth = seen.get(item.name) ?? 0; // pins of two tables may have one name
      seen.set(item.name, nth + 1);
      const key = `${title}/${item.name}${nth ? `/${nth}` : ''}`;
      const own: TreeRow = {
        key,
        level: 2,
        folded: item.columns.length > 0,
        name: item.name,
        label: [item.name, item.state, item.about].filter(Boolean).join(', '),
        class: 'dtj-entry',
        choose: () => this._host.choose(item.name),
        content: entry(item),
      };
      const choose = (column: string) => this._host.choose(item.name, column);
      return [own, ...item.columns.map(column => columnRow(key, column, choose))];
    });
    const more = items.length - drawn.length;
    return more > 0
      ? [
          head,
          ...rows,
          {
            key: `${title}/…`,
            level: 2,
            name: '…',
            content: [h('span', { class: 'dtj-soft' }, `${exact(more)} more: filter to find them`)],
          },
        ]
      : [head, ...rows];
  }
}

function columnRow(
  table: string,
  { name, type }: Column,
  choose: (column: string) => void,
): TreeRow {
  return {
    key: `${table}//${name}`,
    level: 3,
    name,
    label: `${name}, ${type}`,
    class: 'dtj-entry',
    choose: () => choose(name),
    content: [
      h('span', {}, oneLine(name)),
      h('span', { class: 'dtj-about', title: oneLine(type) }, oneLine(type)),
    ],
  };
}

function entry(item: CatalogueItem): Node[] {
  const state = item.state.toUpperCase();
  const token = STATE_TOKENS[state as RefreshState] ?? WORDS[state] ?? 'idle';
  const quiet = state === '' || state === 'SUCCEEDED' || state === 'ACTIVE' || state === 'OK';
  return [
    icon(mark(state, token)),
    h('span', { class: 'dtj-what', title: oneLine(item.name) }, oneLine(item.name)),
    h('span', { class: 'dtj-about', title: oneLine(item.about) }, oneLine(item.about)),
    ...(quiet ? [] : [h('span', { class: `dtj-word dtj-c-${token}` }, oneLine(item.state))]),
  ];
}

/** An outcome has its own mark; of other words the good is a disc, the bad a diamond, a pause two bars. */
function mark(state: string, token: string): SVGElement {
  if (state in STATE_TOKENS) {
    return stateGlyph(state as RefreshState);
  }
  const style = `fill:${ink(token)}`;
  const shapes: Readonly<Record<string, string>> = {
    ok: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z',
    bad: 'M0 -5.5l5.5 5.5 -5.5 5.5 -5.5 -5.5z',
    warn: 'M-4 -5h3v10h-3zM1 -5h3v10h-3z',
    run: 'M-3 -5l8 5 -8 5z',
    incremental: 'M-4 -4h8v8h-8z',
  };
  const d = shapes[token];
  return d
    ? s('path', { d, style })
    : s('circle', { r: 3, style: `fill:none;stroke:${ink('edge')}`, 'stroke-width': 1.4 });
}
