/** How well the tables of a lake kept their lag, and what they cost: by schema, the worst first. */
import { costOf } from '../elements/cost';
import { h, type Host, type View } from '../elements/dom';
import { button, frame, keepingPlace, nothing } from '../elements/parts';
import { clean, oneLine } from '../elements/text';
import { count, duration, percent, plural } from '../elements/units';
import type { HealthMessage, HealthRow } from '../wire';
import css from './health.raw.css';

export function mountHealth(root: HTMLElement, host: Host): View<HealthMessage> {
  return new HealthView(root, host);
}

class HealthView implements View<HealthMessage> {
  private readonly _frame: HTMLElement;
  private readonly _body = h('div');

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'health', css);
    this._frame.append(this._body);
  }

  update(message: HealthMessage): void {
    keepingPlace(this._frame, () => this._body.replaceChildren(...this._page(message)));
  }

  dispose(): void {
    this._frame.remove();
  }

  private _page({ days, tables }: HealthMessage): HTMLElement[] {
    if (tables.length === 0) {
      return [nothing('There are no dynamic tables', 'Their lag and cost over the days are here.')];
    }
    const schemas = new Map<string, HealthRow[]>();
    for (const table of tables) {
      schemas.set(table.schema, [...(schemas.get(table.schema) ?? []), table]);
    }
    const head = h(
      'p',
      { class: 'dtj-soft' },
      `Share of the last ${plural(days, 'day')} within the target lag, the worst first`,
    );
    const one = schemas.size === 1;
    return [head, ...[...schemas].map(([schema, of]) => this._schema(schema, of, one))];
  }

  private _schema(schema: string, tables: readonly HealthRow[], only: boolean): HTMLElement {
    const rows = h('ul', {}, ...tables.map(table => this._row(table)));
    if (only) {
      return rows;
    }
    const title = `${oneLine(schema)} · ${plural(tables.length, 'table')}`;
    return h(
      'details',
      { 'data-key': `schema:${schema}`, open: true },
      h('summary', {}, title),
      rows,
    );
  }

  private _row(table: HealthRow): HTMLElement {
    const { name, within, cause } = table;
    const share = within === null ? '–' : percent(within);
    const open = (): void =>
      this._host.open ? this._host.open(name, 'details') : this._host.choose(name);
    const meter = h('span', { class: 'dtj-health-bar', 'aria-hidden': 'true' });
    if (within !== null) {
      const fill = h('span');
      fill.style.width = `${Math.round(within * 100)}%`;
      fill.style.background = `var(--dtj-${within >= 0.99 ? 'ok' : within >= 0.9 ? 'warn' : 'bad'})`;
      meter.append(fill);
    }
    return h(
      'li',
      {},
      button(oneLine(name), open, { class: 'dtj-link', 'data-key': `table:${name}` }),
      meter,
      h('span', { class: 'dtj-health-share' }, share),
      h('span', { class: 'dtj-soft dtj-health-facts' }, this._facts(table)),
      cause ? h('span', { class: 'dtj-health-cause' }, clean(cause)) : null,
    );
  }

  private _facts(table: HealthRow): string {
    const { target, p95, recomputed, failed } = table;
    const parts = [
      target === 'DOWNSTREAM' ? 'DOWNSTREAM' : `target ${duration(target)}`,
      p95 === null ? null : `95% of the time within ${duration(p95)}`,
      costOf(table),
      recomputed ? `${count(recomputed)} in full` : null,
      failed ? `${count(failed)} failed` : null,
    ];
    return parts.filter(part => part !== null).join(' · ');
  }
}
