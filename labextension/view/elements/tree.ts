/**
 * A tree by the keys of the ARIA authoring practices: arrows walk, open and close, Home and End,
 * letters find, Enter chooses. One row of it is in the order of tabs.
 */
import { h } from './dom';
import { oneLine } from './text';
import type { Child } from './dom';

/** A row; rows come in the order of reading, `level` from 1. */
export interface TreeRow {
  readonly key: string;
  readonly level: number;
  /** What it is called, and found by. */
  readonly name: string;
  /** What a screen reader reads, if it is more than the name. */
  readonly label?: string;
  readonly content: readonly Child[];
  readonly choose?: () => void;
  readonly class?: string;
  /** Closed until the user opens it. */
  readonly folded?: boolean;
}

const TYPED = 700; // milliseconds after which letters begin a new word

export class Tree {
  readonly element: HTMLElement;
  private _rows: readonly TreeRow[] = [];
  private readonly _closed = new Set<string>();
  /** The folded rows that were drawn once: the user says from then on. */
  private readonly _met = new Set<string>();
  private _current: string | null = null;
  private _typed = { word: '', until: 0 };

  /** `id` distinguishes the rows' keys from those of another tree in the same view. */
  constructor(
    label: string,
    private readonly _id: string,
  ) {
    this.element = h('div', { class: 'dtj-tree', role: 'tree', 'aria-label': oneLine(label) });
    this.element.addEventListener('keydown', event => this._key(event));
    this.element.addEventListener('click', event => this._click(event));
  }

  /** Draws the rows; what the user closed stays closed. The caller keeps the focus. */
  show(rows: readonly TreeRow[]): void {
    this._rows = rows;
    for (const { key } of rows.filter(row => row.folded && !this._met.has(row.key))) {
      this._met.add(key);
      this._closed.add(key);
    }
    this._draw();
  }

  private _draw(): void {
    const shown = this._shown();
    if (!shown.some(row => row.key === this._current)) {
      this._current = shown[0]?.key ?? null;
    }
    this.element.replaceChildren(...shown.map(row => this._item(row)));
  }

  private _shown(): TreeRow[] {
    let hidden = Infinity;
    return this._rows.filter(row => {
      if (row.level > hidden) {
        return false;
      }
      hidden = this._closed.has(row.key) ? row.level : Infinity;
      return true;
    });
  }

  private _item(row: TreeRow): HTMLElement {
    const open = this._parent(row) ? !this._closed.has(row.key) : null;
    const twist = h(
      'span',
      { class: 'dtj-twist', 'aria-hidden': 'true' },
      open === null ? '' : open ? '▾' : '▸',
    );
    return h(
      'div',
      {
        role: 'treeitem',
        class: `dtj-item ${row.class ?? ''}`.trim(),
        style: `--dtj-level:${row.level - 1}`,
        tabindex: row.key === this._current ? 0 : -1,
        'data-key': `${this._id}:${row.key}`,
        'aria-level': row.level,
        'aria-expanded': open === null ? null : String(open),
        'aria-label': oneLine(row.label ?? row.name),
        ...this._place(row),
      },
      twist,
      ...row.content,
    );
  }

  private _parent(row: TreeRow): boolean {
    const next = this._rows[this._rows.indexOf(row) + 1];
    return next !== undefined && next.level > row.level;
  }

  /** Which of how many siblings it is. */
  private _place(row: TreeRow): { 'aria-posinset': number; 'aria-setsize': number } {
    const at = this._rows.indexOf(row);
    const count = (by: 1 | -1): number => {
      let many = 0;
      for (
        let i = at + by;
        i >= 0 && i < this._rows.length && this._rows[i]!.level >= row.level;
        i += by
      ) {
        many += Number(this._rows[i]!.level === row.level);
      }
      return many;
    };
    const before = count(-1);
    return { 'aria-posinset': before + 1, 'aria-setsize': before + 1 + count(1) };
  }

  private _rowOf(target: EventTarget | null): TreeRow | undefined {
    const item = (target as Element | null)?.closest('[role=treeitem]');
    const key = item?.getAttribute('data-key')?.slice(this._id.length + 1);
    return this._rows.find(row => row.key === key);
  }

  private _click(event: MouseEvent): void {
    const row = this._rowOf(event.target);
    if (row) {
      const twist = (event.target as Element).closest('.dtj-twist') && this._parent(row);
      this._focus(row);
      if (twist) {
        this._toggle(row, this._closed.has(row.key));
      } else {
        this._act(row);
      }
    }
  }

  private _act(row: TreeRow): void {
    if (row.choose) {
      row.choose();
    } else {
      this._toggle(row, this._closed.has(row.key));
    }
  }

  private _toggle(row: TreeRow, open: boolean): void {
    if (this._parent(row)) {
      this._closed[open ? 'delete' : 'add'](row.key);
      this._current = row.key;
      this._draw();
      this._focus(row);
    }
  }

  private _focus(row: TreeRow | undefined): void {
    if (!row) {
      return;
    }
    this._current = row.key;
    for (const item of this.element.children) {
      const chosen = item.getAttribute('data-key') === `${this._id}:${row.key}`;
      item.setAttribute('tabindex', chosen ? '0' : '-1');
      if (chosen) {
        (item as HTMLElement).focus();
      }
    }
  }

  private _key(event: KeyboardEvent): void {
    const row = this._rowOf(event.target);
    if (!row || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const shown = this._shown();
    const at = shown.indexOf(row);
    const above = (): TreeRow | undefined =>
      shown
        .slice(0, at)
        .reverse()
        .find(one => one.level < row.level);
    const keys: Record<string, () => void> = {
      ArrowDown: () => this._focus(shown[at + 1]),
      ArrowUp: () => this._focus(shown[at - 1]),
      Home: () => this._focus(shown[0]),
      End: () => this._focus(shown[shown.length - 1]),
      ArrowRight: () => {
        if (this._closed.has(row.key)) {
          this._toggle(row, true);
        } else if (this._parent(row)) {
          this._focus(shown[at + 1]);
        }
      },
      ArrowLeft: () => {
        if (this._parent(row) && !this._closed.has(row.key)) {
          this._toggle(row, false);
        } else {
          this._focus(above());
        }
      },
      Enter: () => this._act(row),
      ' ': () => this._act(row),
    };
    const act = keys[event.key];
    if (act) {
      act();
    } else if (event.key.length === 1) {
      this._find(event.key, shown, at);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own keys
  }

  /** The next row whose name begins with what was typed; one letter again and again walks. */
  private _find(letter: string, shown: readonly TreeRow[], at: number): void {
    const now = Date.now();
    const word = (now < this._typed.until ? this._typed.word : '') + letter.toLowerCase();
    this._typed = { word, until: now + TYPED };
    const same = Array.from(word).every(char => char === word[0]);
    const start = same ? word[0]! : word;
    const order = [...shown.slice(at + 1), ...shown.slice(0, at + 1)];
    const from = same ? order : [shown[at]!, ...order];
    this._focus(from.find(row => row.name.toLowerCase().startsWith(start)));
  }
}
