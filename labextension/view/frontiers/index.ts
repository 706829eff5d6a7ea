/** Which version of each source each dynamic table has read, and which two make a snapshot. */
import { together } from './together';
import { h, s } from '../elements/dom';
import { button, frame, keepingPlace, nothing } from '../elements/parts';
import { oneLine } from '../elements/text';
import { duration, exact, micros, plural, timeElement } from '../elements/units';
import css from './frontiers.raw.css';
import type { Host, View } from '../elements/dom';
import type { Together } from './together';
import type { Frontier, FrontierSource, FrontiersMessage } from '../wire';

const TRACK = 108; // pixels of a version axis
const PAD = 6;

/** A row for each dynamic table, a column for each source; two chosen rows are compared. */
export function mountFrontiers(root: HTMLElement, host: Host): View<FrontiersMessage> {
  return new FrontiersView(root, host);
}

/** A source as a column: the versions that its axis reaches from and to. */
interface Axis {
  readonly name: string;
  readonly kind: string;
  readonly least: number;
  readonly most: number;
}

/** Sources in the order in which they are first read, each with the versions that occur. */
export function axes(frontiers: readonly Frontier[]): Axis[] {
  const found = new Map<string, Axis>();
  for (const { name, kind, version, newest } of frontiers.flatMap(frontier => frontier.sources)) {
    const known = found.get(name) ?? { name, kind, least: Infinity, most: -Infinity };
    const versions = [version, newest].filter(one => one !== null);
    found.set(name, {
      name,
      kind,
      least: Math.min(known.least, ...versions),
      most: Math.max(known.most, ...versions),
    });
  }
  return [...found.values()];
}

class FrontiersView implements View<FrontiersMessage> {
  private readonly _frame: HTMLElement;
  private readonly _verdict = h('div', {
    class: 'dtj-verdict',
    role: 'status',
    'aria-live': 'polite',
  });
  private readonly _body = h('div');
  private _message: FrontiersMessage | null = null;
  private _chosen: readonly string[] = [];
  private _near: string | null = null; // under the pointer or the focus

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'frontiers', css);
    this._frame.append(this._body, this._verdict); // below, so that no row moves under the pointer
    const near = (event: Event): void => {
      const row = (event.target as Element).closest('tr[data-name]');
      this._point(row?.getAttribute('data-name') ?? null);
    };
    this._body.addEventListener('dblclick', event => {
      const row = (event.target as Element).closest('tr[data-name]');
      if (row) {
        this._host.choose(row.getAttribute('data-name')!); // one click compares, and stays here
      }
    });
    this._body.addEventListener('pointerover', near);
    this._body.addEventListener('focusin', near);
    this._body.addEventListener('pointerleave', () => this._point(null));
    this._body.addEventListener('focusout', () => this._point(null));
  }

  update(message: FrontiersMessage): void {
    this._message = message;
    const names = new Set(message.frontiers.map(frontier => frontier.name));
    this._chosen = this._chosen.filter(name => names.has(name));
    this._draw();
  }

  dispose(): void {
    this._frame.remove();
  }

  private _draw(): void {
    const { frontiers, as_of } = this._message!;
    const sources = axes(frontiers);
    keepingPlace(this._frame, () => {
      if (!frontiers.length) {
        this._body.replaceChildren(
          nothing(
            'No dynamic table yet',
            'Make one with %%dynamic_table, and its frontier is shown here.',
          ),
        );
        this._verdict.hidden = true;
        return;
      }
      const head = h(
        'tr',
        { role: 'row' },
        h('th', { scope: 'col', role: 'columnheader' }, 'dynamic table'),
        ...sources.map(source =>
          h(
            'th',
            { scope: 'col', role: 'columnheader' },
            oneLine(source.name),
            h('span', { class: 'dtj-type' }, oneLine(source.kind.replace(/_/g, ' ').toLowerCase())),
          ),
        ),
      );
      const rows = frontiers.map(frontier => this._row(frontier, sources, as_of));
      this._body.replaceChildren(
        h(
          'div',
          {
            class: 'dtj-scroll',
            role: 'region',
            tabindex: 0,
            'aria-label': 'Frontiers',
            'data-key': 'frontiers',
          },
          h(
            'table',
            { class: 'dtj-t', role: 'table' },
            h('thead', { role: 'rowgroup' }, head),
            h('tbody', { role: 'rowgroup' }, ...rows),
          ),
        ),
        h(
          'div',
          { class: 'dtj-foot' },
          'Dot: source version used. Line end: newest version. Choose two tables to see whether a query over both is a consistent snapshot.',
        ),
      );
    });
    this._compare();
  }

  private _row(frontier: Frontier, sources: readonly Axis[], asOf: string | null): HTMLElement {
    const at = frontier.data_timestamp;
    const lag =
      at && asOf ? ` · ${duration(Math.max(0, (micros(asOf) - micros(at)) / 1e6))} ago` : '';
    const version = frontier.version === null ? '' : ` · version ${exact(frontier.version)}`;
    const pressed = this._chosen.includes(frontier.name);
    const who = button(
      [
        h('b', {}, oneLine(frontier.name)),
        h('small', {}, at ? timeElement(at, asOf) : 'no contents yet', lag, version),
      ],
      () => this._toggle(frontier.name),
      {
        class: 'dtj-who',
        'aria-pressed': String(pressed),
        'data-key': `who:${frontier.name}`,
        title: 'Compare it with another',
      },
    );
    const of = new Map(frontier.sources.map(source => [source.name, source]));
    const cells = sources.map(axis => {
      const source = of.get(axis.name);
      return h(
        'td',
        { role: 'cell', 'data-source': axis.name },
        ...(source
          ? [
              h('span', { class: 'dtj-source' }, oneLine(axis.name)),
              track(source, axis),
              h('span', { class: 'dtj-agree' }),
            ]
          : []),
      );
    });
    return h(
      'tr',
      { role: 'row', 'data-name': frontier.name },
      h('th', { scope: 'row', role: 'rowheader' }, who),
      ...cells,
    );
  }

  private _toggle(name: string): void {
    const on = !this._chosen.includes(name);
    this._chosen = on
      ? [...this._chosen, name].slice(-2)
      : this._chosen.filter(one => one !== name);
    for (const who of this._body.querySelectorAll('.dtj-who')) {
      const of = who.closest('tr')!.getAttribute('data-name')!;
      who.setAttribute('aria-pressed', String(this._chosen.includes(of)));
    }
    this._compare();
  }

  private _point(name: string | null): void {
    if (name !== this._near) {
      this._near = name;
      this._compare();
    }
  }

  /** The two that are chosen; else the one that is, and the one pointed at. */
  private _pair(): Frontier[] {
    const names =
      this._chosen.length === 2
        ? this._chosen
        : [
            ...this._chosen,
            ...(this._near !== null && !this._chosen.includes(this._near) ? [this._near] : []),
          ];
    return names
      .map(name => this._message!.frontiers.find(frontier => frontier.name === name)!)
      .slice(0, 2);
  }

  private _compare(): void {
    const frontiers = this._message?.frontiers ?? [];
    if (!frontiers.length) {
      return;
    }
    const pair = this._pair();
    const [a, b] = pair;
    const found = a && b ? together(a, b) : null;
    this._verdict.hidden = frontiers.length < 2;
    this._verdict.className = `dtj-verdict${found ? (found.snapshot ? ' dtj-yes' : ' dtj-no') : ''}`;
    const words = found?.sentence ?? hint(a, this._chosen.length);
    if (this._verdict.querySelector('.dtj-words')?.textContent !== words) {
      const sign = found ? h('b', { 'aria-hidden': 'true' }, found.snapshot ? '=' : '≠') : null;
      this._verdict.replaceChildren(
        ...(sign ? [sign] : []),
        h('span', { class: 'dtj-words' }, words),
      );
    }
    this._agree(pair, found);
  }

  /** Marks in the rows of the two which shared sources are at one version. */
  private _agree(pair: readonly Frontier[], found: Together | null): void {
    for (const row of this._body.querySelectorAll('tr[data-name]')) {
      const of = pair.some(one => one.name === row.getAttribute('data-name'));
      row.classList.toggle('dtj-other', found !== null && !of);
      for (const cell of row.querySelectorAll<HTMLElement>('td[data-source]')) {
        const same = of ? found?.shared.get(cell.dataset.source!) : undefined;
        const mark = cell.querySelector<HTMLElement>('.dtj-agree');
        if (mark) {
          mark.textContent = same === undefined ? '' : same ? '=' : '≠';
          mark.className = `dtj-agree ${same ? 'dtj-same' : 'dtj-unlike'}`;
          mark.title =
            same === undefined
              ? ''
              : same
                ? 'both use this version'
                : 'they use different versions';
        }
      }
    }
  }
}

function hint(one: Frontier | undefined, chosen: number): string {
  if (!one) {
    return 'Choose two tables: is a query over both a snapshot?';
  }
  const behind = one.sources.filter(
    ({ version, newest }) => version !== null && newest !== null && version < newest,
  );
  const where = behind.length
    ? `is behind the newest version of ${plural(behind.length, 'source')}`
    : 'is at the newest version of all its sources';
  return `${oneLine(one.name)} ${where}. ${chosen ? 'Now another one …' : 'Choose it to compare it with another.'}`;
}

/** The version that was read along the axis of its source, and how far the newest one is. */
function track(source: FrontierSource, axis: Axis): SVGSVGElement {
  const { version, newest } = source;
  const span = Math.max(axis.most - axis.least, 1);
  const x = (of: number): number =>
    PAD + (axis.most === axis.least ? 1 : (of - axis.least) / span) * (TRACK - 2 * PAD);
  const behind = version !== null && newest !== null ? newest - version : 0;
  const told =
    version === null
      ? 'no version'
      : behind > 0
        ? `version ${exact(version)}, ${exact(behind)} behind`
        : `version ${exact(version)}, the newest`;
  const token = behind > 0 ? 'warn' : 'ok';
  const line = s('path', { d: `M${PAD} 9H${TRACK - PAD}`, class: 'dtj-s-grid', 'stroke-width': 2 });
  if (version === null) {
    return picture(told, line, s('text', { x: PAD, y: 27 }, 'no version'));
  }
  const at = x(version);
  const dot =
    behind > 0
      ? s('circle', { cx: at, cy: 9, r: 4.5, class: 'dtj-f-warn' })
      : s('path', { d: `M${at} 3.5l5.5 5.5 -5.5 5.5 -5.5 -5.5z`, class: 'dtj-f-ok' });
  const gap =
    behind > 0
      ? s('path', {
          d: `M${at} 9H${x(newest!)}M${x(newest!)} 5v8`,
          class: `dtj-s-${token}`,
          'stroke-width': 2,
          fill: 'none',
        })
      : null;
  const words = behind > 0 ? ` · ${exact(behind)} behind` : ' · newest';
  const text = s(
    'text',
    { x: PAD - 4, y: 27 },
    s(
      'tspan',
      { class: 'dtj-version', style: 'font-weight:600;fill:var(--dtj-ink)' },
      `v${exact(version)}`,
    ),
    words,
  );
  return picture(told, line, ...(gap ? [gap] : []), dot, text);
}

function picture(told: string, ...parts: SVGElement[]): SVGSVGElement {
  return s(
    'svg',
    {
      class: 'dtj-at',
      role: 'img',
      'aria-label': told,
      width: TRACK,
      height: 32,
      viewBox: `0 0 ${TRACK} 32`,
    },
    ...parts,
  );
}
