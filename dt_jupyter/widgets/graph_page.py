"""The graph and its state as one HTML document, which loads nothing from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.widgets.graph import graph_svg
from dt_jupyter.widgets.html_frame import script_page, shell
from dt_jupyter.widgets.markup import Markup, element, joined, one_line
from dt_jupyter.widgets.tables import history_html
from dt_jupyter.wire import Column, GraphMessage, HistoryMessage

_VIEW = Path(__file__).parent / "static" / "widget.js"
_EXPORT = re.compile(r"export\s*\{\s*(\w+) as default\s*\};?\s*\Z")
_START = """
const data = JSON.parse(document.getElementById('graph-data').textContent);
const place = document.getElementById('graph-live');
const model = { get: key => (key === 'kind' ? 'graph' : data), send() {}, on() {}, off() {} };
@VIEW@.render({ model, el: place });
document.getElementById('graph-still').remove();
const open = name => {
  const found = [...document.querySelectorAll('details[id]')].find(d => d.id === 'node ' + name);
  if (found) { found.open = true; found.scrollIntoView({ block: 'nearest' }); }
};
place.addEventListener('dblclick', event => {
  const node = event.target.closest('[data-name]');
  if (node) { open(node.dataset.name); }
});
"""
_STYLE = """
body{margin:0}body>.dtj-box{margin:0}
.dtj-page{padding:16px 20px;background:var(--dtj-page);min-height:100vh;
box-sizing:border-box}
.dtj-page h1{font-size:18px;margin:0 0 2px}.dtj-page h2{font-size:15px;margin:20px 0 6px}
.dtj-page #graph-live{margin:12px 0}
.dtj-page details.dtj-node-state{border:1px solid var(--dtj-grid);border-radius:8px;
padding:8px 12px;margin:6px 0}
.dtj-page details.dtj-node-state>summary{color:var(--dtj-ink);font-size:13px}
.dtj-page pre{font-family:monospace;font-size:12px;white-space:pre-wrap;overflow-wrap:anywhere;
background:var(--dtj-zebra);padding:8px 10px;border-radius:6px}
"""


@dataclass(frozen=True)
class NodeState:
    """What is below the graph for one object: a line of facts, its columns, its text, and the
    refreshes of a dynamic table, newest first."""

    name: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...] = ()
    definition: str = ""
    history: HistoryMessage | None = None


def graph_document(graph: GraphMessage, states: Iterable[NodeState], lake: str, made: str) -> str:
    """The document: the graph to be zoomed and searched, a still picture where scripts do not run,
    and a fold for each object."""
    still = element("div", Markup(graph_svg(graph)), id="graph-still")
    body = element(
        "div",
        element("h1", f"Dynamic tables of {one_line(lake)}"),
        element(
            "div", f"As of {made}. A double click on a table opens its state.", class_="dtj-soft"
        ),
        element("div", id="graph-live"),
        still,
        element("h2", "State"),
        *(_state(each) for each in states),
        class_="dtj dtj-page",
    )
    view, start = _scripts()
    data = json.dumps(graph.to_json()).replace("<", "\\u003c")
    return script_page(shell(body), "Dynamic tables", _STYLE, data, view + start)


def _scripts() -> tuple[str, str]:
    """The module of the live views, and what draws the graph with it; the default export is used in
    its place, since a document from a disk imports nothing."""
    text = _VIEW.read_text("utf-8")
    match = _EXPORT.search(text)
    if match is None:
        raise ValueError("the built views have no default export")
    return text[: match.start()], _START.replace("@VIEW@", match[1])


def _state(state: NodeState) -> Markup:
    facts = [part for n, v in state.facts for part in (element("dt", n), element("dd", v))]
    parts: list[Markup] = [element("dl", *facts, class_="dtj-facts")] if facts else []
    if state.columns:
        shown = (element("span", f"{c.name} {c.type}", class_="dtj-col") for c in state.columns)
        parts.append(element("p", *shown))
    if state.definition:
        parts.append(element("pre", state.definition))
    if state.history is not None and state.history.rows:
        parts.append(Markup(history_html(state.history)))
    title = joined(element("strong", one_line(state.name)), f" · {state.kind}")
    summary = element("summary", title)
    return element("details", summary, *parts, class_="dtj-node-state", id=f"node {state.name}")


__all__ = ["NodeState", "graph_document"]
