/** Below the graph: how many tables and sinks are in which state, each a search for them. */
import { h } from '../elements/dom';
import { icon, STATE_TOKENS, stateGlyph } from '../icons/marks';
import { local, plural } from '../elements/units';
import type { GraphMessage, RefreshState, SinkState } from '../wire';
import { errorSign, lateSign, pauseSign, retrySign } from '../icons/signs';
import { hasStanding, isIdle, isQuiet, isSuspended, lagShare, spoken, type Now } from './words';

export class Legend {
  readonly element = h('div', { class: 'dtj-bar dtj-dag-foot' });
  private key = '';
  private chips: HTMLButtonElement[] = [];

  constructor(private readonly search: (word: string) => void) {}

  draw(message: GraphMessage, now: Now, searched: string): void {
    const tables = message.nodes.filter(hasStanding);
    const sinks = (state: SinkState): number =>
      tables.filter(node => node.sink?.state === state).length;
    const states = (Object.keys(STATE_TOKENS) as RefreshState[]).map(
      state =>
        [
          spoken(state),
          tables.filter(node => node.state === state && !isIdle(node) && !isQuiet(node)).length,
          () => icon(stateGlyph(state)),
        ] as const,
    );
    const late = tables.filter(node => (lagShare(node, now) ?? 0) > 1).length;
    const all = [
      ...states,
      ['retrying', sinks('RETRYING'), retrySign] as const,
      ['paused', sinks('PAUSED'), errorSign] as const,
      ['suspended', tables.filter(isSuspended).length, pauseSign] as const,
      ['not refreshed', tables.filter(isIdle).length, () => icon(stateGlyph('SKIPPED'))] as const,
      ['late', late, lateSign] as const,
    ].filter(([, many]) => many > 0);
    const about = this.about(message);
    const key = JSON.stringify([about, all.map(([word, many]) => [word, many])]);
    if (key !== this.key) {
      this.key = key;
      this.chips = all.map(([word, many, sign]) => this.chip(word, many, sign()));
      const text = h('span', { class: 'dtj-soft dtj-wide', style: 'font-size:11px' }, about);
      this.element.replaceChildren(...this.chips, h('span', { class: 'dtj-spring' }), text);
    }
    for (const chip of this.chips) {
      chip.setAttribute('aria-pressed', String(chip.dataset['word'] === searched));
    }
  }

  private about(message: GraphMessage): string {
    const many = (kind: string): number => message.nodes.filter(node => node.kind === kind).length;
    const parts = [plural(many('dynamic_table'), 'dynamic table')];
    for (const [kind, word] of [
      ['table', 'table'],
      ['view', 'view'],
      ['stream', 'stream'],
      ['sink', 'sink'],
      ['task', 'task'],
    ] as const) {
      parts.push(many(kind) ? plural(many(kind), word) : '');
    }
    parts.push(message.as_of ? `as of ${local(message.as_of, new Date().toISOString())}` : '');
    return parts.filter(Boolean).join(' · ');
  }

  private chip(word: string, many: number, sign: SVGElement): HTMLButtonElement {
    const chip = h(
      'button',
      {
        class: 'dtj-chip',
        type: 'button',
        'data-word': word,
        title: `Show: ${word}`,
        'aria-label': `${many} ${word}`,
      },
      sign,
      h('b', {}, String(many)),
      h('span', { class: 'dtj-wide' }, word),
    );
    chip.addEventListener('click', () =>
      this.search(chip.getAttribute('aria-pressed') === 'true' ? '' : word),
    );
    return chip;
  }
}
