/** The menu of a node, and the questions that it asks; by the keys of the ARIA practice for menus. */
import { answerBlock } from '../elements/answers';
import { h } from '../elements/dom';
import { button, nothing, said, sentence } from '../elements/parts';
import { RESET } from '../elements/sqlTexts';
import { oneLine } from '../elements/text';
import type { GraphNode, LiveMessage, TargetLag } from '../wire';
import { type Able, type Command, type Form, type Inquiry, isInquiry, menuOf } from './commands';
import type { OpenMenu } from './state';

export interface MenuEvents {
  chosen(command: Command): void;
  /** A question was answered with yes. */
  confirmed(lag?: TargetLag): void;
  close(): void;
  /** Asks the kernel about the node. */
  ask(ask: 'verify' | 'failure'): Promise<LiveMessage>;
  /** An answer came: the box has another size. */
  grown(): void;
  /** Another node is to be shown. */
  go(name: string): void;
}

/** What reads a node: itself, or through `via`. */
export interface Reader {
  readonly node: GraphNode;
  readonly direct: boolean;
}

/** `also` are the tables that a suspension holds up too. */
export interface MenuOf {
  readonly node: GraphNode;
  readonly able: Able;
  readonly also: readonly string[];
  /** Those that read it, first those that do so themselves. */
  readonly readers: readonly Reader[];
}

export function nodeMenu({ name, form }: OpenMenu, of: MenuOf, events: MenuEvents): HTMLElement {
  const label = `Actions for ${oneLine(name)}`;
  const made =
    form === null
      ? list(label, of, events)
      : isInquiry(form)
        ? answerBox(form, of, events)
        : question(form, of, events);
  made.addEventListener('pointerdown', event => event.stopPropagation());
  made.addEventListener('keydown', event => {
    event.stopPropagation();
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      events.close();
    }
  });
  return made;
}

function list(label: string, { node, able }: MenuOf, events: MenuEvents): HTMLElement {
  const groups = menuOf(node, able).map(entries =>
    h(
      'div',
      { role: 'group' },
      ...entries.map(({ command, label: words }) => {
        const item = h(
          'button',
          { type: 'button', role: 'menuitem', tabindex: -1, 'data-command': command },
          words,
        );
        item.addEventListener('click', () => events.chosen(command));
        return item;
      }),
    ),
  );
  const title = h('div', { class: 'dtj-menu-title dtj-text', dir: 'auto' }, oneLine(node.name));
  const menu = h('div', { class: 'dtj-menu', role: 'menu', 'aria-label': label }, title, ...groups);
  menu.addEventListener('keydown', event => walk(menu, event));
  return menu;
}

function walk(menu: HTMLElement, event: KeyboardEvent): void {
  const items = [...menu.querySelectorAll<HTMLElement>('[role=menuitem]')];
  const at = items.indexOf(event.target as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    items[(to + items.length) % items.length]?.focus();
  }
}

const HEADS: Readonly<Record<Inquiry, (name: string) => string>> = {
  verify: name => `Verify ${name}`,
  failure: name => `Last failure of ${name}`,
  readers: name => `What reads ${name}`,
};

/** What was asked about a node and its answer, once there is one. */
function answerBox(inquiry: Inquiry, of: MenuOf, events: MenuEvents): HTMLElement {
  const head = HEADS[inquiry](oneLine(of.node.name));
  const place = h('div', { role: 'status', 'aria-live': 'polite' });
  const show = (answer: Node): void => place.replaceChildren(answer);
  if (inquiry === 'readers') {
    show(readerList(of.readers, events));
  } else {
    show(said(inquiry === 'verify' ? 'Comparing with its query …' : 'Reading …', 'caution'));
    void events
      .ask(inquiry)
      .then(answerBlock, (thrown: unknown) => said(sentence(thrown), 'trouble'))
      .then(answer => {
        show(answer);
        events.grown();
      });
  }
  const close = button('Close', () => events.close(), { class: 'dtj-button dtj-main' });
  return h(
    'div',
    { class: 'dtj-menu dtj-menu-form dtj-menu-answer', role: 'group', 'aria-label': head },
    h('strong', {}, head),
    place,
    h('div', { class: 'dtj-bar' }, close),
  );
}

const KIND_WORDS: Partial<Record<GraphNode['kind'], string>> = {
  dynamic_table: 'dynamic table',
};

function readerList(readers: readonly Reader[], events: MenuEvents): HTMLElement {
  if (readers.length === 0) {
    return nothing('Nothing reads it', 'No dynamic table, view, stream, sink or task.');
  }
  const rows = readers.map(({ node, direct }) =>
    h(
      'li',
      {},
      button(oneLine(node.name.replace(/^task /, '')), () => events.go(node.name), {
        class: 'dtj-link',
      }),
      h(
        'span',
        { class: 'dtj-soft' },
        ` ${KIND_WORDS[node.kind] ?? node.kind}${direct ? '' : ', through others'}`,
      ),
    ),
  );
  return h('ul', { class: 'dtj-menu-readers' }, ...rows);
}

function question(form: Form, of: MenuOf, events: MenuEvents): HTMLElement {
  const name = oneLine(of.node.name);
  const cancel = button('Cancel', () => events.close());
  if (form === 'lag') {
    return lagForm(of.node, events, cancel);
  }
  const [text, yes] = confirmationOf(form, name, of);
  return h(
    'div',
    { class: 'dtj-menu dtj-menu-form', role: 'group', 'aria-label': `${yes}?` },
    h('div', {}, text),
    h(
      'div',
      { class: 'dtj-bar' },
      button(yes, () => events.confirmed(), { class: 'dtj-button dtj-main' }),
      cancel,
    ),
  );
}

/** What is asked back, and the button that says yes to it. */
function confirmationOf(
  form: Exclude<Form, 'lag'>,
  name: string,
  { node, also }: MenuOf,
): readonly [string, string] {
  const { kind } = node;
  switch (form) {
    case 'reset':
      return [RESET(name), 'Reset'];
    case 'suspend':
      return [REST[kind as keyof typeof REST]?.(name) ?? suspension(name, also), 'Suspend'];
    case 'drop': {
      const kept =
        KEPT[kind as keyof typeof KEPT] ??
        'UNDROP DYNAMIC TABLE brings it back while its files are kept.';
      return [`Drop ${name}? ${kept}`, 'Drop'];
    }
  }
}

/** What a suspension of what is not a dynamic table means. */
const REST = {
  sink: (name: string) => `Suspend ${name}? Nothing is delivered until it is resumed.`,
  task: (name: string) => `Suspend ${name}? It is as if it were not there until it is resumed.`,
} as const;

/** What stays when it is dropped. */
const KEPT = {
  sink: 'What it delivered stays in the store.',
  task: 'What it wrote stays; tasks after it come after it no more.',
} as const;

const NAMED = 5;

function suspension(name: string, also: readonly string[]): string {
  const named = also.slice(0, NAMED).map(oneLine).join(', ');
  const more = also.length > NAMED ? ` and ${also.length - NAMED} more` : '';
  return `Suspend ${name}?${also.length ? ` These stop with it: ${named}${more}.` : ''}`;
}

const UNITS: readonly (readonly [unit: string, seconds: number])[] = [
  ['seconds', 1],
  ['minutes', 60],
  ['hours', 3600],
  ['days', 86400],
];
const BELOW = 'downstream';

function lagForm(node: GraphNode, events: MenuEvents, cancel: HTMLElement): HTMLElement {
  const now = typeof node.target_lag === 'number' ? node.target_lag : null;
  const whole = UNITS.filter(([, size]) => now !== null && now % size === 0);
  const unit = whole.at(-1) ?? UNITS[1]!;
  const many = h('input', {
    class: 'dtj-input',
    type: 'number',
    min: 1,
    step: 1,
    required: true,
    'aria-label': 'How much',
    value: now === null ? 5 : now / unit[1],
  });
  const units = h(
    'select',
    { class: 'dtj-select', 'aria-label': 'Unit' },
    ...[...UNITS.map(([word]) => word), BELOW].map(word => h('option', { value: word }, word)),
  );
  units.value = now === null ? BELOW : unit[0];
  const show = (): boolean => (many.disabled = units.value === BELOW);
  units.addEventListener('change', show);
  show();
  const form = h(
    'form',
    { class: 'dtj-menu dtj-menu-form', 'aria-label': 'Target lag' },
    h('div', {}, `Target lag of ${oneLine(node.name)}`),
    h('div', { class: 'dtj-bar' }, many, units),
    h(
      'div',
      { class: 'dtj-bar' },
      h('button', { type: 'submit', class: 'dtj-button dtj-main' }, 'Set'),
      cancel,
    ),
  );
  form.addEventListener('submit', event => {
    event.preventDefault();
    const size = UNITS.find(([word]) => word === units.value)?.[1];
    events.confirmed(size === undefined ? 'DOWNSTREAM' : Number(many.value) * size);
  });
  return form;
}
