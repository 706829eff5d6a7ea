/** All about one task, and what can be done with it. */
import { runsTable } from './runs';
import type { Folding } from './history';
import { section, StandingView } from './standing';
import { h } from '../elements/dom';
import { errorBlock, facts, nothing, pill } from '../elements/parts';
import { clean, oneLine } from '../elements/text';
import { exact, timeElement } from '../elements/units';
import type { Host, Question, View } from '../elements/dom';
import type { TaskMessage } from '../wire';

/** Shows a task; its buttons act by the host, where there is a kernel. */
export function mountTask(root: HTMLElement, host: Host): View<TaskMessage> {
  return new TaskView(root, host, 'task');
}

class TaskView extends StandingView<TaskMessage> {
  /** Whether runs that had nothing to do are listed; null until the user chose. */
  private _all: boolean | null = null;

  protected title({ name, node }: TaskMessage): HTMLElement {
    const { state } = node.task!;
    const started = state === 'STARTED';
    const act = (ask: Question['ask'], words: string, attributes = {}) =>
      this.action(ask, words, () => void this.do({ ask, name }), attributes);
    return this.headOf(name, pill(state, started ? 'ok' : 'warn'), () => [
      act('refresh', 'Run now', { class: 'dtj-button dtj-main' }),
      started ? act('suspend', 'Suspend') : act('resume', 'Resume'),
    ]);
  }

  protected sections(message: TaskMessage): HTMLElement[] {
    return [
      ...(message.error ? [section('Why its last run failed', errorBlock(message.error))] : []),
      section(null, this._facts(message)),
      this.definition(message),
      section(
        'Runs',
        message.runs.length
          ? runsTable(`Runs of ${message.name}`, message.runs, this._folding())
          : nothing('No run yet', 'Resume starts it, or Run now.'),
      ),
    ];
  }

  private _facts(message: TaskMessage): HTMLElement {
    const { node } = message;
    const task = node.task!;
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

  private _folding(): Folding {
    const switched = (all: boolean) => {
      this._all = all;
      this._draw();
    };
    return { all: this._all, switched };
  }

  private _links(names: readonly string[]): HTMLElement {
    const links = names.flatMap((name, i) => [i ? ', ' : null, this.link(name, `to:${name}`)]);
    return h('span', {}, ...links);
  }
}
