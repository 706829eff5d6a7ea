"""The properties that a statement gives a table: names and values that we know to be wrong.

What else Delta does not know by name it refuses itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from dt_jupyter.model import DTError, Span, did_you_mean, error, parse_interval
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens
from dt_jupyter.sql.text.literals import unquote

_OURS = "dt."
_PRIMARY_KEY = "dt.primaryKey"


@dataclass(frozen=True)
class TableProperty:
    """A name and its value, and where the text has them."""

    name: str
    value: str
    name_span: Span
    value_span: Span


def require_table_properties(text: str) -> None:
    """DT-1002 for a property of ours that there is not, DT-1003 for a value that cannot be, placed
    in the text of a statement."""
    for given in table_properties(text):
        if given.name.casefold().startswith(_OURS) and given.name != _PRIMARY_KEY:
            unknown = error("DT-1002", option=given.name, statement="a table", known=_PRIMARY_KEY)
            raise unknown.at(text, given.name_span)
        check = _CHECKS.get(given.name.casefold())
        if check is not None and (wrong := check(given.value)) is not None:
            raise _invalid(given, *wrong).at(text, given.value_span)


def table_properties(text: str) -> Iterator[TableProperty]:
    """The pairs in the parentheses behind the words TBLPROPERTIES."""
    words = tokens(text)
    for at, (word, after) in enumerate(pairwise(words)):
        if word.upper == "TBLPROPERTIES" and after.sign("("):
            yield from _pairs(words[at + 2 :])


def _pairs(words: list[Token]) -> Iterator[TableProperty]:
    pair: list[Token] = []
    for word in words:
        if word.kind is TokenKind.END:
            return
        if not word.sign(",") and not word.sign(")"):
            pair.append(word)
            continue
        if (given := _property(pair)) is not None:
            yield given
        pair = []
        if word.sign(")"):
            return


def _property(pair: list[Token]) -> TableProperty | None:
    """`name = value` or `'name' 'value'`; None where it is neither, which Spark tells."""
    parted = next((n for n, word in enumerate(pair) if word.sign("=")), None)
    name, value = (pair[:1], pair[1:]) if parted is None else (pair[:parted], pair[parted + 1 :])
    if not name or not value:
        return None
    return TableProperty(_text(name), _text(value), _span(name), _span(value))


def _text(words: list[Token]) -> str:
    quoted = (TokenKind.STRING, TokenKind.QUOTED)
    return "".join(unquote(word.text) if word.kind in quoted else word.text for word in words)


def _span(words: list[Token]) -> Span:
    return Span(words[0].start, words[-1].end)


def _invalid(given: TableProperty, problem: str, hint: str) -> DTError:
    facts = {"option": given.name, "value": repr(given.value), "problem": problem, "hint": hint}
    return error("DT-1003", **facts)


# -- values: None, or what is wrong and what to do -------------------------------------------------

_Wrong = tuple[str, str] | None


def _one_of(*known: str) -> Callable[[str], _Wrong]:
    listed = f"{', '.join(known[:-1])} or {known[-1]}" if len(known) > 1 else known[0]

    def check(value: str) -> _Wrong:
        if value.casefold() in {name.casefold() for name in known}:
            return None
        return f"it must be {listed}", did_you_mean(value, list(known))

    return check


def _at_least(least: int) -> Callable[[str], _Wrong]:
    def check(value: str) -> _Wrong:
        digits = value.strip().removeprefix("-")
        if digits.isascii() and digits.isdigit() and int(value) >= least:
            return None
        return f"it must be a whole number from {least}", ""

    return check


def _interval(value: str) -> _Wrong:
    try:
        parse_interval(value)
    except ValueError as e:
        return str(e), "Write it as 'interval 30 days'."
    return None


def _columns(value: str) -> _Wrong:
    hint = "Write it as 'id' or 'id, day'."
    if not value.strip():
        return "it names no column", hint
    if not value.strip().startswith("["):
        return None
    try:
        listed = json.loads(value)
    except ValueError:
        return "it is not a JSON list", hint
    return None if all(isinstance(name, str) for name in listed) else ("it names no column", hint)


_BOOLEANS = (
    "appendOnly", "autoOptimize.optimizeWrite", "checkpoint.writeStatsAsJson",
    "checkpoint.writeStatsAsStruct", "enableChangeDataFeed", "enableDeletionVectors",
    "enableInCommitTimestamps", "enableRowTracking", "enableTypeWidening", "randomizeFilePrefixes",
)  # fmt: skip
_INTERVALS = (
    "deletedFileRetentionDuration", "logRetentionDuration", "setTransactionRetentionDuration",
)  # fmt: skip
_CHECKS: Mapping[str, Callable[[str], _Wrong]] = {
    _PRIMARY_KEY.casefold(): _columns,
    **{f"delta.{name}".casefold(): _one_of("true", "false") for name in _BOOLEANS},
    **{f"delta.{name}".casefold(): _interval for name in _INTERVALS},
    "delta.columnmapping.mode": _one_of("none", "name", "id"),
    "delta.isolationlevel": _one_of("Serializable"),
    "delta.checkpointpolicy": _one_of("classic", "v2"),
    "delta.checkpointinterval": _at_least(1),
    "delta.dataskippingnumindexedcols": _at_least(-1),
}
"""By the property's name in lower case.  Source: docs.delta.io/table-properties, DeltaConfig."""
