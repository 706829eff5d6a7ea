"""Spark's analysis errors as the catalogue's, each with the place that Spark names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.errors import AnalysisException, PySparkException

from dt_jupyter.failures import out_of_reach
from dt_jupyter.model import DTError, Span, did_you_mean, error
from dt_jupyter.sources import Sources
from dt_jupyter.spark import builtin_functions

_LISTED = 8
_BUILT_IN = (
    "Use Spark's built-in functions, or register it by dt.register_udf: a refresh runs in its own "
    "session, which does not know functions that only this one has registered."
)


def analysis_error(
    e: AnalysisException, query: str, sources: Sources, columns: Callable[[], Sequence[str]]
) -> DTError:
    """The catalogue's error for what Spark says of a query; `columns` are those of its sources."""
    condition, facts = e.getCondition() or "", e.getMessageParameters() or {}
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        name = facts.get("relationName", "?").replace("`", "")
        return placed(e, query, "DT-1101", name=name, hint=did_you_mean(name, sources.known()))
    if condition.startswith("UNRESOLVED_COLUMN"):
        name = facts.get("objectName", "?").replace("`", "")
        hint = _near_columns(name.rpartition(".")[2], columns())
        return placed(e, query, "DT-1102", name=name, hint=hint)
    if condition.startswith("AMBIGUOUS_REFERENCE"):
        name = facts.get("name", "?").replace("`", "")
        candidates = facts.get("referenceNames", "").strip("[]").replace("`", "")
        return placed(e, query, "DT-1103", name=name, candidates=candidates)
    if condition.startswith("UNRESOLVED_ROUTINE"):
        name = facts.get("routineName", "?").replace("`", "")
        hint = did_you_mean(name, sorted(builtin_functions(sources.spark)), _BUILT_IN)
        return placed(e, query, "DT-1117", name=name, hint=hint)
    past = out_of_reach(e, query)
    if past is not None:
        return placed(e, query, past.code, **past.facts)
    return placed(e, query, "DT-1112", problem=analyser_words(e), hint=list_hint(e))


def list_hint(e: PySparkException) -> str:
    """What to write for `x IN (:list)`, where the list is an array; "" for another failure."""
    facts = e.getMessageParameters() or {}
    of_in = facts.get("functionName", "").strip("`").upper() == "IN"
    if of_in and "ARRAY<" in facts.get("dataType", ""):
        return "A list is an array: write array_contains(:list, x) for x IN (:list)."
    return ""


def _near_columns(name: str, columns: Sequence[str]) -> str:
    """The nearest of the sources' own: of Spark's proposals a short name is always near."""
    known = list(dict.fromkeys(columns))
    more = ", …" if len(known) > _LISTED else ""
    listed = f"Known columns: {', '.join(known[:_LISTED])}{more}."
    return did_you_mean(name, known, listed if known else "")


def placed(e: PySparkException, query: str, code: str, **facts: Any) -> DTError:
    """The catalogue's error with the place that Spark names, and its trace one click away."""
    made = error(code, **facts)
    contexts = e.getQueryContext() or []
    span = None
    if contexts and contexts[0].startIndex() >= 0:
        start, stop = contexts[0].startIndex(), contexts[0].stopIndex() + 1
        span = Span(start, stop) if 0 <= start <= stop <= len(query) else None
    return DTError(code, made.facts, query, span, str(e))


def analyser_words(e: Exception) -> str:
    """What an error of Spark says, without its condition and state."""
    text = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", re.sub(r"^\[[\w.]+\]\s*", "", text))
