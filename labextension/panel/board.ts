/** All views of one kernel under a row of tabs. */
import type { Session } from '../client/session';
import { mountAlerts } from '../view/alerts/index';
import { h } from '../view/elements/dom';
import { button, said } from '../view/elements/parts';
import { oneLine } from '../view/elements/text';
import type { Pane } from '../client/pane';
import { hasSnapshots } from './kinds';
import { type GraphLayout, type TabName, TABS } from './panes';
import { tabStrip } from './tabStrip';

let boards = 0;

/** What the board reports to its owner: the user took another tab. */
export type Took = (tab: TabName) => void;

export class Board {
  readonly element: HTMLElement;
  private readonly _panes = new Map<TabName, Pane>();
  private readonly _places = new Map<TabName, HTMLElement>();
  private readonly _strip;
  private readonly _banner = h('div', { class: 'dtj-view dtjp-banner', role: 'status' });
  private readonly _alerts = h('div', { class: 'dtjp-alerts' });
  private readonly _chosen = h('div', { class: 'dtjp-chosen' });
  private readonly _stop: (() => void)[];
  private _tab: TabName = 'graph';
  private _seen = false;

  constructor(
    private readonly _session: Session,
    private readonly _layout: GraphLayout,
    private readonly _took: Took,
  ) {
    const id = `dtjp-${++boards}`;
    const names = Object.keys(TABS) as TabName[];
    this._strip = tabStrip(
      'Views of the lake',
      names.map(name => [name, TABS[name].label, `${id}-${name}`] as const),
      name => this._take(name),
    );
    for (const name of names) {
      const place = h('div', {
        class: `dtjp-pane dtjp-pane-${name}`,
        role: 'tabpanel',
        id: `${id}-${name}`,
        'aria-labelledby': `${id}-${name}-tab`,
      });
      this._places.set(name, place);
    }
    this.element = h(
      'div',
      { class: 'dtj dtjp-board' },
      this._strip.element,
      this._banner,
      this._alerts,
      ...this._places.values(),
      this._chosen,
    );
    const alerts = mountAlerts(this._alerts, _session);
    alerts.update(_session.alerts);
    this._stop = [
      _session.alerted.connect(message => alerts.update(message)),
      _session.choices.connect(() => this._drawChosen()),
      _session.client.phased.connect(() => this._drawBanner()),
    ];
    this._drawChosen();
    this._drawBanner();
    this.tab = 'graph';
  }

  get tab(): TabName {
    return this._tab;
  }

  set tab(name: TabName) {
    this._panes.get(this._tab)?.seen(false);
    this._tab = name;
    this._strip.select(name);
    for (const [other, place] of this._places) {
      place.hidden = other !== name;
    }
    this._drawChosen();
    this.seen(this._seen);
  }

  /** Whether the board is seen: a pane is made when it is first shown. */
  seen(seen: boolean): void {
    this._seen = seen;
    let pane = this._panes.get(this._tab);
    if (pane === undefined && seen) {
      pane = TABS[this._tab].make(this._places.get(this._tab)!, this._session, this._layout);
      this._panes.set(this._tab, pane);
    }
    pane?.seen(seen);
  }

  dispose(): void {
    this._stop.forEach(stop => stop());
    this._panes.forEach(pane => pane.dispose());
    this.element.remove();
  }

  private _take(name: TabName): void {
    this.tab = name;
    this._took(name);
  }

  private _drawChosen(): void {
    const chosen = this._session.chosen;
    this._chosen.hidden = chosen === null;
    if (chosen === null) {
      return;
    }
    const to = (tab: TabName) =>
      tab === this._tab ? null : button(TABS[tab].label, () => this._take(tab));
    const column = chosen.column === null ? '' : `.${oneLine(chosen.column)}`;
    this._chosen.replaceChildren(
      h('bdi', { class: 'dtj-text', title: oneLine(chosen.name) }, oneLine(chosen.name) + column),
      ...[
        to('graph'),
        to('details'),
        hasSnapshots(this._session, chosen.name) ? to('replay') : null,
      ].filter(link => link !== null),
    );
  }

  private _drawBanner(): void {
    const { phase } = this._session.client;
    this._banner.replaceChildren(
      phase.is === 'lost' || phase.is === 'opening'
        ? said('No connection to the kernel: this is the last known state.', 'caution')
        : '',
    );
  }
}
