/** The card of a node: an empty box that is filled when it is first shown from near. */
import { h } from '../elements/dom';
import { actionGlyph, icon, stateGlyph } from '../icons/marks';
import { oneLine } from '../elements/text';
import type { GraphNode } from '../wire';
import type { Placed, Size } from './layout/index';
import { type NameRoom, ShortNames, writeName } from './names';
import { errorSign, kindSign, pauseSign } from '../icons/signs';
import * as words from './words';
import type { Now } from './words';

const OWN: Size = { width: 264, height: 94 };
const OTHER: Size = { width: 212, height: 48 };

/** How far a card is widened for a long name, in all, and about how wide a character of it is. */
const WIDENED = 1.5;
const [WIDE, ASIDE] = [7.8, 62];

/** The size of a card depends on its kind and name: no change of state ever moves a box. */
export function cardSize(node: GraphNode): Size {
  const { width, height } = words.hasStanding(node) ? OWN : OTHER;
  const wanted = Math.ceil(Array.from(node.name).length * WIDE) + ASIDE;
  return { width: Math.min(width * WIDENED, Math.max(width, wanted)), height };
}

/** The lines of a card that was shown. */
interface Inside {
  readonly sign: HTMLElement;
  readonly name: HTMLElement;
  readonly error: HTMLElement;
  readonly mode: HTMLElement;
  readonly outcome: HTMLElement;
  readonly lag: HTMLElement;
  readonly next: HTMLElement;
  readonly rows: HTMLElement;
  /** The bar within its track. */
  readonly meter: HTMLElement;
  readonly progress: HTMLElement;
}

export class Card {
  readonly element: HTMLElement;
  private inside: Inside | null = null;
  /** How many characters of the name there is room for; null where its line gives way. */
  private room: NameRoom | null = null;
  private beside = new ShortNames([]);
  private readonly columns = h('div', { class: 'dtj-node-columns dtj-text', dir: 'auto' });

  constructor(
    private _node: GraphNode,
    id: string,
  ) {
    this.element = h('div', { class: 'dtj-node', role: 'treeitem', tabindex: -1, id });
    this.mark(null);
  }

  get node(): GraphNode {
    return this._node;
  }

  get filled(): boolean {
    return this.inside !== null;
  }

  place(box: Placed): void {
    const { style } = this.element;
    style.left = `${box.x}px`;
    style.top = `${box.y}px`;
    style.width = `${box.width}px`;
    style.height = `${box.height}px`;
    set(this.element, 'aria-level', String(box.layer + 1));
  }

  update(node: GraphNode, now: Now): void {
    this._node = node;
    this.mark(now);
    if (this.inside) {
      this.write(this.inside, now);
    }
  }

  /** Build the lines, if this has not been done. */
  fill(now: Now): void {
    if (this.inside) {
      return;
    }
    const part = (name: string): HTMLElement => h('span', { class: `dtj-node-${name}` });
    const text = (name: string): HTMLElement => h('span', { class: `dtj-node-${name} dtj-text` });
    const inside: Inside = {
      sign: part('sign'),
      name: h('span', { class: 'dtj-node-name dtj-text', dir: 'auto' }),
      error: part('error'),
      mode: h('span', { class: 'dtj-node-mode dtj-pill dtj-tint' }),
      outcome: text('outcome'),
      lag: text('lag'),
      next: text('next'),
      rows: text('rows'),
      meter: h('span', {}),
      progress: h('span', {}),
    };
    const lines = h(
      'div',
      { class: 'dtj-node-in', 'aria-hidden': 'true' },
      h('div', { class: 'dtj-node-line dtj-node-head' }, inside.sign, inside.name, inside.error),
      h('div', { class: 'dtj-node-line dtj-node-last' }, inside.mode, inside.outcome),
      h('div', { class: 'dtj-node-line dtj-node-time' }, inside.lag, inside.next, inside.rows),
      h('div', { class: 'dtj-node-meter dtj-track' }, inside.meter),
      h('div', { class: 'dtj-node-progress' }, inside.progress),
    );
    this.inside = inside;
    this.write(inside, now);
    this.element.prepend(lines, moreButton());
  }

  /** The name as it is read from here. */
  sizeName(room: NameRoom | null, beside: ShortNames): void {
    [this.room, this.beside] = [room, beside];
    if (this.inside) {
      writeName(this.inside.name, oneLine(this._node.name), room, beside);
    }
  }

  /** Lag grows: write what follows from the clock. */
  tick(now: Now): void {
    if (this.inside && (words.isOwn(this._node) || this._node.sink !== null)) {
      this.writeLag(this.inside, now);
    }
  }

  /** The sentence and the tooltip, with the lag of this moment. */
  describe(now: Now): void {
    set(this.element, 'aria-label', words.sentence(this._node, now));
    set(this.element, 'title', words.facts(this._node, now));
  }

  /** Show under the card which of its columns lie on the way; none, or null for no way. */
  onTheWay(columns: readonly string[] | null): void {
    this.columns.textContent = columns?.map(oneLine).join(', ') ?? '';
    if (columns === null) {
      this.columns.remove();
    } else if (!this.columns.parentNode) {
      this.element.append(this.columns);
    }
  }

  private mark(now: Now): void {
    const node = this._node;
    set(this.element, 'data-kind', node.kind);
    set(
      this.element,
      'data-state',
      words.isQuiet(node) ? 'QUIET' : (node.sink?.state ?? node.state),
    );
    set(this.element, 'data-standing', words.hasStanding(node) ? 'true' : null);
    set(this.element, 'data-idle', words.isIdle(node) ? 'true' : null);
    set(this.element, 'data-suspended', words.isSuspended(node) ? 'true' : null);
    this.describe(now);
  }

  private write(inside: Inside, now: Now): void {
    const node = this._node;
    const own = words.isOwn(node);
    const idle = words.isIdle(node);
    const state = idle ? 'SKIPPED' : node.state;
    const quiet = words.isQuiet(node);
    show(inside.sign, `${own} ${state} ${quiet} ${node.kind}`, () =>
      own ? icon(stateGlyph(state, quiet ? 'idle' : undefined)) : kindSign(node.kind),
    );
    writeName(inside.name, oneLine(node.name), this.room, this.beside);
    const problem = node.error !== null && !idle;
    show(inside.error, String(problem), () => (problem ? errorSign() : null));
    if (words.hasStanding(node)) {
      write(inside.mode, words.modeText(node));
      set(inside.mode, 'hidden', words.modeText(node) ? null : '');
      set(inside.mode, 'data-mode', node.refresh_mode);
    } else {
      set(inside.mode, 'hidden', '');
    }
    this.writeOutcome(inside.outcome);
    this.writeLag(inside, now);
    const share = words.progressShare(node);
    set(inside.progress, 'data-known', share === null ? null : 'true');
    inside.progress.style.width = share === null ? '' : `${Math.max(3, share * 100)}%`;
  }

  private writeOutcome(place: HTMLElement): void {
    const node = this._node;
    if (!words.isOwn(node) && node.sink === null) {
      write(place, words.kindText(node));
      return;
    }
    const { text, token, action } = words.outcome(node);
    show(place, `${text} ${token} ${action}`, () => {
      const sign = action
        ? icon(actionGlyph(action, 0, 0, 6))
        : token === 'warn' && words.isSuspended(node)
          ? pauseSign()
          : null;
      const word = h('span', {}, text);
      return sign && action ? [word, sign] : sign ? [sign, word] : [word];
    });
    place.className = `dtj-node-outcome dtj-text dtj-c-${token}`;
    set(place, 'data-strong', action ? null : 'true');
  }

  private writeLag(inside: Inside, now: Now): void {
    const node = this._node;
    if (!words.hasStanding(node)) {
      write(inside.rows, words.rowsText(node));
      return;
    }
    const share = words.lagShare(node, now);
    const broken = words.isBroken(node) && node.error !== null;
    const idle = words.isIdle(node);
    write(inside.lag, words.standingText(node, now));
    const still = (broken && node.sink === null && node.task === null) || idle;
    const next = still ? '' : words.nextText(node, now);
    write(inside.next, next);
    write(inside.rows, (broken && next) || idle ? '' : words.rowsText(node)); // no room for all three
    set(inside.lag, 'data-idle', idle ? 'true' : null);
    set(inside.lag, 'data-long', broken || idle ? 'true' : null);
    set(inside.lag, 'data-late', broken || (share !== null && share > 1) ? 'true' : null);
    set(inside.meter.parentElement!, 'hidden', words.limitOf(node) === null ? '' : null);
    const width = `${Math.min(share ?? 0, 1) * 100}%`;
    if (inside.meter.style.width !== width) {
      inside.meter.style.width = width;
    }
    const paint = `dtj-c-${words.shareToken(share ?? 0)}`;
    if (inside.meter.className !== paint) {
      inside.meter.className = paint;
    }
  }
}

/** Set or remove an attribute if it is another. */
export function set(element: Element, name: string, value: string | null): void {
  if (value === null) {
    if (element.hasAttribute(name)) {
      element.removeAttribute(name);
    }
  } else if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}

function write(element: Element, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

function moreButton(): HTMLElement {
  const label = 'Actions ( m )';
  const attributes = { type: 'button', tabindex: -1, title: label, 'aria-label': label };
  return h('button', { class: 'dtj-node-more', ...attributes }, '⋯');
}

/** Refill `place` if what it shows, by its key, is another. */
function show(place: HTMLElement, key: string, make: () => Node | Node[] | null): void {
  if (place.dataset['shows'] !== key) {
    place.dataset['shows'] = key;
    const made = make();
    place.replaceChildren(...(made === null ? [] : Array.isArray(made) ? made : [made]));
  }
}
