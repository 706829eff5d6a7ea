/** The columns of the chosen node, next to its card; one of them can be followed through the graph. */
import { h } from '../elements/dom';
import { oneLine } from '../elements/text';
import type { LineageMessage } from '../wire';

export interface ColumnsEvents {
  /** A column was pressed. */
  follow(column: string): void;
  close(): void;
}

export class Columns {
  readonly element: HTMLElement;
  private shown: LineageMessage | string | null = null;

  constructor(
    readonly name: string,
    private readonly events: ColumnsEvents,
  ) {
    const close = h(
      'button',
      { class: 'dtj-button dtj-icon', type: 'button', 'aria-label': 'Close the columns' },
      '✕',
    );
    close.addEventListener('click', () => this.events.close());
    this.body = h(
      'div',
      { class: 'dtj-columns-body' },
      h('div', { class: 'dtj-soft' }, 'Looking up the columns …'),
    );
    const title = h('span', { class: 'dtj-text', dir: 'auto' }, oneLine(name));
    this.element = h(
      'div',
      { class: 'dtj-columns', role: 'group', 'aria-label': `Columns of ${oneLine(name)}` },
      h(
        'div',
        { class: 'dtj-columns-head' },
        h('strong', { class: 'dtj-text' }, 'Columns of ', title),
        close,
      ),
      this.body,
    );
    this.element.addEventListener('pointerdown', event => event.stopPropagation());
  }

  private readonly body: HTMLElement;

  /** What came back, null for nothing yet, and which column is followed. */
  draw(answer: LineageMessage | string | null, followed: string | null): void {
    if (answer !== null && answer !== this.shown) {
      this.shown = answer;
      this.show(answer);
    }
    if (answer !== null && typeof answer !== 'string') {
      const at = answer.columns.findIndex(column => column.name === followed);
      [...this.body.querySelectorAll('button')].forEach((button, i) =>
        button.setAttribute('aria-pressed', String(i === at)),
      );
    }
  }

  /** A line per column, to be pressed; or what went wrong. */
  private show(answer: LineageMessage | string): void {
    if (typeof answer === 'string') {
      this.body.replaceChildren(h('div', { class: 'dtj-soft', role: 'status' }, answer));
      return;
    }
    const buttons = answer.columns.map(column => {
      const button = h(
        'button',
        {
          class: 'dtj-column',
          type: 'button',
          'aria-pressed': 'false',
          title: oneLine(`${column.name} ${column.type}`),
        },
        h('span', { class: 'dtj-text', dir: 'auto' }, oneLine(column.name)),
        h('span', { class: 'dtj-text dtj-soft' }, oneLine(column.type)),
      );
      button.addEventListener('click', () => this.events.follow(column.name));
      return button;
    });
    const nothing = h('div', { class: 'dtj-soft' }, 'Its columns are not known.');
    this.body.replaceChildren(...(buttons.length ? buttons : [nothing]));
  }
}
