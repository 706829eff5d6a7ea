"""The values of `:parameters`: bound by Spark in a statement, written out in a definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import error, is_bigint
from dt_jupyter.spark.session_confs import confs
from dt_jupyter.sql import find_parameters, literal, replace_spans, resolve_identifiers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BIND_LATER = "spark.sql.legacy.parameterSubstitution.constantsOnly"
Args = Mapping[str, Any]
_MICRO = timedelta(microseconds=1)


def values_in(text: str, args: Args) -> dict[str, Any]:
    """The values of the parameters that a text has. DT-1113 where one is missing, DT-1003 for half
    a character and for an integer beyond BIGINT."""
    names = {p.name for p in find_parameters(text)}
    missing = sorted(names - args.keys())
    if missing:
        raise error("DT-1113", name=missing[0])
    found = {k: v for k, v in args.items() if k in names}
    for name, value in found.items():
        _require_value(name, value)
    return found


def _require_value(name: str, value: object) -> None:
    """What cannot be written cannot be sent to Spark."""
    if isinstance(value, int) and not is_bigint(value):
        problem, hint = "it is beyond BIGINT", "Pass a Decimal of at most 38 digits."
        raise error(
            "DT-1003", option=f":{name}", value=_shortened(value), problem=problem, hint=hint
        )
    if isinstance(value, timedelta) and not is_bigint(value // _MICRO):
        problem, hint = "it is beyond INTERVAL DAY TO SECOND", "Pass one of at most 106751991 days."
        raise error("DT-1003", option=f":{name}", value=value, problem=problem, hint=hint)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            problem, hint = "it has half of a character", "Pass the whole character."
            raise error(
                "DT-1003", option=f":{name}", value=ascii(value), problem=problem, hint=hint
            ) from None
    elif isinstance(value, list | tuple):
        for part in value:
            _require_value(name, part)
    elif isinstance(value, dict):
        _require_value(name, [*value.keys(), *value.values()])


def _shortened(value: int) -> str:
    """An integer of any length: Python writes none of more than 4,300 digits."""
    bits = value.bit_length()
    return f"an integer of {bits} bits" if bits > 200 else str(value)


@contextmanager
def binding(spark: SparkSession, values: Args) -> Iterator[None]:
    """Spark 4.1 binds parameters in its parser, and Delta's in front of it drops them
    (delta-io/delta#7640); with this conf they are bound in the analysed plan, as in Spark 4.0."""
    with confs(spark, {_BIND_LATER: "true"} if values else {}):
        yield


def bind_parameters(query: str, args: Args) -> str:
    """A definition's `:parameters` become literals: their values then are its values for ever."""
    found = []
    for parameter in find_parameters(query):
        if parameter.name not in args:
            raise error("DT-1113", name=parameter.name).at(query, parameter.span)
        value = args[parameter.name]
        _require_value(parameter.name, value)
        found.append((parameter.span, _literal(value)))
    return replace_spans(query, tuple(found))


def bind_definition(query: str, args: Args) -> str:
    """A definition's text with what its `:parameters` and its IDENTIFIERs are, for ever. DT-1113,
    DT-1156."""
    return resolve_identifiers(bind_parameters(query, args))


def parameter_literals(text: str, args: Args) -> tuple[tuple[str, str], ...]:
    """The `:parameters` of a text that have values, each once, with the literals that replace
    them. DT-1003 as of `values_in`."""
    names = dict.fromkeys(p.name for p in find_parameters(text) if p.name in args)
    for name in names:
        _require_value(name, args[name])
    return tuple((name, _literal(args[name])) for name in names)


def _literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return _number(value, "" if -(2**31) <= value < 2**31 else "L")
        case float():
            return f"CAST({literal(repr(value))} AS DOUBLE)"
        case Decimal():
            return _number(value, "BD")
        case datetime():
            return f"TIMESTAMP{literal(value.isoformat(sep=' '))}"
        case date():
            return f"DATE{literal(value.isoformat())}"
        case str():
            return literal(value)
        case bytes() | bytearray():
            return f"X'{value.hex()}'"
        case timedelta():
            return _interval(value // _MICRO)
        case list() | tuple():
            return f"array({', '.join(map(_literal, value))})"
    problem, hint = f"a {type(value).__name__} has no literal", "Pass a plain value."
    raise error("DT-1003", option="a parameter", value=repr(value), problem=problem, hint=hint)


def _number(value: int | Decimal, suffix: str) -> str:
    """In parentheses where it has a sign: after another minus it would begin a comment."""
    text = f"{value:f}{suffix}" if isinstance(value, Decimal) else f"{value}{suffix}"
    return f"({text})" if text.startswith("-") else text


def _interval(micros: int) -> str:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    sign = "-" if micros < 0 else ""
    text = f"{sign}{days} {hour:02}:{minute:02}:{second:02}.{fraction:06}"
    return f"INTERVAL '{text}' DAY TO SECOND"
