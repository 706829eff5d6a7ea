/** The graph as a whole: what happens becomes an action, its new state is drawn, its effects are done. */
import { templateFor } from '../elements/template';
import type { Host, Question } from '../elements/dom';
import { sentence } from '../elements/parts';
import type { EventMessage, GraphMessage, TargetLag } from '../wire';
import { Clock } from '../elements/clock';
import { ableOf, type Command, menuOf, perform } from './commands';
import { pressed, type Keys } from './keyboard';
import { arrowFrom } from './moves';
import { Scene } from './scene';
import { firstState, type OpenColumns, type State, type Told } from './state';
import { update, type Action, type Effect, type Way } from './update';

interface Options {
  readonly rightward: boolean | null;
  readonly wheelPans: boolean;
  readonly clock: () => number;
}

const TICK = 1000;
/** How long it is said that something was done, in milliseconds. */
const TOLD = 8000;

export class Dag {
  private state: State;
  private readonly scene: Scene;
  private readonly clock: Clock;
  private readonly timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly host: Host,
    options: Options,
  ) {
    this.clock = new Clock(options.clock, host.live);
    this.state = firstState(host.live, options.rightward);
    const events = {
      act: (action: Action) => void this.act(action),
      search: (text: string) => this.search(text),
      able: () => ableOf(host),
      ask: (question: Question) => host.ask(question),
      example: () => templateFor(host),
      insert: host.cells ? (code: string) => host.cells?.insert(code) : null,
      now: () => this.clock.now(),
    };
    this.scene = new Scene(this.state, events, options.wheelPans);
    this.listen();
    this.timer = host.live
      ? setInterval(() => document.hidden || this.scene.tick(), TICK)
      : undefined;
  }

  get element(): HTMLElement {
    return this.scene.element;
  }

  update(message: GraphMessage): void {
    this.clock.tell(message.as_of);
    this.act({ is: 'graph', message });
  }

  happened(event: EventMessage): void {
    this.clock.tell(event.at);
    this.act({ is: 'event', event });
  }

  choose(name: string | null): void {
    this.act({ is: 'choose', name });
  }

  fit(): void {
    this.act({ is: 'fit' });
  }

  dispose(): void {
    clearInterval(this.timer);
    this.scene.dispose();
  }

  /** Whether the action changed anything. */
  private act(action: Action): boolean {
    const before = this.state;
    const [after, ...effects] = update(before, action, this.clock.now());
    this.state = after;
    if (after !== before) {
      this.scene.draw(before, after, action.is === 'unfold' ? action.name : null);
    }
    effects.forEach(effect => this.perform(effect));
    return after !== before;
  }

  private perform(effect: Effect): void {
    switch (effect.is) {
      case 'say': {
        this.scene.announcer.say(effect.text);
        return;
      }
      case 'look': {
        this.scene.look(effect.name);
        return;
      }
      case 'focus': {
        this.scene.focusNode(effect.name);
        return;
      }
      case 'describe': {
        this.scene.describe(effect.name);
        return;
      }
      case 'ask': {
        this.ask(effect.columns);
        return;
      }
      case 'tell': {
        this.tell(effect.name, effect.column);
        return;
      }
      case 'do': {
        void this.carryOut(effect.name, effect.command, effect.lag);
        return;
      }
      case 'fit': {
        this.scene.fit();
        return;
      }
    }
  }

  private async carryOut(name: string, command: Command, lag?: TargetLag): Promise<void> {
    try {
      const node = this.state.nodes.get(name);
      const text = node ? await perform(this.host, node, command, lag) : null;
      const told: Told | null = text === null ? null : { name, text, kind: 'done' };
      this.act({ is: 'told', told });
      setTimeout(() => this.state.told === told && this.act({ is: 'told', told: null }), TOLD);
    } catch (thrown) {
      this.act({ is: 'told', told: { name, text: sentence(thrown), kind: 'trouble' } });
    }
  }

  private tell(name: string, column?: string): void {
    if (column === undefined) {
      this.host.choose(name);
    } else {
      this.host.choose(name, column);
    }
  }

  private ask(columns: OpenColumns): void {
    this.host.ask({ ask: 'lineage', name: columns.name }).then(
      message => {
        const trouble =
          message.type === 'error'
            ? message.sentence
            : `Unexpected answer from the kernel: ${message.type}.`;
        const answer = message.type === 'lineage' ? message : trouble;
        this.act({ is: 'answer', columns, answer });
      },
      (error: unknown) => {
        const answer = error instanceof Error ? error.message : String(error);
        this.act({ is: 'answer', columns, answer });
      },
    );
  }

  /** Search, and go to the first match if none is in sight. */
  private search(text: string): void {
    this.act({ is: 'search', text });
    const { matches } = this.state;
    if (matches?.length && !matches.some(name => this.scene.isInSight(name))) {
      this.act({ is: 'step', by: 1 });
    }
  }

  // pointer, focus and keys

  private listen(): void {
    const { scene } = this;
    scene.tree.addEventListener('click', event => this.click(event));
    scene.tree.addEventListener('contextmenu', event => this.openMenu(event));
    scene.viewport.element.addEventListener('pointerdown', () => {
      this.act({ is: 'menu', name: null });
    });
    scene.tree.addEventListener('focusin', event => this.focus(scene.nodeAt(event.target)));
    scene.tree.addEventListener('pointerover', event => this.hover(scene.nodeAt(event.target)));
    scene.tree.addEventListener('pointerout', () => this.hover(null));
    scene.viewport.element.addEventListener('keydown', event => {
      if (pressed(event, scene.nodeAt(event.target), this.keys)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  private click(event: MouseEvent): void {
    const name = this.scene.nodeAt(event.target);
    if (name === null) {
      return;
    }
    if ((event.target as Element).closest('.dtj-node-stages')) {
      this.act({ is: 'unfold', name });
    } else if ((event.target as Element).closest('.dtj-node-more')) {
      this.act({ is: 'menu', name });
    } else {
      this.act({ is: 'pick', name });
      this.scene.focusNode(name);
    }
  }

  /** By the right button, or by the key that means the same. */
  private openMenu(event: Event): void {
    const name = this.scene.nodeAt(event.target);
    if (name !== null) {
      event.preventDefault();
      event.stopPropagation();
      this.act({ is: 'menu', name });
    }
  }

  private focus(name: string | null): void {
    if (name !== null) {
      this.act({ is: 'rove', name });
      this.scene.describe(name);
      if (this.scene.cardOf(name)!.element.matches(':focus-visible')) {
        this.act({ is: 'look', name });
      }
    }
  }

  private hover(name: string | null): void {
    this.act({ is: 'hover', name });
  }

  /** As chosen from the menu of a node, where that has it. */
  private command(name: string, command: Command): void {
    const node = this.state.nodes.get(name);
    if (
      node &&
      menuOf(node, ableOf(this.host))
        .flat()
        .some(entry => entry.command === command)
    ) {
      this.act({ is: 'menu', name });
      this.act({ is: 'command', command });
    }
  }

  private goto(name: string | null | undefined): void {
    if (name !== null && name !== undefined) {
      this.act({ is: 'goto', name });
    }
  }

  private narrowAt(name: string | null, way: Way): void {
    if (name !== null && name !== this.state.chosen && this.state.scope.centre === null) {
      this.choose(name);
    }
    this.act({ is: 'narrow', way });
  }

  private readonly keys: Keys = {
    zoom: factor => this.scene.zoom(factor),
    fit: () => this.fit(),
    read: () => void this.act({ is: 'read' }),
    menu: name => void this.act({ is: 'menu', name }),
    command: (name, command) => this.command(name, command),
    find: () => this.scene.finder.focus(),
    step: by => void this.act({ is: 'step', by }),
    narrow: (name, way) => this.narrowAt(name, way),
    unfold: name => void this.act({ is: 'unfold', name }),
    pick: name => void this.act({ is: 'pick', name }),
    first: () => this.goto(this.state.shape.names[0]),
    last: () => this.goto(this.state.shape.names.at(-1)),
    follow: arrow => {
      const { roving, shape } = this.state;
      const { layout, rightward } = this.scene;
      this.goto(arrowFrom(roving ?? '', arrow, shape, layout, rightward));
    },
    pan: (dx, dy) => this.scene.viewport.pan(dx, dy),
    escape: () => this.act({ is: 'back' }),
  };
}
