/** The newest runs of a task, a row each: outcome, times, rows, and why below. */
import { h } from '../elements/dom';
import { folded, type Folding } from './history';
import { icon, STATE_TOKENS, stateGlyph } from '../icons/marks';
import { scrolling } from '../elements/table';
import { oneLine } from '../elements/text';
import { duration, exact, micros, timeElement } from '../elements/units';
import type { Child } from '../elements/dom';
import type { TaskRunRow } from '../wire';

const HEADINGS = [
  { text: 'outcome' },
  { text: 'scheduled' },
  { text: 'took' },
  { text: 'rows', right: true },
  { text: 'attempt', right: true },
  { text: 'trigger' },
];

/** The runs that had something to do, and a box that shows the others. */
export function runsTable(
  title: string,
  runs: readonly TaskRunRow[],
  folding: Folding,
): HTMLElement {
  return folded(
    runs,
    run => run.quiet,
    'skipped (nothing to do)',
    folding,
    rows => {
      const drawn = rows.flatMap((run, i) => shown(run, i % 2 === 1));
      return h('div', { class: 'dtj-history' }, scrolling(title, HEADINGS, drawn));
    },
  );
}

function shown(run: TaskRunRow, even: boolean): HTMLElement[] {
  const class_ = even ? 'dtj-even' : null;
  const took =
    run.start === null || run.end === null
      ? ''
      : duration((micros(run.end) - micros(run.start)) / 1e6);
  const first = h(
    'tr',
    { class: class_ },
    h('td', {}, h('span', { class: 'dtj-outcome' }, ...outcome(run))),
    h('td', { class: 'dtj-soft' }, timeElement(run.scheduled)),
    h('td', {}, took),
    h('td', { class: 'dtj-num' }, run.rows === null ? '' : exact(run.rows)),
    h('td', { class: 'dtj-num' }, exact(run.attempt)),
    h('td', { class: 'dtj-soft' }, run.trigger),
  );
  if (run.message === null) {
    return [first];
  }
  const why = h('td', { colspan: HEADINGS.length, class: 'dtj-wrap' }, oneLine(run.message));
  return [first, h('tr', { class: `dtj-why ${class_ ?? ''}` }, why)];
}

function outcome({ state, quiet }: TaskRunRow): Child[] {
  const [token, weight] = quiet ? ['soft', 400] : [STATE_TOKENS[state], 600];
  const word =
    state === 'SUCCEEDED'
      ? h('span', { class: 'dtj-unseen' }, state)
      : h('span', { class: `dtj-c-${token}`, style: `font-weight:${weight}` }, state);
  return [icon(stateGlyph(state, quiet ? 'idle' : undefined)), word];
}
