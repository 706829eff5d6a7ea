"""What is shown of a statement that has run: a line, rows, or the card of a new table or sink."""

from __future__ import annotations

from dataclasses import replace

from dt_jupyter.dispatch.sink_answers import sink_message
from dt_jupyter.dispatch.static_messages import created_message, result_message
from dt_jupyter.engine import Created, Done, ResultRows, StatementOutcome
from dt_jupyter.model import Isolation, Level, SourceKind
from dt_jupyter.sql import SparkKind, SparkStatement, Statement
from dt_jupyter.wire import CardMessage, ResultMessage, SinkMessage

_READS = (SparkKind.QUERY, SparkKind.OTHER, SparkKind.SET, SparkKind.SCRIPT)


def outcome_message(
    done: Done, outcome: StatementOutcome
) -> str | ResultMessage | CardMessage | SinkMessage:
    """A line of status, rows, or the card of a new dynamic table, or of a sink."""
    statement, rows = done.statement, outcome.rows
    if outcome.sink is not None:
        return sink_message(outcome.sink, _status(rows))
    if isinstance(done.result, Created):
        return created_message(done.result, rows)
    if rows is None:
        return _line(statement)
    if status := _status(rows):
        return "\n".join(status)
    if isinstance(statement, SparkStatement) and statement.kind not in _READS:
        return _line(statement, rows)
    return replace(result_message(rows), note=_isolation(outcome.isolation))


def _status(rows: ResultRows | None) -> list[str]:
    """The status of a statement, line by line; nothing where it gives rows."""
    if rows is None or [name for name, _ in rows.columns] != ["status"] or len(rows.rows) != 1:
        return []
    return (rows.rows[0][0] or "").splitlines()


def _isolation(found: Isolation | None) -> str | None:
    """What a result shows, where that is not plainly the tables as they are."""
    if found is None or found.level is Level.READ_COMMITTED:
        return str(found) if found else None
    plain = all(r.kind is not SourceKind.DYNAMIC_TABLE and r.until is None for r in found.reads)
    return None if plain else str(found)


def _line(statement: Statement, rows: ResultRows | None = None) -> str:
    """`INSERT orders: 4 rows`, and without counts `CREATE TABLE orders: done`."""
    what = "Statement"
    if isinstance(statement, SparkStatement):
        target = f" {statement.target}" if statement.target else ""
        what = f"{statement.kind.name.replace('_', ' ')}{target}"
    counts = _counts(rows) if rows is not None and len(rows.rows) == 1 else ""
    return f"{what}: {counts or 'done'}"


def _counts(rows: ResultRows) -> str:
    pairs = zip(rows.columns, rows.rows[0], strict=True)
    found = {name: value for (name, _), value in pairs if value is not None}
    named = {
        k.removeprefix("num_").removesuffix("_rows").replace("_", " "): v
        for k, v in found.items()
        if k.startswith("num_") and k.endswith("_rows")
    }
    if len(named) > 1:
        named.pop("affected", None)
        named = {k: v for k, v in named.items() if v != "0"} or {"changed": "0"}
    if "rows" in found:
        return _counted(found["rows"])
    return ", ".join(f"{_counted(v)} {k}" for k, v in named.items())


def _counted(count: str) -> str:
    return f"{count} row{'' if count == '1' else 's'}"
