"""What Spark raises of a statement, as an error of the catalogue at its place in the script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkException

from dt_jupyter.failures import catalogued, environment_error, first_line
from dt_jupyter.model import DTError, Span, did_you_mean
from dt_jupyter.refresh.define import placed
from dt_jupyter.refresh.failures import out_of_reach
from dt_jupyter.spark.conflicts import conflict_error
from dt_jupyter.sql.statements import SparkStatement

if TYPE_CHECKING:
    from dt_jupyter.refresh.sources import Sources


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
    code = "DT-1001" if condition == "PARSE_SYNTAX_ERROR" else "DT-1112"
    return placed(e, text, code, problem=first_line(e), hint="")
