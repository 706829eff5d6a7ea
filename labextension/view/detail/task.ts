/** All about one task, and what can be done with it. */
import { runsTable } from './runs';
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
import { clean, oneLine } from '../elements/text';
import { exact, timeElement } from '../elements/units';
import detailCss from './detail.raw.css';
import historyCss from './history.raw.css';
import planCss from './plan.raw.css';
import type { Child, Host, Question, View } from '../elements/dom';
import type { TaskMessage, TaskStanding } from '../wire';

/** Shows a task; its buttons act by the host, where there is a kernel. */
export function mountTask(root: HTMLElement, host: Host): View<TaskMessage> {
  return new TaskView(root, host);
}

class TaskView implements View<TaskMessage> {
  private readonly _frame: HTMLElement;
  private readonly _head = h('div');
  private readonly _status = liveRegion();
  private readonly _body = h('div');
  private _message: TaskMessage | null = null;
  private _busy: string | null = null;
  private _gone = false;

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'detail', planCss + historyCss + detailCss);
    this._frame.append(this._head, this._status, this._body);
  }

  update(message: TaskMessage): void {
    if (this._message?.name !== message.name) {
      this._busy = null;
      this._status.replaceChildren();
      this._body.replaceChildren(); // the folds of another task say nothing about this one's
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
    const task = message.node.task!;
    keepingPlace(this._frame, () => {
      this._head.replaceChildren(this._title(message.name, task));
      this._body.replaceChildren(...this._sections(message, task));
    });
  }

  private _title(name: string, { state }: TaskStanding): HTMLElement {
    return h(
      'div',
      { class: 'dtj-head' },
      h('h3', { class: 'dtj-name' }, oneLine(name)),
      pill(state, state === 'STARTED' ? 'ok' : 'warn'),
      h('span', { class: 'dtj-spring' }),
      this._host.live ? this._actions(name, state === 'STARTED') : null,
    );
  }

  private _actions(name: string, started: boolean): HTMLElement {
    const act = (ask: Question['ask'], words: string, main = false): HTMLElement =>
      button(this._busy === ask ? `${words} …` : words, () => void this._do({ ask, name }), {
        'data-key': ask,
        class: main ? 'dtj-button dtj-main' : 'dtj-button',
        disabled: this._busy !== null,
      });
    return h(
      'span',
      { class: 'dtj-actions' },
      act('refresh', 'Run now', true),
      started ? act('suspend', 'Suspend') : act('resume', 'Resume'),
    );
  }

  /** Does it, says what came of it, and shows the task as it is then. */
  private async _do(question: Question): Promise<void> {
    const name = this._message!.name;
    const here = (): boolean => !this._gone && this._message?.name === name;
    this._busy = question.ask;
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
    const answer = await this._host.ask({ ask: 'task', name }).catch(() => null);
    if (answer?.type === 'task' && here()) {
      this.update(answer);
    }
  }

  private _sections(message: TaskMessage, task: TaskStanding): HTMLElement[] {
    const tell = (words: string) => this._status.replaceChildren(said(words));
    const definition = sqlText(message.definition, 'Copy the definition', 'definition', tell);
    return [
      ...(message.error ? [section('Why its last run failed', errorBlock(message.error))] : []),
      section(null, this._facts(message, task)),
      section(
        null,
        h('details', { 'data-key': 'query' }, h('summary', {}, 'Definition'), definition),
      ),
      section(
        'Runs',
        message.runs.length
          ? runsTable(`Runs of ${message.name}`, message.runs)
          : nothing('No run yet', 'Resume starts it, or Run now.'),
      ),
    ];
  }

  private _facts(message: TaskMessage, task: TaskStanding): HTMLElement {
    const { node } = message;
    const why = message.error === null ? node.error : null;
    return facts(
      ['runs', oneLine(task.runs_when)],
      task.condition ? ['when', oneLine(task.condition)] : null,
      task.next === null ? null : ['next', timeElement(task.next)],
      message.after.length ? ['after', this._links(message.after)] : null,
      message.reads.length ? ['reads', this._links(message.reads)] : null,
      message.writes.length ? ['writes', this._links(message.writes)] : null,
      why ? ['why it waits', clean(why)] : null,
      task.failures ? ['failed in a row', exact(task.failures)] : null,
      ['warehouse', oneLine(node.warehouse ?? '')],
      message.comment ? ['comment', clean(message.comment)] : null,
    );
  }

  private _links(names: readonly string[]): HTMLElement {
    const links = names.flatMap((name, i) => [
      i ? ', ' : null,
      button(oneLine(name), () => this._host.choose(name), {
        class: 'dtj-link',
        'data-key': `to:${name}`,
      }),
    ]);
    return h('span', {}, ...links);
  }
}

function section(title: string | null, ...content: Child[]): HTMLElement {
  return h('section', {}, title ? h('h4', {}, title) : null, ...content);
}
