"""A script, statement by statement, each with what to show of it as soon as it is done."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dt_jupyter.engine import Engine
from dt_jupyter.engine.create import Created
from dt_jupyter.failures import catalogued
from dt_jupyter.model import DTError, Level, SourceKind, Span
from dt_jupyter.spark import run_cancellable
from dt_jupyter.sql.functions import find_parameters
from dt_jupyter.sql.parse import parse_piece, parse_script
from dt_jupyter.sql.split import Piece, split
from dt_jupyter.sql.statements import SparkKind, SparkStatement, Statement
from dt_jupyter.sql.unsupported import later
from dt_jupyter.widgets.from_engine import created_message, result_message
from dt_jupyter.widgets.messages import CardMessage, ResultMessage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

T = TypeVar("T")
SAMPLE = 5
"""Rows of a dynamic table that its card shows."""
_AT_TOKEN = re.compile(r"\(line (\d+), pos (\d+)\)")
_TOKEN = re.compile(r"\w+|\S|\Z")
_SYNTAX = re.compile(r"\A\[PARSE_SYNTAX_ERROR\] Syntax error ")
_READS = (SparkKind.QUERY, SparkKind.OTHER, SparkKind.SET, SparkKind.SCRIPT)


@dataclass(frozen=True)
class Done:
    """A statement that has run: its result as a DataFrame, and what is shown: a line of status,
    rows, or the card of a new dynamic table."""

    statement: Statement
    frame: DataFrame
    shown: str | ResultMessage | CardMessage


def run_script(
    engine: Engine, script: str, args: Mapping[str, Any] | None = None
) -> Iterator[Done]:
    """Runs the statements one after the other; before the first, the whole script is parsed.

    `args` holds the values of the `:parameters`. Errors are placed in `script`; the statements
    before have been run.
    """
    for statement in parse_script(script, _schema(engine)):
        if refused := later(statement):
            raise refused.error(script)
    for piece in split(script):
        statement_ = parse_piece(script, piece, _schema(engine))
        if statement_ is not None:
            yield _run(engine, script, piece, statement_, args or {})


def sample(engine: Engine, created: Created) -> ResultMessage | None:
    """The first rows of a table that is initialised."""
    if created.table.frontier is None:
        return None
    name = created.table.name
    rows = lambda: result_message(engine.spark.table(name.sql), SAMPLE)  # noqa: E731
    return interruptible(engine, f"first rows of {name}", rows)


def interruptible(engine: Engine, what: str, work: Callable[[], T]) -> T:
    """`work`, whose Spark jobs end when the keyboard interrupts it."""
    return run_cancellable(engine.spark, f"show:{uuid.uuid4().hex}", what, work)


def _run(
    engine: Engine, script: str, piece: Piece, statement: Statement, args: Mapping[str, Any]
) -> Done:
    wanted = {p.name for p in find_parameters(piece.text)}
    values = {k: v for k, v in args.items() if k in wanted}
    try:
        result = engine.run(piece.text, values)[-1]
    except DTError as e:
        placed = _moved(_at_token(e), script, piece)
        if placed is e:
            raise
        raise placed from e
    if isinstance(result, Created):
        card = created_message(result, sample(engine, result))
        return Done(statement, engine.context.tables.status(result.status), card)
    return Done(statement, result, _shown(engine, script, statement, result))


def _at_token(e: DTError) -> DTError:
    """Spark places a syntax error in its text only: `(line 1, pos 14)`, of the statement."""
    at = _AT_TOKEN.search(e.details or "")
    if e.code != "DT-1001" or at is None or e.query is None or e.span is None:
        return e
    start, lines = e.span.start, e.query[e.span.start :].splitlines(keepends=True)
    start += sum(len(line) for line in lines[: int(at[1]) - 1]) + int(at[2])
    token = _TOKEN.match(e.query, min(start, len(e.query)))
    problem = _SYNTAX.sub("", str(e.facts["problem"])).rstrip(".")
    made = DTError(e.code, {**e.facts, "problem": problem}, details=e.details)
    return made.at(e.query, Span(start, token.end()) if token else e.span)


def _moved(e: DTError, script: str, piece: Piece) -> DTError:
    if e.query != piece.text:
        return e
    span = Span(piece.start + e.span.start, piece.start + e.span.end) if e.span else None
    return e.at(script, span)


def _shown(
    engine: Engine, script: str, statement: Statement, frame: DataFrame
) -> str | ResultMessage:
    if not frame.columns:
        return _told(statement)
    try:
        what = statement.text[:80]
        rows = interruptible(engine, what, lambda: result_message(frame))
    except Exception as e:
        raise catalogued(e, "The statement", script, statement.offset) from e
    if frame.columns == ["status"] and len(rows.rows) == 1:
        return rows.rows[0][0] or ""
    if isinstance(statement, SparkStatement) and statement.kind not in _READS:
        return _told(statement, rows)
    return replace(rows, note=_isolation(engine, frame))


def _isolation(engine: Engine, frame: DataFrame) -> str | None:
    """What a result shows, where that is not plainly the tables as they are."""
    found = engine.isolation(frame)
    if found is None or found.level is Level.READ_COMMITTED:
        return str(found) if found else None
    plain = all(r.kind is not SourceKind.DYNAMIC_TABLE and r.until is None for r in found.reads)
    return None if plain else str(found)


def _told(statement: Statement, rows: ResultMessage | None = None) -> str:
    """`INSERT orders: 4 rows inserted`, and without counts `CREATE TABLE orders: done`."""
    what = "Statement"
    if isinstance(statement, SparkStatement):
        target = f" {statement.target}" if statement.target else ""
        what = f"{statement.kind.name.replace('_', ' ')}{target}"
    counts = _counts(rows) if rows is not None and len(rows.rows) == 1 else ""
    return f"{what}: {counts or 'done'}"


def _counts(rows: ResultMessage) -> str:
    found = {c.name: v for c, v in zip(rows.columns, rows.rows[0], strict=True) if v is not None}
    named = {
        k.removeprefix("num_").removesuffix("_rows").replace("_", " "): v
        for k, v in found.items()
        if k.startswith("num_") and k.endswith("_rows")
    }
    if len(named) > 1:
        named.pop("affected", None)
        named = {k: v for k, v in named.items() if v != "0"} or {"changed": "0"}
    return ", ".join(f"{v} row{'' if v == '1' else 's'} {k}" for k, v in named.items())


def _schema(engine: Engine) -> str:
    return engine.spark.catalog.currentDatabase().lower()
