"""HTML and SVG from values, with every string escaped: the only place where markup is made.

A `Markup` is markup already; any other string is text and is escaped, in content and attributes.
"""

from __future__ import annotations

import html
import re
import unicodedata
from base64 import b64encode

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*\Z")
_REFUSED = re.compile(r"on|(xlink:)?href\Z|src\Z|data-|action\Z|formaction\Z")
_ALLOWED_CONTROLS = "\n\t"
_VOID = frozenset({"br"})


class Markup(str):
    """Text that is markup: made by `element`, `raw_css`, `svg_image` and `joined` only."""

    __slots__ = ()


def clean(text: str) -> str:
    """Text without characters that act instead of showing: a control character becomes its
    picture (␀), a bidirectional override, a surrogate or another invisible format � ; so two
    names that differ still look different. Line ends and tabs stay."""
    return "".join(map(_visible, text)) if not (text.isascii() and text.isprintable()) else text


def one_line(text: str) -> str:
    """`clean`, with line ends as ⏎ and tabs as spaces."""
    flat = text.replace("\r\n", "⏎").replace("\n", "⏎").replace("\t", " ")
    return clean(flat)


def _visible(char: str) -> str:
    if char in _ALLOWED_CONTROLS:
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    # Cf holds the bidirectional controls; the joiners of emoji and Indic scripts are Cf as well
    category = unicodedata.category(char)
    if category in ("Cc", "Cs", "Cn", "Zl", "Zp") or (
        category == "Cf" and char not in "\u200c\u200d"
    ):
        return "�"
    return char


def escape(text: str) -> Markup:
    """Text as markup, good in content and in quoted attributes."""
    return text if isinstance(text, Markup) else Markup(html.escape(clean(text), quote=True))


def joined(*parts: str) -> Markup:
    """Parts one after the other, texts escaped."""
    return Markup("".join(escape(part) for part in parts))


def raw_css(css: str) -> Markup:
    """A style element with the package's rules; ValueError for anything that could end it."""
    if "<" in css or "&" in css or "url(" in css or "@import" in css:
        raise ValueError("a style sheet names nothing outside and holds no markup")
    return Markup(f"<style>{css}</style>")


def svg_image(svg: Markup, alt: str) -> Markup:
    """An SVG of this package as an image that holds it, as wide as there is room. Sanitizers that
    take inline SVG out leave images in; in an image nothing is loaded or run."""
    data = b64encode(svg.encode()).decode()
    room = "max-width:100%;height:auto"
    source = f"data:image/svg+xml;base64,{data}"
    return Markup(f'<img src="{source}" alt="{escape(one_line(alt))}" style="{room}"/>')


def element(tag: str, /, *children: str, **attributes: str | float | int | bool | None) -> Markup:
    """`<tag a="…">children</tag>`. Attribute names: `class_` is class, `stroke_width` is
    stroke-width; None and False are left out, True is the name again. Numbers have at most two
    decimals. ValueError for handlers, links and data- attributes."""
    inner = joined(*children)
    opened = tag + "".join(_attribute(name, value) for name, value in attributes.items())
    return Markup(f"<{opened}/>" if tag in _VOID else f"<{opened}>{inner}</{tag}>")


def number(value: float) -> str:
    """At most two decimals, none that say nothing; the same text for the same number."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _attribute(name: str, value: str | float | int | bool | None) -> str:
    key = name.removesuffix("_").replace("_", "-")
    if not _NAME.match(key) or _REFUSED.match(key.lower()):
        raise ValueError(f"attribute {key} is not allowed")
    if value is None or value is False:
        return ""
    if value is True:
        return f' {key}="{key}"'  # JupyterLab's sanitizer drops some that are empty
    return f' {key}="{escape(value if isinstance(value, str) else number(value))}"'
