/** The signs that only a graph needs: what kind a node is, that it is suspended, that it erred. */
import { s } from '../elements/dom';
import { icon, KINDS } from './marks';
import type { NodeKind } from '../wire';

/** A grid for a table, an eye for a view, waves for a stream, a tray for a sink, a start for a task, sheets for a stage. */
export function kindSign(kind: NodeKind): SVGSVGElement {
  return icon(line(KINDS[kind], 'soft', 1.2));
}

const TOOLS = {
  in: 'M-5 0H5M0 -5V5',
  out: 'M-5 0H5',
  fit: 'M-6 -2.5V-6H-2.5M2.5 -6H6V-2.5M6 2.5V6H2.5M-2.5 6H-6V2.5',
  read: 'M-6 -5H6M-6 -1.7H6M-6 1.7H6M-6 5H2',
  down: 'M0 -6V5.5M-4 1.5L0 5.5L4 1.5',
  right: 'M-6 0H5.5M1.5 -4L5.5 0L1.5 4',
  upstream: 'M0 5V-2M-3 0L0 -3L3 0M-5 -6H5',
  downstream: 'M0 -5V2M-3 0L0 3L3 0M-5 6H5',
  whole: 'M-4.5 -4.5L4.5 4.5M4.5 -4.5L-4.5 4.5',
} as const;

/** What a button of the graph does. */
export function toolSign(tool: keyof typeof TOOLS): SVGSVGElement {
  return icon(line(TOOLS[tool], 'ink', 1.6));
}

/** Two bars: suspended. */
export function pauseSign(): SVGSVGElement {
  return icon(line('M-3 -5V5M3 -5V5', 'warn', 3));
}

/** An hourglass: later than it may be. */
export function lateSign(): SVGSVGElement {
  return icon(
    line(
      'M-4.5 -6H4.5M-4.5 6H4.5M-3.5 -6Q-3.5 -2 0 0Q3.5 2 3.5 6M3.5 -6Q3.5 -2 0 0Q-3.5 2 -3.5 6',
      'bad',
      1.6,
    ),
  );
}

/** An arrow that goes around: tried again. */
export function retrySign(): SVGSVGElement {
  return icon(line('M4.6 -3A5.5 5.5 0 1 0 5.5 1M5.4 -6.4V-2.6H1.6', 'warn', 1.7));
}

/** A triangle with an exclamation mark: there is an error. */
export function errorSign(): SVGSVGElement {
  const triangle = s('path', {
    d: 'M0 -6L6.6 5.6H-6.6Z',
    class: 'dtj-f-bad dtj-s-bad',
    'stroke-width': 1.8,
    'stroke-linejoin': 'round',
  });
  return icon(triangle, line('M0 -2.2V1.6M0 3.9V3.95', 'mark', 1.7));
}

function line(d: string, token: string, width: number): SVGPathElement {
  return s('path', {
    d,
    fill: 'none',
    class: `dtj-s-${token}`,
    'stroke-width': width,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  });
}
