"""An explanation of a dynamic table: mode and why, what the next refresh does, its statements."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from dt_jupyter.model import RefreshMode
from dt_jupyter.widgets.markup import Markup, clean, element, joined, one_line
from dt_jupyter.widgets.messages import Column
from dt_jupyter.widgets.shell import shell
from dt_jupyter.widgets.wire import redact

OPEN = 2
"""Statements that are shown unfolded."""


@dataclass(frozen=True)
class ExplanationMessage:
    """`steps` are (what for, SQL) in the order in which they run; `note` stands at the top."""

    name: str
    refresh_mode: RefreshMode
    mode_reason: str
    schema: tuple[Column, ...]
    upstream: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    action: str | None = None
    hint: str = ""
    checked: str = ""
    note: str = ""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        columns = ", ".join(f"{c.name} {c.type}" for c in self.schema)
        named = (
            ("note", self.note), ("why", redact(self.mode_reason)), ("hint", self.hint),
            ("next refresh", self.action or ""), ("checked on", self.checked),
            ("reads", ", ".join(self.upstream) or "nothing"), ("columns", columns),
        )  # fmt: skip
        return tuple((name, one_line(text)) for name, text in named if text)

    @property
    def text(self) -> str:
        lines = [f"{one_line(self.name)} [{self.refresh_mode}]"]
        lines += [f"  {name + ':':<14}{text}" for name, text in self.facts]
        for title, sql in self.steps:
            lines += ["", f"-- {one_line(title)}", clean(sql)]
        return "\n".join(lines)

    @property
    def html(self) -> str:
        token = "full" if self.refresh_mode is RefreshMode.FULL else "incremental"
        pill = element("span", self.refresh_mode, class_=f"dtj-pill dtj-c-{token}")
        name = element("span", one_line(self.name), class_="dtj-name")
        rows = (joined(element("dt", n), element("dd", t)) for n, t in self.facts)
        facts = element("dl", *rows, class_="dtj-facts")
        steps = (_step(title, sql, index < OPEN) for index, (title, sql) in enumerate(self.steps))
        head = element("div", name, pill, class_="dtj-head")
        return shell(element("div", head, facts, *steps, class_="dtj-card"))

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        return {"text/plain": str(self.text), "text/html": str(self.html)}


def _step(title: str, sql: str, unfolded: bool) -> Markup:
    text = element("pre", clean(sql), class_="dtj-query")
    return element("details", element("summary", one_line(title)), text, open=unfolded)
