/** The buttons of a graph: which part of it, and how large. */
import { h } from '../elements/dom';
import type { Format } from './picture';
import type { Scope } from './shape';
import { toolSign } from '../icons/signs';

export interface ToolboxEvents {
  zoom(factor: number): void;
  fit(): void;
  read(): void;
  turn(): void;
  narrow(way: 'upstream' | 'downstream'): void;
  whole(): void;
  save(format: Format): void;
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
  private readonly read: HTMLButtonElement;

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
    this.read = button('read', 'At its own size ( 1 )', () => events.read());
    this.bar = h(
      'div',
      { class: 'dtj-bar' },
      this.upstream,
      this.downstream,
      this.whole,
      saver(events),
    );
    this.corner = h(
      'div',
      { class: 'dtj-zoom', role: 'group', 'aria-label': 'Zoom' },
      this.turn,
      this.read,
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
      this.turn.title = `Lay the graph out ${way}`;
      this.turn.setAttribute('aria-label', this.turn.title);
    }
  }
}

/** A list of formats that looks like a button; it stays at its sign. */
function saver(events: ToolboxEvents): HTMLElement {
  const title = 'Save the graph as a picture';
  const list = h(
    'select',
    { class: 'dtj-select dtj-saver', title, 'aria-label': title },
    h('option', { value: '' }, '⤓'),
    ...(['SVG', 'PNG'] as const).map(format => h('option', { value: format }, `Save as ${format}`)),
  );
  list.addEventListener('change', () => {
    const format = list.value as Format | '';
    list.value = '';
    if (format) {
      events.save(format);
    }
  });
  return list;
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
