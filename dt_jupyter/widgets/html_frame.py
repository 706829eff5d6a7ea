"""The container of everything that goes into a notebook as HTML."""

from __future__ import annotations

from dt_jupyter.widgets.markup import Markup, element, raw_css
from dt_jupyter.widgets.theme import html_css


def shell(*parts: str) -> Markup:
    """A scoped container with its style sheet."""
    return element("div", raw_css(html_css()), *parts, class_="dtj dtj-box")


def drawing(svg: Markup, text: str) -> Markup:
    """An SVG with its text behind it. Where a notebook is not trusted, JupyterLab drops SVG and
    style sheets but keeps `hidden`: then the text shows instead of the drawing."""
    return shell(
        element("div", svg, class_="dtj-live", hidden=True),
        element("pre", text, class_="dtj-plain"),
    )


def page(body: Markup, title: str) -> str:
    """A whole HTML document around a container, for a browser."""
    scheme = raw_css(":root{color-scheme:light}body{margin:16px;background:#fff}")
    head = element("head", Markup('<meta charset="utf-8">'), element("title", title), scheme)
    return "<!DOCTYPE html>\n" + element("html", head, element("body", body), lang="en") + "\n"
