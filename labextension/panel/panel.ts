import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import type { Session } from '../client/session';
import { type Beside, h } from '../view/elements/dom';
import { button } from '../view/elements/parts';
import { download } from '../view/elements/save';
import { templateFor } from '../view/elements/template';
import { oneLine } from '../view/elements/text';
import { adopt } from '../view/elements/theme';
import { Board } from './board';
import { emptyPage } from './empty';
import type { Held, Kernels } from './kernels';
import type { Memory } from './memory';
import { type Place, shownOf, waysOf } from './place';
import { graphLayout, type Preferences } from './preferences';

/** The side panel: the board of the notebook that is in use, or what would bring one. */
export class LineagePanel extends Widget {
  private readonly _boards = new Map<Session, Board>();
  private readonly _watched = new WeakSet<Session>();
  private readonly _head = h('header', { class: 'dtjp-head' });
  private readonly _body = h('div', { class: 'dtjp-body' });
  private _place: Place | null = null;
  private _shown: { readonly key: string; readonly board: Board | null } | null = null;

  constructor(
    private readonly _kernels: Kernels,
    private readonly _memory: Memory,
    private readonly _preferences: Preferences,
    private readonly _openGraph: () => void,
    private readonly _tell: (failure: string) => void,
  ) {
    super();
    this.addClass('dtj');
    this.addClass('dtjp');
    this.node.append(this._head, this._body);
    adopt(this.node);
    this._kernels.changed.connect(() => {
      this._forget();
      this._draw();
    });
  }

  get place(): Place | null {
    return this._place;
  }

  /** The document that is shown; null if none is open. */
  set place(place: Place | null) {
    this._place = place;
    this._draw();
  }

  /** What was remembered is known now: show it. */
  remembered(): void {
    this._shown = null;
    this._draw();
  }

  /** Shows the chosen table in that view. */
  take(view: Beside): void {
    this._memory.take(view);
    if (this._shown?.board) {
      this._shown.board.tab = view;
    }
  }

  /** The session that is shown, if there is one. */
  /** A cell that makes a dynamic table, over a table that the lake has. */
  async insertTemplate(): Promise<void> {
    const cells = this._place?.cells;
    const code = await templateFor(this.session);
    cells?.insert(code);
  }

  get session(): Session | null {
    return shownOf(this._place, this._kernels).held?.session ?? null;
  }

  override dispose(): void {
    this._boards.forEach(board => board.dispose());
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
    this._shown?.board?.seen(false);
  }

  /** The boards of kernels that are no more go with them. */
  private _forget(): void {
    for (const session of this._boards.keys()) {
      if (session.isDisposed) {
        this._drop(session);
      }
    }
  }

  private _drop(session: Session): void {
    this._boards.get(session)?.dispose();
    this._boards.delete(session);
  }

  private _draw(): void {
    if (this.isDisposed || !this.isVisible) {
      return;
    }
    const { held, empty } = shownOf(this._place, this._kernels);
    if (held !== null) {
      this._watch(held.session);
      held.session.cells = this._place!.cells;
    }
    if (held !== null && held.session.client.phase.is === 'unasked' && held.language === 'python') {
      held.session.client.signal({ is: 'look' }); // which draws again
      return;
    }
    this._drawHead(held, empty === null);
    const recent = empty?.recent?.join('\n');
    const key = `${held?.connection.id} ${empty?.why} ${empty?.detail} ${recent}`;
    if (key !== this._shown?.key) {
      this._shown?.board?.seen(false);
      const board = empty === null ? this._boardOf(held.session, this._place!.path) : null;
      const ways = waysOf(this._place, held, this._tell);
      this._body.replaceChildren(board?.element ?? emptyPage(empty!, ways));
      this._shown = { key, board };
    }
    this._shown.board?.seen(true);
  }

  private _watch(session: Session): void {
    if (!this._watched.has(session)) {
      this._watched.add(session);
      session.client.phased.connect(({ is }) => {
        if (is === 'restarting' || is === 'dead' || is === 'absent') {
          this._drop(session); // what it says is of an engine that is no more
        }
        this._draw();
      });
    }
  }

  private _boardOf(session: Session, path: string): Board {
    let board = this._boards.get(session);
    if (board === undefined) {
      const layout = graphLayout(this._preferences);
      board = new Board(session, layout, tab => this._memory.take(tab));
      this._boards.set(session, board);
      const before = this._memory.chosen(path);
      if (session.chosen === null && before !== null) {
        session.choose(before);
      }
      session.choices.connect(chosen => chosen && this._memory.choose(path, chosen.name));
    }
    board.tab = this._memory.tab;
    return board;
  }

  /** Puts the definitions of the lake into a cell, as a script. */
  private async _export(session: Session): Promise<void> {
    const cells = this._place?.cells;
    try {
      const answer = await session.ask({ ask: 'export' });
      if (answer.type === 'script') {
        cells?.insert(`%%dt\n${answer.sql}`);
      } else if (answer.type === 'error') {
        this._tell(answer.sentence);
      }
    } catch (failure) {
      this._tell((failure as Error).message);
    }
  }

  /** Hands the graph and its state as a document to the browser's downloads. */
  private async _save(session: Session): Promise<void> {
    try {
      const answer = await session.ask({ ask: 'page' });
      if (answer.type === 'page') {
        download(answer.html, answer.file, 'text/html');
      }
    } catch (failure) {
      this._tell((failure as Error).message);
    }
  }

  private _drawHead(held: Held | null, full: boolean): void {
    const phase = held?.session.client.phase;
    const hello = phase?.is === 'live' ? phase.hello : null;
    const lake = hello?.lake?.split(/[\\/]/).filter(Boolean).at(-1) ?? null;
    const tool = (sign: string, label: string, act: () => void) =>
      button(sign, act, { class: 'dtj-button dtj-icon', title: label, 'aria-label': label });
    this._head.replaceChildren(
      h(
        'div',
        { class: 'dtjp-title' },
        h(
          'bdi',
          { class: 'dtj-text', title: oneLine(this._place?.title ?? '') },
          oneLine(this._place?.title ?? 'Dynamic Tables'),
        ),
        lake === null
          ? null
          : h(
              'span',
              { class: 'dtj-text dtj-soft', title: oneLine(hello!.lake!) },
              [
                oneLine(lake),
                `scheduler ${hello!.scheduler ? 'on' : 'off'}`,
                ...(held!.session.following ? [] : ['not live']),
              ].join(' · '),
            ),
      ),
      ...(full
        ? [
            tool('+', 'New dynamic table', () => void this.insertTemplate()),
            tool('⇩', 'Export definitions to a cell', () => void this._export(held!.session)),
            tool(
              '⤓',
              'Save the graph and its state as an HTML file',
              () => void this._save(held!.session),
            ),
            tool('⟳', 'Reload', () => held!.session.refresh()),
            tool('⤢', 'Open the graph as a tab', this._openGraph),
          ]
        : []),
    );
  }
}
