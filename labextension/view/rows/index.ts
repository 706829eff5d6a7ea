/** The rows of a table, which follow it: what a refresh brought, took and changed is marked. */
import { h } from '../elements/dom';
import { Grid } from '../elements/grid';
import { frame, liveRegion, said, sentence, watchWidth } from '../elements/parts';
import { oneLine } from '../elements/text';
import { plural, timeElement } from '../elements/units';
import { chart, numeric } from './chart';
import css from './rows.raw.css';
import type { Host, View } from '../elements/dom';
import type { EventMessage, Mark, TableRowsMessage } from '../wire';

const WIDTH = 720; // if the width of the place is unknown

export interface LiveRows extends View<TableRowsMessage> {
  /** Rows may differ from those that are shown. */
  refresh(): void;
  /** Of this table, or of what it reads where that is not a table. */
  happened(event: EventMessage): void;
}

/** Shows the rows of one table, and newer ones where there is a kernel to ask. */
export function mountRows(root: HTMLElement, host: Host): LiveRows {
  return new RowsView(root, host);
}

class RowsView implements LiveRows {
  private readonly _frame: HTMLElement;
  private readonly _head = h('div', { class: 'dtj-head' });
  private readonly _chart = h('div');
  private readonly _status = liveRegion();
  private readonly _grid = new Grid();
  private readonly _stop: () => void;
  private _shown: TableRowsMessage | null = null;
  private _axes: readonly string[] = [];
  private _asking = false;
  private _again = false;
  private _lost = false;
  private _gone = false;
  private _width = WIDTH;

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'live-rows', css);
    this._frame.append(this._head, this._chart, this._status, this._grid.element);
    this._stop = watchWidth(this._frame, width => {
      this._width = width;
      this._drawChart();
    });
  }

  update(message: TableRowsMessage): void {
    const other = this._shown?.name !== message.name;
    this._axes = other ? message.chart : this._axes;
    this._shown = message;
    this._status.replaceChildren();
    this._head.replaceChildren(
      h('h3', {}, `Rows of ${oneLine(message.name)}`),
      h('span', { class: 'dtj-soft dtj-small' }, this._versionOf(message), timeElement(message.at)),
      h('span', { class: 'dtj-spring' }),
      ...this._choices(message),
    );
    this._drawChart();
    const { name, columns } = message;
    this._grid.show(message, { label: `Rows of ${name}`, file: name, told: told(message), merged: true }); // prettier-ignore
    this._grid.element.hidden = columns.length === 0;
  }

  happened(event: EventMessage): void {
    const mine = !this._shown?.dynamic || event.name === this._shown.name;
    const ended = event.happened === 'ended' && mine;
    if (ended || event.happened === 'changed') {
      this.refresh();
    }
  }

  refresh(): void {
    this._again = this._asking;
    if (!this._asking && this._host.live && this._shown && !this._gone) {
      void this._ask(this._shown);
    }
  }

  dispose(): void {
    this._gone = true;
    this._stop();
    this._frame.remove();
  }

  /** One question at a time: later changes are requested by the next. */
  private async _ask({ name, at, table_version, limit }: TableRowsMessage): Promise<void> {
    this._asking = true;
    try {
      const since = this._lost ? null : String(table_version ?? at);
      const answer = await this._host.ask({ ask: 'table_rows', name, since, limit });
      if (answer.type === 'tablerows' && !this._gone && this._shown?.name === name) {
        this._lost = false;
        this._take(answer);
      }
    } catch (thrown) {
      this._lost = true; // what was seen may be gone: the next question is of now alone
      this._status.replaceChildren(said(sentence(thrown), 'trouble'));
    }
    this._asking = false;
    if (this._again) {
      this._again = false;
      this.refresh();
    }
  }

  /** Where nothing moved, what moved last stays marked. */
  private _take(answer: TableRowsMessage): void {
    const shown = this._shown!;
    const still =
      answer.marks.every(mark => mark === 'same') && sameRows(there(shown), there(answer));
    this.update(still ? { ...shown, at: answer.at, table_version: answer.table_version } : answer);
  }

  private _versionOf({ table_version }: TableRowsMessage): string {
    return table_version === null ? '' : `version ${table_version}, `;
  }

  // -- the picture ------------------------------------------------------------------------------

  private _choices({ columns }: TableRowsMessage): Node[] {
    const numbers = numeric(columns);
    if (!numbers.length) {
      return [];
    }
    const names = columns.map(({ name }) => name);
    const select = (label: string, known: readonly string[], value: string, at: 0 | 1): Node => {
      const made = h(
        'select',
        { class: 'dtj-select', 'aria-label': label, 'data-key': `axis${at}` },
        ...known.map(name => h('option', { value: name }, oneLine(name))),
      );
      made.value = value;
      made.addEventListener('change', () => {
        this._axes = at ? [this._axes[0]!, made.value] : [made.value, this._axes[1]!];
        this._drawChart();
      });
      return made;
    };
    const box = h('input', { type: 'checkbox', 'data-key': 'chart' });
    box.checked = this._axes.length === 2;
    box.addEventListener('change', () => {
      const up = numbers.at(-1)!.name;
      this._axes = box.checked ? [names.find(name => name !== up) ?? up, up] : [];
      this.update(this._shown!);
    });
    const words = numbers.map(({ name }) => name);
    return [
      h('label', { class: 'dtj-small' }, box, ' Chart'),
      ...(box.checked
        ? [select('Across', names, this._axes[0]!, 0), select('Up', words, this._axes[1]!, 1)]
        : []),
    ];
  }

  private _drawChart(): void {
    const [across, up] = this._axes;
    const shown = this._shown;
    this._chart.replaceChildren(
      ...(shown && across !== undefined && up !== undefined
        ? [chart({ columns: shown.columns, rows: there(shown) }, across, up, this._width)]
        : []),
    );
  }
}

const GONE: ReadonlySet<Mark> = new Set<Mark>(['deleted', 'before']);

/** The rows that the table has: not what went. */
const there = ({ rows, marks }: TableRowsMessage): TableRowsMessage['rows'] =>
  rows.filter((_, i) => !GONE.has(marks[i]!));

const sameRows = (a: TableRowsMessage['rows'], b: TableRowsMessage['rows']): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** How many rows are shown, and how many of them moved. */
function told({ rows, marks, truncated }: TableRowsMessage): string {
  const of = (mark: Mark): number => marks.filter(one => one === mark).length;
  const there = plural(rows.length - of('deleted') - of('before'), 'row');
  const moved = [
    [of('inserted'), 'came'],
    [of('deleted'), 'went'],
    [of('after'), 'changed'],
  ] as const;
  const words = moved.filter(([many]) => many).map(([many, word]) => `${many} ${word}`);
  return [truncated ? `the first ${there}` : there, ...words].join(', ');
}
