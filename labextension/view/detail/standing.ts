/** What the views of a sink, a source and a task share: a head with actions, their outcomes,
 * sections. */
import { sqlText } from './plan';
import { h } from '../elements/dom';
import {
  button,
  errorBlock,
  frame,
  keepingPlace,
  liveRegion,
  said,
  sentence,
} from '../elements/parts';
import { oneLine } from '../elements/text';
import detailCss from './detail.raw.css';
import historyCss from './history.raw.css';
import planCss from './plan.raw.css';
import streamsCss from '../streams/streams.raw.css';
import type { Attributes, Child, Host, Question, View } from '../elements/dom';
import type { LiveMessage, SinkMessage, SourceMessage, TaskMessage } from '../wire';

type Told = SinkMessage | SourceMessage | TaskMessage;

/** One object, and what can be done with it by the host, where there is a kernel. */
export abstract class StandingView<M extends Told> implements View<M> {
  protected readonly _head = h('div');
  protected readonly _form = h('div');
  private readonly _frame: HTMLElement;
  private readonly _status = liveRegion();
  private readonly _body = h('div');
  private _message: M | null = null;
  private _busy: string | null = null;
  private _gone = false;

  /** `asked` is what a message of it answers to. */
  constructor(
    root: HTMLElement,
    protected readonly _host: Host,
    private readonly _asked: M['type'],
  ) {
    this._frame = frame(root, 'detail', planCss + historyCss + streamsCss + detailCss);
    this._frame.append(this._head, this._form, this._status, this._body);
  }

  update(message: M): void {
    if (this._message?.name !== message.name) {
      this._busy = null;
      this._status.replaceChildren();
      this._body.replaceChildren(); // the folds of another one say nothing about this one's
      this.another();
    }
    this._message = message;
    this._draw();
  }

  dispose(): void {
    this._gone = true;
    this._frame.remove();
  }

  /** Another object is to be shown than before. */
  protected another(): void {
    this._form.replaceChildren();
  }

  protected abstract title(message: M): HTMLElement;

  protected abstract sections(message: M): HTMLElement[];

  protected get name(): string {
    return this._message!.name;
  }

  protected _draw(): void {
    const message = this._message!;
    keepingPlace(this._frame, () => {
      this._head.replaceChildren(this.title(message));
      this._body.replaceChildren(...this.sections(message));
    });
  }

  /** The head: a name, its state, and what can be done. */
  protected headOf(name: string, standing: Child, actions: () => Child[]): HTMLElement {
    return h(
      'div',
      { class: 'dtj-head' },
      h('h3', { class: 'dtj-name' }, oneLine(name)),
      standing,
      h('span', { class: 'dtj-spring' }),
      this._host.live ? h('span', { class: 'dtj-actions' }, ...actions()) : null,
    );
  }

  /** A button that says when what it began is under way. */
  protected action(
    key: string,
    words: string,
    click: () => void,
    attributes: Attributes = {},
  ): HTMLElement {
    return button(this._busy === key ? `${words} …` : words, click, {
      'data-key': key,
      class: 'dtj-button',
      disabled: this._busy !== null,
      ...attributes,
    });
  }

  /** Does it, shows the outcome, and shows the object as it is then. */
  protected async do(question: Question): Promise<void> {
    const name = this.name;
    const here = (): boolean => !this._gone && this._message?.name === name;
    this._busy = question.ask;
    this._draw();
    const told = await this._told(question);
    if (!here()) {
      return;
    }
    this._status.replaceChildren(told);
    this._busy = null;
    this._draw();
    const answer = await this._host.ask({ ask: this._asked, name }).catch(() => null);
    if (answer !== null && here() && this._isOwn(answer)) {
      this.update(answer);
    }
  }

  protected definition(message: M): HTMLElement {
    const tell = (words: string) => this._status.replaceChildren(said(words));
    const text = sqlText(message.definition, 'Copy the definition', 'definition', tell);
    return section(
      null,
      h('details', { 'data-key': 'query' }, h('summary', {}, 'Definition'), text),
    );
  }

  /** A name that leads to its object. */
  protected link(name: string, key: string): HTMLElement {
    return button(oneLine(name), () => this._host.choose(name), {
      class: 'dtj-link',
      'data-key': key,
    });
  }

  private _isOwn(answer: LiveMessage): answer is M & LiveMessage {
    return answer.type === this._asked;
  }

  private async _told(question: Question): Promise<Node> {
    try {
      const answer = await this._host.ask(question);
      return answer.type === 'error'
        ? errorBlock(answer)
        : said(answer.type === 'done' ? answer.sentence : 'Done');
    } catch (thrown) {
      return said(sentence(thrown), 'trouble');
    }
  }
}

export function section(title: string | null, ...content: Child[]): HTMLElement {
  return h('section', {}, title ? h('h4', {}, title) : null, ...content);
}
