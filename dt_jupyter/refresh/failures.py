"""What went wrong in a refresh, in the catalogue's words."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from dt_jupyter.lake import LakeError, TableLocked
from dt_jupyter.model import DTError, Name, error

_HINTS = {
    "DIVIDE_BY_ZERO": "Use try_divide, or NULLIF on the divisor.",
    "CAST_INVALID_INPUT": "Use try_cast.",
    "ARITHMETIC_OVERFLOW": "Cast to a wider type, or use try_add, try_multiply or try_sum.",
    "CAST_OVERFLOW": "Cast to a wider type.",
    "UNRESOLVED_COLUMN": "A column that the query uses is gone: CREATE OR REPLACE the table.",
    "TABLE_OR_VIEW_NOT_FOUND": "Create the table again: refreshes then go on by themselves.",
}


def as_error(e: BaseException, name: Name) -> DTError:
    """The failure of a refresh of `name`; what the JVM said is kept one click away."""
    if isinstance(e, DTError):
        return e
    if isinstance(e, TableLocked):
        return error("DT-5107", name=name, owner="another process")
    if isinstance(e, LakeError):
        made = error("DT-2105", name=name, problem=f"{e}", hint="")
        return DTError(made.code, made.facts, details=repr(e))
    if isinstance(e, PySparkException):
        condition = (e.getCondition() or "").partition(".")[0]
        problem = first_line(e)
        hint = _HINTS.get(condition, "")
        return DTError("DT-2105", {"name": name, "problem": problem, "hint": hint}, details=str(e))
    problem = f"{type(e).__name__}: {e}"
    return DTError("DT-2105", {"name": name, "problem": problem, "hint": ""}, details=repr(e))


def first_line(e: Exception) -> str:
    """The sentence of a Spark error, without its code, state and trace."""
    text = str(e).strip() or type(e).__name__
    line = next((x for x in text.splitlines() if x.strip()), text)
    match = re.search(r"\[([A-Z_.]+)\] (.*)", text)
    if match:
        line = f"[{match[1]}] {match[2]}"
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", line)[:400]
