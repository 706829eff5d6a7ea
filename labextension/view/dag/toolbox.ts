/** The buttons of a graph: which part of it, and how large. */
import { h } from '../elements/dom';
import type { Scope } from './shape';
import { toolSign } from '../icons/signs';

export interface ToolboxEvents {
  zoom(factor: number): void;
  fit(): void;
  turn(): void;
  narrow(way: 'upstream' | 'downstream'): void;
  whole(): void;
}

export class Toolbox {
  /** Above the graph. */
  readonly bar: HTMLElement;
  /** In its corner. */
  readonly corner: HTMLElement;
  private readonly upstream: HTMLButtonElement;
  private readonly downstream: HTMLButtonElement;
  private readonly whole: HTMLButtonElement;
  private readonly turn: HTMLButtonElement;

  constructor(events: ToolboxEvents) {
    this.upstream = button(
      'upstream',
      'Only what is upstream of the chosen node ( u )',
      () => events.narrow('upstream'),
      'Upstream',
    );
    this.downstream = button(
      'downstream',
      'Only what is downstream of the chosen node ( d )',
      () => events.narrow('downstream'),
      'Downstream',
    );
    this.whole = button('whole', 'The whole graph ( Esc )', () => events.whole(), 'All');
    this.turn = button('right', 'Turn the graph', () => events.turn());
    this.bar = h('div', { class: 'dtj-bar' }, this.upstream, this.downstream, this.whole);
    this.corner = h(
      'div',
      { class: 'dtj-zoom', role: 'group', 'aria-label': 'Zoom' },
      this.turn,
      button('fit', 'All in view ( 0 )', () => events.fit()),
      button('in', 'Larger ( + )', () => events.zoom(1.25)),
      button('out', 'Smaller ( - )', () => events.zoom(0.8)),
    );
    this.corner.addEventListener('pointerdown', event => event.stopPropagation());
  }

  draw(chosen: boolean, scope: Scope, rightward: boolean, any: boolean): void {
    const part = scope.centre !== null;
    this.upstream.disabled = this.downstream.disabled = !(chosen || part);
    this.upstream.setAttribute('aria-pressed', String(part && scope.upstream));
    this.downstream.setAttribute('aria-pressed', String(part && scope.downstream));
    this.whole.hidden = !part;
    this.whole.style.display = part ? '' : 'none';
    this.corner.style.display = any ? '' : 'none';
    const way = rightward ? 'down' : 'right';
    if (this.turn.dataset['way'] !== way) {
      this.turn.dataset['way'] = way;
      this.turn.replaceChildren(toolSign(way));
      this.turn.title = `Let the edges go ${way}`;
      this.turn.setAttribute('aria-label', this.turn.title);
    }
  }
}

function button(
  tool: Parameters<typeof toolSign>[0],
  title: string,
  act: () => void,
  word?: string,
): HTMLButtonElement {
  const made = h(
    'button',
    { class: `dtj-button${word ? '' : ' dtj-icon'}`, type: 'button', title, 'aria-label': title },
    toolSign(tool),
    word && h('span', { class: 'dtj-wide' }, word),
  );
  made.addEventListener('click', act);
  return made;
}
