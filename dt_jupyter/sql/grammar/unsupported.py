"""Statements of the surface that a later release brings: recognised, and refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.model import Span
from dt_jupyter.sql.grammar.statement_values import Statement, TimedRelation, Unsupported
from dt_jupyter.sql.grammar.timed_relations import has_data_in, timed_in
from dt_jupyter.sql.text.lex import Token

_STREAM = "Until then read a table's change feed: SELECT * FROM table_changes('t', 0)."
_TRAVEL = "Spark's own form reads a table: FROM t TIMESTAMP AS OF '…', or VERSION AS OF k."
_PRESENT = "A definition reads the current rows: query past rows or changes directly."
_HAS_DATA = "SYSTEM$STREAM_HAS_DATA"

_LEADING: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("CREATE", "TRANSIENT", "DYNAMIC", "TABLE"), "TRANSIENT", "Omit it."),
    (("CREATE", "OR", "REPLACE", "TRANSIENT", "DYNAMIC", "TABLE"), "TRANSIENT",
     "Omit it."),
    (("CREATE", "DYNAMIC", "ICEBERG", "TABLE"), "CREATE DYNAMIC ICEBERG TABLE",
     "Create a DYNAMIC TABLE: it is a Delta table."),
    (("CREATE", "OR", "REPLACE", "DYNAMIC", "ICEBERG", "TABLE"), "CREATE DYNAMIC ICEBERG TABLE",
     "Create a DYNAMIC TABLE: it is a Delta table."),
)  # fmt: skip


def unsupported_statement(words: Sequence[Token]) -> Unsupported | None:
    """The statement that these words begin, if it is one of those."""
    start = [word.upper for word in words[:6]]
    for keywords, statement, hint in _LEADING:
        if tuple(start[: len(keywords)]) == keywords:
            return Unsupported(statement, hint, _span(words[: len(keywords)]))
    return None


def later(statement: Statement) -> Unsupported | None:
    """What the engine refuses of a statement that it does not handle yet; None for the others."""
    if isinstance(statement, Unsupported):
        return statement
    return None


def unsupported_in(script: str, words: Sequence[Token]) -> Unsupported | None:
    """What no definition of a dynamic table may hold; DT-1001 to DT-1003 for a malformed one."""
    found = [_refused(timed) for timed in timed_in(script, words)]
    found += [(_HAS_DATA, _STREAM, call.span) for call in has_data_in(script, words)]
    if not found:
        return None
    what, _, span = min(found, key=lambda one: one[2].start)
    return Unsupported(f"{what} in the query of a dynamic table", _PRESENT, span)


def _refused(timed: TimedRelation) -> tuple[str, str, Span]:
    if timed.information:
        return "CHANGES", _STREAM, timed.span
    before = timed.at is not None and timed.at.before
    return "BEFORE (…)" if before else "AT (…)", _TRAVEL, timed.span


def _span(words: Sequence[Token]) -> Span:
    return Span(words[0].start, words[-1].end)
