"""The `:parameters` of a text, taken from the notebook's variables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dt_jupyter.model import error
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
        value = _scalar(variables[parameter.name])
        if not isinstance(value, PLAIN):
            raise error(
                "DT-1003",
                option=f":{parameter.name}",
                value=f"a {type(value).__name__}",
                problem="only plain values can be bound",
                hint="Bind a number, a string, True or False, a date, a datetime or None.",
            ).at(text, parameter.span)
        found[parameter.name] = value
    return found


def _scalar(value: Any) -> Any:
    """A numpy scalar as Python's own; anything else as it is."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    return value
