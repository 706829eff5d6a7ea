/** All about one dynamic table, and what can be done with it; of a sink the same. */
import { historyTable, keyOf, resultOf, UNDECIDED } from './history';
import { Contents } from './contents';
import { costChart, costFacts } from './cost';
import { columnList } from './source';
import { planRows, sqlText, statements } from './plan';
import { h } from '../elements/dom';
import {
  button,
  errorBlock,
  facts,
  frame,
  keepingPlace,
  liveRegion,
  nothing,
  pill,
  said,
  sentence,
} from '../elements/parts';
import { resultTable } from '../elements/grid';
import { remedyButtons } from '../elements/remedies';
import { clean, oneLine } from '../elements/text';
import { Tree } from '../elements/tree';
import { duration, timeElement } from '../elements/units';
import treeCss from '../elements/tree.raw.css';
import css from './detail.raw.css';
import historyCss from './history.raw.css';
import planCss from './plan.raw.css';
import type { Child, Host, Question, View } from '../elements/dom';
import type { CardMessage, DetailMessage, LateRow, RemedyRow } from '../wire';

/** Shows a dynamic table; its buttons act by the host, where there is a kernel. */
export function mountDetail(root: HTMLElement, host: Host): View<DetailMessage> {
  return new DetailView(root, host);
}

export { mountSink } from './sink';
export { mountSource } from './source';
export { mountTask } from './task';

type Form = 'suspend' | 'pin' | null;

/** What starts a refresh. */
const STARTS: ReadonlySet<string> = new Set(['refresh', 'full']);

class DetailView implements View<DetailMessage> {
  private readonly _frame: HTMLElement;
  private readonly _head = h('div');
  private readonly _form = h('div');
  private readonly _status = liveRegion();
  private readonly _body = h('div');
  private readonly _tree = new Tree('How the table is maintained', 'plan');
  private readonly _contents: Contents;
  private _message: DetailMessage | null = null;
  private _open: Form = null;
  /** Whether refreshes without changes are listed; null until the user chose. */
  private _noData: boolean | null = null;
  private _busy: string | null = null;
  /** The newest refresh when the user requested one; undefined if there was none. */
  private _before: string | undefined;
  private _gone = false;

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._contents = new Contents(_host);
    this._frame = frame(root, 'detail', treeCss + planCss + historyCss + css);
    this._frame.append(this._head, this._form, this._status, this._body);
  }

  update(message: DetailMessage): void {
    if (this._message?.name !== message.name) {
      [this._open, this._busy, this._before] = [null, null, undefined];
      this._status.replaceChildren();
      this._form.replaceChildren();
      this._body.replaceChildren(); // the folds of another table say nothing about this one's
    }
    this._message = message;
    this._contents.of(message.name);
    this._drawResult(message);
    this._draw();
  }

  /** The refresh that the user started has ended: its outcome is shown where it was requested. */
  private _drawResult({ history }: DetailMessage): void {
    const [newest] = history.rows;
    const over = newest && !UNDECIDED.has(newest.state) && keyOf(newest) !== this._before;
    if (this._before !== undefined && over) {
      this._before = undefined;
      this._status.replaceChildren(
        ...(newest.state === 'SUCCEEDED' ? [said(resultOf(newest))] : []),
      );
    }
  }

  dispose(): void {
    this._gone = true;
    this._frame.remove();
  }

  private _draw(): void {
    const message = this._message!;
    keepingPlace(this._frame, () => {
      this._head.replaceChildren(...this._title(message));
      this._tree.show(planRows(message.tree));
      this._body.replaceChildren(...this._sections(message));
    });
  }

  private _title(message: DetailMessage): Node[] {
    const { card } = message;
    const suspended = card.scheduling_state === 'SUSPENDED';
    return [
      h(
        'div',
        { class: 'dtj-head' },
        h('h3', { class: 'dtj-name' }, oneLine(message.name)),
        pill(modeText(card), message.refresh_mode === 'FULL' ? 'full' : 'incremental'),
        suspended ? pill('SUSPENDED', 'warn') : null,
        card.held_back && !suspended ? pill('NOT REFRESHED', 'warn') : null,
        h('span', { class: 'dtj-spring' }),
        this._host.live ? this._actions(suspended) : null,
      ),
      h(
        'div',
        { class: 'dtj-why-mode' },
        clean(message.mode_reason),
        message.hint ? h('div', { class: 'dtj-soft' }, clean(message.hint)) : null,
      ),
    ];
  }

  private _actions(suspended: boolean): HTMLElement {
    const name = this._message!.name;
    const running = this._message!.history.rows.some(row => row.state === 'EXECUTING');
    const act = (key: string, words: string, click: () => void, main = false): HTMLElement =>
      button(this._busy === key ? `${words} …` : words, click, {
        'data-key': key,
        class: main ? 'dtj-button dtj-main' : 'dtj-button',
        disabled: this._busy !== null && !(key === 'cancel'),
        'aria-expanded': key === 'pin' || key === 'suspend' ? String(this._open === key) : null,
      });
    return h(
      'span',
      { class: 'dtj-actions' },
      running || STARTS.has(this._busy ?? '')
        ? act('cancel', 'Cancel', () => void this._do('cancel', { ask: 'cancel', name }))
        : null,
      act('refresh', 'Refresh now', () => void this._do('refresh', { ask: 'refresh', name }), true),
      act('full', 'Full refresh', () => void this._do('full', { ask: 'refresh_full', name })),
      suspended
        ? act('resume', 'Resume', () => void this._do('resume', { ask: 'resume', name }))
        : act('suspend', 'Suspend', () => this._show('suspend')),
      act('pin', 'Pin …', () => this._show('pin')),
    );
  }

  /** Opens one of the questions below the head, or closes it; the focus goes along. */
  private _show(form: Form): void {
    const was = this._open;
    this._open = this._open === form ? null : form;
    this._form.replaceChildren(
      ...(this._open === 'suspend'
        ? [this._confirm()]
        : this._open === 'pin'
          ? [this._pinning()]
          : []),
    );
    this._draw();
    const first = this._form.querySelector<HTMLElement>('input, [data-key=keep]');
    (first ?? this._head.querySelector<HTMLElement>(`[data-key=${form ?? was}]`))?.focus();
  }

  private _confirm(): HTMLElement {
    const name = this._message!.name;
    const box = h(
      'div',
      { class: 'dtj-ask', role: 'group', 'aria-label': 'Suspend?' },
      h('span', {}, `Suspend ${oneLine(name)}? Its consumers will not be refreshed either.`),
      button(
        'Suspend',
        () => {
          this._show(null);
          void this._do('suspend', { ask: 'suspend', name });
        },
        { 'data-key': 'yes' },
      ),
      button('Cancel', () => this._show(null), { 'data-key': 'keep' }),
    );
    return this._escapable(box);
  }

  private _pinning(): HTMLElement {
    const table = this._message!.name;
    const name = h('input', {
      class: 'dtj-input',
      type: 'text',
      required: true,
      'data-key': 'pin-name',
      placeholder: 'before_the_change',
    });
    const version = h('input', {
      class: 'dtj-input',
      type: 'number',
      min: 0,
      step: 1,
      'data-key': 'pin-version',
      placeholder: 'newest',
    });
    const box = h(
      'form',
      { class: 'dtj-ask dtj-form', 'aria-label': 'Pin a version' },
      h('label', {}, 'Name of the pin', name),
      h('label', {}, 'Version', version),
      h('button', { type: 'submit', class: 'dtj-button dtj-main', 'data-key': 'pin-do' }, 'Pin'),
      button('Close', () => this._show(null), { 'data-key': 'pin-close' }),
      h('span', { class: 'dtj-soft' }, 'A pinned version stays readable after a vacuum.'),
    );
    box.addEventListener('submit', event => {
      event.preventDefault();
      const pin = name.value.trim();
      if (pin) {
        const of = version.value === '' ? {} : { version: Number(version.value) };
        this._show(null);
        void this._do('pin', { ask: 'pin', name: table, pin, ...of });
      }
    });
    return this._escapable(box);
  }

  private _escapable<E extends HTMLElement>(box: E): E {
    box.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        this._show(null);
      }
    });
    return box;
  }

  /** Does it, shows the outcome, and shows the table as it is then. */
  private async _do(what: string, question: Question): Promise<void> {
    const name = this._message!.name;
    const here = (): boolean => !this._gone && this._message?.name === name;
    const cancels = what === 'cancel';
    const before = keyOf(this._message!.history.rows[0]);
    if (!cancels) {
      this._busy = what;
      this._draw();
    }
    let told: Node[];
    try {
      const answer = await this._host.ask(question);
      told =
        answer.type === 'error'
          ? [errorBlock(answer)]
          : [said(answer.type === 'done' ? answer.sentence : 'Done')];
    } catch (thrown) {
      told = [said(sentence(thrown), 'trouble')];
    }
    if (!here()) {
      return;
    }
    this._status.replaceChildren(...told);
    if (STARTS.has(what)) {
      this._before = before;
    }
    this._busy = cancels ? this._busy : null;
    this._draw();
    await this._again(name, here);
  }

  /** A kernel that has ended has reported it by then. */
  private async _again(name: string, here: () => boolean): Promise<void> {
    const answer = await this._host.ask({ ask: 'detail', name }).catch(() => null);
    if (answer?.type === 'detail' && here()) {
      this.update(answer);
    }
  }

  private readonly _tell = (words: string): void => {
    this._status.replaceChildren(said(words));
  };

  private _sections(message: DetailMessage): HTMLElement[] {
    const { card } = message;
    const fold = (key: string, title: string, ...content: Child[]): HTMLElement =>
      h('details', { 'data-key': key }, h('summary', {}, title), ...content);
    return [
      ...(message.late ? [this._late(message.late)] : []),
      ...(message.error ? [section('Last error', errorBlock(message.error))] : []),
      section(null, this._facts(card, message.late !== null)),
      ...[costFacts(message.cost)].filter(part => part !== null),
      section(
        'Next refresh',
        h('div', { class: 'dtj-decision' }, clean(message.decision || 'Not known yet.')),
        ...(message.statements.length
          ? [
              fold(
                'statements',
                `Its statements (${message.statements.length})`,
                ...statements(message.statements, this._tell),
              ),
            ]
          : []),
      ),
      section(
        'How it is maintained',
        ...(message.tree.length
          ? [
              h(
                'div',
                { class: 'dtj-plan-head', 'aria-hidden': 'true' },
                h('span', {}, 'operator and rule'),
                h('span', {}, 'rows'),
                h('span', {}, 'change'),
              ),
              this._tree.element,
            ]
          : [h('p', { class: 'dtj-soft' }, clean(withoutTree(message)))]),
        fold(
          'query',
          'Definition',
          sqlText(message.query, 'Copy the definition', 'query', this._tell),
        ),
      ),
      this._contents.element,
      ...(message.statistics.length ? [section('Last refresh', figures(message))] : []),
      ...[costChart(message.history)].filter(chart => chart !== null),
      section(
        oneLine(message.history.title),
        message.history.rows.length
          ? historyTable(message.history, this._noData, all => {
              this._noData = all;
              this._draw();
            })
          : nothing('No refresh yet', 'The first one initialises the table.'),
      ),
      ...(card.sample || card.notes.length
        ? [
            section(
              null,
              card.sample ? fold('sample', 'First rows', resultTable(card.sample)) : null,
              card.notes.length
                ? fold(
                    'notes',
                    'What was checked at creation',
                    h(
                      'ul',
                      { class: 'dtj-notes' },
                      ...card.notes.map(note => h('li', {}, clean(note))),
                    ),
                  )
                : null,
            ),
          ]
        : []),
    ];
  }

  /** Why it is late, and what helps. */
  private _late(late: LateRow): HTMLElement {
    // what is done with the table itself is in the head
    const own = this._message!.name;
    const others = ({ kind, name }: RemedyRow): boolean =>
      name !== own || (kind !== 'resume' && kind !== 'refresh');
    const tell = (answer: Node): void => {
      this._status.replaceChildren(answer);
      void this._again(this._message!.name, () => !this._gone);
    };
    return h(
      'section',
      { class: 'dtj-late', 'data-code': late.code },
      h('h4', {}, 'Why it is not fresh'),
      h('p', {}, clean(late.sentence)),
      remedyButtons(late.remedies.filter(others), this._host, 'remedy', tell),
    );
  }

  /** `explained`: why it is not refreshed is said above already. */
  private _facts(card: CardMessage, explained: boolean): HTMLElement {
    const upstream = card.upstream.flatMap((name, i) => [
      i ? ', ' : null,
      button(oneLine(name), () => this._host.choose(name), {
        class: 'dtj-link',
        'data-key': `up:${name}`,
      }),
    ]);
    return facts(
      card.held_back && !explained ? ['standing', clean(card.held_back)] : null,
      ['target lag', card.target_lag === 'DOWNSTREAM' ? 'DOWNSTREAM' : duration(card.target_lag)],
      ['warehouse', oneLine(card.warehouse)],
      ['reads', upstream.length ? h('span', {}, ...upstream) : 'nothing'],
      [
        'data timestamp',
        card.data_timestamp ? timeElement(card.data_timestamp) : 'not initialised yet',
      ],
      card.schema.length ? ['columns', columnList(card.schema)] : null,
    );
  }
}

/** Why there is no tree of rules: each refresh computes all rows, or there is none to be shown now. */
function withoutTree({ card, refresh_mode, error }: DetailMessage): string {
  if (refresh_mode !== 'FULL') {
    return `Its rules cannot be shown: ${error?.sentence ?? 'the definition is not compiled yet.'}`;
  }
  return card.declared_mode === 'FULL'
    ? 'Recomputed in full, as REFRESH_MODE = FULL says.'
    : 'Recomputed in full: there are no incremental rules.';
}

function section(title: string | null, ...content: Child[]): HTMLElement {
  return h('section', {}, title ? h('h4', {}, title) : null, ...content);
}

function figures(message: DetailMessage): HTMLElement {
  const shown = message.statistics.map(fact =>
    h('div', {}, h('dt', {}, oneLine(fact.name)), h('dd', {}, oneLine(fact.value))),
  );
  return h('dl', { class: 'dtj-statistics' }, ...shown);
}

/** `AUTO → INCREMENTAL`: what was requested, where it is not what it came to. */
function modeText(card: CardMessage): string {
  const automatic = card.declared_mode === 'AUTO' && card.refresh_mode !== 'AUTO';
  return automatic ? `AUTO → ${card.refresh_mode}` : card.refresh_mode;
}
