/** All about one sink, and what can be done with it. */
import { deliveriesTable } from './deliveries';
import { section, StandingView } from './standing';
import { h } from '../elements/dom';
import { button, errorBlock, facts, nothing, pill } from '../elements/parts';
import { SINK_TOKENS } from '../icons/marks';
import { RESET } from '../elements/sqlTexts';
import { clean, oneLine } from '../elements/text';
import { duration, exact, timeElement } from '../elements/units';
import type { Host, Question, View } from '../elements/dom';
import type { SinkMessage } from '../wire';

/** Shows a sink; its buttons act by the host, where there is a kernel. */
export function mountSink(root: HTMLElement, host: Host): View<SinkMessage> {
  return new SinkView(root, host, 'sink');
}

type Form = 'suspend' | 'reset' | null;

class SinkView extends StandingView<SinkMessage> {
  private _open: Form = null;

  protected override another(): void {
    super.another();
    this._open = null;
  }

  protected title({ name, node }: SinkMessage): HTMLElement {
    const { state, dead_letters } = node.sink!;
    const run = (ask: Question['ask']) => () => void this.do({ ask, name });
    const asking = (form: 'suspend' | 'reset', words: string) =>
      this.action(form, words, () => this._show(form), {
        'aria-expanded': String(this._open === form),
      });
    return this.headOf(name, pill(state, SINK_TOKENS[state]), () => [
      this.action('refresh', 'Deliver now', run('refresh'), { class: 'dtj-button dtj-main' }),
      state === 'SUSPENDED' || state === 'PAUSED'
        ? this.action('resume', 'Resume', run('resume'))
        : null,
      state === 'SUSPENDED' ? null : asking('suspend', 'Suspend'),
      dead_letters
        ? this.action('retry', 'Send dead letters again', run('retry_dead_letters'))
        : null,
      asking('reset', 'Reset …'),
    ]);
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
    const name = this.name;
    const yes = form === 'reset' ? 'Reset' : 'Suspend';
    const text =
      form === 'reset'
        ? RESET(oneLine(name))
        : `Suspend ${oneLine(name)}? Nothing is delivered until it is resumed.`;
    const sure = () => {
      this._show(null);
      void this.do({ ask: form, name });
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

  protected sections(message: SinkMessage): HTMLElement[] {
    return [
      ...(message.error ? [section('Why it does not deliver', errorBlock(message.error))] : []),
      section(null, this._facts(message)),
      this.definition(message),
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

  private _facts(message: SinkMessage): HTMLElement {
    const { node } = message;
    const sink = node.sink!;
    const source = this.link(sink.source, `up:${sink.source}`);
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
      sink.dead_letters ? ['dead letters', exact(sink.dead_letters)] : null,
      ['key', message.key.length ? oneLine(message.key.join(', ')) : 'as declared'],
      message.reductions.length ? ['reduced', oneLine(message.reductions.join(', '))] : null,
      message.delta_updates ? ['updates', 'changes are added to the target'] : null,
      message.partitions > 1 ? ['tasks', exact(message.partitions)] : null,
      ['warehouse', oneLine(node.warehouse ?? '')],
      message.comment ? ['comment', clean(message.comment)] : null,
    );
  }
}
