"""The container of everything that goes into a notebook as HTML.

Where a notebook is not trusted, JupyterLab takes out style sheets, SVG and what it does not know,
and keeps elements of text and tables, images with their data, and `hidden` where it has a value;
other viewers do the same.
So what parts two words is in the text or the elements, never in the style sheet alone.
"""

from __future__ import annotations

from dt_jupyter.widgets.markup import Markup, element, joined, raw_css, svg_image
from dt_jupyter.widgets.theme import html_css

LARGEST_IMAGE = 1 << 19
"""Characters of an SVG that a notebook holds a second time, as an image."""


_NOTHING_OUTSIDE = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)


def shell(*parts: str) -> Markup:
    """A scoped container with its style sheet."""
    return element("div", raw_css(html_css()), *parts, class_="dtj dtj-box")


def unstyled(text: str) -> Markup:
    """Text that is seen only where the style sheet is not: it parts what that would part."""
    return element("span", text, class_="dtj-plain")


def drawing(svg: Markup, text: str) -> Markup:
    """An SVG, and where that and the style sheet are taken out the same as an image, with its text
    behind a line that opens it; the text alone where the image would make the notebook large."""
    told = element("pre", text)
    if len(svg) <= LARGEST_IMAGE:
        image = svg_image(svg, text.partition("\n")[0])
        told = joined(image, element("details", element("summary", "As text"), told))
    return shell(
        element("div", told, class_="dtj-plain"),
        element("div", svg, class_="dtj-live", hidden=True, style="display:none"),
    )


def script_page(body: Markup, title: str, css: str, data: str, script: str) -> str:
    """As `page`, light or dark as the reader's system is, with JSON `data` that a module of this
    package draws. Nothing is loaded from elsewhere: its policy allows no connection at all."""
    meta = (
        '<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{_NOTHING_OUTSIDE}">'
    )
    scheme = (
        "<script>if(matchMedia('(prefers-color-scheme: dark)').matches)"
        "document.documentElement.setAttribute('theme','dark')</script>"
    )
    head = element(
        "head",
        Markup(meta),
        element("title", title),
        Markup(scheme),
        raw_css(css.replace("\n", "")),
    )
    code = script.replace("</script", "<\\/script")
    drawn = (
        f'<script type="application/json" id="graph-data">{data}</script>'
        f'<script type="module">{code}</script>'
    )
    whole = element("html", head, element("body", body, Markup(drawn)), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def page(body: Markup, title: str) -> str:
    """A whole HTML document around a container, for a browser."""
    scheme = raw_css(":root{color-scheme:light}body{margin:16px;background:#fff}")
    head = element("head", Markup('<meta charset="utf-8">'), element("title", title), scheme)
    return "<!DOCTYPE html>\n" + element("html", head, element("body", body), lang="en") + "\n"
