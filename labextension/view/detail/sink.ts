/** All about one sink, and what can be done with it. */
import { deliveriesTable } from './deliveries';
import { sqlText } from './plan';
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
import { SINK_TOKENS } from '../icons/marks';
import { RESET } from '../elements/sqlTexts';
import { clean, oneLine } from '../elements/text';
import { duration, exact, timeElement } from '../elements/units';
import detailCss from './detail.raw.css';
import historyCss from './history.raw.css';
import planCss from './plan.raw.css';
import type { Child, Host, Question, View } from '../elements/dom';
import type { SinkMessage, SinkStanding } from '../wire';

/** Shows a sink; its buttons act by the host, where there is a kernel. */
export function mountSink(root: HTMLElement, host: Host): View<SinkMessage> {
  return new SinkView(root, host);
}

type Form = 'suspend' | 'reset' | null;

class SinkView implements View<SinkMessage> {
  private readonly _frame: HTMLElement;
  private readonly _head = h('div');
  private readonly _form = h('div');
  private readonly _status = liveRegion();
  private readonly _body = h('div');
  private _message: SinkMessage | null = null;
  private _open: Form = null;
  private _busy: string | null = null;
  private _gone = false;

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'detail', planCss + historyCss + detailCss);
    this._frame.append(this._head, this._form, this._status, this._body);
  }

  update(message: SinkMessage): void {
    if (this._message?.name !== message.name) {
      [this._open, this._busy] = [null, null];
      this._status.replaceChildren();
      this._form.replaceChildren();
      this._body.replaceChildren(); // the folds of another sink say nothing about this one's
    }
    this._message = message;
    this._draw();
  }

  dispose(): void {
    this._gone = true;
    this._frame.remove();
  }

  private _draw(): void {
    const message = this._message!;
    const sink = message.node.sink!;
    keepingPlace(this._frame, () => {
      this._head.replaceChildren(this._title(message.name, sink));
      this._body.replaceChildren(...this._sections(message, sink));
    });
  }

  private _title(name: string, sink: SinkStanding): HTMLElement {
    return h(
      'div',
      { class: 'dtj-head' },
      h('h3', { class: 'dtj-name' }, oneLine(name)),
      pill(sink.state, SINK_TOKENS[sink.state]),
      h('span', { class: 'dtj-spring' }),
      this._host.live ? this._actions(name, sink) : null,
    );
  }

  private _actions(name: string, { state }: SinkStanding): HTMLElement {
    const act = (key: string, words: string, click: () => void, main = false): HTMLElement =>
      button(this._busy === key ? `${words} …` : words, click, {
        'data-key': key,
        class: main ? 'dtj-button dtj-main' : 'dtj-button',
        disabled: this._busy !== null,
        'aria-expanded': key === 'suspend' || key === 'reset' ? String(this._open === key) : null,
      });
    const run = (ask: Question['ask']) => () => void this._do(ask, { ask, name });
    return h(
      'span',
      { class: 'dtj-actions' },
      act('refresh', 'Deliver now', run('refresh'), true),
      state === 'SUSPENDED' || state === 'PAUSED' ? act('resume', 'Resume', run('resume')) : null,
      state === 'SUSPENDED' ? null : act('suspend', 'Suspend', () => this._show('suspend')),
      act('reset', 'Reset …', () => this._show('reset')),
    );
  }

  /** Opens one of the questions below the head, or closes it; the focus goes along. */
  private _show(form: Form): void {
    const was = this._open;
    this._open = this._open === form ? null : form;
    this._form.replaceChildren(...(this._open === null ? [] : [this._confirm(this._open)]));
    this._draw();
    const first = this._form.querySelector<HTMLElement>('[data-key=keep]');
    (first ?? this._head.querySelector<HTMLElement>(`[data-key=${form ?? was}]`))?.focus();
  }

  private _confirm(form: 'suspend' | 'reset'): HTMLElement {
    const name = this._message!.name;
    const yes = form === 'reset' ? 'Reset' : 'Suspend';
    const text =
      form === 'reset'
        ? RESET(oneLine(name))
        : `Suspend ${oneLine(name)}? Nothing is delivered until it is resumed.`;
    const sure = () => {
      this._show(null);
      void this._do(form, { ask: form, name });
    };
    const box = h(
      'div',
      { class: 'dtj-ask', role: 'group', 'aria-label': `${yes}?` },
      h('span', {}, text),
      button(yes, sure, { 'data-key': 'yes' }),
      button('Cancel', () => this._show(null), { 'data-key': 'keep' }),
    );
    box.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        this._show(null);
      }
    });
    return box;
  }

  /** Does it, says what came of it, and shows the sink as it is then. */
  private async _do(what: string, question: Question): Promise<void> {
    const name = this._message!.name;
    const here = (): boolean => !this._gone && this._message?.name === name;
    this._busy = what;
    this._draw();
    let told: Node;
    try {
      const answer = await this._host.ask(question);
      told =
        answer.type === 'error'
          ? errorBlock(answer)
          : said(answer.type === 'done' ? answer.sentence : 'Done');
    } catch (thrown) {
      told = said(sentence(thrown), 'trouble');
    }
    if (!here()) {
      return;
    }
    this._status.replaceChildren(told);
    this._busy = null;
    this._draw();
    const answer = await this._host.ask({ ask: 'sink', name }).catch(() => null);
    if (answer?.type === 'sink' && here()) {
      this.update(answer);
    }
  }

  private _sections(message: SinkMessage, sink: SinkStanding): HTMLElement[] {
    const tell = (words: string) => this._status.replaceChildren(said(words));
    const definition = sqlText(message.definition, 'Copy the definition', 'definition', tell);
    return [
      ...(message.error ? [section('Why it does not deliver', errorBlock(message.error))] : []),
      section(null, this._facts(message, sink)),
      section(
        null,
        h('details', { 'data-key': 'query' }, h('summary', {}, 'Definition'), definition),
      ),
      section(
        'Deliveries',
        message.deliveries.length
          ? deliveriesTable(`Deliveries of ${message.name}`, message.deliveries)
          : nothing('No delivery yet', 'The scheduler makes one, or Deliver now.'),
      ),
      ...(message.notes.length
        ? [
            section(
              null,
              h(
                'ul',
                { class: 'dtj-notes' },
                ...message.notes.map(note => h('li', {}, clean(note))),
              ),
            ),
          ]
        : []),
    ];
  }

  private _facts(message: SinkMessage, sink: SinkStanding): HTMLElement {
    const { node } = message;
    const source = button(oneLine(sink.source), () => this._host.choose(sink.source), {
      class: 'dtj-link',
      'data-key': `up:${sink.source}`,
    });
    const newest = sink.newest === null ? '' : ` of ${exact(sink.newest)}`;
    return facts(
      ['delivers', source],
      ['store', oneLine(sink.address)],
      ['target', oneLine(sink.target)],
      [
        'target lag',
        typeof node.target_lag === 'number' ? duration(node.target_lag) : 'DOWNSTREAM',
      ],
      node.lag_seconds === null ? null : ['lag', duration(node.lag_seconds)],
      sink.version === null ? null : ['version', `${exact(sink.version)}${newest}`],
      sink.next_try === null ? null : ['next try', timeElement(sink.next_try)],
      ['key', message.key.length ? oneLine(message.key.join(', ')) : 'as declared'],
      message.reductions.length ? ['reduced', oneLine(message.reductions.join(', '))] : null,
      message.delta_updates ? ['updates', 'changes are added to the target'] : null,
      message.partitions > 1 ? ['tasks', exact(message.partitions)] : null,
      ['warehouse', oneLine(node.warehouse ?? '')],
      message.comment ? ['comment', clean(message.comment)] : null,
    );
  }
}

function section(title: string | null, ...content: Child[]): HTMLElement {
  return h('section', {}, title ? h('h4', {}, title) : null, ...content);
}
