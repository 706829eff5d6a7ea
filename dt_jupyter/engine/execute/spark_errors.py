"""What Spark raises of a statement, as an error of the catalogue at its place in the script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkException

from dt_jupyter.definition import list_hint, placed, with_offending_row
from dt_jupyter.engine.execute.missing_names import missing_name
from dt_jupyter.engine.execute.named_places import find_name
from dt_jupyter.engine.execute.refused_writes import refused_write
from dt_jupyter.failures import (
    catalogued,
    environment_error,
    find_lost_error,
    first_line,
    is_syntax_error,
    out_of_reach,
    syntax_error,
)
from dt_jupyter.model import DTError, Span, did_you_mean
from dt_jupyter.sources import lost_error, name_of
from dt_jupyter.spark import conflict_error
from dt_jupyter.sql import SparkStatement

if TYPE_CHECKING:
    from dt_jupyter.sources import Sources


def place_failure(
    e: BaseException, sources: Sources, statement: SparkStatement, script: str
) -> DTError:
    """At the place that Spark names, else at the whole statement."""
    kind = statement.kind.value.replace("_", " ")
    e = find_lost_error(e)
    if environment_error(e) is None and conflict_error(e, kind) is None:
        if isinstance(e, AnalysisException):
            return _place_in_script(_of_spark(e, sources, statement), statement, script)
        if isinstance(e, PySparkException) and out_of_reach(e, statement.text):
            return _place_in_script(_of_spark(e, sources, statement), statement, script)
    made = catalogued(e, kind, script, statement.offset)
    made = with_offending_row(made, sources.spark, statement.text)
    end = statement.offset + len(statement.text)
    return made if made.span else made.at(script, Span(statement.offset, end))


def _place_in_script(made: DTError, statement: SparkStatement, script: str) -> DTError:
    start, span = statement.offset, made.span or Span(0, len(statement.text))
    return made.at(script, Span(start + span.start, start + span.end))


def _of_spark(e: PySparkException, sources: Sources, statement: SparkStatement) -> DTError:
    """What Spark says, in a line, placed in the statement's text where Spark says where."""
    condition, text = e.getCondition() or "", statement.text
    if (past := out_of_reach(e, text)) is not None:
        return placed(e, text, past.code, **past.facts)
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        name = (e.getMessageParameters() or {}).get("relationName", "?").replace("`", "")
        name = name.removeprefix("spark_catalog.").removeprefix("default.")
        known = sources.known() + [str(s.name) for s in sources.catalog.streams()]
        hint = did_you_mean(name, known)
        made = placed(e, text, "DT-1101", name=name, hint=hint)
        parts = tuple(name.split("."))
        lost = sources.quarantined(name) or lost_error(sources, name_of(parts, "default"))
        if lost is not None:
            return _at_name(lost, text, name)
        return made if made.span else _at_name(made, text, name)
    if is_syntax_error(e):
        return syntax_error(e, text)
    if (refused := refused_write(e, sources, statement)) is not None:
        made = placed(e, text, refused.code, **refused.facts)
        return _at_name(made, text, str(statement.target or refused.facts["name"]))
    if (missing := missing_name(e, sources.spark)) is not None:
        made = placed(e, text, "DT-1112", problem=missing.problem, hint=missing.hint)
        return _at_name(made, text, missing.name)
    made = placed(e, text, "DT-1112", problem=first_line(e).rstrip("."), hint=list_hint(e))
    column = (e.getMessageParameters() or {}).get("objectName", "")
    return _at_name(made, text, column) if condition.startswith("UNRESOLVED_COLUMN") else made


def _at_name(made: DTError, text: str, name: str) -> DTError:
    """At the name itself: of DROP and ALTER Spark says no place, or names the whole statement."""
    around = made.span or Span(0, len(text))
    found = find_name(text[around.start : around.end], name)
    if found is None:
        return made
    return made.at(text, Span(around.start + found.start, around.start + found.end))
