"""Statements of the surface that a later release brings: recognised, and refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.model import Span
from dt_jupyter.sql.lex import Kind, Token
from dt_jupyter.sql.statements import (
    Begin,
    Commit,
    CreateStream,
    DescribeStream,
    DropStream,
    PointKind,
    Rollback,
    ShowStreams,
    Statement,
    Unsupported,
)

_STREAM = "Until then read a table's change feed: SELECT * FROM table_changes('t', 0)."
_REPLACE = "Use CREATE OR REPLACE STREAM."
_TRAVEL = "Spark's own form reads a table: FROM t TIMESTAMP AS OF '…', or VERSION AS OF k."
_TRANSACTION = "Every statement is a transaction of its own: leave BEGIN and COMMIT out."
_GRANT = "All who use this engine may do the same."

_LEADING: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("ALTER", "STREAM"), "ALTER STREAM", _REPLACE),
    (("UNDROP", "STREAM"), "UNDROP STREAM", _REPLACE),
    (("GRANT",), "GRANT", _GRANT),
    (("REVOKE",), "REVOKE", _GRANT),
    (("CREATE", "TRANSIENT", "DYNAMIC", "TABLE"), "TRANSIENT", "Leave the word out."),
    (("CREATE", "OR", "REPLACE", "TRANSIENT", "DYNAMIC", "TABLE"), "TRANSIENT",
     "Leave the word out."),
    (("CREATE", "DYNAMIC", "ICEBERG", "TABLE"), "CREATE DYNAMIC ICEBERG TABLE",
     "Create a DYNAMIC TABLE: it is a Delta table."),
    (("CREATE", "OR", "REPLACE", "DYNAMIC", "ICEBERG", "TABLE"), "CREATE DYNAMIC ICEBERG TABLE",
     "Create a DYNAMIC TABLE: it is a Delta table."),
)  # fmt: skip
_LATER: tuple[tuple[type[Statement], tuple[str, str]], ...] = (
    (CreateStream, ("CREATE STREAM", _STREAM)),
    (DropStream, ("DROP STREAM", _STREAM)),
    (DescribeStream, ("DESCRIBE STREAM", _STREAM)),
    (ShowStreams, ("SHOW STREAMS", _STREAM)),
    (Begin, ("BEGIN", _TRANSACTION)),
    (Commit, ("COMMIT", _TRANSACTION)),
    (Rollback, ("ROLLBACK", _TRANSACTION)),
)
_NO_RELATION = frozenset({  # words after which no AT belongs to a table
    "SELECT", "DISTINCT", "ALL", "FROM", "JOIN", "WHERE", "AND", "OR", "NOT", "ON", "BY", "HAVING",
    "CASE", "WHEN", "THEN", "ELSE", "IN", "LIKE", "BETWEEN", "IS", "SET", "USING", "VALUES",
})  # fmt: skip


def unsupported_statement(words: Sequence[Token]) -> Unsupported | None:
    """The statement that these words begin, if it is one of those."""
    start = [word.upper for word in words[:6]]
    for keywords, statement, hint in _LEADING:
        if tuple(start[: len(keywords)]) == keywords:
            return Unsupported(statement, hint, _span(words[: len(keywords)]))
    if start[:2] == ["USE", "ROLE"] and len(words) > 2:  # USE role is a schema
        return Unsupported("USE ROLE", _GRANT, _span(words[:2]))
    return None


def later(statement: Statement) -> Unsupported | None:
    """What the engine refuses of a statement that it does not handle yet; None for the others."""
    found = next((why for kind, why in _LATER if isinstance(statement, kind)), None)
    if found is None:
        return None
    return Unsupported(*found, Span(statement.offset, statement.offset + len(statement.text)))


def unsupported_in(words: Sequence[Token]) -> Unsupported | None:
    """CHANGES (…), AT|BEFORE (…) after a table, or SYSTEM$STREAM_HAS_DATA(…) in a query."""
    for i, word in enumerate(words):
        if word.upper in ("AT", "BEFORE") and _is_point(words, i):
            changes = i > 0 and words[i - 1].upper == "CHANGES"
            if changes:
                return Unsupported("CHANGES", _STREAM, _span(words[i - 1 : i + 1]))
            return Unsupported(f"{word.upper} (…)", _TRAVEL, _span(words[i : i + 3]))
        if word.upper == "CHANGES" and _is_changes(words, i):
            return Unsupported("CHANGES", _STREAM, _span(words[i : i + 3]))
        if word.upper == "SYSTEM$STREAM_HAS_DATA":
            return Unsupported("SYSTEM$STREAM_HAS_DATA", _STREAM, word.span)
    return None


def _is_point(words: Sequence[Token], index: int) -> bool:
    """Whether AT|BEFORE (kind => … or (COMMON) stands at `index`, after a table."""
    texts = _texts(words, index + 1, 3)
    if len(texts) < 3 or texts[0] != "(" or not _after_relation(words, index):
        return False
    kind = {"TS": "TIMESTAMP"}.get(words[index + 2].upper, words[index + 2].upper)
    return kind in PointKind.__members__ and texts[2] == (")" if kind == "COMMON" else "=>")


def _is_changes(words: Sequence[Token], index: int) -> bool:
    """Whether CHANGES (INFORMATION => … stands at `index`, after a table."""
    texts = [text.upper() for text in _texts(words, index + 1, 3)]
    return texts == ["(", "INFORMATION", "=>"] and _after_relation(words, index)


def _after_relation(words: Sequence[Token], index: int) -> bool:
    if index == 0:
        return False
    before = words[index - 1]
    if before.kind is Kind.WORD:
        return before.upper not in _NO_RELATION
    return before.kind is Kind.QUOTED or before.sign(")")


def _texts(words: Sequence[Token], start: int, count: int) -> list[str]:
    return [word.text for word in words[start : start + count]]


def _span(words: Sequence[Token]) -> Span:
    return Span(words[0].start, words[-1].end)
