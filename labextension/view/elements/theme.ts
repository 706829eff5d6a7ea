/**
 * Colours and base styles of all views, light and dark: the tokens of dt_jupyter/widgets/theme.py
 * as custom properties `--dtj-…` under the class `dtj`, which every view's outermost element has.
 */

import baseCss from './base.raw.css';

/** A colour: light, dark, and JupyterLab's variable for it if there is one. */
type Token = readonly [light: string, dark: string, variable?: string];

export const TOKENS = {
  ink: ['#1f2328', '#f0f0f0', '--jp-content-font-color1'],
  soft: ['#57606a', '#b1bac4'],
  page: ['#ffffff', '#111111', '--jp-layout-color0'],
  card: ['#ffffff', '#212121', '--jp-layout-color1'],
  zebra: ['#f6f8fa', '#1a1a1a'],
  line: ['#bdbdbd', '#616161', '--jp-border-color1'],
  grid: ['#e0e0e0', '#424242', '--jp-border-color2'],
  edge: ['#8590a0', '#7d8590'],
  ok: ['#1a7f37', '#3fb950'],
  bad: ['#cf222e', '#ff7b72'],
  warn: ['#9a6700', '#d9a62e'],
  run: ['#1b7c83', '#39c5cf'],
  idle: ['#656d76', '#8b949e'],
  incremental: ['#0969da', '#58a6ff'],
  full: ['#8250df', '#bc8cff'],
  reinitialize: ['#bc4c00', '#f0883e'],
  mark: ['#ffffff', '#111111'],
} as const satisfies Record<string, Token>;

export type TokenName = keyof typeof TOKENS;

const NAMES = Object.keys(TOKENS) as TokenName[];

/** Ancestors that say dark: JupyterLab, VS Code, Colab. */
const DARK = [
  '[data-jp-theme-light="false"]',
  '.vscode-dark',
  '.vscode-high-contrast:not(.vscode-high-contrast-light)',
  'html[theme="dark"]',
];

const SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
const MONO = "Menlo, Consolas, 'DejaVu Sans Mono', monospace";

function properties(dark: boolean): string {
  const own = NAMES.map(name => {
    const [light, night, variable]: Token = TOKENS[name];
    const value = dark ? night : light;
    return `--dtj-${name}:${variable ? `var(${variable}, ${value})` : value}`;
  });
  return `${own.join(';')};color-scheme:${dark ? 'dark' : 'light'}`;
}

/** Each rule is separate: a browser that does not know `:host-context` drops only its own. */
const ROOT = [
  `.dtj{${properties(false)};--dtj-sans:var(--jp-ui-font-family, ${SANS});
    --dtj-mono:var(--jp-code-font-family, ${MONO});font:13px/1.45 var(--dtj-sans);color:var(--dtj-ink)}`,
  ...DARK.map(sign => `${sign} .dtj{${properties(true)}}`),
  ...DARK.map(sign => `:host-context(${sign}) .dtj{${properties(true)}}`),
].join('\n');

/** `dtj-f-ok` fills, `dtj-s-ok` strokes, `dtj-c-ok` is the ink: one of each for every token. */
const PAINTS = NAMES.map(
  name =>
    `.dtj .dtj-f-${name}{fill:var(--dtj-${name})}` +
    `.dtj .dtj-s-${name}{stroke:var(--dtj-${name})}` +
    `.dtj .dtj-c-${name}{color:var(--dtj-${name})}`,
).join('\n');

export const STYLE = `${ROOT}\n${PAINTS}\n${baseCss}`;

/**
 * Puts a style sheet once into the document or shadow root that `root` is in; into its document
 * while it is in neither. Each widget brings its own copy of this module, so the page is asked
 * whether it has the sheet.
 */
export function adopt(root: Node, style: string = STYLE): void {
  const home = root.getRootNode();
  const place =
    typeof ShadowRoot !== 'undefined' && home instanceof ShadowRoot
      ? home
      : (root.ownerDocument ?? (root as Document)).head;
  for (const sheet of place.querySelectorAll('style[data-dtj]')) {
    if (sheet.textContent === style) {
      return;
    }
  }
  const sheet = (root.ownerDocument ?? (root as Document)).createElement('style');
  sheet.setAttribute('data-dtj', '');
  sheet.textContent = style;
  place.append(sheet);
}
