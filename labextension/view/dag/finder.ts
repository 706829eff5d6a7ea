/** The search box: what is searched for, and a step through what was found. */
import { h } from '../elements/dom';
import { button } from '../elements/parts';

export interface FinderEvents {
  searched(text: string): void;
  /** Move by a number of matches. */
  step(by: number): void;
  left(): void;
}

export class Finder {
  readonly element: HTMLElement;
  private readonly input = h('input', {
    class: 'dtj-input',
    type: 'search',
    placeholder: 'Find a table (/)',
    'aria-label': 'Find a node by name or state',
    autocomplete: 'off',
    spellcheck: 'false',
    dir: 'auto',
  });
  private readonly output = h('output', {});
  private readonly clear = button('✕', () => this.leave(), {
    'aria-label': 'Clear the search',
    title: 'Clear the search ( Esc )',
    hidden: true,
  });

  constructor(private readonly events: FinderEvents) {
    this.element = h('div', { class: 'dtj-search' }, this.input, this.output, this.clear);
    this.input.addEventListener('input', () => {
      this.clear.hidden = this.input.value === '';
      events.searched(this.input.value);
    });
    this.input.addEventListener('keydown', event => {
      event.stopPropagation();
      if (event.key === 'Enter' || event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        events.step(event.key === 'ArrowUp' || (event.key === 'Enter' && event.shiftKey) ? -1 : 1);
      } else if (event.key === 'Escape') {
        event.preventDefault();
        this.leave();
      }
    });
  }

  get text(): string {
    return this.input.value;
  }

  set text(text: string) {
    this.input.value = text;
    this.clear.hidden = text === '';
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private leave(): void {
    this.text = '';
    this.events.searched('');
    this.events.left();
  }

  /** Say which of how many matches is shown; null where nothing is searched for. */
  count(at: number, many: number | null): void {
    this.output.textContent =
      many === null ? '' : many === 0 ? 'none' : at < 0 ? String(many) : `${at + 1} of ${many}`;
  }
}
