/** What the newest refreshes took, a bar each, oldest first: seconds above, bytes written below. */
import { costOf } from '../elements/cost';
import { h, s } from '../elements/dom';
import { ACTION_TOKENS, ink } from '../icons/marks';
import { facts } from '../elements/parts';
import { bytes, count, duration, local, percent, plural } from '../elements/units';
import type { HealthRow, HistoryMessage, HistoryRow } from '../wire';

const LEAST = 3; // refreshes; fewer are read in the table
const HEIGHT = 44;
const STEP = 12;
const BAR = 9;

interface Kind {
  readonly words: (value: number) => string;
  readonly of: (row: HistoryRow) => number | null;
  readonly label: string;
}

const KINDS: readonly Kind[] = [
  { label: 'seconds', of: row => row.duration, words: duration },
  { label: 'bytes written', of: row => row.bytes_written, words: bytes },
];

/** What it costs, and how much of the time it was within its target lag. */
export function costFacts(cost: HealthRow | null): HTMLElement | null {
  if (cost === null) {
    return null;
  }
  const span = cost.days < 1 ? '' : ` of ${plural(Math.round(cost.days), 'day')}`;
  return h(
    'section',
    {},
    facts(
      ['cost', costOf(cost)],
      cost.within === null ? null : ['within target lag', `${percent(cost.within)}${span}`],
      cost.recomputed ? ['recomputed in full', count(cost.recomputed)] : null,
      cost.failed ? ['failed', count(cost.failed)] : null,
    ),
  );
}

/** Null where there are too few refreshes, or none took anything. */
export function costChart(history: HistoryMessage): HTMLElement | null {
  const ran = history.rows.filter(row => row.duration !== null).reverse();
  if (ran.length < LEAST) {
    return null;
  }
  const charts = KINDS.map(kind => chart(kind, ran)).filter(found => found !== null);
  return h(
    'section',
    {},
    h('h4', {}, `Cost of ${plural(ran.length, 'refresh', 'refreshes')}`),
    ...charts,
  );
}

function chart({ label, of, words }: Kind, rows: readonly HistoryRow[]): HTMLElement | null {
  const values = rows.map(row => of(row) ?? 0);
  const most = Math.max(...values);
  if (!most) {
    return null;
  }
  const total = values.reduce((sum, value) => sum + value, 0);
  const told = `${words(total)} in all, at most ${words(most)}`;
  const bars = rows.map((row, i) => {
    const tall = values[i]! ? Math.max(1.5, ((HEIGHT - 2) * values[i]) / most) : 0;
    const token = row.state === 'SUCCEEDED' && row.action ? ACTION_TOKENS[row.action] : 'bad';
    const place = { x: i * STEP, y: HEIGHT - tall, width: BAR, height: tall, rx: 1 };
    const words_ = `${local(row.data_timestamp)}: ${row.action ?? row.state}, ${words(values[i]!)}`;
    return s('rect', { ...place, style: `fill:${ink(token ?? 'idle')}` }, s('title', {}, words_));
  });
  const width = rows.length * STEP;
  const picture = s(
    'svg',
    {
      width,
      height: HEIGHT,
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: 'img',
      'aria-label': `${label}: ${told}`,
    },
    s('path', { d: `M0 ${HEIGHT - 0.5}H${width}`, class: 'dtj-s-line' }),
    ...bars,
  );
  return h(
    'div',
    { class: 'dtj-cost' },
    picture,
    h('div', {}, h('div', {}, label), h('div', { class: 'dtj-soft' }, told)),
  );
}
