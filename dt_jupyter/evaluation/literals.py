"""Constants as they stand in a query."""

from __future__ import annotations

import re

from dt_jupyter.evaluation import kinds
from dt_jupyter.evaluation.expressions import Value
from dt_jupyter.evaluation.kinds import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.ivm import Expr, Literal
from dt_jupyter.sql import unquote

_NUMBER = re.compile(r"([+-]?\d+(?:\.\d*)?)(BD|[LSYDF])?")
_TYPED_NULL = re.compile(r"CAST\(NULL AS (.+)\)", re.DOTALL)
_DAY = re.compile(r"(?:19|20)\d\d-\d\d-\d\d")
_DATE = re.compile(r"DATE ?('.*')")
_WORDS = {
    "NULL": Value("NULL", kinds.VOID),
    "TRUE": Value("TRUE", BOOLEAN),
    "FALSE": Value("FALSE", BOOLEAN),
}


def literal_value(text: str) -> Value:
    """A constant in Spark SQL; LeftOut for one that is not evaluated."""
    if (word := _WORDS.get(text.upper())) is not None:
        return word
    if text[:1] == "'":
        return Value(quoted_text(unquote(text)), STRING)
    if found := _NUMBER.fullmatch(text):
        return _number(found[1].removeprefix("+"), found[2] or "")
    if found := _DATE.fullmatch(text):
        return literal_day(unquote(found[1]))
    if found := _TYPED_NULL.fullmatch(text):
        kind = cast_kind(found[1])
        return Value(f"CAST(NULL AS {kind.sql})", kind)
    raise LeftOut(f"the constant {text}")


def cast_kind(type_: str) -> ValueKind:
    """The type that a cast is to; LeftOut for one that is not evaluated."""
    name = type_.lower().replace(" ", "")
    kind = kinds.value_kind(name)
    if kind is None:
        raise LeftOut(f"a cast to {name}")
    return kind


def constant_string(node: Expr) -> str | None:
    """The text that a string constant stands for; None for anything else."""
    if isinstance(node, Literal) and node.text[:1] == "'":
        return unquote(node.text)
    return None


def literal_day(text: str) -> Value:
    """A date by its text, of years that no calendar differs in."""
    if not _DAY.fullmatch(text):
        raise LeftOut("string as a date")
    return Value(f"DATE '{text}'", DATE)


def quoted_text(text: str) -> str:
    """A string in DuckDB's SQL."""
    if "\\" in text or "\0" in text:
        raise LeftOut("a string with a backslash")
    return "'" + text.replace("'", "''") + "'"


_WHOLE = {"L": BIGINT, "S": ValueKind("smallint")}
"""Of such a constant a decimal beside it takes the digits that it has."""


def _number(text: str, suffix: str) -> Value:
    is_whole = "." not in text
    if suffix in _WHOLE and is_whole:
        return Value(f"CAST({text} AS {_WHOLE[suffix].sql})", _WHOLE[suffix], text)
    if suffix == "Y" and is_whole:
        return Value(f"CAST({text} AS TINYINT)", ValueKind("tinyint"))
    if suffix == "D":
        return Value(f"CAST('{text}' AS DOUBLE)", DOUBLE)
    if suffix == "F" and is_whole:
        return Value(f"CAST({text} AS FLOAT)", ValueKind("float"))
    if suffix == "BD":
        return _decimal(text)
    if not suffix:
        return _plain_number(text)
    raise LeftOut(f"the number {text}{suffix}")


def _plain_number(text: str) -> Value:
    if "." in text:
        return _decimal(text)
    value = int(text)
    for kind, bits in ((INT, 31), (BIGINT, 63)):
        if -(1 << bits) <= value < 1 << bits:
            return Value(f"CAST({text} AS {kind.sql})", kind, text)
    raise LeftOut(f"the number {text}")


def _decimal(text: str) -> Value:
    whole, _, fraction = text.removeprefix("-").partition(".")
    scale = len(fraction)
    precision = max(len((whole + fraction).lstrip("0")), scale, 1)
    if precision > kinds.MOST_DIGITS or text.endswith("."):
        raise LeftOut(f"the number {text}")
    kind = kinds.decimal(precision, scale)
    return Value(f"CAST('{text}' AS {kind.sql})", kind, text)
