/** What a table holds, read on request: its columns' profile and a few rows. */
import { h } from '../elements/dom';
import { button, errorBlock, liveRegion, said, sentence } from '../elements/parts';
import { resultTable } from '../elements/grid';
import { oneLine } from '../elements/text';
import { plural } from '../elements/units';
import type { Host } from '../elements/dom';
import { compared } from '../elements/compared';
import { type LiveRows, mountRows } from '../rows/index';
import type { LiveMessage, ProfileMessage } from '../wire';

/** What can be asked for, and the words on its button. */
const ASKS = {
  profile: 'Read sample rows and columns',
  table_rows: 'Rows',
  compare: 'What the last version changed',
  compare_definition: 'Compare with the definition before',
} as const;

type Asked = keyof typeof ASKS;

export class Contents {
  readonly element = h('section', { class: 'dtj-contents' });
  private readonly _status = liveRegion();
  private readonly _found = h('div');
  private readonly _buttons: readonly HTMLButtonElement[];
  private _rows: LiveRows | null = null;
  private _name: string | null = null;

  /** `defined`: it has definitions. */
  constructor(
    private readonly _host: Host,
    defined = true,
  ) {
    const asks = (Object.keys(ASKS) as Asked[]).filter(
      ask => defined || ask !== 'compare_definition',
    );
    this._buttons = asks.map(ask =>
      button(ASKS[ask], () => void this._ask(ask), { 'data-key': ask }),
    );
    const bar = h('div', { class: 'dtj-bar' }, ...this._buttons);
    this.element.append(h('h4', {}, 'Contents'), bar, this._status, this._found);
  }

  /** The table that is shown: what was read of another one goes, and rows follow this one. */
  of(name: string): void {
    if (name !== this._name) {
      this._name = name;
      this._busy(false);
      this._status.replaceChildren();
      this._show();
    } else {
      this._rows?.refresh();
    }
    this.element.hidden = !this._host.live && !this._found.hasChildNodes();
    this._buttons.forEach(one => (one.hidden = !this._host.live));
  }

  private _busy(busy: boolean): void {
    this._buttons.forEach(one => (one.disabled = busy));
  }

  private _show(...found: readonly Node[]): void {
    this._rows?.dispose();
    this._rows = null;
    this._found.replaceChildren(...found);
  }

  private async _ask(ask: Asked): Promise<void> {
    const name = this._name!;
    this._busy(true);
    this._status.replaceChildren(said('Reading …'));
    try {
      const answer = await this._host.ask({ ask, name });
      if (name !== this._name) {
        return;
      }
      this._status.replaceChildren(...(answer.type === 'error' ? [errorBlock(answer)] : []));
      this._take(answer);
    } catch (thrown) {
      if (name === this._name) {
        this._status.replaceChildren(said(sentence(thrown), 'trouble'));
      }
    }
    if (name === this._name) {
      this._busy(false);
    }
  }

  private _take(answer: LiveMessage): void {
    if (answer.type === 'profile') {
      this._show(...shown(answer));
    } else if (answer.type === 'compare') {
      this._show(compared(answer));
    } else if (answer.type === 'tablerows') {
      this._show();
      this._rows = mountRows(this._found, this._host);
      this._rows.update(answer);
    }
  }
}

function shown(message: ProfileMessage): Node[] {
  const rows = plural(message.row_count, 'row');
  return [
    h('p', { class: 'dtj-soft' }, `${rows} in ${oneLine(message.snapshot)}`),
    resultTable(message.columns),
    resultTable(message.sample),
  ];
}
