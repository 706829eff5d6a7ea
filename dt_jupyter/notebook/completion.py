"""Completion in our cells: commands, options and their values, and in SQL the names it may mean.

Nothing here starts Spark: names come from an engine that is open, and are kept for a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)

from dt_jupyter.model import Name
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.notebook.suggest import Candidate, cell_of, suggest

if TYPE_CHECKING:
    from dt_jupyter.engine import Context
    from dt_jupyter.notebook.session import Notebook

_KEPT_SECONDS = 1.0
_KEPT = 100
_SHOWN_VARIABLES = (int, float, str, bool)


class Completer:
    """Completes for one shell; `matcher` is what IPython calls."""

    def __init__(self, notebook: Notebook, clock: Callable[[], float] = time.monotonic) -> None:
        self.notebook = notebook
        self.names = EngineNames(notebook, clock)
        complete = self.complete

        @context_matcher(priority=200)  # type: ignore[untyped-decorator]
        def dynamic_tables(context: CompletionContext) -> SimpleMatcherResult:
            return complete(context)

        self.matcher = dynamic_tables

    def complete(self, context: CompletionContext) -> SimpleMatcherResult:
        """What may follow at the cursor of a cell with a magic of ours, instead of Python's
        suggestions."""
        lines = context.full_text.split("\n")
        before = "\n".join([*lines[: context.cursor_line], context.text_until_cursor])
        cell = cell_of(context.full_text, before)
        if cell is None:
            return SimpleMatcherResult(completions=[], suppress=False)
        fragment, found = suggest(cell, self.names)
        return SimpleMatcherResult(
            completions=[SimpleCompletion(c.text, type=c.kind) for c in found],
            matched_fragment=fragment,
            suppress=True,
            ordered=True,
        )


class EngineNames:
    """The names that the notebook's engine knows; none while there is no engine."""

    def __init__(self, notebook: Notebook, clock: Callable[[], float]) -> None:
        self._notebook = notebook
        self._clock = clock
        self._kept: dict[tuple[str, ...], tuple[float, list[Candidate]]] = {}

    def dynamic_tables(self) -> list[Candidate]:
        return self._recent(
            ("dynamic tables",),
            lambda c: [Candidate(str(t.name), "dynamic table") for t in c.catalog.list()],
        )

    def warehouses(self) -> list[Candidate]:
        return self._recent(
            ("warehouses",),
            lambda c: [Candidate(w.name, "warehouse") for w in c.catalog.warehouses()],
        )

    def sinks(self) -> list[Candidate]:
        return self._recent(
            ("sinks",), lambda c: [Candidate(str(s.name), "sink") for s in c.catalog.sinks()]
        )

    def tasks(self) -> list[Candidate]:
        return self._recent(
            ("tasks",), lambda c: [Candidate(str(t.name), "task") for t in c.catalog.tasks()]
        )

    def tables(self) -> list[Candidate]:
        return self._recent(("tables",), _tables)

    def columns(self, table: str) -> list[Candidate]:
        """Of a table, view or dynamic table as written; none where it is unknown."""
        return self._recent(("columns", table), lambda e: _columns(e, table))

    def variables(self) -> list[Candidate]:
        names = self._notebook.shell.user_ns
        return [
            Candidate(name, "variable")
            for name, value in names.items()
            if not name.startswith("_") and isinstance(value, _SHOWN_VARIABLES)
        ]

    def _recent(
        self, key: tuple[str, ...], ask: Callable[[Context], Iterable[Candidate]]
    ) -> list[Candidate]:
        engine = self._notebook.engine
        if engine is None:
            return []
        now = self._clock()
        kept = self._kept.get(key)
        if kept is not None and now - kept[0] < _KEPT_SECONDS:
            return kept[1]
        if len(self._kept) > _KEPT:
            self._kept.clear()
        try:
            found = list(ask(engine.context))
        except Exception:
            # A name half typed, a source that is gone, a session that ended: no suggestion, and
            # no trace while a user types.
            found = []
        self._kept[key] = (now, found)
        return found


def _tables(context: Context) -> list[Candidate]:
    sees = context.access.sees
    ours = {str(table.name) for table in context.catalog.list() if sees(table.name)}
    found = [Candidate(name, "dynamic table") for name in sorted(ours)]
    for row in context.spark.sql("SHOW TABLES").collect():
        named = row["isTemporary"] or sees(Name(row["namespace"], row["tableName"]))
        if named and row["tableName"] not in ours and not is_hidden(row["tableName"]):
            found.append(Candidate(row["tableName"], "table"))
    return found


def _columns(context: Context, table: str) -> list[Candidate]:
    """From the catalog or the Delta log; only of a view does Spark's analyser say."""
    name = context.name(table)
    if not context.access.sees(name):
        return []
    ours = context.catalog.get(name)
    if ours is not None:
        return [Candidate(n, "column") for n, _, _ in ours.definition.columns]
    path = _delta_path(context, name)
    if path is None:
        return [Candidate(n, "column") for n in context.spark.table(name.sql).columns]
    columns = context.sources.logs[path].metadata().columns
    return [Candidate(n, "column") for n in columns]


def _delta_path(context: Context, name: Name) -> str | None:
    from dt_jupyter.spark import lookup

    found = lookup(context.spark, name)
    return found.location if found is not None and found.provider == "delta" else None
