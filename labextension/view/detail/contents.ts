/** What a table holds, read when somebody asks: its columns' profile and a few rows. */
import { h } from '../elements/dom';
import { button, errorBlock, liveRegion, said, sentence } from '../elements/parts';
import { resultTable } from '../elements/grid';
import { oneLine } from '../elements/text';
import { plural } from '../elements/units';
import type { Host } from '../elements/dom';
import type { ProfileMessage } from '../wire';

export class Contents {
  readonly element = h('section', { class: 'dtj-contents' });
  private readonly _status = liveRegion();
  private readonly _found = h('div');
  private readonly _read: HTMLButtonElement;
  private _name: string | null = null;

  constructor(private readonly _host: Host) {
    this._read = button('Read sample rows and columns', () => void this._ask(), {
      'data-key': 'profile',
    });
    this.element.append(h('h4', {}, 'Contents'), this._read, this._status, this._found);
  }

  /** The table that is shown: what was read of another one goes. */
  of(name: string): void {
    if (name !== this._name) {
      this._name = name;
      this._read.disabled = false;
      this._status.replaceChildren();
      this._found.replaceChildren();
    }
    this.element.hidden = !this._host.live && !this._found.hasChildNodes();
    this._read.hidden = !this._host.live;
  }

  private async _ask(): Promise<void> {
    const name = this._name!;
    this._read.disabled = true;
    this._status.replaceChildren(said('Reading …'));
    try {
      const answer = await this._host.ask({ ask: 'profile', name });
      if (name !== this._name) {
        return;
      }
      this._status.replaceChildren(...(answer.type === 'error' ? [errorBlock(answer)] : []));
      if (answer.type === 'profile') {
        this._found.replaceChildren(...shown(answer));
      }
    } catch (thrown) {
      if (name === this._name) {
        this._status.replaceChildren(said(sentence(thrown), 'trouble'));
      }
    }
    this._read.disabled = name === this._name ? false : this._read.disabled;
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
