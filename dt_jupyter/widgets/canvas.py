"""The frame of every SVG: size, title, description, style; and text that fits.

Texts end with a line end: where a viewer takes the elements out and leaves the text, words stay
separate.
"""

from __future__ import annotations

from dt_jupyter.widgets.markup import Markup, element, joined, number, one_line, raw_css
from dt_jupyter.widgets.theme import SANS, fill, svg_css
from dt_jupyter.widgets.typeset import fit

SMALLEST_SCALE = 0.62  # below this a picture scrolls instead of shrinking


def canvas(width: float, height: float, title: str, description: str, *parts: str) -> Markup:
    """A whole SVG of that size in pixels; it shrinks to its container, but stays legible."""
    style = f"max-width:100%;height:auto;min-width:{number(width * SMALLEST_SCALE)}px"
    size = f"{number(width)} {number(height)}"
    return element(
        "svg",
        element("title", title),
        "\n",
        element("desc", description),
        "\n",
        raw_css(svg_css()),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_="dtj",
        role="img",
        aria_label=title,
        width=width,
        height=height,
        viewBox=f"0 0 {size}",
        font_family=SANS,
        style=style,
    )


def label(
    text: str,
    x: float,
    y: float,
    *,
    size: float = 11,
    token: str = "ink",
    bold: bool = False,
    anchor: str | None = None,
    width: float | None = None,
    middle: bool = False,
) -> Markup:
    """One line of text at its baseline, shortened to `width` pixels where one is given."""
    line = one_line(text)
    shown = line if width is None else fit(line, width, size, bold=bold, middle=middle)
    text_element = element(
        "text",
        shown,
        x=x,
        y=y,
        font_size=size,
        font_weight="600" if bold else None,
        text_anchor=anchor,
        **fill(token),
    )
    return joined(text_element, "\n")


def group(*parts: str, tooltip: str | None = None, **attributes: str | float | None) -> Markup:
    """Parts that belong together, with a tooltip."""
    title = joined(element("title", tooltip), "\n") if tooltip else ""
    return element("g", joined(title, *parts), **attributes)
