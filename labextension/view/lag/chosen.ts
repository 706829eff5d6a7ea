/** One refresh of a sawtooth, pointed at: which it is, its wait and run as bands, its card. */
import { h, s } from '../elements/dom';
import { icon, ink, stateGlyph, tokenOf } from '../icons/marks';
import { facts } from '../elements/parts';
import { oneLine } from '../elements/text';
import { duration, timeElement } from '../elements/units';
import { lagBefore, parts } from './teeth';
import type { Scale } from './chart';
import type { Refresh, Sawtooth } from './teeth';

/** The refresh whose time is nearest to a place of the picture. */
export function nearest(saw: Sawtooth, scale: Scale, x: number): number | null {
  const at = scale.at(x);
  let [best, distance] = [-1, Infinity];
  saw.refreshes.forEach(({ dataTimestamp, start, end }, i) => {
    const until = end ?? start ?? dataTimestamp;
    const away = at < dataTimestamp ? dataTimestamp - at : Math.max(0, at - until);
    if (away < distance) {
      [best, distance] = [i, away];
    }
  });
  return best < 0 ? null : best;
}

/** The wait before a refresh and its run, as bands over the picture. */
export function bands(refresh: Refresh, scale: Scale): SVGElement[] {
  const { dataTimestamp, start, end, point } = refresh;
  const inside = (at: number): number => Math.min(scale.right, Math.max(scale.left, scale.x(at)));
  const tall = { y: scale.top, height: scale.lane + 14 - scale.top };
  const { w, d } = parts(refresh);
  const band = (from: number, to: number, style: string, letter: string): SVGElement[] => {
    const [a, b] = [inside(from), inside(to)];
    const words =
      b - a > 14
        ? s(
            'text',
            {
              class: 'dtj-tick dtj-part',
              x: (a + b) / 2,
              y: scale.top - 4,
              'text-anchor': 'middle',
            },
            letter,
          )
        : null;
    return [
      s('rect', { x: a, width: Math.max(b - a, 1.5), ...tall, style }),
      ...(words ? [words] : []),
    ];
  };
  const drawn: SVGElement[] = [
    s('path', {
      d: `M${inside(dataTimestamp)} ${tall.y}v${tall.height}`,
      class: 'dtj-s-soft',
      'stroke-dasharray': '2 3',
    }),
  ];
  if (w !== null) {
    drawn.push(...band(dataTimestamp, start!, `fill:${ink('idle')};fill-opacity:.16`, 'w'));
  }
  if (d !== null) {
    drawn.push(...band(start!, end!, `fill:${ink(tokenOf(point))};fill-opacity:.24`, 'd'));
  }
  if (end !== null && point.state === 'SUCCEEDED' && end >= scale.from && end <= scale.to) {
    const ring = {
      cx: inside(end),
      cy: scale.y(end - dataTimestamp),
      r: 6,
      style: `fill:none;stroke:${ink('ink')}`,
      'stroke-width': 1.5,
    };
    drawn.push(s('circle', ring));
  }
  return drawn;
}

export function card(saw: Sawtooth, refresh: Refresh): Node[] {
  const { point, end, dataTimestamp } = refresh;
  const { w, d } = parts(refresh);
  const before = end === null ? null : lagBefore(saw, end);
  const fell =
    point.state === 'SUCCEEDED' && end !== null
      ? `${before === null ? '' : `${duration(before)} `}→ ${duration(end - dataTimestamp)}`
      : null;
  return [
    h(
      'div',
      { class: 'dtj-tip-head' },
      icon(stateGlyph(point.state)),
      h(
        'span',
        { class: `dtj-c-${tokenOf(point)}` },
        [point.state, point.action].filter(Boolean).join(' '),
      ),
    ),
    facts(
      ['data time', timeElement(point.data_timestamp)],
      w === null ? null : ['waited (w)', duration(w)],
      d === null ? null : ['ran (d)', duration(d)],
      fell === null ? null : ['lag', fell],
    ),
    ...(point.detail ? [h('div', { class: 'dtj-soft' }, oneLine(point.detail))] : []),
  ];
}
