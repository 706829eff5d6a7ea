/** Streams: how far each was consumed, what waits behind it, and when it would be stale. */
import { h } from '../elements/dom';
import { button, frame, keepingPlace, nothing, pill, said } from '../elements/parts';
import { oneLine } from '../elements/text';
import { duration, micros, plural, timeElement } from '../elements/units';
import css from './streams.raw.css';
import type { Child, Host, View } from '../elements/dom';
import type { StreamRow, StreamsMessage } from '../wire';

const SOON = 0.8; // share of the time until stale_after from which on it is warned of
const DOTS = 24;

/** Shows the streams; their sources and consumers can be chosen. */
export function mountStreams(root: HTMLElement, host: Host): View<StreamsMessage> {
  const place = frame(root, 'streams', css);
  return {
    update(message: StreamsMessage): void {
      keepingPlace(place, () => {
        const cards = message.streams.map(stream => streamCard(stream, message.as_of, host));
        place.replaceChildren(
          message.streams.length
            ? h('ul', { 'aria-label': 'Streams' }, ...cards)
            : nothing(
                'No stream yet',
                'A stream remembers how far its changes were consumed: CREATE STREAM s ON TABLE t.',
              ),
        );
      });
    },
    dispose(): void {
      place.remove();
    },
  };
}

/** How much of its time a stream has used up, from 0 to 1, and the seconds that are left. */
export function life(
  stream: StreamRow,
  asOf: string | null,
): { used: number | null; left: number } | null {
  if (stream.stale_after === null || asOf === null) {
    return null;
  }
  const [now, end] = [micros(asOf), micros(stream.stale_after)];
  const begun = stream.offset === null ? null : micros(stream.offset);
  const used =
    begun === null || end <= begun ? null : Math.min(1, Math.max(0, (now - begun) / (end - begun)));
  return { used, left: (end - now) / 1e6 };
}

/** One stream: what it is on, how far it was consumed, and when it would be stale. */
export function streamCard(stream: StreamRow, asOf: string | null, host: Host): HTMLElement {
  const link = (name: string, more = ''): HTMLElement =>
    button(oneLine(name), () => host.choose(name), {
      class: `dtj-link ${more}`.trim(),
      'data-key': `${stream.name}:${more}:${name}`,
    });
  const consumers = stream.consumers.flatMap((name, i): Child[] => [i ? ', ' : null, link(name)]);
  const row = (name: string, ...value: Child[]): Node[] => [
    h('dt', {}, name),
    h('dd', {}, ...value),
  ];
  return h(
    'li',
    { class: 'dtj-panel' },
    h(
      'div',
      { class: 'dtj-head' },
      link(stream.name, 'dtj-name'),
      pill(stream.mode, 'idle'),
      stream.stale ? pill('STALE', 'bad') : null,
    ),
    h(
      'dl',
      { class: 'dtj-facts' },
      ...row(
        'on',
        `${oneLine(stream.source_type.replace(/_/g, ' ').toLowerCase())} `,
        link(stream.source),
      ),
      ...row(
        'consumed up to',
        stream.offset === null ? 'nothing yet' : timeElement(stream.offset, asOf),
      ),
      ...row('waiting', ...waiting(stream)),
      ...row('consumed into', ...(consumers.length ? consumers : ['no table yet'])),
    ),
    staleness(stream, asOf),
    stream.reason ? said(oneLine(stream.reason), stream.stale ? 'trouble' : 'caution') : null,
  );
}

function waiting(stream: StreamRow): Child[] {
  if (stream.waiting === null) {
    return [stream.has_data === null ? 'not known' : stream.has_data ? 'changes' : 'nothing'];
  }
  if (!stream.waiting) {
    return ['nothing'];
  }
  const dots = Array.from({ length: Math.min(stream.waiting, DOTS) }, () => h('span'));
  const none = stream.has_data === false ? ', without changes of rows' : '';
  const many = `${plural(stream.waiting, 'commit')}${none}`;
  return [
    h(
      'span',
      { class: 'dtj-waiting' },
      many,
      h('span', { class: 'dtj-dots', 'aria-hidden': 'true' }, ...dots),
    ),
  ];
}

/** The time until the stream can no longer be read, as a bar that fills. */
function staleness(stream: StreamRow, asOf: string | null): HTMLElement | null {
  if (stream.stale_after === null) {
    return stream.stale
      ? h('div', { class: 'dtj-life dtj-c-bad' }, 'Stale: its changes can no longer be read.')
      : null;
  }
  const found = life(stream, asOf);
  const late = stream.stale || (found !== null && found.left <= 0);
  const soon = found?.used != null && found.used >= SOON;
  const token = late ? 'bad' : soon ? 'warn' : 'ok';
  const words = late
    ? 'stale since '
    : found
      ? `stale in ${duration(found.left)}, at `
      : 'stale after ';
  const used = late ? 1 : (found?.used ?? null);
  const percent = used === null ? null : Math.round(100 * used);
  return h(
    'div',
    { class: 'dtj-life' },
    percent === null
      ? null
      : h(
          'div',
          {
            class: `dtj-track dtj-c-${token}`,
            role: 'meter',
            'aria-label': 'Time used until stale',
            'aria-valuemin': 0,
            'aria-valuemax': 100,
            'aria-valuenow': percent,
          },
          h('div', { style: `width:${Math.max(percent, 1)}%` }),
        ),
    h(
      'span',
      { class: late || soon ? `dtj-c-${token}` : 'dtj-soft' },
      words,
      timeElement(stream.stale_after),
    ),
  );
}
