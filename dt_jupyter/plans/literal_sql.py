"""Types and literal values of Spark's plans as SQL."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from dt_jupyter.model import quote
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.sql import literal

_TYPES = {
    "integer": "INT", "long": "BIGINT", "short": "SMALLINT", "byte": "TINYINT", "float": "FLOAT",
    "double": "DOUBLE", "boolean": "BOOLEAN", "string": "STRING", "binary": "BINARY",
    "date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP_NTZ",
    "variant": "VARIANT",
}  # fmt: skip
_SUFFIX = {"long": "L", "short": "S", "byte": "Y"}
_PLAIN = re.compile(
    r"decimal\(\d+,-?\d+\)|(var)?char\(\d+\)|time\(\d\)|string collate \w+"
    r"|interval (year|month|day|hour|minute|second)( to (month|hour|minute|second))?"
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?\Z")
_WHOLE = re.compile(r"-?\d+")
_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_BEFORE = {"hour": " ", "minute": ":", "second": ":"}


def ddl_type(kind: Any) -> str:
    """A type as Spark writes it in JSON, as DDL."""
    if isinstance(kind, dict):
        return _complex(kind)
    if kind in _TYPES:
        return _TYPES[kind]
    if _PLAIN.fullmatch(str(kind)):
        return str(kind).upper() if "collate" not in kind else f"STRING {kind[7:]}"
    raise NoForm(f"the type {kind}")


def _complex(kind: dict[str, Any]) -> str:
    if kind["type"] == "array":
        return f"ARRAY<{ddl_type(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"MAP<{ddl_type(kind['keyType'])}, {ddl_type(kind['valueType'])}>"
    if kind["type"] == "struct":
        fields = (f"{quote(f['name'])}: {ddl_type(f['type'])}" for f in kind["fields"])
        return f"STRUCT<{', '.join(fields)}>"
    raise NoForm(f"the type {kind['type']}")


def literal_sql(value: str | None, kind: Any) -> str:
    """A literal, by its value as Spark writes it."""
    if value is None:
        return "NULL" if kind == "void" else f"CAST(NULL AS {ddl_type(kind)})"
    if isinstance(kind, dict):
        raise NoForm(f"a literal of type {kind['type']}")
    if kind in ("integer", "boolean"):
        return value
    if kind in _SUFFIX:
        return f"{value}{_SUFFIX[kind]}"
    if kind == "string":
        return literal(value)
    if kind.startswith("string collate "):
        return f"({literal(value)} COLLATE {kind.rpartition(' ')[2]})"
    if kind in ("float", "double"):
        return _floating(value, kind)
    if kind == "timestamp_ntz" and _WHOLE.fullmatch(value):
        return f"TIMESTAMP_NTZ{literal(moment_text(int(value)))}"
    if kind in ("date", "timestamp"):
        return f"{ddl_type(kind)}{literal(value)}"
    if kind.startswith("decimal"):
        return _decimal(value, kind)
    if kind.startswith("time("):
        return f"TIME{literal(_time_text(int(value)))}"
    if kind.startswith("interval "):
        return _interval(int(value), kind)
    raise NoForm(f"a literal of type {kind}")


def spelled_sql(value: Any, kind: Any) -> str:
    """A literal of bytes or of a nested type, by what Spark writes as its SQL. A constructor has
    elements that are never NULL, where the type may say that they are."""
    if not isinstance(value, str):
        raise NoForm(f"a literal of type {ddl_type(kind)}")
    nulls = isinstance(kind, dict) and (kind.get("containsNull") or kind.get("valueContainsNull"))
    return f"CAST({value} AS {ddl_type(kind)})" if nulls or value.endswith("()") else value


def binary_sql(value: bytes) -> str:
    """Bytes as a literal."""
    return f"X'{bytes(value).hex().upper()}'"


def _floating(value: str, kind: str) -> str:
    if not _NUMBER.match(value):
        return f"CAST({literal(value)} AS {ddl_type(kind)})"
    return f"{value}{'D' if kind == 'double' else 'F'}"


def moment_text(micros: int) -> str:
    """Microseconds since 1970 as a date and a time, without a zone."""
    try:
        found = datetime(1970, 1, 1) + timedelta(microseconds=micros)
    except OverflowError as e:
        raise NoForm("a time before the year 1 or after 9999") from e
    return found.isoformat(sep=" ")


def _time_text(nanos: int) -> str:
    """Nanoseconds since midnight as a time of the day."""
    micros, rest = divmod(nanos, 1000)
    if rest:
        raise NoForm("a time of the day by nanoseconds")
    return (datetime(1970, 1, 1) + timedelta(microseconds=micros)).time().isoformat()


def _decimal(value: str, kind: str) -> str:
    whole, _, part = value.lstrip("-").partition(".")
    digits = len(whole.lstrip("0")) + len(part)
    if _NUMBER.match(value) and kind == f"decimal({max(digits, len(part), 1)},{len(part)})":
        return value if part else f"{value}BD"
    return f"CAST({literal(value)} AS {ddl_type(kind)})"


def _interval(value: int, kind: str) -> str:
    first, _, last = kind.removeprefix("interval ").partition(" to ")
    sign, most = "-" if value < 0 else "", abs(value)
    units = f"{first} TO {last}".upper() if last else first.upper()
    if first in ("year", "month"):
        return f"INTERVAL '{sign}{_months(most, first, last or first)}' {units}"
    return f"INTERVAL '{sign}{_micros(most, first, last or first)}' {units}"


def _months(value: int, first: str, last: str) -> str:
    years, months = divmod(value, 12) if first == "year" else (0, value)
    if last == "year" and months:
        raise NoForm("an interval of years with months")
    return f"{years}-{months}" if first != last else str(years or months)


def _micros(value: int, first: str, last: str) -> str:
    """As `1 02:03:04.000005`, from its first unit to its last."""
    names = list(_MICROS)
    text, rest = "", value
    for name in names[names.index(first) : names.index(last) + 1]:
        count, rest = divmod(rest, _MICROS[name])
        text += str(count) if name == first else f"{_BEFORE[name]}{count:02}"
    if last == "second":
        return f"{text}.{rest:06}"
    if rest:
        raise NoForm(f"an interval to {last} with a rest")
    return text
