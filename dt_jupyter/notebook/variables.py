"""The `:parameters` of a text, taken from the notebook's variables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dt_jupyter.failures import is_frame, is_local_frame, storing_line
from dt_jupyter.model import DTError, error
from dt_jupyter.sql import find_parameters

PLAIN = (type(None), bool, int, float, Decimal, str, date, datetime)


def parameters(text: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each `:name` in `text`, for Spark to bind.

    DT-1113 at the place of one that has no variable, DT-1003 where it is not a plain value.
    """
    found: dict[str, Any] = {}
    for parameter in find_parameters(text):
        if parameter.name not in variables:
            raise error("DT-1113", name=parameter.name).at(text, parameter.span)
        value = _plain(variables[parameter.name])
        if not all(isinstance(one, PLAIN) for one in (value if _is_list(value) else [value])):
            raise error(
                "DT-1003",
                option=f":{parameter.name}",
                value=f"a {type(value).__name__}",
                problem="only plain values and lists of them can be bound",
                hint=_to_store(parameter.name, value) or _HINT,
            ).at(text, parameter.span)
        found[parameter.name] = value
    return found


def with_frame_hint(failure: BaseException, variables: Mapping[str, Any]) -> BaseException:
    """An error about a table that is not there, whose name and rows a variable has."""
    if not isinstance(failure, DTError) or failure.code != "DT-1101":
        return failure
    name = str(failure.facts.get("name", ""))
    hint = _to_store(name, variables.get(name))
    return failure.but(instead=hint) if hint else failure


_HINT = "Bind a number, a string, True or False, a date, a datetime, None, or a list of these."


def _to_store(name: str, value: Any) -> str:
    """What makes a table of a variable that holds a frame; "" where it holds none."""
    if not is_local_frame(value) and not is_frame(value):
        return ""
    line = storing_line(name, name)
    return f"The variable {name} is a {type(value).__name__}: {line} makes a table of it."


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _plain(value: Any) -> Any:
    """numpy's scalars and arrays as Python's own; anything else as it is."""
    if type(value).__module__ == "numpy" and len(getattr(value, "shape", (0, 0))) < 2:
        return value.tolist()
    return value
