/**
 * What a state and an action look like, as in `dt_jupyter/widgets/glyphs.py`: no mark differs by
 * its colour alone, each has its own shape.
 */
import { s } from '../elements/dom';
import type { TokenName } from '../elements/theme';
import type { NodeKind, RefreshAction, RefreshPoint, RefreshState, SinkState } from '../wire';

export const STATE_TOKENS: Readonly<Record<RefreshState, string>> = {
  SUCCEEDED: 'ok',
  FAILED: 'bad',
  UPSTREAM_FAILED: 'bad',
  EXECUTING: 'run',
  SCHEDULED: 'idle',
  SKIPPED: 'warn',
  CANCELLED: 'idle',
};

export const SINK_TOKENS: Readonly<Record<SinkState, TokenName>> = {
  ACTIVE: 'ok',
  RETRYING: 'warn',
  SUSPENDED: 'warn',
  PAUSED: 'bad',
};

export const ACTION_TOKENS: Readonly<Record<RefreshAction, string>> = {
  NO_DATA: 'idle',
  INCREMENTAL: 'incremental',
  FULL: 'full',
  REINITIALIZE: 'reinitialize',
};

export const ACTIONS = Object.keys(ACTION_TOKENS) as RefreshAction[];
export const FAILURES: readonly RefreshState[] = ['FAILED', 'UPSTREAM_FAILED', 'CANCELLED'];

/** The colour of a refresh: its action's where it succeeded, else its state's. */
export function tokenOf(point: Pick<RefreshPoint, 'state' | 'action'>): string {
  const done = point.state === 'SUCCEEDED' && point.action;
  return done ? ACTION_TOKENS[done] : (STATE_TOKENS[point.state] ?? 'idle');
}

const RINGS: Readonly<Partial<Record<RefreshState, string>>> = {
  UPSTREAM_FAILED: 'M0 3V-3M-2.6 -.4L0 -3L2.6 -.4',
  SCHEDULED: 'M0 -3V0L2 1.6',
  SKIPPED: 'M-3 0H3',
  CANCELLED: 'M-4 4L4 -4',
  EXECUTING: 'M0 -6A6 6 0 1 1 -6 0',
};
const DISCS: Readonly<Partial<Record<RefreshState, string>>> = {
  SUCCEEDED: 'M-3 .2L-.9 2.4L3.1 -2.2',
  FAILED: 'M-2.5 -2.5L2.5 2.5M2.5 -2.5L-2.5 2.5',
};

export const KINDS: Readonly<Record<NodeKind, string>> = {
  table: 'M-6 -5.5H6V5.5H-6ZM-6 -2H6M-6 1.8H6M-1.5 -2V5.5',
  view: 'M-7 0Q0 -8.5 7 0Q0 8.5 -7 0ZM-2 0A2 2 0 1 0 2 0A2 2 0 1 0 -2 0Z',
  dynamic_table: 'M-6 -5.5H6V5.5H-6ZM-6 -2H6M1 -.4L-2 2.2H.4L-.6 4.4L2.6 1.6H.2Z',
  stream: 'M-6.5 -3Q-3.2 -6.5 0 -3T6.5 -3M-6.5 3.2Q-3.2 -.3 0 3.2T6.5 3.2',
  sink: 'M0 -6V2M-3 -1L0 2L3 -1M-6 1V5.5H6V1',
  task: 'M-2.5 -5.5L6 0L-2.5 5.5ZM-6 -5.5V5.5',
  stage: 'M0 -6L6.5 -2.6L0 .8L-6.5 -2.6ZM-6.5 1.2L0 4.6L6.5 1.2',
};

export const ink = (token: string): string => `var(--dtj-${token})`;

function sign(d: string, token: string, width: number): SVGPathElement {
  return s('path', {
    d,
    style: `fill:none;stroke:${ink(token)}`,
    'stroke-width': width,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  });
}

/** What a node is, about (0, 0), for a picture without a style sheet. */
export function kindGlyph(kind: NodeKind): SVGPathElement {
  return sign(KINDS[kind], 'soft', 1.2);
}

/**
 * A disc or ring of 14 pixels about (0, 0) with its sign, in the colour of the state or of `by`; a
 * dashed ring for any other word.
 */
export function stateGlyph(state: RefreshState | null, by?: TokenName): SVGGElement {
  const token = by ?? (state === null ? 'idle' : (STATE_TOKENS[state] ?? 'idle'));
  const disc = state && DISCS[state];
  if (disc) {
    const round = s('circle', { r: 7, style: `fill:${ink(token)}` });
    return s('g', {}, round, sign(disc, 'mark', 1.8));
  }
  const inside = state && RINGS[state];
  const ring = s('circle', {
    r: 6,
    style: `fill:none;stroke:${ink(token)}`,
    'stroke-width': 1.8,
    'stroke-dasharray': inside ? null : '2.4 2.4',
    'stroke-opacity': state === 'EXECUTING' ? 0.35 : null,
  });
  return s('g', {}, ring, inside ? sign(inside, token, state === 'EXECUTING' ? 2 : 1.5) : null);
}

/** NO_DATA a ring, INCREMENTAL a disc, FULL a square, REINITIALIZE a diamond, about (x, y). */
export function actionGlyph(action: RefreshAction, x = 0, y = 0, r = 4): SVGElement {
  const token = ACTION_TOKENS[action] ?? 'idle';
  const style = `fill:${ink(token)}`;
  if (action === 'NO_DATA') {
    const ring = `fill:${ink('page')};stroke:${ink(token)}`;
    return s('circle', { cx: x, cy: y, r: r * 0.9, 'stroke-width': 1.4, style: ring });
  }
  if (action === 'INCREMENTAL') {
    return s('circle', { cx: x, cy: y, r, style });
  }
  if (action === 'FULL') {
    const side = r * 1.8;
    return s('rect', { x: x - r * 0.9, y: y - r * 0.9, width: side, height: side, style });
  }
  const far = r * 1.3;
  return s('path', { d: `M${x} ${y - far}l${far} ${far} ${-far} ${far} ${-far} ${-far}z`, style });
}

/** A cross: something failed here. */
export function cross(x: number, y: number, r: number, token = 'bad'): SVGPathElement {
  return sign(
    `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x + r} ${y - r}l${-2 * r} ${2 * r}`,
    token,
    1.8,
  );
}

/** A mark as a separate picture of 16 pixels that a screen reader skips: its word is next to it. */
export function icon(...glyph: SVGElement[]): SVGSVGElement {
  const box = { viewBox: '-8 -8 16 16', width: 16, height: 16 };
  return s('svg', { ...box, class: 'dtj-glyph', 'aria-hidden': 'true' }, ...glyph);
}
