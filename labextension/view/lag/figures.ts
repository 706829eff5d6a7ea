/** Figures and legend of a sawtooth. A figure is a large number, what it is above, a remark below. */
import { h, s } from '../elements/dom';
import { ACTIONS, FAILURES, STATE_TOKENS, actionGlyph, cross, icon, ink } from '../icons/marks';
import { oneLine } from '../elements/text';
import { duration, exact, percent, zone } from '../elements/units';
import { idleSeconds, troubles } from './teeth';
import type { Refresh, Sawtooth } from './teeth';

export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly remark?: string;
  readonly token?: string | undefined;
}

export function figures(shown: readonly (Figure | null)[]): HTMLElement {
  const each = shown
    .filter(figure => figure !== null)
    .map(({ name, value, remark, token }) =>
      h(
        'div',
        { class: 'dtj-figure' },
        h('dt', {}, name),
        h('dd', { class: token ? `dtj-c-${token}` : null }, value),
        remark ? h('dd', { class: 'dtj-remark' }, oneLine(remark)) : null,
      ),
    );
  return h('dl', { class: 'dtj-figures' }, ...each);
}

/** Of what was: lag now, mean and worst, and how often within the target. */
export function figuresOf(saw: Sawtooth): (Figure | null)[] {
  const late = (value: number): string | undefined =>
    saw.target !== null && value > saw.target ? 'bad' : undefined;
  const trouble = troubles(saw);
  return [
    saw.now === null ? null : { name: 'lag now', value: duration(saw.now), token: late(saw.now) },
    { name: 'target', value: saw.target === null ? 'DOWNSTREAM' : duration(saw.target) },
    saw.mean === null ? null : { name: 'mean', value: duration(saw.mean), token: late(saw.mean) },
    saw.worst === null
      ? null
      : { name: 'worst', value: duration(saw.worst), token: late(saw.worst) },
    saw.within === null
      ? null
      : {
          name: 'within target',
          value: percent(saw.within),
          token: saw.within < 0.95 ? 'warn' : undefined,
          ...(saw.idle.length
            ? { remark: `not counting ${duration(idleSeconds(saw))} without a scheduler` }
            : {}),
        },
    {
      name: 'refreshes',
      value: exact(saw.refreshes.length),
      ...(trouble ? { remark: trouble } : {}),
    },
  ];
}

/** What occurs in the picture, and only that. */
export function legend(saw: Sawtooth): HTMLElement[] {
  const has = (test: (refresh: Refresh) => boolean): boolean => saw.refreshes.some(test);
  const entry = (glyph: SVGElement, word: string): HTMLElement => h('span', {}, icon(glyph), word);
  const actions = ACTIONS.filter(action =>
    has(({ point }) => point.state === 'SUCCEEDED' && point.action === action),
  );
  const failures = FAILURES.filter(state => has(({ point }) => point.state === state));
  const stroke = s('path', { d: 'M0 -5V5', style: `stroke:${ink('warn')}`, 'stroke-width': 2 });
  const tip = s('path', { d: 'M0 4l-4 -7h8z', style: `fill:${ink('bad')}` });
  const shade = s('rect', { x: -5, y: -5, width: 10, height: 10, class: 'dtj-idle' });
  return [
    ...actions.map(action => entry(actionGlyph(action), action)),
    ...failures.map(state => entry(cross(0, 0, 3.6, STATE_TOKENS[state]), state)),
    ...(has(({ point }) => point.state === 'SKIPPED') ? [entry(stroke, 'SKIPPED')] : []),
    ...(saw.above.length ? [entry(tip, 'above target')] : []),
    ...(saw.idle.length ? [entry(shade, 'no scheduler')] : []),
    ...(saw.span ? [h('span', {}, zone())] : []),
  ];
}
