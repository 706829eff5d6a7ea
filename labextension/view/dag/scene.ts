/** Draws a state of the graph: of two states that follow each other, only what differs. */
import { h, type Question } from '../elements/dom';
import { sentence } from '../elements/parts';
import { Announcer } from './announcer';
import * as cameras from './camera';
import { Card, cardSize, set } from './card';
import { oneLine } from '../elements/text';
import { nameRoom, ShortNames } from './names';
import { Columns } from './columns';
import { Edges, toggle } from './edges';
import { empty } from './empty';
import { Finder } from './finder';
import type { Able } from './commands';
import { columned } from './layout/column';
import { layered, type Layout, type Placed, type Size } from './layout/index';
import { Layouts } from './layouts';
import { Legend } from './legend';
import { paint } from './paint';
import { type Format, savePicture } from './picture';
import { topologyKey } from './shape';
import { drawStages } from './stages';
import { Overlay, putBeside } from './overlay';
import { matchOf, type State } from './state';
import { Toolbox } from './toolbox';
import { sameNode, type Action } from './update';
import { Viewport } from './viewport';
import type { Now } from './words';
import type { LiveMessage } from '../wire';

export interface SceneEvents {
  readonly act: (action: Action) => void;
  readonly search: (text: string) => void;
  readonly able: () => Able;
  readonly ask: (question: Question) => Promise<LiveMessage>;
  /** Puts code into a cell; null where there is none. */
  readonly insert: ((code: string) => void) | null;
  /** A cell that makes a dynamic table. */
  example(): Promise<string>;
  readonly now: () => Now;
}

const layouts = new Layouts();
const FILLED_A_FRAME = 24;
/** In a view narrower than this, a graph of this number of nodes is one column, to be scrolled. */
const COLUMN_WIDTH = 560;
const COLUMN_NODES = 600;
/** In one narrower than this, a graph of this number of nodes gets narrower too: pixels for each
 * card. */
const NARROW_WIDTH = 1000;
const NARROW_NODES = 40;
const NARROW_CARD = 280;
/** The most nodes that are laid out both ways, to see which is larger, and by how much. */
const TRIED_NODES = 200;
const WORTH_TURNING = 1.1;

/** Cards this near to the view, in pixels, are filled before they are seen. */
const NEAR = 200;
let instances = 0;

/** A layout, what it was made from, and which way its edges go. */
interface Arrangement {
  readonly layout: Layout;
  readonly key: string;
  readonly rightward: boolean;
}

export class Scene {
  readonly element: HTMLElement;
  readonly viewport: Viewport;
  readonly tree = h('div', {
    class: 'dtj-nodes',
    role: 'tree',
    'aria-label': 'Graph of dynamic tables',
  });
  readonly finder: Finder;
  readonly announcer = new Announcer();
  rightward = false;
  layout: Layout = { boxes: new Map(), routes: [], width: 0, height: 0 };
  private readonly edges = new Edges();
  private readonly legend: Legend;
  private readonly toolbox: Toolbox;
  private readonly overlay: Overlay;
  private readonly thumb = h('div', { class: 'dtj-thumb', hidden: true });
  private readonly cards = new Map<string, Card>();
  private readonly id = `dtj-dag-${++instances}`;
  private nextId = 0;
  private columns: Columns | null = null;
  private key = '';
  /** Cards in or near the view: only they are moved by their animations. */
  private seen: ReadonlySet<Card> = new Set();
  private size: Size | null = null;
  private fitted = false;
  private shortened: { readonly of: readonly string[]; readonly by: ShortNames } | null = null;

  constructor(
    private state: State,
    private readonly events: SceneEvents,
    wheelPans: boolean,
  ) {
    const { act, search } = events;
    this.viewport = new Viewport({
      wheelPans,
      hold: camera =>
        this.column() === null ? camera : cameras.held(camera, this.layout, this.viewport.size),
      changed: () => this.drawView(),
      byHand: () => act({ is: 'byHand' }),
    });
    this.finder = new Finder({
      searched: search,
      step: by => act({ is: 'step', by }),
      left: () => this.focusNode(this.state.roving),
    });
    this.legend = new Legend(text => act({ is: 'search', text, badge: text !== '' }));
    this.toolbox = new Toolbox({
      zoom: factor => this.zoom(factor),
      fit: () => act({ is: 'fit' }),
      read: () => act({ is: 'read' }),
      turn: () => act({ is: 'turn', rightward: !this.rightward }),
      narrow: way => act({ is: 'narrow', way }),
      whole: () => act({ is: 'widen' }),
      save: format => void this.save(format),
    });
    this.viewport.world.append(this.edges.element, this.tree);
    this.overlay = new Overlay(this.viewport.element, events);
    this.viewport.element.append(this.thumb, this.toolbox.corner);
    const spring = h('span', { class: 'dtj-spring' });
    this.element = h(
      'div',
      { class: 'dtj dtj-dag', 'data-lm-suppress-shortcuts': 'true' },
      h('div', { class: 'dtj-bar dtj-dag-top' }, this.finder.element, spring, this.toolbox.bar),
      this.viewport.element,
      this.legend.element,
      this.announcer.element,
    );
    this.drawLegend();
    this.drawTools();
  }

  /** `hold` stays where it is on the screen, whatever appears around it. */
  draw(before: State, after: State, hold: string | null): void {
    this.state = after;
    const differs = (...keys: (keyof State)[]): boolean =>
      keys.some(key => before[key] !== after[key]);
    const moved = differs('shape', 'rightward') && this.layOut(hold);
    if (differs('message')) {
      this.refreshNodes(before);
    }
    if (differs('columns')) {
      this.drawColumns();
    }
    if (differs('menu', 'told')) {
      this.overlay.draw(after, this.boxOnScreen(after.menu?.name));
    }
    if (differs('chosen')) {
      this.mark(before.chosen, 'aria-selected', null);
      this.mark(after.chosen, 'aria-selected', 'true');
    }
    if (differs('roving')) {
      this.mark(before.roving, 'tabindex', '-1');
      this.mark(after.roving, 'tabindex', '0');
    }
    if (differs('matches', 'match')) {
      this.finder.count(after.match, after.matches?.length ?? null);
    }
    if (moved || differs('flow', 'matches', 'match', 'hovered', 'chosen', 'home')) {
      this.paint();
    }
    if (differs('message', 'text')) {
      this.drawLegend();
    }
    if (differs('message', 'chosen', 'scope', 'rightward')) {
      this.drawTools();
    }
    if (hold !== null) {
      this.drawView();
    }
  }

  /** Lags are counted on between messages. */
  tick(): void {
    const now = this.events.now();
    this.inSight(0).forEach(card => card.tick(now));
    this.drawLegend();
  }

  dispose(): void {
    this.viewport.dispose();
    this.announcer.dispose();
    this.element.remove();
  }

  // nodes

  nodeAt(target: EventTarget | null): string | null {
    const node = target instanceof Element ? target.closest<HTMLElement>('.dtj-node') : null;
    return node && this.tree.contains(node) ? (node.dataset['name'] ?? null) : null;
  }

  cardOf(name: string | null): Card | undefined {
    return name === null ? undefined : this.cards.get(name);
  }

  describe(name: string): void {
    this.cardOf(name)?.describe(this.events.now());
  }

  focusNode(name: string | null): void {
    const element = this.cardOf(name)?.element ?? this.viewport.element;
    element.focus({ preventScroll: true });
  }

  private mark(name: string | null, attribute: string, value: string | null): void {
    const card = this.cardOf(name);
    if (card) {
      set(card.element, attribute, value);
    }
  }

  private refreshNodes(before: State): void {
    for (const [name, node] of this.state.nodes) {
      const old = before.nodes.get(name);
      if (old !== node && !(old && sameNode(old, node))) {
        this.cards.get(name)?.update(node, this.events.now());
        this.refreshEdges(name);
        this.drawStages(node.kind === 'stage' ? this.cardOf(node.parent) : undefined);
      }
    }
  }

  private refreshEdges(name: string): void {
    this.edges.refresh(name, other => this.state.nodes.get(other));
  }

  private drawStages(card: Card | undefined): void {
    if (card) {
      const { name } = card.node;
      const { stages, scope } = this.state;
      drawStages(card, stages.get(name) ?? [], scope.unfolded.has(name));
    }
  }

  private paint(): void {
    const { flow, matches, home, hovered, chosen } = this.state;
    const attention = { flow, matches, here: matchOf(this.state), at: hovered ?? chosen };
    paint(attention, this.cards, this.edges, home);
  }

  private drawLegend(): void {
    const { message, text } = this.state;
    this.legend.draw(message, this.events.now(), text.trim());
    if (this.finder.text !== text) {
      this.finder.text = text;
    }
  }

  private drawTools(): void {
    const { message, chosen, scope } = this.state;
    const any = message.nodes.length > 0;
    toggle(this.element, 'dtj-bare', !any);
    const shown = this.viewport.element.querySelector('.dtj-empty');
    const known = message.as_of !== null; // before, there was no message about the lake
    if (!any && (!shown || (known && !shown.hasAttribute('data-known')))) {
      shown?.remove();
      this.viewport.element.append(empty(this.events.insert, known ? this.events.example() : null));
    } else if (any) {
      shown?.remove();
    }
    this.toolbox.draw(chosen !== null, scope, this.rightward, any);
  }

  // places

  /** Lay the shape out, if it differs from the one that is shown; whether it does. */
  private layOut(hold: string | null): boolean {
    const before = hold === null ? undefined : this.layout.boxes.get(hold);
    if (!this.reshape(before !== undefined)) {
      return false;
    }
    const after = hold === null ? undefined : this.layout.boxes.get(hold);
    if (before && after) {
      this.shift(before, after);
    }
    return true;
  }

  private reshape(holding: boolean): boolean {
    const { shape } = this.state;
    const { layout, key, rightward } = this.arrangement();
    if (key === this.key) {
      return false;
    }
    this.key = key;
    this.layout = layout;
    this.rightward = rightward;
    this.putCards();
    this.edges.draw(this.layout, rightward);
    shape.names.forEach(name => this.refreshEdges(name));
    if (!holding && !this.state.byHand) {
      this.fit();
    }
    return true;
  }

  private arrangement(): Arrangement {
    const { rightward, shape } = this.state;
    const first = this.arranged(rightward ?? false);
    const many = shape.names.length > TRIED_NODES;
    if (rightward !== null || many || this.column() !== null) {
      return first;
    }
    const right = this.arranged(true);
    const scale = ({ layout }: Arrangement) => cameras.fitted(layout, this.viewport.size).scale;
    return scale(right) > WORTH_TURNING * scale(first) ? right : first;
  }

  private arranged(rightward: boolean): Arrangement {
    const { shape, nodes } = this.state;
    const kinds = shape.names.map(name => nodes.get(name)!.kind);
    const [column, breadth] = [this.column(), rightward ? null : this.breadth()];
    const key = JSON.stringify([topologyKey(shape), kinds, rightward, column, breadth]);
    const sizeOf = (name: string): Size => cardSize(nodes.get(name)!);
    const pairs = shape.edges.map(edge => [edge.source, edge.target] as const);
    const layout = layouts.get(key, () =>
      column === null
        ? layered(shape.names, sizeOf, pairs, breadth === null ? { rightward } : { breadth })
        : columned(shape.names, sizeOf, pairs, column),
    );
    return { layout, key, rightward };
  }

  /** How wide the column is that the graph is laid out as; null where it is none. */
  private column(): number | null {
    const { width } = this.viewport.size;
    const many = this.state.shape.names.length > COLUMN_NODES;
    return many || this.state.rightward || width >= COLUMN_WIDTH ? null : width - 2 * cameras.TOP;
  }

  /** How many cards a layer may have for a small graph to be legible in a narrow view; null for any. */
  private breadth(): number | null {
    const { width } = this.viewport.size;
    const small = this.state.shape.names.length <= NARROW_NODES;
    return !small || width >= NARROW_WIDTH ? null : Math.max(2, Math.floor(width / NARROW_CARD));
  }

  private putCards(): void {
    const { shape, roving } = this.state;
    const had = this.tree.contains(document.activeElement);
    for (const [name, card] of this.cards) {
      if (!this.layout.boxes.has(name)) {
        card.element.remove();
        this.cards.delete(name);
      }
    }
    this.tree.replaceChildren(...shape.names.map(name => this.putCard(name).element));
    if (had) {
      this.focusNode(roving);
    }
  }

  private putCard(name: string): Card {
    const { nodes, chosen, roving } = this.state;
    const card = this.cards.get(name) ?? new Card(nodes.get(name)!, `${this.id}-${this.nextId++}`);
    card.element.dataset['name'] = name;
    this.cards.set(name, card);
    card.place(this.layout.boxes.get(name)!);
    set(card.element, 'aria-selected', name === chosen ? 'true' : null);
    set(card.element, 'tabindex', name === roving ? '0' : '-1');
    this.drawStages(card);
    return card;
  }

  // columns

  private drawColumns(): void {
    const wanted = this.state.columns;
    if (this.columns && this.columns.name !== wanted?.name) {
      this.columns.element.remove();
      this.columns = null;
    }
    if (!wanted) {
      return;
    }
    if (!this.columns) {
      this.columns = new Columns(wanted.name, {
        follow: column => this.events.act({ is: 'follow', column }),
        close: () => this.events.act({ is: 'close' }),
      });
      this.viewport.element.append(this.columns.element);
    }
    this.columns.draw(wanted.answer, wanted.followed);
    this.putColumns();
  }

  /** The columns are next to their card, on the side where there is room. */
  private putColumns(): void {
    if (!this.columns) {
      return;
    }
    putBeside(this.columns.element, this.boxOnScreen(this.columns.name), this.viewport.size);
  }

  private boxOnScreen(name: string | undefined): cameras.Rectangle | null {
    const box = name === undefined ? undefined : this.layout.boxes.get(name);
    return box ? cameras.onScreen(this.viewport.camera, box) : null;
  }

  private async save(format: Format): Promise<void> {
    const { layout, rightward } = this;
    const { nodes } = this.state;
    const drawn = { layout, nodes, rightward, now: this.events.now() };
    await savePicture(this.element, drawn, format).catch((thrown: unknown) => {
      const told = { name: '', text: sentence(thrown), kind: 'trouble' } as const;
      this.events.act({ is: 'told', told });
    });
  }

  // the camera

  fit(): void {
    const { size } = this.viewport;
    const scrolled = this.column() !== null && !this.state.whole;
    const camera = scrolled ? cameras.reading : cameras.fitted;
    this.viewport.look(camera(this.layout, size), this.fitted);
    this.fitted = this.viewport.shown;
  }

  /** About the node that is chosen, or has the focus, which is in view after it. */
  zoom(factor: number): void {
    const { chosen, roving } = this.state;
    const box = this.layout.boxes.get(chosen ?? roving ?? '');
    if (!box || (chosen === null && !this.tree.contains(document.activeElement))) {
      this.viewport.zoom(factor, undefined, true);
    } else {
      this.viewport.zoomAt(factor, box);
    }
  }

  /** A node in view, near enough to be read. */
  look(name: string): void {
    const box = this.layout.boxes.get(name);
    if (box) {
      this.viewport.look(cameras.showing(this.viewport.camera, box, this.viewport.size), true);
    }
  }

  isInSight(name: string): boolean {
    const box = this.layout.boxes.get(name);
    const sight = cameras.inView(this.viewport.camera, this.viewport.size);
    return box !== undefined && cameras.meets(sight, box);
  }

  private shift(before: Placed, after: Placed): void {
    const { camera } = this.viewport;
    const dx = (before.x - after.x) * camera.scale;
    const dy = (before.y - after.y) * camera.scale;
    this.viewport.look(cameras.moved(camera, dx, dy));
  }

  /** The camera is another, or the view has another size. */
  private drawView(): void {
    if (!this.state.byHand && this.viewport.shown && !this.relaidForSize() && !this.fitted) {
      this.fit();
    }
    const { scale } = this.viewport.camera;
    const detail = cameras.detailAt(scale);
    set(this.element, 'data-detail', detail);
    set(this.element, 'style', `--dtj-scale:${Math.round(scale * 1000) / 1000}`);
    set(this.element, 'data-column', this.column() === null ? null : 'true');
    set(this.element, 'data-few', String(this.state.shape.names.length <= NARROW_NODES));
    this.edges.thicken(scale);
    const seen = new Set(detail === 'far' ? [] : this.inSight(NEAR));
    this.fill(seen);
    if (!this.viewport.dragging) {
      this.animate(seen); // nothing else moves during it
    }
    this.putColumns();
    this.overlay.put(this.boxOnScreen(this.state.menu?.name));
    this.drawThumb();
  }

  /** Where in a column that is longer than the view one is. */
  private drawThumb(): void {
    const { y, scale } = this.viewport.camera;
    const { height } = this.viewport.size;
    const all = this.layout.height * scale + cameras.TOP + cameras.BOTTOM;
    this.thumb.hidden = this.column() === null || all <= height;
    this.thumb.style.top = `${((cameras.TOP - y) / all) * height}px`;
    this.thumb.style.height = `${(height / all) * height}px`;
  }

  private animate(seen: ReadonlySet<Card>): void {
    this.edges.see(cameras.inView(this.viewport.camera, this.viewport.size));
    this.seen.forEach(card => seen.has(card) || card.element.classList.remove('dtj-seen'));
    seen.forEach(card => this.seen.has(card) || card.element.classList.add('dtj-seen'));
    this.seen = seen;
  }

  /** Fill empty cards, some in each frame, so that no frame is late for it. */
  private fill(cards: Iterable<Card>): void {
    const now = this.events.now();
    const { scale } = this.viewport.camera;
    const few = this.state.shape.names.length <= NARROW_NODES;
    let left = FILLED_A_FRAME;
    for (const card of cards) {
      const box = this.layout.boxes.get(card.node.name)!;
      card.sizeName(nameRoom(card.node, box, cameras.detailAt(scale), scale, few), this.short());
      if (!card.filled && left-- === 0) {
        this.viewport.later();
        return;
      }
      card.fill(now);
    }
  }

  /** Shortens the names of the graph next to each other. */
  private short(): ShortNames {
    const { names } = this.state.shape;
    if (this.shortened?.of !== names) {
      this.shortened = { of: names, by: new ShortNames(names.map(oneLine)) };
    }
    return this.shortened.by;
  }

  private relaidForSize(): boolean {
    const relaid = this.resized() && this.reshape(false);
    if (relaid) {
      this.paint();
    }
    return relaid;
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

  private inSight(margin: number): Card[] {
    const sight = cameras.inView(this.viewport.camera, this.viewport.size, margin);
    const boxes = [...this.layout.boxes].filter(([, box]) => cameras.meets(sight, box));
    return boxes.map(([name]) => this.cards.get(name)!);
  }
}
