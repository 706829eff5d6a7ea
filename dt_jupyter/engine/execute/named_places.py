"""Where a statement names what an error is about."""

from __future__ import annotations

from dt_jupyter.model import DTError, Span
from dt_jupyter.sql import CreateDynamicTable, Statement, Token, TokenKind, tokens

_NAMED = frozenset({
    "DT-1101", "DT-1102", "DT-1105", "DT-1108", "DT-1109", "DT-1118", "DT-3201", "DT-2102",
    "DT-6104", "DT-3301",
})  # fmt: skip
_WORDS = (TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING)


def place_at_name(failure: DTError, statement: Statement, script: str) -> DTError:
    """An error that says what is missing, and not where, at the name as the statement writes it."""
    start, end = statement.offset, statement.offset + len(statement.text)
    if failure.span is not None or failure.code not in _NAMED:
        return failure
    if isinstance(statement, CreateDynamicTable) and script == statement.query:  # a cell's
        if str(failure.facts.get("name", "")) == str(statement.name):
            return failure  # the cell's first line has it
        start, end = 0, len(script)
    elif script[start:end] != statement.text:
        return failure
    span = find_name(script[start:end], str(failure.facts.get("name", "")))
    if span is None:
        return failure
    return failure.at(script, Span(start + span.start, start + span.end))


def find_name(text: str, name: str) -> Span | None:
    """A name, such as `a.b`, or its last part, where the text first has it."""
    whole = name.partition(" of ")[0].strip("`").casefold()
    wanted = {whole, whole.rpartition(".")[2].strip("`")} - {""}
    try:
        words = tokens(text)
    except DTError:
        return None
    return next((w.span for w in words if w.kind in _WORDS and _bare(w) in wanted), None)


def _bare(word: Token) -> str:
    return word.text.strip("`'\"").casefold()
