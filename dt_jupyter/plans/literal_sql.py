"""Types and literal values of Spark's plans as SQL."""

from __future__ import annotations

import re
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
    r"decimal\(\d+,-?\d+\)|(var)?char\(\d+\)|string collate \w+"
    r"|interval (year|month|day|hour|minute|second)( to (month|hour|minute|second))?"
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?\Z")
_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000}


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
    if kind in ("float", "double"):
        return _floating(value, kind)
    if kind in ("date", "timestamp"):
        return f"{ddl_type(kind)}{literal(value)}"
    if kind.startswith("decimal"):
        return _decimal(value, kind)
    if kind.startswith("interval "):
        return _interval(int(value), kind)
    raise NoForm(f"a literal of type {kind}")


def _floating(value: str, kind: str) -> str:
    if not _NUMBER.match(value):
        return f"CAST({literal(value)} AS {ddl_type(kind)})"
    return f"{value}{'D' if kind == 'double' else 'F'}"


def _decimal(value: str, kind: str) -> str:
    whole, _, part = value.lstrip("-").partition(".")
    digits = len(whole.lstrip("0")) + len(part)
    if _NUMBER.match(value) and kind == f"decimal({max(digits, len(part), 1)},{len(part)})":
        return f"{value}BD"
    return f"CAST({literal(value)} AS {ddl_type(kind)})"


def _interval(value: int, kind: str) -> str:
    unit = kind.removeprefix("interval ")
    if unit in _MICROS and value % _MICROS[unit] == 0:
        return f"INTERVAL '{value // _MICROS[unit]}' {unit.upper()}"
    if unit == "year" and value % 12 == 0:
        return f"INTERVAL '{value // 12}' YEAR"
    if unit == "month":
        return f"INTERVAL '{value}' MONTH"
    sign, most = "-" if value < 0 else "", abs(value)
    if unit == "year to month":
        return f"INTERVAL '{sign}{most // 12}-{most % 12}' YEAR TO MONTH"
    if unit == "day to second":
        days, rest = divmod(most, _MICROS["day"])
        hours, rest = divmod(rest, _MICROS["hour"])
        minutes, rest = divmod(rest, _MICROS["minute"])
        seconds = f"{rest // 1_000_000:02}.{rest % 1_000_000:06}"
        return f"INTERVAL '{sign}{days} {hours:02}:{minutes:02}:{seconds}' DAY TO SECOND"
    if unit == "second":
        return f"INTERVAL '{sign}{most // 1_000_000}.{most % 1_000_000:06}' SECOND"
    raise NoForm(f"a literal of type {kind}")
