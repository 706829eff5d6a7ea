"""What a task runs, read and checked: one statement, or a block that is one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.failures import is_syntax_error, syntax_error
from dt_jupyter.model import DTError, Span, error
from dt_jupyter.sql import (
    SparkKind,
    SparkStatement,
    Statement,
    block_script,
    find_parameters,
    later,
    parse_script,
    quote_change_columns,
    statement_values as S,
)
from dt_jupyter.streams import WRITES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOT_ALONE = (S.Begin, S.Commit, S.Rollback)
_TASKS = (S.CreateTask, S.AlterTask, S.ExecuteTask, S.DropTask)
_NO_EFFECT = frozenset({SparkKind.QUERY, SparkKind.USE, SparkKind.SET})
_BLOCK = "Write BEGIN statement; statement; END: it is one transaction, all of it or nothing."


@dataclass(frozen=True)
class TaskBody:
    """`statements` have their places in `script`; those of a `block` are one transaction."""

    script: str
    statements: tuple[Statement, ...]
    block: bool = False


def read_body(text: str, schema: str) -> TaskBody:
    """The body of a task, with names of `schema`. DT-3304 for what no task can run, and what
    reading statements raises, placed in the text."""
    if parameters := find_parameters(text):
        hint = "Write the value: parameters are not bound when the task runs."
        first = parameters[0]
        raise _refused(f":{first.name}", "it is a parameter", hint).at(text, first.span)
    found = parse_script(text, schema)
    if len(found) != 1:
        raise _refused("several statements", "it has one", _BLOCK).at(text, _whole(text))
    (only,) = found
    script = only.kind is SparkKind.SCRIPT if isinstance(only, SparkStatement) else False
    if script and (block := block_script(text)) is not None:
        return _block(text, block, schema)
    _require_single(only, text)
    return TaskBody(text, found)


def _block(text: str, script: str, schema: str) -> TaskBody:
    try:
        found = parse_script(script, schema)
    except DTError as e:
        raise e.at(text, e.span) from None
    if not found:
        raise _refused("an empty block", "it does nothing", _BLOCK).at(text, _whole(text))
    for statement in found:
        if not isinstance(statement, SparkStatement) or statement.kind not in WRITES:
            problem = "a block holds INSERT, UPDATE, DELETE, MERGE and TRUNCATE"
            raise _refused(_shown(statement), problem, _BLOCK).at(text, _place(statement))
    return TaskBody(script, found, block=True)


def moved(failure: DTError, script: str, start: int) -> DTError:
    """An error of a part of `script` that begins at `start`, placed in all of it."""
    if failure.span is None:
        return failure
    return failure.at(script, Span(failure.span.start + start, failure.span.end + start))


def _require_single(statement: Statement, text: str) -> None:
    if refused := later(statement):
        raise refused.error(text)
    place = _place(statement)
    if isinstance(statement, _TASKS):
        hint = "Chain tasks by AFTER."
        raise _refused(_shown(statement), "it is about a task", hint).at(text, place)
    if isinstance(statement, _NOT_ALONE):
        raise _refused(_shown(statement), "it is one statement", _BLOCK).at(text, place)
    if not isinstance(statement, SparkStatement):
        return
    if statement.kind is SparkKind.SCRIPT:
        problem = "scripts with variables and branches are not run"
        raise _refused(_shown(statement), problem, _BLOCK).at(text, place)
    if statement.kind in _NO_EFFECT:
        hint = "Write INSERT INTO …, MERGE INTO …, UPDATE … or DELETE FROM …."
        raise _refused(_shown(statement), "it changes nothing", hint).at(text, place)


def require_syntax(spark: SparkSession, body: TaskBody) -> None:
    """What Spark's parser says of the statements that it is to run, placed in the body."""
    for statement in body.statements:
        if isinstance(statement, SparkStatement) and not statement.timed:
            _require_syntax(spark, statement, body.script)


def _require_syntax(spark: SparkSession, statement: SparkStatement, script: str) -> None:
    try:
        spark.sql(f"EXPLAIN {quote_change_columns(statement.text)}")
    except PySparkException as e:
        if is_syntax_error(e):
            raise moved(syntax_error(e, statement.text), script, statement.offset) from e


def _refused(statement: str, problem: str, hint: str) -> DTError:
    return error("DT-3304", statement=statement, problem=problem, hint=hint)


def _shown(statement: Statement) -> str:
    return " ".join(statement.text.split()[:2]).upper()


def _place(statement: Statement) -> Span:
    return Span(statement.offset, statement.offset + len(statement.text))


def _whole(text: str) -> Span:
    return Span(0, len(text))
