/** The newest deliveries of a sink, a row each: outcome, times, what moved, and why below. */
import { h } from '../elements/dom';
import { icon, stateGlyph } from '../icons/marks';
import { pill } from '../elements/parts';
import { scrolling } from '../elements/table';
import { oneLine } from '../elements/text';
import { bytes, duration, exact, micros, plural, timeElement } from '../elements/units';
import type { Child } from '../elements/dom';
import type { DeliveryState, RefreshState, SinkDelivery } from '../wire';

/** A delivery has the marks of a refresh: one that is tried again is skipped for now. */
const MARKS: Readonly<Record<DeliveryState, readonly [mark: RefreshState, token: string]>> = {
  SUCCEEDED: ['SUCCEEDED', 'ok'],
  RETRYING: ['SKIPPED', 'warn'],
  FAILED: ['FAILED', 'bad'],
};

const HEADINGS = [
  { text: 'outcome' },
  { text: 'started' },
  { text: 'took' },
  { text: 'loaded', right: true },
  { text: 'stored', right: true },
  { text: 'deleted', right: true },
  { text: 'bytes', right: true },
  { text: 'retries', right: true },
  { text: 'trigger' },
];

export function deliveriesTable(title: string, deliveries: readonly SinkDelivery[]): HTMLElement {
  const rows = deliveries.flatMap((done, i) => shown(done, i % 2 === 1));
  return h('div', { class: 'dtj-history' }, scrolling(title, HEADINGS, rows));
}

function shown(done: SinkDelivery, even: boolean): HTMLElement[] {
  const class_ = even ? 'dtj-even' : null;
  const number = (text: string): HTMLElement => h('td', { class: 'dtj-num' }, text);
  const first = h(
    'tr',
    { class: class_ },
    h('td', {}, h('span', { class: 'dtj-outcome' }, ...outcome(done))),
    h('td', { class: 'dtj-soft' }, timeElement(done.start)),
    h('td', {}, done.end === null ? '' : duration((micros(done.end) - micros(done.start)) / 1e6)),
    number(exact(done.loaded)),
    number(exact(done.stored)),
    number(exact(done.deleted)),
    number(bytes(done.bytes)),
    number(exact(done.retries)),
    h('td', { class: 'dtj-soft' }, done.trigger),
  );
  const drifted = done.drifted ? `${plural(done.drifted, 'key')} had drifted in the store` : null;
  const refused = done.refused
    ? `${plural(done.refused, 'row')} refused by the store: dead letters`
    : null;
  const why = [done.error, refused, drifted].filter(text => text !== null).map(oneLine);
  const below = why.map(text =>
    h(
      'tr',
      { class: `dtj-why ${class_ ?? ''}` },
      h('td', { colspan: HEADINGS.length, class: 'dtj-wrap' }, text),
    ),
  );
  return [first, ...below];
}

function outcome({ state, action }: SinkDelivery): Child[] {
  const [mark, token] = MARKS[state];
  const word =
    state === 'SUCCEEDED'
      ? h('span', { class: 'dtj-unseen' }, state)
      : h('span', { class: `dtj-c-${token}`, style: 'font-weight:600' }, state);
  return [
    icon(stateGlyph(mark)),
    word,
    action ? pill(action, action === 'INITIAL' ? 'full' : 'incremental') : null,
  ];
}
