/** What is over the graph for a while: the menu of a node, and the outcome of a command. */
import { h, type Question } from '../elements/dom';
import { button } from '../elements/parts';
import type { Rectangle } from './camera';
import type { GraphNode, LiveMessage } from '../wire';
import type { Able } from './commands';
import type { Size } from './layout/index';
import { nodeMenu, type Reader } from './menu';
import { reach } from './shape';
import type { OpenMenu, State, Told } from './state';
import type { Action } from './update';

export interface OverlayEvents {
  readonly act: (action: Action) => void;
  readonly able: () => Able;
  readonly ask: (question: Question) => Promise<LiveMessage>;
}

export class Overlay {
  private readonly told = h('div', { class: 'dtj-told' });
  private menu: HTMLElement | null = null;
  private shown: OpenMenu | null = null;
  private said: Told | null = null;
  private box: Rectangle | null = null;

  constructor(
    private readonly view: HTMLElement,
    private readonly events: OverlayEvents,
  ) {
    view.append(this.told);
    this.told.addEventListener('pointerdown', event => event.stopPropagation());
  }

  draw(state: State, box: Rectangle | null): void {
    if (state.menu !== this.shown) {
      this.shown = state.menu;
      this.menu?.remove();
      this.menu = state.menu && this.makeMenu(state, state.menu);
      if (this.menu) {
        this.view.append(this.menu);
        this.put(box);
        this.menu.querySelector<HTMLElement>('[role=menuitem], input, .dtj-main')?.focus();
      }
    }
    if (state.told !== this.said) {
      this.said = state.told;
      this.drawTold(state.told);
    }
  }

  /** Where the menu is, next to its node. */
  put(box: Rectangle | null): void {
    this.box = box;
    if (this.menu) {
      const { clientWidth, clientHeight } = this.view;
      putBeside(this.menu, box, { width: clientWidth, height: clientHeight });
    }
  }

  private makeMenu(state: State, menu: OpenMenu): HTMLElement | null {
    const { act, able, ask } = this.events;
    const node = state.nodes.get(menu.name);
    const below = [...reach(menu.name, state.shape.targets)].slice(1);
    const also = below.filter(name => state.nodes.get(name)?.kind === 'dynamic_table');
    const events = {
      chosen: (command: Extract<Action, { is: 'command' }>['command']) =>
        act({ is: 'command', command }),
      confirmed: (lag?: Extract<Action, { is: 'confirm' }>['lag']) => act({ is: 'confirm', lag }),
      close: () => act({ is: 'menu', name: null }),
      ask: (what: 'verify' | 'failure') => ask({ ask: what, name: menu.name }),
      grown: () => this.put(this.box),
      go: (name: string) => {
        act({ is: 'menu', name: null });
        act({ is: 'goto', name });
      },
    };
    const readers = readersOf(state, menu.name);
    return node ? nodeMenu(menu, { node, able: able(), also, readers }, events) : null;
  }

  private drawTold(told: Told | null): void {
    if (told === null) {
      this.told.replaceChildren();
      return;
    }
    this.told.dataset['kind'] = told.kind;
    this.told.replaceChildren(
      h('span', { 'aria-hidden': 'true' }, told.kind === 'done' ? '✓' : '✗'),
      h('span', {}, told.text),
      button('✕', () => this.events.act({ is: 'told', told: null }), {
        class: 'dtj-button dtj-icon',
        'aria-label': 'Close',
      }),
    );
  }
}

/** All below a node, a hidden stage counted as its table: first those next to it. */
export function readersOf({ message, nodes }: State, name: string): Reader[] {
  const owner = (of: string): string => nodes.get(of)?.parent ?? of;
  const below = new Map<string, Set<string>>();
  for (const { source, target } of message.edges) {
    const from = owner(source);
    below.set(from, (below.get(from) ?? new Set()).add(owner(target)));
  }
  const direct = below.get(name) ?? new Set<string>();
  const found = [...reach(name, new Map([...below].map(([of, to]) => [of, [...to]])))];
  const order = [...direct, ...found.filter(of => !direct.has(of))].filter(of => of !== name);
  return order
    .map(of => nodes.get(of))
    .filter((node): node is GraphNode => node !== undefined)
    .map(node => ({ node, direct: direct.has(node.name) }));
}

/** Next to a box on the screen, on the side where there is room. */
export function putBeside(element: HTMLElement, box: Rectangle | null, view: Size): void {
  if (box === null) {
    return;
  }
  const [wide, high] = [element.offsetWidth, element.offsetHeight];
  const right = box.x + box.width + 10;
  const left = box.x - 10 - wide;
  const within = Math.max(8, Math.min(right, view.width - wide - 8));
  const beside = right + wide <= view.width - 8 ? right : left >= 8 ? left : within;
  element.style.left = `${beside}px`;
  element.style.top = `${Math.max(8, Math.min(box.y, view.height - high - 8))}px`;
}
