/** The graph as a separate picture: an SVG that needs no style sheet, and the PNG of it. */
import { s } from '../elements/dom';
import { download } from '../elements/save';
import { oneLine } from '../elements/text';
import { TOKENS, type TokenName } from '../elements/theme';
import { ink, kindGlyph, SINK_TOKENS, stateGlyph } from '../icons/marks';
import type { GraphNode } from '../wire';
import type { Layout, Placed } from './layout/index';
import { pathOf } from './path';
import * as words from './words';
import type { Now } from './words';

export type Format = 'SVG' | 'PNG';

/** What is drawn: as it is laid out, whatever of it is in view. */
export interface Drawn {
  readonly layout: Layout;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly rightward: boolean;
  readonly now: Now;
}

const MARGIN = 16;
const PAD = 12;
const SIGN = 24;
/** Pixels of a letter, about, at the size of a name and of the lines below it. */
const LETTER = 7.6;
const SMALL_LETTER = 6.4;
const FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
/** The pixels of a PNG for one of the graph, and the most on a side. */
const DENSITY = 2;
const LARGEST = 12_000;

/** The text of an SVG in the colours that `colour` gives to the tokens. */
export function svgOf(drawn: Drawn, colour: (token: TokenName) => string): string {
  const { layout, nodes, rightward, now } = drawn;
  const [width, height] = [layout.width + 2 * MARGIN, layout.height + 2 * MARGIN];
  const svg = s(
    'svg',
    { width, height, viewBox: `0 0 ${width} ${height}`, 'font-family': FONT },
    s('rect', { width, height, style: `fill:${ink('page')}` }),
    s(
      'g',
      { transform: `translate(${MARGIN} ${MARGIN})` },
      ...layout.routes.map(route =>
        s('path', {
          d: pathOf(route, rightward),
          style: `fill:none;stroke:${ink('edge')}`,
          'stroke-width': 1.5,
        }),
      ),
      ...[...layout.boxes].map(([name, box]) => card(nodes.get(name)!, box, now)),
    ),
  );
  const text = new XMLSerializer().serializeToString(svg);
  return text.replace(/var\(--dtj-(\w+)\)/g, (_, token: TokenName) => colour(token));
}

function card(node: GraphNode, { x, y, width, height }: Placed, now: Now): SVGElement {
  const own = words.isOwn(node) || node.sink !== null;
  const tone = toneOf(node);
  const frame = s('rect', {
    width,
    height,
    rx: own ? 8 : 5,
    style: `fill:${ink(own ? 'card' : 'zebra')};stroke:${ink(tone)}`,
  });
  const left = PAD + (own ? SIGN : 0);
  const sign = s('g', { transform: `translate(${PAD + 8} 19)` }, signOf(node));
  const outcome = own ? words.outcome(node) : null;
  const lines: (readonly [string, TokenName])[] = outcome
    ? [
        [[words.modeText(node), outcome.text].filter(Boolean).join(' · '), outcome.token],
        [[lagLine(node, now), words.rowsText(node)].filter(Boolean).join(' · '), 'soft'],
      ]
    : [[[words.KIND_WORDS[node.kind], words.rowsText(node)].filter(Boolean).join(' · '), 'soft']];
  return s(
    'g',
    { transform: `translate(${x} ${y})` },
    frame,
    sign,
    text(node.name, left, own ? 24 : 20, width - left - PAD, LETTER, 'ink', 600),
    ...lines.map(([line, token], i) =>
      text(line, PAD, (own ? 48 : 38) + 20 * i, width - 2 * PAD, SMALL_LETTER, token, 400),
    ),
  );
}

/** Of a task that has one, its next time. */
function lagLine(node: GraphNode, now: Now): string {
  return words.lagText(node, now) || (node.task === null ? '' : words.nextText(node, now));
}

function toneOf(node: GraphNode): TokenName {
  if (node.sink !== null) {
    return words.isBroken(node) ? SINK_TOKENS[node.sink.state] : 'line';
  }
  return words.isBroken(node) ? 'bad' : node.state === 'EXECUTING' ? 'run' : 'line';
}

function signOf(node: GraphNode): SVGElement | null {
  if (node.sink !== null) {
    return kindGlyph('sink');
  }
  return words.isOwn(node) ? stateGlyph(node.state) : null;
}

function text(
  words: string,
  x: number,
  y: number,
  width: number,
  letter: number,
  token: TokenName,
  weight: number,
): SVGElement {
  const size = letter === LETTER ? 13 : 11.5;
  const style = `fill:${ink(token)};font-size:${size}px;font-weight:${weight}`;
  return s('text', { x, y, style }, elided(oneLine(words), Math.floor(width / letter)));
}

/** As many letters as there is room for, without the middle. */
export function elided(words: string, most: number): string {
  const chars = Array.from(words);
  if (chars.length <= most) {
    return words;
  }
  const tail = Math.floor((most - 1) / 2);
  const head = Math.max(most - 1 - tail, 1);
  return `${chars.slice(0, head).join('')}…${tail > 0 ? chars.slice(-tail).join('') : ''}`;
}

/** Saves the graph in the colours of the page that `element` is in. */
export async function savePicture(element: Element, drawn: Drawn, format: Format): Promise<void> {
  const style = getComputedStyle(element);
  const colour = (token: TokenName): string =>
    style.getPropertyValue(`--dtj-${token}`).trim() || TOKENS[token][0];
  const svg = svgOf(drawn, colour);
  if (format === 'SVG') {
    download(svg, 'dynamic-tables.svg', 'image/svg+xml');
  } else {
    const { width, height } = drawn.layout;
    download(await pngOf(svg, width + 2 * MARGIN, height + 2 * MARGIN), 'dynamic-tables.png', '');
  }
}

async function pngOf(svg: string, width: number, height: number): Promise<Blob> {
  const density = Math.min(DENSITY, LARGEST / Math.max(width, height, 1));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [Math.ceil(width * density), Math.ceil(height * density)];
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const made = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve, 'image/png'));
  return (
    made ?? Promise.reject(new Error('The browser cannot make a PNG of this size. Save an SVG.'))
  );
}
