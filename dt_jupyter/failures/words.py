"""Any failure as an error of the catalogue: its code, a sentence, and the trace a click away.

What is heavy is imported where something has failed: the magics load without it.
"""

from __future__ import annotations

import re
import sys
import traceback
from dataclasses import replace

from dt_jupyter.failures.function_errors import function_error, raised_in_worker
from dt_jupyter.failures.lost_errors import find_lost_error
from dt_jupyter.failures.signs import (
    causes,
    environment_error,
    everything,
    java_causes,
    text_of,
)
from dt_jupyter.failures.syntax import is_syntax_error, syntax_error
from dt_jupyter.model import DTError, Span, error
from dt_jupyter.model.hidden import HIDDEN
from dt_jupyter.spark import conflict_error

_WIDER = "Cast to a wider type, or use try_add, try_multiply or try_sum."
VALUE_HINTS = {
    "DIVIDE_BY_ZERO": "Use try_divide, or NULLIF on the divisor.",
    "INTERVAL_DIVIDED_BY_ZERO": "Use try_divide, or NULLIF on the divisor.",
    "REMAINDER_BY_ZERO": "Use try_mod, or NULLIF on the divisor.",
    "CAST_INVALID_INPUT": "Use try_cast.",
    "CAST_OVERFLOW": "Cast to a wider type, or use try_cast.",
    "NUMERIC_VALUE_OUT_OF_RANGE": "Cast to a wider type, or use try_cast.",
    "INVALID_INTERVAL_FORMAT": "Use try_cast.",
    "ARITHMETIC_OVERFLOW": _WIDER,
    "BINARY_ARITHMETIC_OVERFLOW": _WIDER,
    "INTERVAL_ARITHMETIC_OVERFLOW": "Use try_add, try_subtract or try_multiply.",
    "INVALID_ARRAY_INDEX": "Use get, which gives NULL outside of the array.",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "Use try_element_at.",
    "INVALID_INDEX_OF_ZERO": "Count from 1, or from the end with −1.",
    "CANNOT_PARSE_TIMESTAMP": "Use try_to_date or try_to_timestamp.",
    "DATETIME_FIELD_OUT_OF_BOUNDS": "Use try_make_timestamp, or check the parts first.",
    "DATETIME_OVERFLOW": "Filter such rows out, or correct them.",
    "CONVERSION_INVALID_INPUT": "Use try_to_binary.",
    "INVALID_FORMAT": "Use try_to_number.",
    "MALFORMED_RECORD_IN_PARSING": "Use try_parse_json, or the mode PERMISSIVE.",
    "INVALID_URL": "Use try_parse_url.",
    "CANNOT_DECODE_URL": "Use try_url_decode.",
    "INVALID_TIMEZONE": "Write it as America/New_York or +02:00.",
    "ILLEGAL_DAY_OF_WEEK": "Write it as MO or MONDAY.",
    "NULL_MAP_KEY": "Filter NULLs out of the keys.",
    "DUPLICATED_MAP_KEY": "Make the keys distinct.",
    "INVALID_PARAMETER_VALUE": "Filter such rows out, or correct them.",
    "USER_RAISED_EXCEPTION": "The query itself raises it: check raise_error and assert_true.",
}
"""Conditions about values of rows, for which Spark may name the expression, and what to do."""
HINTS = {
    **VALUE_HINTS,
    "UNRESOLVED_COLUMN": "A column of the query no longer exists: CREATE OR REPLACE the table.",
    "TABLE_OR_VIEW_NOT_FOUND": "Create the table again: refreshes then resume.",
}
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ([^\n]*)")
_ADVICE = re.compile(
    r"\s*(?:Use [`']?try_|Use the SQL function|If necessary|To tolerate|Correct the value"
    r"|The timezone must|Please ensure|To process malformed|If you want to remove)[^\n]*"
)
"""What Spark would have one do, among it ANSI off, which makes NULL of every such value."""
_FRAGMENT = re.compile(r"== SQL[^\n]*==\n([^\n]*)\n( *)(\^+)")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*$|\.?; line \d+ pos \d+\s*$")
_OUTER = ("TASK_WRITE_FAILED", "FAILED_EXECUTE_UDF", "FAILED_READ_FILE")
"""Conditions that say less than what caused them."""
_LONGEST = 400
UNFORESEEN = "DT-5111"


def catalogued(
    failure: BaseException, what: str, query: str | None = None, offset: int = 0
) -> DTError:
    """The error of the catalogue that a failure of `what` is; one of it is itself.

    Spark's are placed in `query`, whose statement's text begins at `offset`. An unexpected failure
    is UNFORESEEN.
    """
    if isinstance(failure, DTError):
        return failure
    failure = find_lost_error(failure)
    if _is_sparks(failure, "AnalysisException") and is_syntax_error(failure):
        refused = syntax_error(failure, query, offset)
        return replace(refused, details=details_of(failure))
    made = (
        environment_error(failure)
        or conflict_error(failure, what)
        or function_error(failure)
        or _ours(failure, what)
        or _sparks(failure, what)
        or _storages(failure)
        or error(UNFORESEEN, what=what, problem=_named(failure))
    )
    made = DTError(made.code, made.facts, details=details_of(failure))
    return made.at(query, _span(failure, offset, len(query))) if query is not None else made


def first_line(failure: BaseException) -> str:
    """The sentence of a Spark error without its state and trace; of any other its class too."""
    from dt_jupyter.lake import LakeError

    if not _is_sparks(failure) and not isinstance(failure, LakeError):
        return _named(failure)
    text = text_of(failure).strip() or type(failure).__name__
    match = _CONDITION.search(text)
    line = _told(match[1], match[2]) if match else raised_in_worker(text) or text.splitlines()[0]
    return _STATE.sub("", line)[:_LONGEST]


def spoken(failure: BaseException) -> tuple[str, str]:
    """The sentence of a failure, Spark's innermost where it is one of Spark, and a hint."""
    known = _condition(failure)
    if known is None:
        return first_line(failure), ""
    if not is_of_values(known[0]):
        return _told(*known), _hint(known)
    return f"[{known[0]}] {value_sentence(known[1], everything(failure))}", _hint(known)


def value_sentence(sentence: str, said: str) -> str:
    """What Spark says of a value, without its advice, and with the expression that `said`, the
    whole of it, underlines."""
    told = _ADVICE.sub("", _STATE.sub("", sentence)).rstrip(" .")[:_LONGEST]
    match = _FRAGMENT.search(said)
    found = match[1][len(match[2]) : len(match[2]) + len(match[3])] if match else ""
    return f"{told}, in {found}." if found and HIDDEN not in found else f"{told}."


def value_hint(condition: str) -> str:
    """What to do about a condition of values; "" for any other."""
    return VALUE_HINTS.get(condition.partition(".")[0], "")


def is_of_values(condition: str) -> bool:
    """Whether values of rows are what Spark's condition is about."""
    return condition.partition(".")[0] in VALUE_HINTS


def details_of(failure: BaseException) -> str:
    """Python's trace and the JVM's, for who asks for them."""
    told = "".join(traceback.format_exception_only(failure)) if _is_sparks(failure) else ""
    told = told or "".join(traceback.format_exception(failure))
    return f"{told.rstrip()}\n{everything(failure)}".strip()


def _ours(failure: BaseException, what: str) -> DTError | None:
    """What the layers below raise, which do not use the catalogue."""
    from dt_jupyter.failures.key_errors import find_broken_key
    from dt_jupyter.ivm import Refused
    from dt_jupyter.lake import LakeError, StorageFailed, TableGone, TableLocked, VersionGone
    from dt_jupyter.spark import Cancelled

    if (told := find_broken_key(everything(failure))) is not None:
        return told
    match failure:
        case Refused():
            return error(
                "DT-1107",
                name=what,
                reason=failure.reason.code,
                sentence=f"{failure.reason.sentence}.",
                hint=failure.hint,
            )
        case Cancelled():
            return error("DT-5127", what=what)
        case TableLocked():
            return error(
                "DT-5107", name=failure.facts.get("path", "A table"), owner="another writer"
            )
        case TableGone():
            hint = "Create it again, or UNDROP it."
            return error("DT-5128", problem=failure.sentence.rstrip("."), hint=hint)
        case VersionGone():
            hint = "Choose a later time or version."
            return error("DT-5128", problem=failure.sentence.rstrip("."), hint=hint)
        case StorageFailed():
            problem = failure.sentence.rstrip(".")
            return error("DT-5128", problem=problem, hint=_STORAGE_HINT)
        case LakeError():
            return error("DT-5128", problem=str(failure).rstrip("."), hint="")
    return None


def _sparks(failure: BaseException, what: str) -> DTError | None:
    known = _condition(failure)
    if known is not None and known[0].startswith("INTERNAL_ERROR"):
        return None
    if _is_sparks(failure, "AnalysisException"):
        return error("DT-1112", problem=first_line(failure).rstrip("."), hint="")
    if known is None and not _is_sparks(failure):
        return None
    problem, hint = spoken(failure)
    return error("DT-1033", what=what, problem=problem, hint=hint)


_IO = ("java.io.", "java.net.", "java.nio.file.", "org.apache.hadoop.")
_STORAGE_HINT = "Look whether it is up, and whether the session may read it."


def _storages(failure: BaseException) -> DTError | None:
    """What Hadoop's client says of a file system that is not there, or not known."""
    if not _is_javas(failure):
        return None
    told = java_causes(getattr(failure, "java_exception", None))
    found = next(((n, m) for n, m in told if n.startswith(_IO)), None)
    if found is None:
        return None
    name, message = found
    problem = f"{name.rpartition('.')[2]}: {message}".splitlines()[0][:_LONGEST]
    return error("DT-5128", problem=problem.rstrip(". "), hint=_STORAGE_HINT)


def _condition(failure: BaseException) -> tuple[str, str] | None:
    """Spark's condition and its sentence, the innermost that says more than that a task failed."""
    sparks = (cause for cause in causes(failure) if _is_sparks(cause) or _is_javas(cause))
    told = [text for cause in sparks for text in _sayings(cause)]
    found = [(m[1], m[2]) for text in told for m in _CONDITION.finditer(text)]
    better = [f for f in found if not f[0].startswith(_OUTER)]
    return next(iter(better or found), None)


def _sayings(failure: BaseException) -> list[str]:
    if _is_javas(failure):
        return [message for _, message in java_causes(getattr(failure, "java_exception", None))]
    trace = getattr(failure, "_stackTrace", None) or getattr(failure, "_stacktrace", None)
    return [text_of(failure), *([trace] if isinstance(trace, str) else [])]


def _told(condition: str, sentence: str) -> str:
    return _STATE.sub("", f"[{condition}] {sentence}")[:_LONGEST]


def _hint(known: tuple[str, str] | None) -> str:
    return HINTS.get(known[0].partition(".")[0], "") if known else ""


def _named(failure: BaseException) -> str:
    lines = [line.strip() for line in everything(failure).splitlines()]
    return next((line for line in lines if line), type(failure).__name__)[:_LONGEST]


def _is_sparks(failure: BaseException, kind: str = "PySparkException") -> bool:
    errors = sys.modules.get("pyspark.errors")
    return errors is not None and isinstance(failure, getattr(errors, kind))


def _is_javas(failure: BaseException) -> bool:
    return getattr(failure, "java_exception", None) is not None


def _span(failure: BaseException, offset: int, length: int) -> Span | None:
    """The place that Spark names, in a text of that length."""
    if not _is_sparks(failure):
        return None
    try:
        (context, *_) = failure.getQueryContext() or [None]  # type: ignore[attr-defined]
        if not hasattr(context, "startIndex") or context.startIndex() < 0:
            return None
        start, stop = context.startIndex() + offset, context.stopIndex() + 1 + offset
    except Exception:  # the JVM that knows the place is gone
        return None
    return Span(start, max(stop, start + 1)) if start < length else None
