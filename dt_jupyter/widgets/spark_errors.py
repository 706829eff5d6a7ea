"""Any failure as an error message of a few lines; what the JVM said is one click away."""

from __future__ import annotations

import re
import sys

from dt_jupyter.model import DTError, Span
from dt_jupyter.widgets.messages import ErrorMessage, Underline

_STATE = re.compile(r"\s*SQLSTATE: \w+.*\Z", re.DOTALL)
_CONDITION = re.compile(r"\A\s*\[([A-Z0-9_.]+)\]\s*")
_CAUSES = 20  # causes of causes that are looked at: an error may be its own
_LONGEST = 500  # characters of a sentence that Spark wrote


class StatementFailed(Exception):
    """Spark's error at run time, with the words and the place that are shown of it."""

    def __init__(self, message: ErrorMessage) -> None:
        super().__init__(f"[{message.code}] {message.sentence}")
        self.message = message


def error_message(failure: BaseException) -> ErrorMessage:
    """The message of an error of the catalogue, of Spark, of the lake, or of anything else."""
    if isinstance(failure, DTError):
        return _ours(failure)
    if isinstance(failure, StatementFailed):
        return failure.message
    spark = spark_error(failure) or _java_error(failure)
    if spark is not None:
        return spark
    code = getattr(failure, "code", None) or type(failure).__name__
    sentence = getattr(failure, "sentence", None) or _first_line(str(failure)) or code
    return ErrorMessage(str(code), str(sentence))


def spark_error(failure: BaseException, query: str = "", offset: int = 0) -> ErrorMessage | None:
    """The message of a PySparkException, placed in `query` whose statement's text begins at
    `offset`; None for anything else, and where Spark was never imported."""
    errors = sys.modules.get("pyspark.errors")
    if errors is None or not isinstance(failure, errors.PySparkException):
        return None
    text, query = str(failure), query.rstrip()
    condition = failure.getCondition()
    match = _CONDITION.match(text)
    code = condition or (match[1] if match else type(failure).__name__)
    told = _first_line(_CONDITION.sub("", text)) or type(failure).__name__
    span = _span(failure, offset) if query else None
    return ErrorMessage(
        str(code), _STATE.sub("", told)[:_LONGEST], None, query or None,
        Underline.of(query, span.start, span.end) if span else None,
        "\n".join(filter(None, (text.rstrip(), _jvm_trace(failure)))),
    )  # fmt: skip


def _jvm_trace(failure: BaseException | None) -> str | None:
    """What PySpark keeps of the JVM's trace and does not print; of the error or of its cause."""
    for _ in range(_CAUSES):
        if failure is None:
            break
        trace = getattr(failure, "_stackTrace", None) or getattr(failure, "_stacktrace", None)
        if isinstance(trace, str) and trace:
            return trace
        failure = failure.__cause__
    return None


def _java_error(failure: BaseException) -> ErrorMessage | None:
    """Of an exception of the JVM that PySpark did not translate: its innermost cause."""
    py4j = sys.modules.get("py4j.protocol")
    if py4j is None or not isinstance(failure, py4j.Py4JJavaError):
        return None
    cause = failure.java_exception
    while (inner := cause.getCause()) is not None:
        cause = inner
    text = str(cause.getMessage() or "")
    match = _CONDITION.match(text)
    code = match[1] if match else str(cause.getClass().getSimpleName())
    told = _STATE.sub("", _first_line(_CONDITION.sub("", text))) or code
    return ErrorMessage(code, told[:_LONGEST], details=str(failure))


def _ours(failure: DTError) -> ErrorMessage:
    query, span = (failure.query or "").rstrip(), failure.span
    under = Underline.of(query, span.start, span.end) if query and span else None
    return ErrorMessage(
        failure.code,
        failure.sentence,
        failure.hint or None,
        query or None,
        under,
        "\n".join(filter(None, (failure.details, _jvm_trace(failure)))) or None,
    )


def _span(failure: object, offset: int) -> Span | None:
    contexts = failure.getQueryContext() or []  # type: ignore[attr-defined]
    if not contexts or not hasattr(contexts[0], "startIndex") or contexts[0].startIndex() < 0:
        return None
    start, stop = contexts[0].startIndex(), contexts[0].stopIndex() + 1
    return Span(offset + start, offset + max(stop, start + 1))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
