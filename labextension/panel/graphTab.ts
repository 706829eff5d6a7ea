import { MainAreaWidget } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import type { Session } from '../client/session';
import { h } from '../view/elements/dom';
import { adopt } from '../view/elements/theme';
import { emptyPage } from './empty';
import { panelIcon } from './icon';
import type { Kernels } from './kernels';
import { type Pane, together } from '../client/pane';
import { detailPane, graphPane } from './panes';
import { graphLayout, type Preferences } from './preferences';
import { type Place, shownOf, waysOf } from './place';

/** The graph of one document in the main area, and next to it the table that is chosen. */
export class GraphContent extends Widget {
  private _session: Session | null = null;
  private _pane: Pane | null = null;
  private _key = '';
  private _stop: (() => void)[] = [];
  private readonly _stopKernels: () => void;

  private _place: Place | null = null;

  /** `find` gives the document at a path while it is open; it is followed to other paths. */
  constructor(
    private readonly _path: string,
    private readonly _kernels: Kernels,
    private readonly _preferences: Preferences,
    private readonly _find: (path: string) => Place | null,
    private readonly _tell: (failure: string) => void,
  ) {
    super();
    this.addClass('dtj');
    this.addClass('dtjp-wide');
    adopt(this.node);
    this._stopKernels = _kernels.changed.connect(() => this._draw());
  }

  /** Where the document is now. */
  get path(): string {
    return this._place?.path ?? this._path;
  }

  override dispose(): void {
    this._stopKernels();
    this._leave();
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._draw();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._draw();
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._pane?.seen(false);
  }

  private _draw(): void {
    if (this.isDisposed) {
      return;
    }
    if (this._place === null || this._place.context.isDisposed) {
      this._place = this._find(this.path);
    }
    nameTab(this);
    if (!this.isVisible) {
      return;
    }
    const { held, empty } = shownOf(this._place, this._kernels);
    const session = held?.session ?? null;
    if (session !== null) {
      session.cells = this._place!.cells;
    }
    if (session !== this._session) {
      this._leave();
      this._session = session;
      this._stop = session ? [session.client.phased.connect(() => this._draw())] : [];
    }
    if (session?.client.phase.is === 'unasked' && held?.language === 'python') {
      session.client.signal({ is: 'look' }); // which draws again
      return;
    }
    const key = `${empty?.why} ${empty?.detail}`;
    if (key === this._key && this.node.hasChildNodes()) {
      this._pane?.seen(true);
      return;
    }
    this._key = key;
    this._pane?.dispose();
    this._pane = null;
    if (empty !== null) {
      this.node.replaceChildren(emptyPage(empty, waysOf(this._place, held, this._tell)));
    } else {
      this._pane = this._make(session!);
      this._pane.seen(true);
    }
  }

  private _make(session: Session): Pane {
    const graph = h('div', { class: 'dtjp-wide-graph dtjp-pane-graph' });
    const detail = h('aside', { class: 'dtjp-wide-detail' });
    this.node.replaceChildren(h('div', { class: 'dtjp-wide-both' }, graph, detail));
    const showDetail = () => (detail.hidden = session.chosen === null);
    showDetail();
    const stop = session.choices.connect(showDetail);
    const panes = together(
      graphPane(graph, session, graphLayout(this._preferences)),
      detailPane(detail, session),
    );
    return {
      seen: panes.seen,
      dispose: () => {
        stop();
        panes.dispose();
      },
    };
  }

  private _leave(): void {
    this._stop.forEach(stop => stop());
    this._stop = [];
    this._pane?.dispose();
    this._pane = null;
    this._key = '';
    this.node.replaceChildren();
  }
}

let tabs = 0;

function nameTab({ path, parent }: GraphContent): void {
  if (parent !== null) {
    parent.title.label = `Graph of ${path.split('/').at(-1)}`;
    parent.title.caption = `Dynamic tables of ${path}`;
  }
}

export function graphTab(content: GraphContent): MainAreaWidget<GraphContent> {
  const tab = new MainAreaWidget({ content });
  tab.id = `dt-jupyter-graph:${++tabs}`;
  nameTab(content);
  tab.title.icon = panelIcon;
  tab.title.closable = true;
  tab.toolbar.hide();
  return tab;
}
