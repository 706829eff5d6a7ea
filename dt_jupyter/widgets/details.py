"""A long text behind one line that opens it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from dt_jupyter.widgets.html_frame import shell
from dt_jupyter.widgets.markup import clean, element, one_line
from dt_jupyter.wire import redact


@dataclass(frozen=True)
class Folded:
    """Shown closed in a notebook; a terminal shows the line alone."""

    summary: str
    text: str

    @property
    def html(self) -> str:
        body = element("pre", clean(redact(self.text)), class_="dtj-trace")
        return shell(element("details", element("summary", one_line(self.summary)), body))

    def __repr__(self) -> str:
        return f"{one_line(self.summary)} …"

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": str(self.html)}
