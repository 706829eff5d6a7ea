/**
 * Colours and base styles of all views, light and dark: the tokens of dt_jupyter/widgets/theme.py
 * as custom properties `--dtj-…` under the class `dtj`, which every view's outermost element has.
 */

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

/** Each rule stands alone: a browser that does not know `:host-context` drops only its own. */
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

const BASE = `
.dtj,.dtj *{box-sizing:border-box}
.dtj :focus-visible,.dtj:focus-visible{outline:2px solid var(--dtj-incremental);outline-offset:2px}
.dtj .dtj-soft{color:var(--dtj-soft)}
.dtj .dtj-mono{font-family:var(--dtj-mono);font-size:12px}
.dtj .dtj-num{text-align:right;font-variant-numeric:tabular-nums}
.dtj .dtj-null{color:var(--dtj-soft);font-style:italic}
.dtj .dtj-text{unicode-bidi:isolate;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.dtj .dtj-title{font-weight:600;margin:0 0 4px}
.dtj .dtj-unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;
 clip-path:inset(50%);white-space:nowrap}
.dtj .dtj-bar{display:flex;flex-wrap:wrap;align-items:center;gap:6px}
.dtj .dtj-spring{flex:1 1 auto}
.dtj .dtj-button{appearance:none;display:inline-flex;align-items:center;justify-content:center;gap:5px;
 min-height:26px;min-width:26px;padding:2px 9px;margin:0;border:1px solid var(--dtj-line);
 border-radius:6px;background:var(--dtj-card);color:var(--dtj-ink);font:inherit;font-size:12px;
 line-height:1.3;cursor:pointer;white-space:nowrap}
.dtj .dtj-button:hover:not(:disabled){border-color:var(--dtj-soft);
 background:color-mix(in srgb,var(--dtj-ink) 7%,var(--dtj-card))}
.dtj .dtj-button:active:not(:disabled){background:color-mix(in srgb,var(--dtj-ink) 13%,var(--dtj-card))}
.dtj .dtj-button:disabled{opacity:.5;cursor:default}
.dtj .dtj-button[aria-pressed="true"],.dtj .dtj-button[aria-expanded="true"]{
 border-color:var(--dtj-incremental);color:var(--dtj-incremental);
 background:color-mix(in srgb,var(--dtj-incremental) 12%,var(--dtj-card))}
.dtj .dtj-button.dtj-main{border-color:var(--dtj-incremental);background:var(--dtj-incremental);
 color:var(--dtj-mark)}
.dtj .dtj-button.dtj-main:hover:not(:disabled){
 background:color-mix(in srgb,var(--dtj-ink) 18%,var(--dtj-incremental))}
.dtj .dtj-button.dtj-icon{padding:2px 5px}
.dtj .dtj-input,.dtj .dtj-select{min-height:26px;padding:2px 8px;margin:0;border:1px solid var(--dtj-line);
 border-radius:6px;background:var(--dtj-card);color:var(--dtj-ink);font:inherit;font-size:12px}
.dtj .dtj-input::placeholder{color:var(--dtj-soft);opacity:1}
.dtj .dtj-pill{display:inline-flex;align-items:center;gap:4px;border:1px solid currentColor;
 border-radius:9px;padding:0 8px;font-size:11px;line-height:16px;font-weight:600;white-space:nowrap}
.dtj .dtj-pill.dtj-tint{border-color:transparent;
 background:color-mix(in srgb,currentColor 13%,transparent)}
.dtj .dtj-track{height:5px;border-radius:3px;background:var(--dtj-grid);overflow:hidden}
.dtj .dtj-track>*{height:100%;border-radius:inherit;background:currentColor;transition:width .3s}
.dtj .dtj-panel{border:1px solid var(--dtj-line);border-radius:8px;background:var(--dtj-card);
 padding:12px 14px}
.dtj .dtj-scroll{overflow:auto;max-height:34em;border:1px solid var(--dtj-grid);border-radius:6px}
.dtj table.dtj-t{border-collapse:separate;border-spacing:0;margin:0;border:0;min-width:100%;
 table-layout:auto;font-size:12px;color:inherit}
.dtj table.dtj-t tbody tr:nth-child(n){background:transparent}
.dtj table.dtj-t tbody tr:nth-child(even){background:var(--dtj-zebra)}
.dtj table.dtj-t tbody tr[tabindex]:hover,.dtj table.dtj-t tbody tr[aria-selected="true"]{
 background:color-mix(in srgb,var(--dtj-incremental) 10%,var(--dtj-card))}
.dtj table.dtj-t th,.dtj table.dtj-t td{padding:4px 10px;text-align:left;white-space:pre;
 vertical-align:top;border:0;max-width:44em;overflow:hidden;text-overflow:ellipsis;color:inherit}
.dtj table.dtj-t th{position:sticky;top:0;z-index:1;background:var(--dtj-card);font-weight:600;
 border-bottom:1px solid var(--dtj-line)}
.dtj table.dtj-t .dtj-num{text-align:right}
.dtj table.dtj-t td.dtj-wrap{white-space:pre-wrap;min-width:16em;overflow-wrap:anywhere}
.dtj table.dtj-t tr.dtj-insert td:first-child{box-shadow:inset 3px 0 var(--dtj-ok)}
.dtj table.dtj-t tr.dtj-delete td:first-child{box-shadow:inset 3px 0 var(--dtj-bad)}
.dtj pre.dtj-query{font:12px/1.5 var(--dtj-mono);margin:6px 0;padding:8px 10px;border-radius:6px;
 overflow:auto;background:var(--dtj-zebra);border:1px solid var(--dtj-grid);color:inherit;white-space:pre}
.dtj pre.dtj-query u{text-decoration:underline wavy var(--dtj-bad);text-underline-offset:3px;font-weight:700}
.dtj dl.dtj-facts{display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;margin:0 0 10px}
.dtj dl.dtj-facts dt{color:var(--dtj-soft);font-weight:400;float:none;width:auto;padding:0}
.dtj dl.dtj-facts dd{margin:0;padding:0;overflow-wrap:anywhere}
.dtj .dtj-error{border-left:4px solid var(--dtj-bad);padding:2px 0 2px 12px}
.dtj .dtj-code{font-weight:700;color:var(--dtj-bad);margin-right:8px}
.dtj summary{cursor:pointer;color:var(--dtj-soft);font-size:12px}
.dtj .dtj-empty{display:flex;flex-direction:column;align-items:center;justify-content:center;gap:8px;
 padding:28px 20px;text-align:center;color:var(--dtj-soft)}
.dtj .dtj-empty strong{color:var(--dtj-ink);font-size:14px}
.dtj .dtj-empty pre{text-align:left}
.dtj svg.dtj-sign{flex:none;display:block;overflow:visible}
@media (prefers-reduced-motion:reduce){
 .dtj,.dtj *{animation:none!important;transition:none!important;scroll-behavior:auto!important}}
@media (forced-colors:active){
 .dtj .dtj-button,.dtj .dtj-pill,.dtj .dtj-panel{border-color:ButtonText}
 .dtj .dtj-track>*{forced-color-adjust:none}}
`;

export const STYLE = `${ROOT}\n${PAINTS}\n${BASE}`;

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
