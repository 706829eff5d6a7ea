/**
 * Elements without a framework: every text goes through `textContent`, every attribute through
 * `setAttribute`, so that nothing of the data is ever read as markup.
 */
import type { LiveMessage, Request } from '../wire';

const SVG = 'http://www.w3.org/2000/svg';

/** `class`, `aria-…`, `data-…` and similar attributes; a null, undefined or false one is left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type Child = Node | string | null | undefined | false;

/** An HTML element. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (/^on/i.test(name)) {
      throw new Error(`${name}: handlers are added as listeners`);
    }
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) {
      element.append(child);
    }
  }
  return element;
}

/** A request without its number, which the one who sends it gives. */
export type Question = Pick<Request, 'ask'> & Partial<Omit<Request, 'id' | 'ask'>>;

/** The cells of the document that a view is next to. */
export interface Cells {
  /** A new cell below the one in use, with that text, ready to be changed. */
  insert(code: string): void;
  /** Goes to the cell that defines a table; whether there is one. */
  jump(name: string): boolean;
}

/** A view of one table, next to others. */
export type Beside = 'details' | 'replay';

/** What a view needs of the place that it is shown in: a widget, a panel, or a test. */
export interface Host {
  /** Sends a request to the kernel; rejects with an Error whose message people can read. */
  ask(question: Question): Promise<LiveMessage>;
  /** The user chose a table, or a column of it: other views may follow. */
  choose(name: string, column?: string): void;
  /** Whether there is a kernel to ask. A view without one shows what it has. */
  readonly live: boolean;
  /** Null, or nothing, where there is no document to put a cell into. */
  readonly cells?: Cells | null;
  /** Shows the table in another view, where there are several. */
  open?(name: string, view: Beside): void;
}

/** A view in its place; `update` redraws, with as little change as the data allows. */
export interface View<M> {
  update(message: M): void;
  dispose(): void;
}
