"""The last failure of a dynamic table, in parts: what failed, where in its query, and in a row."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dt_jupyter.model import CATALOGUE, DynamicTable, Name, RefreshRecord, Span, Timestamp
from dt_jupyter.schedule import SOURCE_GONE

_EXPRESSION = re.compile(r", in (?P<expression>.+?)(?:, for example of the row |\.?\Z)", re.DOTALL)
_ROW = re.compile(r", for example of the row (?P<row>.+?)\.(?: |\Z)", re.DOTALL)
_BARE = re.compile(r"[\s()`]")


@dataclass(frozen=True)
class FailureReport:
    """What a refresh met: its code, sentence and hint; the place of the failing expression in the
    table's `query`, None where it is not found there; the first row without a value; and
    what to do next."""

    name: Name
    code: str
    sentence: str
    hint: str
    query: str
    at: Timestamp
    place: Span | None = None
    expression: str | None = None
    row: str | None = None
    steps: tuple[str, ...] = ()


def failure_report(table: DynamicTable, record: RefreshRecord) -> FailureReport:
    """Of a record that failed."""
    code = record.error_code or "DT-2105"
    sentence = (record.error or "It failed.").removeprefix(f"[{code}] ")
    query = table.definition.query
    expression, row = _found(_EXPRESSION, sentence), _found(_ROW, sentence)
    place = find_expression(query, expression) if expression is not None else None
    entry = CATALOGUE.get(code)
    hint = entry.hint if entry is not None and "{" not in entry.hint else ""
    return FailureReport(
        table.name,
        code,
        sentence,
        hint,
        query,
        record.end or record.data_timestamp,
        place,
        expression,
        row,
        tuple(_steps(code, expression)),
    )


def find_expression(query: str, expression: str) -> Span | None:
    """Where a query has an expression as Spark writes it, whatever its blanks, parentheses and
    quotes; None where it has none, or several."""
    kept = [i for i, sign in enumerate(query) if not _BARE.match(sign)]
    bare = "".join(query[i] for i in kept).lower()
    wanted = _BARE.sub("", expression).lower()
    if not wanted or bare.count(wanted) != 1:
        return None
    at = bare.index(wanted)
    return Span(kept[at], kept[at + len(wanted) - 1] + 1)


def _found(pattern: re.Pattern[str], sentence: str) -> str | None:
    match = pattern.search(sentence)
    return match[1] if match is not None else None


def _steps(code: str, expression: str | None) -> list[str]:
    if code in SOURCE_GONE:
        return ["Create the source again, or UNDROP it.", "Or edit the definition."]
    mend = "Edit the definition"
    if expression is not None:
        mend += ", or correct the rows of the source"
    return [f"{mend}.", "Then refresh the table: the next refresh takes up where this one failed."]
