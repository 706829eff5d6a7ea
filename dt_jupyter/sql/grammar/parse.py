"""Scripts into statements: ours by their first words, everything else as Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from dt_jupyter.model import Name, Span, error
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.sql.grammar.functions import FunctionCall, calls_in
from dt_jupyter.sql.grammar.parse_ours import ours
from dt_jupyter.sql.grammar.statement_values import (
    CreateDynamicTable,
    ExplainDynamicTable,
    HasData,
    SparkKind,
    SparkStatement,
    Statement,
    TimedRelation,
)
from dt_jupyter.sql.grammar.timed_relations import has_data_in, timed_in
from dt_jupyter.sql.grammar.unsupported import unsupported_statement
from dt_jupyter.sql.text.cursor import CATALOG, Cursor
from dt_jupyter.sql.text.lex import Token
from dt_jupyter.sql.text.spark_kind import Touched, kind_of
from dt_jupyter.sql.text.split import Piece, split
from dt_jupyter.sql.text.token_guard import SCRIPT, guard_length, guard_tokens

_Placed = TypeVar("_Placed", FunctionCall, HasData)
_FORMATS = frozenset({"delta", "parquet", "csv", "json", "text", "orc", "avro", "binaryfile"})
_MAKES = frozenset({SparkKind.CREATE_TABLE, SparkKind.CREATE_VIEW})
_NO_TABLE = frozenset({SparkKind.USE, SparkKind.CREATE_SCHEMA, SparkKind.DROP_SCHEMA})


def parse_script(text: str, current_schema: str = "default") -> tuple[Statement, ...]:
    """The statements of a script, in order; pieces with nothing but comments are left out.

    Names without a schema are of `current_schema`. Errors are placed in `text`: DT-1001 syntax,
    DT-1002 and DT-1003 options, DT-1004 size, DT-1114 names. What a later release brings comes as
    `Unsupported`: look for one before the first statement runs.
    """
    parsed = (parse_piece(text, piece, current_schema) for piece in pieces(text))
    return tuple(statement for statement in parsed if statement is not None)


def pieces(text: str) -> tuple[Piece, ...]:
    """The pieces of a script, as `split` finds them; DT-1004 for one that is too long."""
    guard_length(text, SCRIPT)
    return split(text)


def parse_statement(text: str, current_schema: str = "default") -> Statement:
    """The one statement of a text; DT-1001 when there are none or several."""
    statements = parse_script(text, current_schema)
    if len(statements) == 1:
        return statements[0]
    if not statements:
        raise error("DT-1001", problem="there is no statement", hint="Write a statement.").at(
            text, Span(0, len(text))
        )
    second = statements[1]
    raise error(
        "DT-1001", problem="one statement is expected, not several", hint="Send one at a time."
    ).at(text, Span(second.offset, second.offset + len(second.text)))


def parse_piece(script: str, piece: Piece, current_schema: str = "default") -> Statement | None:
    """The statement of one piece that `split` found in `script`; None when it is empty."""
    words = piece.tokens
    if not words:
        return None
    guard_tokens(script, words, SCRIPT)
    cursor = Cursor(script, words, current_schema)
    statement = unsupported_statement(words) or ours(cursor) or _spark(script, words, cursor)
    start, end = words[0].start, words[-1].end
    if isinstance(statement, ExplainDynamicTable) and isinstance(
        statement.subject, CreateDynamicTable
    ):
        subject = replace(
            statement.subject, text=script[start:end], offset=start, places=cursor.places
        )
        statement = replace(statement, subject=subject)
    return replace(statement, text=script[start:end], offset=start, places=cursor.places)


def _spark(script: str, words: Sequence[Token], cursor: Cursor) -> SparkStatement:
    touched = kind_of(words)
    no_table = touched.kind in _NO_TABLE
    found = () if no_table else touched.targets
    names = (_name(parts, cursor.current_schema) for parts in found)
    new_name = _name(touched.new_name, cursor.current_schema)
    _places(touched, words, cursor)
    _check_made(script, touched, cursor)
    timed = timed_in(script, words)
    return SparkStatement(
        touched.kind,
        tuple(name for name in names if name is not None),
        touched.targets[0] if touched.targets else (),
        new_name,
        or_replace="or_replace" in touched.flags,
        if_not_exists="if_not_exists" in touched.flags,
        if_exists="if_exists" in touched.flags,
        temporary="temporary" in touched.flags,
        functions=_outside(timed, calls_in(script, words)),
        timed=timed,
        has_data=_outside(timed, has_data_in(script, words)),
    )


def _outside(timed: tuple[TimedRelation, ...], found: tuple[_Placed, ...]) -> tuple[_Placed, ...]:
    """Those that stand in no timed relation."""
    return tuple(
        one for one in found if not any(t.span.start <= one.span.start < t.span.end for t in timed)
    )


def _places(touched: Touched, words: Sequence[Token], cursor: Cursor) -> None:
    named = [("name", touched.targets[0], touched.places[0])] if touched.places else []
    if touched.new_name:
        named.append(("new_name", touched.new_name, touched.new_place))
    for key, parts, first in named:
        last = first + 2 * (len(parts) - 1)  # a dot before each further part
        cursor.places[key] = Span(words[first].start, words[last].end)


def _check_made(script: str, touched: Touched, cursor: Cursor) -> None:
    """DT-1114 for a table or view that would get a reserved name."""
    made = [("new_name", touched.new_name)]
    if touched.kind in _MAKES and touched.targets:
        made.append(("name", touched.targets[0]))
    for key, parts in made:
        if parts and is_hidden(parts[-1]):
            raise error("DT-1114", name=parts[-1]).at(script, cursor.places[key])


def _name(parts: tuple[str, ...], current_schema: str) -> Name | None:
    """None for what is no table of the session catalog: a path, another catalog, nonsense."""
    if not all(parts) or "\0" in "".join(parts):
        return None
    match parts:
        case (table,):
            return Name(current_schema, table)
        case (schema, table):
            path = schema.lower() in _FORMATS and ("/" in table or ":" in table)
            return None if path else Name(schema, table)
        case (catalog, schema, table) if catalog.lower() == CATALOG:
            return Name(schema, table)
    return None
