/** The graph as a whole: what is shown of which message, chosen, searched for, followed. */
import { h, type Host } from '../elements/dom';
import { oneLine } from '../elements/text';
import type { EventMessage, GraphMessage, GraphNode, LineageMessage } from '../wire';
import { Announcer } from './announcer';
import * as cameras from './camera';
import { Card, cardSize, set } from './card';
import { Clock } from './clock';
import { Columns } from './columns';
import { Edges, toggle } from './edges';
import { empty } from './empty';
import { Finder } from './finder';
import { layered, type Layout, type Size } from './layout/index';
import { Layouts } from './layouts';
import { Legend } from './legend';
import { flowOf, type Flow } from './lineage';
import { pressed, type Keys } from './keyboard';
import { arrowFrom } from './moves';
import { paint } from './paint';
import { found } from './search';
import { homes, shapeOf, stagesOf, topologyKey, WHOLE, type Scope, type Shape } from './shape';
import { drawStages } from './stages';
import { Toolbox } from './toolbox';
import { Viewport } from './viewport';
import { changeText, type Now } from './words';

interface Options {
  readonly rightward: boolean;
  readonly wheelPans: boolean;
  readonly clock: () => number;
}

const layouts = new Layouts();
const TICK = 1000;
const FILLED_A_FRAME = 24;
/** In a view narrower than this, a graph of so many nodes gets narrower too: pixels for each card. */
const NARROW_WIDTH = 640;
const NARROW_NODES = 40;
const NARROW_CARD = 150;
let instances = 0;

export class Dag {
  readonly element: HTMLElement;
  private readonly viewport: Viewport;
  private readonly tree = h('div', {
    class: 'dtj-nodes',
    role: 'tree',
    'aria-label': 'Graph of dynamic tables',
  });
  private readonly edges = new Edges();
  private readonly finder: Finder;
  private readonly legend: Legend;
  private readonly toolbox: Toolbox;
  private readonly announcer = new Announcer();
  private readonly timer: ReturnType<typeof setInterval> | undefined;
  private readonly id = `dtj-dag-${++instances}`;
  private nextId = 0;

  private message: GraphMessage = { type: 'graph', version: 1, nodes: [], edges: [], as_of: null };
  private nodes = new Map<string, GraphNode>();
  private home = new Map<string, string>();
  private stages = new Map<string, GraphNode[]>();
  private shape: Shape = shapeOf(this.message, WHOLE);
  private layout: Layout = { boxes: new Map(), routes: [], width: 0, height: 0 };
  private key = '';
  private readonly cards = new Map<string, Card>();
  private readonly clock: Clock;

  private scope: Scope = WHOLE;
  private rightward: boolean;
  private chosen: string | null = null;
  private roving: string | null = null;
  private hovered: string | null = null;
  private matches: string[] | null = null;
  private match = -1;
  private columns: Columns | null = null;
  private flow: Flow | null = null;
  /** Cards in or near the view: only they are moved by their animations. */
  private seen: ReadonlySet<Card> = new Set();
  private size: Size | null = null;
  private byHand = false;
  private fitted = false;

  constructor(
    private readonly host: Host,
    options: Options,
  ) {
    this.clock = new Clock(options.clock, host.live);
    this.rightward = options.rightward;
    this.viewport = new Viewport({
      wheelPans: options.wheelPans,
      changed: () => this.looked(),
      byHand: () => (this.byHand = true),
    });
    this.finder = new Finder({
      searched: text => this.search(text),
      step: by => this.step(by),
      left: () => this.focusNode(this.roving),
    });
    this.legend = new Legend(word => {
      this.finder.text = word;
      this.search(word);
    });
    this.toolbox = new Toolbox({
      zoom: factor => this.viewport.zoom(factor, undefined, true),
      fit: () => this.fit(),
      turn: () => this.turn(),
      narrow: way => this.narrow(way),
      whole: () => this.widen(),
    });
    this.viewport.world.append(this.edges.element, this.tree);
    this.viewport.element.append(this.toolbox.corner);
    this.element = h(
      'div',
      { class: 'dtj dtj-dag', 'data-lm-suppress-shortcuts': 'true' },
      h(
        'div',
        { class: 'dtj-bar dtj-dag-top' },
        this.finder.element,
        h('span', { class: 'dtj-spring' }),
        this.toolbox.bar,
      ),
      this.viewport.element,
      this.legend.element,
      this.announcer.element,
    );
    this.listen();
    this.timer = host.live ? setInterval(() => this.tick(), TICK) : undefined;
    this.drawState();
  }

  update(message: GraphMessage): void {
    const before = this.nodes;
    this.message = message;
    this.clock.tell(message.as_of);
    this.index();
    if (this.scope.centre !== null && !this.nodes.has(this.scope.centre)) {
      this.scope = { ...WHOLE, unfolded: this.scope.unfolded };
    }
    this.reshape();
    for (const node of message.nodes) {
      this.announce(before.get(node.name), node);
      const card = this.cards.get(node.name);
      if (card && !same(card.node, node)) {
        this.refresh(node);
      }
    }
    if (this.chosen !== null && !this.nodes.has(this.chosen)) {
      this.choose(null);
    }
    this.search(this.finder.text, false);
    this.drawState();
  }

  happened(event: EventMessage): void {
    this.clock.tell(event.at);
    const node = event.node;
    const before = node && this.nodes.get(node.name);
    if (!node || !before || same(before, node)) {
      return;
    }
    this.message = {
      ...this.message,
      as_of: this.message.as_of === null ? null : event.at,
      nodes: this.message.nodes.map(other => (other.name === node.name ? node : other)),
    };
    this.nodes.set(node.name, node);
    this.stages = stagesOf(this.message.nodes);
    this.announce(before, node);
    this.refresh(node);
    this.drawState();
  }

  choose(name: string | null): void {
    this.closeColumns();
    const shown = name === null ? null : (this.home.get(name) ?? null);
    this.setChosen(shown);
    const box = shown === null ? undefined : this.layout.boxes.get(shown);
    if (box) {
      this.viewport.look(cameras.showing(this.viewport.camera, box, this.viewport.size), true);
    }
  }

  fit(): void {
    this.byHand = false;
    this.viewport.look(cameras.fitted(this.layout, this.viewport.size), this.fitted);
    this.fitted = this.viewport.shown;
  }

  dispose(): void {
    clearInterval(this.timer);
    this.viewport.dispose();
    this.announcer.dispose();
    this.element.remove();
  }

  // what is shown

  private index(): void {
    this.nodes = new Map(this.message.nodes.map(node => [node.name, node]));
    this.stages = stagesOf(this.message.nodes);
  }

  /** Lay out what the scope leaves of the message, if that is another graph than the one shown. */
  private reshape(): boolean {
    this.home = homes(this.message.nodes, this.scope.unfolded);
    this.shape = shapeOf(this.message, this.scope);
    const kinds = this.shape.names.map(name => this.nodes.get(name)!.kind);
    const breadth = this.breadth();
    const key = JSON.stringify([topologyKey(this.shape), kinds, this.rightward, breadth]);
    if (key === this.key) {
      return false;
    }
    this.key = key;
    this.layout = layouts.get(key, () =>
      layered(
        this.shape.names,
        name => cardSize(this.nodes.get(name)!),
        this.shape.edges.map(edge => [edge.source, edge.target] as const),
        breadth === null ? { rightward: this.rightward } : { breadth },
      ),
    );
    this.putCards();
    this.edges.draw(this.layout, this.rightward);
    this.shape.names.forEach(name => this.refreshEdges(name));
    if (!this.byHand) {
      this.fit();
    }
    this.paint();
    return true;
  }

  /** How many cards a layer may have for a small graph to be legible in a narrow view; null for any. */
  private breadth(): number | null {
    const { width } = this.viewport.size;
    const small = this.shape.names.length <= NARROW_NODES;
    return !small || this.rightward || width >= NARROW_WIDTH
      ? null
      : Math.max(2, Math.floor(width / NARROW_CARD));
  }

  private putCards(): void {
    const had = this.tree.contains(document.activeElement);
    for (const [name, card] of this.cards) {
      if (!this.layout.boxes.has(name)) {
        card.element.remove();
        this.cards.delete(name);
      }
    }
    const elements = this.shape.names.map(name => {
      const node = this.nodes.get(name)!;
      const card = this.cards.get(name) ?? new Card(node, `${this.id}-${this.nextId++}`);
      card.element.dataset['name'] = name;
      this.cards.set(name, card);
      card.place(this.layout.boxes.get(name)!);
      this.drawStages(card);
      return card.element;
    });
    this.tree.replaceChildren(...elements);
    const first = this.shape.names[0] ?? null;
    this.rove(this.roving !== null && this.cards.has(this.roving) ? this.roving : first);
    if (had) {
      this.focusNode(this.roving);
    }
  }

  private refresh(node: GraphNode): void {
    this.cards.get(node.name)?.update(node, this.now());
    this.refreshEdges(node.name);
    const parent =
      node.kind === 'stage' && node.parent !== null ? this.cards.get(node.parent) : undefined;
    if (parent) {
      this.drawStages(parent);
    }
  }

  private refreshEdges(name: string): void {
    this.edges.refresh(name, other => this.nodes.get(other));
  }

  private drawStages(card: Card): void {
    const { name } = card.node;
    drawStages(card, this.stages.get(name) ?? [], this.scope.unfolded.has(name));
  }

  private drawState(): void {
    const { nodes } = this.message;
    this.legend.draw(this.message, this.now(), this.finder.text.trim());
    toggle(this.element, 'dtj-bare', nodes.length === 0);
    const shown = this.viewport.element.querySelector('.dtj-empty');
    if (nodes.length === 0 && !shown) {
      this.viewport.element.append(empty());
    } else if (nodes.length > 0) {
      shown?.remove();
    }
    this.toolbox.draw(this.chosen !== null, this.scope, this.rightward, nodes.length > 0);
  }

  private now(): Now {
    return this.clock.now();
  }

  private tick(): void {
    if (document.hidden) {
      return;
    }
    const now = this.now();
    this.inSight(card => card.tick(now), 0);
    this.legend.draw(this.message, now, this.finder.text.trim());
  }

  // the camera

  private looked(): void {
    if (
      !this.byHand &&
      this.viewport.shown &&
      !(this.resized() && this.reshape()) &&
      !this.fitted
    ) {
      this.fit();
    }
    const { scale } = this.viewport.camera;
    const detail = cameras.detailAt(scale);
    set(this.element, 'data-detail', detail);
    set(this.element, 'data-few', String(this.shape.names.length <= NARROW_NODES));
    this.edges.thicken(scale);
    const seen = new Set<Card>();
    if (detail !== 'far') {
      this.inSight(card => seen.add(card), 200);
      this.fill(seen);
    }
    if (!this.viewport.dragging) {
      // nothing moves by itself meanwhile
      this.edges.see(cameras.inView(this.viewport.camera, this.viewport.size));
      this.seen.forEach(card => seen.has(card) || card.element.classList.remove('dtj-seen'));
      seen.forEach(card => this.seen.has(card) || card.element.classList.add('dtj-seen'));
      this.seen = seen;
    }
    this.putColumns();
  }

  /** Fill empty cards, some in each frame, so that no frame is late for it. */
  private fill(cards: Iterable<Card>): void {
    const now = this.now();
    let left = FILLED_A_FRAME;
    for (const card of cards) {
      if (!card.filled && left-- === 0) {
        this.viewport.later();
        return;
      }
      card.fill(now);
    }
  }

  /** Whether the view is another size than when the graph was last fitted into it. */
  private resized(): boolean {
    const { width, height } = this.viewport.size;
    const before = this.size;
    this.size = { width, height };
    if (before && (before.width !== width || before.height !== height)) {
      this.fitted = false;
      return true;
    }
    return !before;
  }

  private inSight(act: (card: Card) => void, margin: number): void {
    const seen = cameras.inView(this.viewport.camera, this.viewport.size, margin);
    for (const [name, box] of this.layout.boxes) {
      if (cameras.meets(seen, box)) {
        act(this.cards.get(name)!);
      }
    }
  }

  /** Change what is shown, with `name` staying where it is on the screen. */
  private around(name: string | null, change: () => void): void {
    const before = name === null ? undefined : this.layout.boxes.get(name);
    change();
    const keep = this.byHand;
    this.byHand = before !== undefined;
    const another = this.reshape();
    this.byHand = keep;
    const after = name === null ? undefined : this.layout.boxes.get(name);
    if (another && before && after) {
      const { camera } = this.viewport;
      const shift = [
        (before.x - after.x) * camera.scale,
        (before.y - after.y) * camera.scale,
      ] as const;
      this.viewport.look(cameras.moved(camera, ...shift));
    }
    this.drawState();
  }

  private turn(): void {
    this.rightward = !this.rightward;
    this.byHand = false;
    this.reshape();
    this.drawState();
  }

  /** Show what lies upstream or downstream of the chosen node only; once more to show all. */
  private narrow(way: 'upstream' | 'downstream'): void {
    const centre = this.chosen ?? this.scope.centre;
    if (centre === null) {
      return;
    }
    const { unfolded } = this.scope;
    const before = this.scope.centre === centre ? this.scope : WHOLE;
    const next = {
      unfolded,
      centre,
      upstream: before.upstream !== (way === 'upstream'),
      downstream: before.downstream !== (way === 'downstream'),
    };
    this.scope = next.upstream || next.downstream ? next : { ...next, centre: null };
    this.rescoped();
  }

  private widen(): void {
    this.scope = { ...WHOLE, unfolded: this.scope.unfolded };
    this.rescoped();
  }

  private rescoped(): void {
    this.byHand = false;
    this.reshape();
    this.search(this.finder.text, false);
    this.drawState();
    const { upstream, downstream } = this.scope;
    const part = [upstream ? 'upstream' : '', downstream ? 'downstream' : '']
      .filter(Boolean)
      .join(' and ');
    this.announcer.say(
      part
        ? `${this.shape.names.length} nodes, ${part} of ${oneLine(this.scope.centre!)}`
        : 'All nodes',
    );
  }

  private unfold(name: string): void {
    const stages = this.stages.get(name);
    if (!stages) {
      return;
    }
    this.around(name, () => {
      const unfolded = new Set(this.scope.unfolded);
      if (!unfolded.delete(name)) {
        unfolded.add(name);
      }
      this.scope = { ...this.scope, unfolded };
    });
    this.looked();
  }

  // choosing, searching, following

  private setChosen(name: string | null): void {
    if (this.chosen !== null) {
      set(this.cards.get(this.chosen)?.element ?? this.tree, 'aria-selected', null);
    }
    this.chosen = name;
    if (name !== null) {
      set(this.cards.get(name)?.element ?? this.tree, 'aria-selected', 'true');
      this.rove(name);
    }
    this.flow = null;
    this.paint();
    this.drawState();
  }

  /** The user chose a node: the host hears of it, and its columns unfold. */
  private pick(name: string): void {
    const again = this.chosen === name && this.columns !== null;
    this.closeColumns();
    this.setChosen(name);
    if (!again) {
      this.openColumns(name);
    }
    this.host.choose(name);
  }

  private openColumns(name: string): void {
    if (!this.host.live) {
      return;
    }
    const columns = new Columns(name, {
      follow: column => this.follow(columns, column),
      close: () => this.closeColumns(true),
    });
    this.columns = columns;
    this.viewport.element.append(columns.element);
    this.putColumns();
    this.host.ask({ ask: 'lineage', name }).then(
      answer => {
        if (answer.type === 'lineage') {
          this.lineageOf.set(columns, answer);
          columns.show(answer);
        } else {
          columns.show(
            answer.type === 'error' ? answer.sentence : `The kernel answered with ${answer.type}.`,
          );
        }
        this.putColumns();
      },
      (error: unknown) => columns.show(error instanceof Error ? error.message : String(error)),
    );
  }

  private readonly lineageOf = new WeakMap<Columns, LineageMessage>();

  private follow(columns: Columns, column: string | null): void {
    const lineage = this.lineageOf.get(columns);
    this.flow = lineage && column !== null ? flowOf(lineage, column) : null;
    this.paint();
    if (column !== null) {
      this.host.choose(columns.name, column);
    }
  }

  private closeColumns(focus = false): boolean {
    if (!this.columns) {
      return false;
    }
    this.columns.element.remove();
    this.columns = null;
    this.flow = null;
    this.paint();
    if (focus) {
      this.focusNode(this.roving);
    }
    return true;
  }

  /** The columns lie beside their card, on the side where there is room. */
  private putColumns(): void {
    const box = this.columns && this.layout.boxes.get(this.columns.name);
    if (!this.columns || !box) {
      return;
    }
    const { x, y, scale } = this.viewport.camera;
    const { width, height } = this.viewport.size;
    const { element } = this.columns;
    const [wide, high] = [element.offsetWidth, element.offsetHeight];
    const right = x + (box.x + box.width) * scale + 10;
    const left = x + box.x * scale - 10 - wide;
    const beside =
      right + wide <= width - 8
        ? right
        : left >= 8
          ? left
          : Math.max(8, Math.min(right, width - wide - 8));
    element.style.left = `${beside}px`;
    element.style.top = `${Math.max(8, Math.min(y + box.y * scale, height - high - 8))}px`;
  }

  private search(text: string, moving = true): void {
    const shown = this.shape.names.map(name => this.nodes.get(name)!);
    const before = this.match >= 0 ? this.matches?.[this.match] : undefined;
    this.matches = found(shown, text, this.now());
    this.match = before === undefined || moving ? -1 : (this.matches?.indexOf(before) ?? -1);
    this.finder.count(this.match, this.matches?.length ?? null);
    this.paint();
    this.legend.draw(this.message, this.now(), text.trim());
    if (moving && this.matches?.length) {
      const seen = cameras.inView(this.viewport.camera, this.viewport.size);
      if (!this.matches.some(name => cameras.meets(seen, this.layout.boxes.get(name)!))) {
        this.step(1);
      }
    }
  }

  private step(by: number): void {
    const many = this.matches?.length ?? 0;
    if (!this.matches || many === 0) {
      return;
    }
    this.match = this.match < 0 ? (by > 0 ? 0 : many - 1) : (this.match + by + many) % many;
    const name = this.matches[this.match]!;
    this.finder.count(this.match, many);
    this.rove(name);
    this.paint();
    this.show(name);
    const card = this.cards.get(name)!;
    card.describe(this.now());
    this.announcer.say(card.element.getAttribute('aria-label')!);
  }

  private show(name: string): void {
    const box = this.layout.boxes.get(name);
    if (box) {
      const next = cameras.showing(this.viewport.camera, box, this.viewport.size);
      this.byHand = true;
      this.viewport.look(next, true);
    }
  }

  private paint(): void {
    const { flow, matches } = this;
    const here = this.match >= 0 ? matches?.[this.match] : undefined;
    const at = this.hovered ?? this.chosen;
    paint({ flow, matches, here, at }, this.cards, this.edges, this.home);
  }

  private announce(before: GraphNode | undefined, after: GraphNode): void {
    const text = after.kind === 'dynamic_table' ? changeText(before, after) : null;
    if (text) {
      this.announcer.say(text);
    }
  }

  // focus, pointer and keys

  private rove(name: string | null): void {
    const old = this.roving === null ? undefined : this.cards.get(this.roving);
    if (old) {
      set(old.element, 'tabindex', '-1');
    }
    this.roving = name;
    const card = name === null ? undefined : this.cards.get(name);
    if (card) {
      set(card.element, 'tabindex', '0');
    }
  }

  private focusNode(name: string | null): void {
    const card = name === null ? undefined : this.cards.get(name);
    (card?.element ?? this.viewport.element).focus({ preventScroll: true });
  }

  private nameAt(target: EventTarget | null): string | null {
    const node = target instanceof Element ? target.closest<HTMLElement>('.dtj-node') : null;
    return node && this.tree.contains(node) ? (node.dataset['name'] ?? null) : null;
  }

  private listen(): void {
    this.tree.addEventListener('click', event => {
      const name = this.nameAt(event.target);
      if (name === null) {
        return;
      }
      if ((event.target as Element).closest('.dtj-node-stages')) {
        this.unfold(name);
      } else {
        this.pick(name);
        this.focusNode(name);
      }
    });
    this.tree.addEventListener('focusin', event => {
      const name = this.nameAt(event.target);
      if (name !== null) {
        this.rove(name);
        this.cards.get(name)!.describe(this.now());
        if (this.cards.get(name)!.element.matches(':focus-visible')) {
          this.show(name);
        }
      }
    });
    for (const type of ['pointerover', 'pointerout'] as const) {
      this.tree.addEventListener(type, event =>
        this.hover(type === 'pointerover' ? this.nameAt(event.target) : null),
      );
    }
    this.viewport.element.addEventListener('keydown', event => {
      if (pressed(event, this.nameAt(event.target), this.keys)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  private readonly keys: Keys = {
    zoom: factor => this.viewport.zoom(factor, undefined, true),
    fit: () => this.fit(),
    find: () => this.finder.focus(),
    step: by => this.step(by),
    narrow: (name, way) => this.narrowAt(name, way),
    unfold: name => this.unfold(name),
    pick: name => this.pick(name),
    first: () => this.goto(this.shape.names[0]),
    last: () => this.goto(this.shape.names.at(-1)),
    follow: arrow =>
      this.goto(arrowFrom(this.roving ?? '', arrow, this.shape, this.layout, this.rightward)),
    pan: (dx, dy) => this.viewport.pan(dx, dy),
    escape: () => this.escape(),
  };

  private hover(name: string | null): void {
    if (name !== this.hovered) {
      this.hovered = name;
      if (name !== null) {
        this.cards.get(name)?.describe(this.now());
      }
      this.paint();
    }
  }

  private narrowAt(name: string | null, way: 'upstream' | 'downstream'): void {
    if (name !== null && name !== this.chosen && this.scope.centre === null) {
      this.choose(name);
    }
    this.narrow(way);
  }

  private goto(name: string | null | undefined): void {
    if (name !== null && name !== undefined) {
      this.rove(name);
      this.focusNode(name);
      this.show(name);
    }
  }

  /** One step back: the column, its list, the search, the part, the choice. */
  private escape(): boolean {
    if (this.flow) {
      this.flow = null;
      this.columns?.release();
      this.paint();
      return true;
    }
    if (this.closeColumns(true)) {
      return true;
    }
    if (this.matches !== null) {
      this.finder.text = '';
      this.search('');
      return true;
    }
    if (this.scope.centre !== null) {
      this.widen();
      return true;
    }
    if (this.chosen !== null) {
      this.setChosen(null);
      return true;
    }
    return false;
  }
}

function same(a: GraphNode, b: GraphNode): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
