"""How far refreshes are: a line for each, with a bar of its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dt_jupyter.model import Progress, count_of
from dt_jupyter.widgets.html_frame import shell, unstyled
from dt_jupyter.widgets.markup import Markup, element, one_line


@dataclass(frozen=True)
class Running:
    """`tables` are in the order in which they began; None stands for one that has ended."""

    title: str
    tables: Mapping[str, Progress | None]

    @property
    def text(self) -> str:
        lines = [f"  {one_line(name)}: {_words(p)}" for name, p in self.tables.items()]
        return "\n".join([f"{one_line(self.title)} …", *lines])

    @property
    def html(self) -> str:
        rows = [
            element(
                "div",
                element("b", one_line(name), class_="dtj-name"),
                unstyled(": "),
                _bar(p),
                element("span", _words(p), class_="dtj-soft"),
            )
            for name, p in self.tables.items()
        ]
        return shell(element("div", f"{one_line(self.title)} …", *rows, class_="dtj-card"))

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"text/plain": str(self.text), "text/html": str(self.html)}


def _bar(progress: Progress | None) -> Markup:
    done = 1 if progress is None else progress.tasks_done
    whole = 1 if progress is None else max(progress.tasks, 1)
    return element("progress", value=done, max=whole, style="margin:0 8px;vertical-align:middle")


def _words(progress: Progress | None) -> str:
    if progress is None:
        return "done"
    if not progress.jobs:
        return "begun"
    parts = [
        f"{progress.jobs_done} of {count_of(progress.jobs, 'job')}",
        f"{progress.tasks_done} of {count_of(progress.tasks, 'task')}",
    ]
    return ", ".join([*parts, count_of(progress.rows, "row")] if progress.rows else parts)
