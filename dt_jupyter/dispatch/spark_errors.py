"""Any failure as an error message of a few lines; what the JVM said is one click away."""

from __future__ import annotations

import re
import sys

from dt_jupyter.failures import causes, java_causes
from dt_jupyter.model import DTError
from dt_jupyter.wire import ErrorMessage, Underline

_STATE = re.compile(r"\s*SQLSTATE: \w+.*\Z", re.DOTALL)
_CONDITION = re.compile(r"\A\s*\[([A-Z0-9_.]+)\]\s*")
_LONGEST = 500  # characters of a sentence that Spark wrote


def error_message(failure: BaseException) -> ErrorMessage:
    """The message of an error of the catalogue, of Spark, of the lake, or of anything else."""
    if isinstance(failure, DTError):
        return _ours(failure)
    spark = spark_error(failure) or _java_error(failure)
    if spark is not None:
        return spark
    code = getattr(failure, "code", None) or type(failure).__name__
    sentence = getattr(failure, "sentence", None) or _first_line(str(failure)) or code
    return ErrorMessage(str(code), str(sentence))


def spark_error(failure: BaseException) -> ErrorMessage | None:
    """The message of a PySparkException; None for anything else, and where Spark was never
    imported."""
    errors = sys.modules.get("pyspark.errors")
    if errors is None or not isinstance(failure, errors.PySparkException):
        return None
    from dt_jupyter.failures import find_broken_key, value_hint, value_sentence

    text = str(failure)
    ours = find_broken_key(text)
    if ours is not None:
        return _ours(DTError(ours.code, ours.facts, details=text))
    condition = failure.getCondition()
    match = _CONDITION.match(text)
    code = condition or (match[1] if match else type(failure).__name__)
    told = _first_line(_CONDITION.sub("", text)) or type(failure).__name__
    hint = value_hint(str(code))
    told = value_sentence(told, text) if hint else _STATE.sub("", told)[:_LONGEST]
    return ErrorMessage(
        str(code),
        told,
        hint or None,
        details="\n".join(filter(None, (text.rstrip(), _jvm_trace(failure)))),
    )


def _jvm_trace(failure: BaseException) -> str | None:
    """What PySpark keeps of the JVM's trace and does not print; of the error or of its cause."""
    for cause in causes(failure):
        trace = getattr(cause, "_stackTrace", None) or getattr(cause, "_stacktrace", None)
        if isinstance(trace, str) and trace:
            return trace
    return None


def _java_error(failure: BaseException) -> ErrorMessage | None:
    """Of an exception of the JVM that PySpark did not translate: its innermost cause."""
    py4j = sys.modules.get("py4j.protocol")
    if py4j is None or not isinstance(failure, py4j.Py4JJavaError):
        return None
    from dt_jupyter.failures import find_broken_key

    kind, text = next(reversed(java_causes(failure.java_exception)), ("", ""))
    ours = find_broken_key(text)
    if ours is not None:
        return _ours(DTError(ours.code, ours.facts, details=str(failure)))
    match = _CONDITION.match(text)
    code = match[1] if match else re.split(r"[.$]", kind)[-1] or type(failure).__name__
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


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
