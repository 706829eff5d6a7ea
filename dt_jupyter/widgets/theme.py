"""Colours and type, once: JupyterLab's variables where there are any, else ours, light and dark.

Each colour is a token with a light and a dark value. SVG gets both a class (that follows the theme)
and a presentation attribute (for viewers without style sheets). Every class starts with `dtj`.
"""

from __future__ import annotations

from dataclasses import dataclass

SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"


@dataclass(frozen=True, slots=True)
class ColorToken:
    """A colour: JupyterLab's variable for it if there is one, and ours for light and dark."""

    light: str
    dark: str
    variable: str | None = None

    def css(self, *, dark: bool) -> str:
        value = self.dark if dark else self.light
        return f"var({self.variable}, {value})" if self.variable else value


TOKENS = {
    "ink": ColorToken("#1f2328", "#f0f0f0", "--jp-content-font-color1"),
    "soft": ColorToken("#57606a", "#b1bac4"),
    "page": ColorToken("#ffffff", "#111111", "--jp-layout-color0"),
    "card": ColorToken("#ffffff", "#212121", "--jp-layout-color1"),
    "zebra": ColorToken("#f6f8fa", "#1a1a1a"),
    "line": ColorToken("#bdbdbd", "#616161", "--jp-border-color1"),
    "grid": ColorToken("#e0e0e0", "#424242", "--jp-border-color2"),
    "edge": ColorToken("#8590a0", "#7d8590"),
    "ok": ColorToken("#1a7f37", "#3fb950"),
    "bad": ColorToken("#cf222e", "#ff7b72"),
    "warn": ColorToken("#9a6700", "#d9a62e"),
    "run": ColorToken("#1b7c83", "#39c5cf"),
    "idle": ColorToken("#656d76", "#8b949e"),
    "incremental": ColorToken("#0969da", "#58a6ff"),
    "full": ColorToken("#8250df", "#bc8cff"),
    "reinitialize": ColorToken("#bc4c00", "#f0883e"),
    "mark": ColorToken("#ffffff", "#111111"),
}


def fill(token: str) -> dict[str, str]:
    """Attributes that fill with a token; `none` for no fill."""
    return paint(fill=token)


def paint(*, fill: str = "none", stroke: str | None = None) -> dict[str, str]:
    """Class and attributes of SVG elements for a fill and a stroke by token."""
    classes, attributes = [], {"fill": "none"}
    if fill != "none":
        classes.append(f"dtj-f-{fill}")
        attributes["fill"] = TOKENS[fill].light
    if stroke is not None:
        classes.append(f"dtj-s-{stroke}")
        attributes["stroke"] = TOKENS[stroke].light
    return {"class_": " ".join(classes), **attributes} if classes else attributes


def _tokens(*, dark: bool) -> str:
    return ";".join(f"--dtj-{name}:{token.css(dark=dark)}" for name, token in TOKENS.items())


def _root() -> str:
    font = f"font-family:var(--jp-ui-font-family, {SANS})"
    dark = ',.vscode-high-contrast .dtj,html[theme="dark"] .dtj'
    return (
        f".dtj{{{_tokens(dark=False)};{font};color:var(--dtj-ink)}}"
        f'[data-jp-theme-light="false"] .dtj,.vscode-dark .dtj{dark}{{{_tokens(dark=True)}}}'
        f"@media (prefers-color-scheme:dark){{svg.dtj:root{{{_tokens(dark=True)}}}}}"
        "svg.dtj:root{background:var(--dtj-page)}"
    )


def svg_css() -> str:
    """The style sheet that an SVG carries: it follows the theme inline and as a file."""
    paints = "".join(
        f".dtj-f-{name}{{fill:var(--dtj-{name})}}.dtj-s-{name}{{stroke:var(--dtj-{name})}}"
        for name in TOKENS
    )
    return _root() + paints + ".dtj text{white-space:pre}"


_HTML = """
.dtj-box{font-size:13px;line-height:1.45;margin:4px 0}
.dtj .dtj-live{display:block!important;overflow-x:auto}
.dtj .dtj-plain{display:none}
.dtj .dtj-scroll{overflow:auto;max-height:34em;border:1px solid var(--dtj-grid);border-radius:6px}
.dtj .dtj-title{font-weight:600;margin:0 0 4px}
.dtj .dtj-soft,.dtj table.dtj-t .dtj-soft{color:var(--dtj-soft)}
.dtj table.dtj-t{border-collapse:separate;border-spacing:0;margin:0;font-size:12px;border:0;
 table-layout:auto;width:auto;color:inherit;min-width:100%}
.dtj table.dtj-t tbody tr:nth-child(n){background:transparent}
.dtj table.dtj-t tbody tr.dtj-even:nth-child(n){background:var(--dtj-zebra)}
.dtj table.dtj-t tr.dtj-why td{padding-top:0;color:var(--dtj-soft)}
.dtj table.dtj-t th,.dtj table.dtj-t td{padding:4px 8px;text-align:left;white-space:pre;
 vertical-align:top;border:0;max-width:44em;overflow:hidden;text-overflow:ellipsis;color:inherit}
.dtj table.dtj-t th{position:sticky;top:0;background:var(--dtj-card);font-weight:600;
 border-bottom:1px solid var(--dtj-line);z-index:1}
.dtj table.dtj-t .dtj-num{text-align:right;font-variant-numeric:tabular-nums}
.dtj table.dtj-t td.dtj-wrap{white-space:pre-wrap;min-width:16em;overflow-wrap:anywhere}
.dtj .dtj-type{display:block;font-weight:400;font-size:11px;color:var(--dtj-soft)}
.dtj .dtj-null{color:var(--dtj-soft);font-style:italic}
.dtj table.dtj-t tr.dtj-insert td:first-child{box-shadow:inset 3px 0 var(--dtj-ok)}
.dtj table.dtj-t tr.dtj-delete td:first-child{box-shadow:inset 3px 0 var(--dtj-bad)}
.dtj table.dtj-t td.dtj-changed{background:var(--dtj-zebra)}
.dtj table.dtj-t .dtj-kept{position:sticky;box-sizing:border-box;background:var(--dtj-page)}
.dtj table.dtj-t tr.dtj-even .dtj-kept{background:var(--dtj-zebra)}
.dtj table.dtj-t th.dtj-kept{z-index:2;background:var(--dtj-card)}
.dtj th.dtj-first-changed{scroll-initial-target:nearest}
.dtj .dtj-pill{display:inline-block;border:1px solid currentColor;border-radius:9px;
 padding:0 8px;font-size:11px;line-height:15px;font-weight:600;white-space:nowrap}
.dtj .dtj-meter{display:inline-block;height:6px;border-radius:3px;background:var(--dtj-edge);
 margin-left:8px;vertical-align:middle}
.dtj .dtj-card{border:1px solid var(--dtj-line);border-radius:8px;background:var(--dtj-card);
 padding:12px 14px;max-width:72em}
.dtj .dtj-head{display:flex;flex-wrap:wrap;gap:8px;align-items:center;margin-bottom:8px}
.dtj .dtj-name{font-weight:600;font-size:15px;overflow-wrap:anywhere}
.dtj dl.dtj-facts{display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;margin:0 0 10px}
.dtj dl.dtj-facts dt{color:var(--dtj-soft);font-weight:400;float:none;width:auto;padding:0}
.dtj dl.dtj-facts dd{float:none;width:auto;margin:0;padding:0;overflow-wrap:anywhere}
.dtj .dtj-col{display:inline-block;margin:0 14px 2px 0}
.dtj ul.dtj-notes{margin:8px 0 0;padding-left:1.3em;color:var(--dtj-soft);font-size:12px}
.dtj .dtj-error{border-left:4px solid var(--dtj-bad);padding:2px 0 2px 12px}
.dtj .dtj-code{font-weight:700;color:var(--dtj-bad);margin-right:8px;white-space:nowrap}
.dtj pre.dtj-query,.dtj pre.dtj-trace{font-family:var(--jp-code-font-family, @MONO@);
 font-size:12px;line-height:1.5;margin:6px 0;padding:8px 10px;border-radius:6px;overflow:auto;
 background:var(--dtj-zebra);border:1px solid var(--dtj-grid);color:inherit;white-space:pre}
.dtj pre.dtj-trace{max-height:24em}
.dtj pre.dtj-query u{text-decoration:underline wavy var(--dtj-bad);text-underline-offset:3px;
 font-weight:700}
.dtj .dtj-running{display:flex;flex-wrap:wrap;gap:4px 10px;align-items:center}
.dtj .dtj-running .dtj-name{font-size:13px}
.dtj .dtj-running progress{width:120px}
.dtj .dtj-stop{display:none}
.dtj-busy .dtj .dtj-stop-main,.dtj-front .dtj .dtj-stop-thread{display:inline-block;
 padding:1px 10px;font-size:12px;color:var(--dtj-bad);background:var(--dtj-card);
 border:1px solid currentColor;border-radius:9px;cursor:pointer}
.dtj .dtj-stop::after{content:"Stop"}
.dtj summary{cursor:pointer;color:var(--dtj-soft);font-size:12px}
"""


def html_css() -> str:
    """The style sheet of the HTML views, and of the container around an SVG."""
    inks = "".join(f".dtj .dtj-c-{n}{{color:var(--dtj-{n})}}" for n in TOKENS)
    return _root() + inks + _HTML.replace("@MONO@", MONO).replace("\n", "")
