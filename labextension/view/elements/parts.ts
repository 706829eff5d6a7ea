/** Small parts of HTML that several views are made of. */
import { h } from './dom';
import { clean, oneLine } from './text';
import { STYLE, adopt } from './theme';
import css from './parts.raw.css';
import type { Attributes, Child } from './dom';
import type { ErrorMessage } from '../wire';

/** The outermost element of a view in its place, with the style sheets that it needs. */
export function frame(root: HTMLElement, name: string, own: string): HTMLElement {
  const made = h('div', { class: `dtj dtj-view dtj-${name}` });
  root.append(made);
  for (const sheet of [STYLE, css, own]) {
    adopt(made, sheet);
  }
  return made;
}

/** The outcome of a request: a sentence in a tinted line. */
export function said(text: string, kind: 'done' | 'trouble' | 'caution' = 'done'): HTMLElement {
  const class_ = kind === 'done' ? 'dtj-said' : `dtj-said dtj-${kind}`;
  const sign = { done: '✓', trouble: '✗', caution: '!' }[kind];
  return h(
    'div',
    { class: class_ },
    h('span', { 'aria-hidden': 'true' }, sign),
    h('span', {}, clean(text)),
  );
}

/** A word in a rounded frame, in the colour of a token. */
export function pill(text: string, token: string): HTMLElement {
  return h('span', { class: 'dtj-pill', style: `color:var(--dtj-${token})` }, oneLine(text));
}

/** A button that does something on a click. */
export function button(
  content: Child | Child[],
  act: (event: MouseEvent) => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  const children = Array.isArray(content) ? content : [content];
  const made = h('button', { type: 'button', class: 'dtj-button', ...attributes }, ...children);
  made.addEventListener('click', act);
  return made;
}

/** A place whose new text is read out. */
export function liveRegion(attributes: Attributes = {}): HTMLElement {
  return h('div', { class: 'dtj-status', role: 'status', 'aria-live': 'polite', ...attributes });
}

/** What a view says that has nothing to show, and what would give it something. */
export function nothing(sentence: string, way: string | null = null): HTMLElement {
  return h(
    'div',
    { class: 'dtj-empty' },
    h('strong', {}, oneLine(sentence)),
    way ? h('span', {}, oneLine(way)) : null,
  );
}

/** Names and values, two columns. */
export function facts(...rows: readonly (readonly [string, Child] | null)[]): HTMLElement {
  const shown = rows.filter(row => row !== null);
  const cells = shown.flatMap(([name, value]) => [h('dt', {}, oneLine(name)), h('dd', {}, value)]);
  return h('dl', { class: 'dtj-facts' }, ...cells);
}

/** A switch between a few values: radio buttons that look like one control. */
export function choice(
  label: string,
  name: string,
  options: readonly (readonly [value: string, label: string])[],
  value: string,
  chosen: (value: string) => void,
): HTMLElement {
  const group = h('span', { class: 'dtj-choice', role: 'radiogroup', 'aria-label': label });
  for (const [of, words] of options) {
    const input = h('input', { type: 'radio', name, value: of, 'data-key': `${name}:${of}` });
    input.checked = of === value;
    input.addEventListener('change', () => input.checked && chosen(of));
    group.append(h('label', {}, input, h('span', {}, oneLine(words))));
  }
  return group;
}

const CONTEXT = 2; // lines of a query shown before and after the place
const REACH = 100; // characters shown on either side of the place on its line

/** Code and sentence, the query with the place underlined, the hint; the details folded. */
export function errorBlock(error: ErrorMessage): HTMLElement {
  return h(
    'div',
    { class: 'dtj-error', role: 'alert' },
    h('div', {}, h('span', { class: 'dtj-code' }, oneLine(error.code)), clean(error.sentence)),
    error.query !== null && error.underline ? placed(error.query, error.underline) : null,
    error.hint ? h('div', {}, h('span', { class: 'dtj-soft' }, 'Hint: '), clean(error.hint)) : null,
    error.details
      ? h(
          'details',
          { 'data-key': 'error-details' },
          h('summary', {}, 'Details'),
          h('pre', { class: 'dtj-trace', tabindex: 0 }, clean(error.details)),
        )
      : null,
    error.page
      ? h(
          'details',
          { 'data-key': 'error-page' },
          h('summary', {}, `About ${oneLine(error.code)}`),
          h('pre', { class: 'dtj-trace', tabindex: 0 }, clean(error.page)),
        )
      : null,
  );
}

/** The lines around the place; a longer place is underlined to the end of its first line. */
function placed(query: string, at: NonNullable<ErrorMessage['underline']>): HTMLElement {
  const lines = query.split(/\r?\n/);
  const index = Math.min(Math.max(at.line, 1), lines.length) - 1;
  const first = Math.max(index - CONTEXT, 0);
  const last = Math.min(index + CONTEXT + 1, lines.length);
  const digits = String(last).length;
  const shown = h('pre', { class: 'dtj-query', tabindex: 0 });
  for (let i = first; i < last; i++) {
    const number = h('span', { class: 'dtj-soft' }, `${String(i + 1).padStart(digits)}  `);
    const line = lines[i]!;
    shown.append(
      number,
      ...(i === index ? underlined(line, at) : [oneLine(line.slice(0, 2 * REACH))]),
      '\n',
    );
  }
  return shown;
}

/** Columns count characters, as Python does, not UTF-16 units. */
function underlined(line: string, at: { column: number; length: number }): (string | Node)[] {
  const chars = Array.from(line);
  const start = Math.min(Math.max(at.column - 1, 0), chars.length);
  const end = Math.min(start + Math.max(at.length, 1), Math.max(chars.length, start + 1));
  const cut = Math.max(0, start - REACH);
  const part = (from: number, to: number): string => oneLine(chars.slice(from, to).join(''));
  return [
    (cut ? '…' : '') + part(cut, start),
    h('u', {}, part(start, end) || ' '),
    part(end, end + REACH) + (chars.length > end + REACH ? '…' : ''),
  ];
}

/** A readable text for whatever was thrown. */
export function sentence(thrown: unknown): string {
  return clean(thrown instanceof Error ? thrown.message : String(thrown));
}

/**
 * Redraws parts of `root` and leaves the user where they were: the element of the same
 * `data-key` has the focus again, folds stay open, and scrolled places stay scrolled.
 */
export function keepingPlace(root: HTMLElement, draw: () => void): void {
  const active = (root.getRootNode() as Document | ShadowRoot).activeElement;
  const held = active && root.contains(active) ? active.getAttribute('data-key') : null;
  const selection =
    active instanceof HTMLInputElement && (active.type === 'text' || active.type === 'search')
      ? ([active.selectionStart, active.selectionEnd] as const)
      : null;
  const folds = new Map<string, boolean>();
  const scrolled = new Map<string, readonly [number, number]>();
  for (const element of keyed(root)) {
    if (element instanceof HTMLDetailsElement) {
      folds.set(element.dataset.key!, element.open);
    }
    if (element.scrollTop || element.scrollLeft) {
      scrolled.set(element.dataset.key!, [element.scrollLeft, element.scrollTop]);
    }
  }
  draw();
  for (const element of keyed(root)) {
    const key = element.dataset.key!;
    if (element instanceof HTMLDetailsElement) {
      element.open = folds.get(key) ?? element.open;
    }
    const place = scrolled.get(key);
    if (place) {
      [element.scrollLeft, element.scrollTop] = place;
    }
    if (key === held && (root.getRootNode() as Document | ShadowRoot).activeElement !== element) {
      element.focus({ preventScroll: true });
      if (selection && element instanceof HTMLInputElement) {
        element.setSelectionRange(...selection);
      }
    }
  }
}

const keyed = (root: HTMLElement): NodeListOf<HTMLElement> => root.querySelectorAll('[data-key]');

/** Calls back with the width of an element in pixels whenever it is another; ends by the result. */
export function watchWidth(element: HTMLElement, tell: (width: number) => void): () => void {
  if (typeof ResizeObserver === 'undefined') {
    return () => undefined;
  }
  let known = 0;
  const observer = new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== known) {
      known = width;
      tell(width);
    }
  });
  observer.observe(element);
  return () => observer.disconnect();
}
