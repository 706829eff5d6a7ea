/**
 * Rows as a grid: sorted by a heading, filtered by a text, walked by the arrow keys, copied and
 * downloaded. What is not visible is not drawn.
 */
import { csv } from './csv';
import { h } from './dom';
import { comparing } from './order';
import { button } from './parts';
import { download, plainName } from './save';
import { cell, counterpart, headings, isNumber, markCell, MARKS, scrolling } from './table';
import { clean, oneLine } from './text';
import { exact, plural } from './units';
import type { Rows } from './table';
import type { Mark, ResultMessage } from '../wire';

const CELLS = 4000; // that are drawn at once; more when they are scrolled to
const LEAST = 50; // rows that are
const NEAR = 400; // pixels above the end of what is drawn
const PAGE = 20; // rows

export interface Gridded extends Rows {
  readonly truncated?: boolean;
  readonly note?: string | null;
}

export interface Looks {
  /** Names the table, and its file. */
  readonly label: string;
  /** Shown above it; nothing where the label names it elsewhere. */
  readonly title?: string | null;
  /** Without an ending. */
  readonly file?: string;
  /** In place of how many rows there are. */
  readonly told?: string;
  /** Next to the buttons. */
  readonly more?: readonly Node[];
  /** An update is one row, with the values before and after. */
  readonly merged?: boolean;
}

/** The places of a row, or of the two sides of an update, which stay together. */
type Line = readonly number[];

interface Sorting {
  readonly column: number;
  readonly down: boolean;
}

export class Grid {
  readonly element: HTMLElement;
  private readonly _title = h('span', { class: 'dtj-title' });
  private readonly _told = h('span', { class: 'dtj-foot', role: 'status' });
  private readonly _filter = h('input', {
    class: 'dtj-input dtj-grid-filter',
    type: 'search',
    placeholder: 'Filter rows',
    'aria-label': 'Filter rows',
    'data-key': 'grid-filter',
  });
  private readonly _more = h('span', { class: 'dtj-bar' });
  private readonly _tools: HTMLElement;
  private readonly _place = h('div');
  private _body = h('tbody');
  private _heads: HTMLElement[] = [];
  private _data: Gridded = { columns: [], rows: [] };
  private _looks: Looks = { label: 'rows' };
  private _marks: readonly Mark[] | null = null;
  private _all: readonly Line[] = [];
  private _lines: readonly Line[] = [];
  private _drawn = 0;
  private _sorting: Sorting | null = null;
  /** The cell that has the focus when the grid has it: row −1 is that of the headings. */
  private _at: readonly [row: number, column: number] = [-1, 0];

  constructor() {
    const copy = button('Copy', () => void this._copy(), { title: 'Copy the rows shown' });
    const save = button('CSV', () => this._save(), {
      'aria-label': 'Download the rows shown as CSV',
    });
    this._tools = h('span', { class: 'dtj-bar' }, this._filter, copy, save);
    this.element = h(
      'div',
      { class: 'dtj-grid', 'data-lm-suppress-shortcuts': 'true' },
      h(
        'div',
        { class: 'dtj-bar' },
        this._title,
        this._told,
        h('span', { class: 'dtj-spring' }),
        this._tools,
        this._more,
      ),
      this._place,
    );
    this._filter.addEventListener('input', () => this._arrange());
    this._place.addEventListener('keydown', event => this._key(event));
    this._place.addEventListener('click', event => this._clicked(event));
  }

  /** Shows these rows; sorting and filter stay where the columns are the same. */
  show(data: Gridded, looks: Looks): void {
    const same = sameColumns(data, this._data);
    const held = this._region();
    const [top, left] = [held?.scrollTop ?? 0, held?.scrollLeft ?? 0];
    const within = this._place.contains(active(this._place));
    [this._data, this._looks] = [data, looks];
    this._marks = data.marks?.some(mark => mark !== 'same') ? data.marks : null;
    this._all = linesOf(this._marks, data.rows.length);
    this._sorting = same ? this._sorting : null;
    this._filter.value = same ? this._filter.value : '';
    this._filter.hidden = data.rows.length < 2 && this._filter.value === '';
    this._tools.hidden = data.columns.length === 0;
    this._title.textContent = looks.title ? oneLine(looks.title) : '';
    this._title.hidden = !looks.title;
    this._more.replaceChildren(...(looks.more ?? []));
    this._frame();
    this._arrange();
    const region = this._region();
    if (held !== null && region !== null) {
      [region.scrollTop, region.scrollLeft] = [top, left];
    }
    if (within) {
      this._focus();
    }
  }

  /** The table with its headings, without rows. */
  private _frame(): void {
    const { columns } = this._data;
    const region = scrolling(
      this._looks.label,
      this._marks ? [{ text: 'change' }, ...headings(columns)] : headings(columns),
      [],
    );
    region.removeAttribute('tabindex'); // its cells have the focus
    const table = region.querySelector('table')!;
    this._body = table.tBodies[0]!;
    this._heads = [...table.querySelectorAll<HTMLElement>('thead th')].slice(this._marks ? 1 : 0);
    this._heads.forEach(head => head.classList.add('dtj-sortable'));
    table.setAttribute('role', 'grid');
    region.addEventListener('scroll', () => this._scrolled(region));
    this._place.replaceChildren(...(columns.length ? [region] : []));
  }

  private _region(): HTMLElement | null {
    return this._place.querySelector<HTMLElement>('.dtj-scroll');
  }

  /** The lines that the filter leaves, in the order of the sorting, drawn from the first. */
  private _arrange(): void {
    const { rows, columns } = this._data;
    const words = this._filter.value.toLowerCase();
    const holds = (value: string | null): boolean =>
      (value ?? 'null').toLowerCase().includes(words);
    const found = this._all.filter(line => !words || line.some(i => rows[i]!.some(holds)));
    const sorting = this._sorting;
    if (sorting) {
      const compare = comparing(isNumber(columns[sorting.column]!), sorting.down);
      const value = (line: Line): string | null => rows[line.at(-1)!]![sorting.column]!;
      found.sort((a, b) => compare(value(a), value(b)));
    }
    this._lines = found;
    this._heads.forEach((head, i) => {
      const by = sorting?.column === i ? (sorting.down ? 'descending' : 'ascending') : 'none';
      head.setAttribute('aria-sort', by);
    });
    this._told.textContent = this._toldText(words !== '');
    this._drawn = 0;
    this._body.replaceChildren();
    this._at = [Math.min(this._at[0], this._lines.length - 1), this._at[1]];
    this._draw(this._at[0]);
    this._mark(this._at, true);
  }

  private _toldText(filtered: boolean): string {
    const { truncated, note } = this._data;
    const all = plural(this._all.length, 'row');
    const whole = this._looks.told ?? (truncated ? `the first ${all}` : all);
    const told = filtered ? `${exact(this._lines.length)} of ${whole}` : whole;
    return note ? `${told} · ${oneLine(note)}` : told;
  }

  /** Draws some more lines, at least up to that one. */
  private _draw(to = 0): void {
    const chunk = Math.max(LEAST, Math.floor(CELLS / Math.max(1, this._data.columns.length)));
    const end = Math.min(this._lines.length, Math.max(this._drawn, to + 1) + chunk);
    for (; this._drawn < end; this._drawn++) {
      this._body.append(...this._rowsOf(this._lines[this._drawn]!));
    }
  }

  private _rowsOf(line: Line): HTMLElement[] {
    const merged = this._looks.merged && line.length > 1;
    return merged ? [this._updated(line)] : line.map(i => this._row(i));
  }

  private _row(i: number): HTMLElement {
    const mark = this._marks?.[i] ?? 'same';
    const at = this._marks ? counterpart(this._marks, i) : null;
    const other = at === null ? null : this._data.rows[at]!;
    const shown = this._data.rows[i]!.map((value, column) =>
      cell(value, this._right(column), other !== null && other[column] !== value),
    );
    const class_ = mark === 'same' || !(mark in MARKS) ? null : `dtj-${mark}`;
    return h('tr', { class: class_ }, this._marks ? markCell(mark) : null, ...shown);
  }

  /** Both sides of an update as one row. */
  private _updated([before, after]: Line): HTMLElement {
    const [old, now] = [this._data.rows[before!]!, this._data.rows[after!]!];
    const shown = now.map((value, column) => {
      const made = cell(value, this._right(column), old[column] !== value);
      if (old[column] !== value) {
        const was = cell(old[column]!, false, false);
        was.title ||= was.textContent;
        made.title = `${was.title} → ${made.title || made.textContent}`;
        made.prepend(h('span', { class: 'dtj-soft' }, ...was.childNodes, ' → '));
      }
      return made;
    });
    return h('tr', { class: 'dtj-updated' }, markCell('updated'), ...shown);
  }

  private _right(column: number): boolean {
    return isNumber(this._data.columns[column]!);
  }

  // -- walking, sorting -------------------------------------------------------------------------

  private _scrolled(region: HTMLElement): void {
    if (region.scrollTop + region.clientHeight > region.scrollHeight - NEAR) {
      this._draw();
    }
  }

  private _cell([row, column]: readonly [number, number]): HTMLElement | null {
    if (row < 0) {
      return this._heads[column] ?? null;
    }
    const drawn = this._lines.slice(0, row).reduce((sum, line) => sum + this._height(line), 0);
    return this._body.children[drawn]?.querySelectorAll<HTMLElement>('td')[column] ?? null;
  }

  private _height(line: Line): number {
    return this._looks.merged ? 1 : line.length;
  }

  private _mark(at: readonly [number, number], on: boolean): void {
    const found = this._cell(at);
    if (on) {
      found?.setAttribute('tabindex', '0');
    } else {
      found?.removeAttribute('tabindex');
    }
  }

  private _go(row: number, column: number): void {
    const last = [this._lines.length - 1, this._data.columns.length - 1] as const;
    this._mark(this._at, false);
    this._at = [Math.max(-1, Math.min(row, last[0])), Math.max(0, Math.min(column, last[1]))];
    if (this._at[0] >= this._drawn) {
      this._draw(this._at[0]);
    }
    this._mark(this._at, true);
    this._focus();
  }

  private _focus(): void {
    const found = this._cell(this._at);
    found?.focus({ preventScroll: true });
    found?.scrollIntoView?.({ block: 'nearest', inline: 'nearest' });
  }

  private _key(event: KeyboardEvent): void {
    const [row, column] = this._at;
    const far = event.ctrlKey || event.metaKey;
    const last = this._lines.length - 1;
    const to: Record<string, readonly [number, number]> = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      PageUp: [row - PAGE, column],
      PageDown: [row + PAGE, column],
      Home: [far ? -1 : row, 0],
      End: [far ? last : row, this._data.columns.length - 1],
    };
    const next = to[event.key];
    if (next !== undefined) {
      this._go(...next);
    } else if (row < 0 && (event.key === 'Enter' || event.key === ' ')) {
      this._sort(column);
    } else if (far && event.key === 'c' && row >= 0 && !document.getSelection()?.toString()) {
      const line = this._lines[row]!;
      void this._write(this._data.rows[line.at(-1)!]![column] ?? '', 'the value');
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own keys
  }

  private _clicked(event: MouseEvent): void {
    const found = (event.target as Element).closest<HTMLElement>('th, td');
    const head = found ? this._heads.indexOf(found) : -1;
    if (head >= 0) {
      this._go(-1, head);
      this._sort(head);
    } else if (found?.matches('td') && !document.getSelection()?.toString()) {
      const [tr, tds] = [found.closest('tr')!, [...found.parentElement!.querySelectorAll('td')]];
      let row = [...this._body.children].indexOf(tr);
      const line = this._lines.findIndex(one => (row -= this._height(one)) < 0);
      this._go(line, tds.indexOf(found as HTMLTableCellElement));
    }
  }

  /** Up, down, then as it came. */
  private _sort(column: number): void {
    const [now, within] = [this._sorting, this._place.contains(active(this._place))];
    const again = now?.column === column;
    this._sorting = again && now.down ? null : { column, down: again };
    this._arrange();
    if (within) {
      this._focus();
    }
  }

  // -- out of the page --------------------------------------------------------------------------

  /** What the filter leaves, in the order that is seen. */
  private _seen(): Rows {
    const places = this._lines.flat();
    const rows = places.map(i => this._data.rows[i]!);
    const marks = this._marks;
    return { ...this._data, rows, ...(marks ? { marks: places.map(i => marks[i]!) } : {}) };
  }

  private async _copy(): Promise<void> {
    await this._write(csv(this._seen(), '\t'), plural(this._lines.length, 'row'));
  }

  /** Where a page may not write the clipboard, that is said. */
  private async _write(text: string, what: string): Promise<void> {
    const told = await copied(text);
    this._told.textContent = clean(told ? `${what} copied` : 'This page may not copy: use CSV');
  }

  private _save(): void {
    const name = plainName(this._looks.file ?? this._looks.label, 'rows');
    download(csv(this._seen()), `${name}.csv`, 'text/csv');
  }
}

/** A result: title, rows, and what was read. */
export function resultTable(message: ResultMessage): HTMLElement {
  const grid = new Grid();
  const title = message.title ?? '';
  grid.show(message, { label: title || 'rows', title, merged: true });
  return grid.element;
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function linesOf(marks: readonly Mark[] | null, many: number): Line[] {
  const lines: Line[] = [];
  for (let i = 0; i < many; i++) {
    const pair = marks?.[i] === 'before' ? counterpart(marks, i) : null;
    lines.push(pair === null ? [i] : [i, pair]);
    i = pair ?? i;
  }
  return lines;
}

const sameColumns = (a: Rows, b: Rows): boolean =>
  a.columns.length === b.columns.length &&
  a.columns.every(
    ({ name, type }, i) => b.columns[i]!.name === name && b.columns[i]!.type === type,
  );

const active = (place: HTMLElement): Element | null =>
  (place.getRootNode() as Document | ShadowRoot).activeElement;
