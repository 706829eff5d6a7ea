"""What Spark raises of a statement, as an error of the catalogue at its place in the script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkException

from dt_jupyter.definition import placed
from dt_jupyter.failures import catalogued, environment_error, first_line, out_of_reach
from dt_jupyter.model import DTError, Span, did_you_mean
from dt_jupyter.spark import conflict_error
from dt_jupyter.sql import SparkStatement

if TYPE_CHECKING:
    from dt_jupyter.sources import Sources

_AT_TOKEN = re.compile(r"\(line (\d+), pos (\d+)\)")
_TOKEN = re.compile(r"\w+|\S|\Z")
_SYNTAX = re.compile(r"\A\[PARSE_SYNTAX_ERROR\] Syntax error ")


def place_failure(
    e: Exception, sources: Sources, statement: SparkStatement, script: str
) -> DTError:
    """At the place that Spark names, else at the whole statement."""
    kind = statement.kind.value.replace("_", " ")
    if environment_error(e) is None and conflict_error(e, kind) is None:
        if isinstance(e, AnalysisException):
            return _place_in_script(_of_spark(e, sources, statement.text), statement, script)
        if isinstance(e, PySparkException) and out_of_reach(e, statement.text):
            return _place_in_script(_of_spark(e, sources, statement.text), statement, script)
    made = catalogued(e, kind, script, statement.offset)
    end = statement.offset + len(statement.text)
    return made if made.span else made.at(script, Span(statement.offset, end))


def _place_in_script(made: DTError, statement: SparkStatement, script: str) -> DTError:
    start, span = statement.offset, made.span or Span(0, len(statement.text))
    return made.at(script, Span(start + span.start, start + span.end))


def _of_spark(e: PySparkException, sources: Sources, text: str) -> DTError:
    """What Spark says, in a line, placed in the statement's text where Spark says where."""
    condition = e.getCondition() or ""
    if (past := out_of_reach(e, text)) is not None:
        return placed(e, text, past.code, **past.facts)
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        name = (e.getMessageParameters() or {}).get("relationName", "?").replace("`", "")
        hint = did_you_mean(name, sources.known())
        return sources.quarantined(name) or placed(e, text, "DT-1101", name=name, hint=hint)
    if condition == "PARSE_SYNTAX_ERROR":
        return _at_token(placed(e, text, "DT-1001", problem=first_line(e), hint=""), text)
    return placed(e, text, "DT-1112", problem=first_line(e), hint="")


def _at_token(made: DTError, text: str) -> DTError:
    """Spark places a syntax error in its message only: `(line 1, pos 14)`, of the statement."""
    at = _AT_TOKEN.search(made.details or "")
    if at is None or made.span is not None:
        return made
    lines = text.splitlines(keepends=True)
    start = sum(len(line) for line in lines[: int(at[1]) - 1]) + int(at[2])
    start = min(start, len(text))  # what Spark read may be longer, with what is ours replaced
    token = _TOKEN.match(text, start)
    problem = _SYNTAX.sub("", str(made.facts["problem"])).rstrip(".")
    shorter = DTError(made.code, {**made.facts, "problem": problem}, details=made.details)
    return shorter.at(text, Span(start, token.end())) if token else shorter
