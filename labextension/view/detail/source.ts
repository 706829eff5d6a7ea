/** All about a table, a view or a stream: what it holds, its versions, and who reads it. */
import { Contents } from './contents';
import { section, StandingView } from './standing';
import { h } from '../elements/dom';
import { facts, pill } from '../elements/parts';
import { scrolling } from '../elements/table';
import { oneLine } from '../elements/text';
import { exact, timeElement } from '../elements/units';
import { streamCard } from '../streams/index';
import type { Host, View } from '../elements/dom';
import type { SourceMessage } from '../wire';

/** Shows a source; its rows are read where there is a kernel. */
export function mountSource(root: HTMLElement, host: Host): View<SourceMessage> {
  return new SourceView(root, host, 'source');
}

class SourceView extends StandingView<SourceMessage> {
  private readonly _contents = new Contents(this._host, false);

  protected title({ name, kind }: SourceMessage): HTMLElement {
    return this.headOf(name, pill(kind, 'idle'), () => []);
  }

  protected sections(message: SourceMessage): HTMLElement[] {
    const { kind, stream, versions } = message;
    this._contents.of(message.name);
    return [
      section(null, this._facts(message)),
      ...(stream === null
        ? [this._contents.element]
        : [section('Position', standing(message, this._host))]),
      ...(versions.length ? [section('Versions', versionsTable(message))] : []),
      ...(kind === 'view' ? [this.definition(message)] : []),
    ];
  }

  private _facts(message: SourceMessage): HTMLElement {
    const { columns, readers, rows } = message;
    const links = readers.flatMap((name, i) => [i ? ', ' : null, this.link(name, `to:${name}`)]);
    return facts(
      rows === null ? null : ['rows', exact(rows)],
      message.files ? ['files', oneLine(message.files)] : null,
      ['read by', links.length ? h('span', {}, ...links) : 'nothing'],
      message.place ? ['place', oneLine(message.place)] : null,
      columns.length ? ['columns', columnList(columns)] : null,
    );
  }
}

/** Names with their types, one after the other. */
export function columnList(columns: SourceMessage['columns']): HTMLElement {
  const shown = columns.map(({ name, type }) =>
    h('span', {}, oneLine(name), h('span', { class: 'dtj-soft' }, ` ${oneLine(type)}`)),
  );
  return h('span', { class: 'dtj-columns' }, ...shown);
}

function standing({ stream, as_of }: SourceMessage, host: Host): HTMLElement {
  return h('div', { class: 'dtj-streams' }, h('ul', {}, streamCard(stream!, as_of, host)));
}

function versionsTable({ name, versions }: SourceMessage): HTMLElement {
  const headings = [{ text: 'version', right: true }, { text: 'committed' }, { text: 'by' }];
  const rows = versions.map(({ version, time, operation }) =>
    h(
      'tr',
      {},
      h('td', { class: 'dtj-num' }, exact(version)),
      h('td', {}, timeElement(time)),
      h('td', {}, oneLine(operation)),
    ),
  );
  return scrolling(`Versions of ${name}`, headings, rows);
}
