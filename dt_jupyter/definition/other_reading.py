"""Sessions in which a text, or what we write of it, means something else than elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from dt_jupyter.ivm import Refusal, refuse
from dt_jupyter.model import Definition
from dt_jupyter.spark import DROPS_QUOTES, KEEPS_BACKSLASHES
from dt_jupyter.sql import escape_quotes

_OTHER_READING = {
    "spark.sql.caseSensitive": "the session is case sensitive",
    KEEPS_BACKSLASHES: "the session takes a backslash in a string as it is",
}
"""Confs with which a statement means something else than what we write."""


def refuse_other_reading(definition: Definition, expand: Callable[[str], str]) -> None:
    """Refused by a definition whose confs are such; `expand` puts in what functions of SQL
    return."""
    on = {conf for conf, value in definition.settings.items() if value.lower() == "true"}
    for conf, what in _OTHER_READING.items():
        if conf in on:
            raise refuse(Refusal.EXPRESSION, what=what)
    texts = (expand(t) for t in (definition.query, *(view.text for view in definition.views)))
    if DROPS_QUOTES in on and any(escape_quotes(text) != text for text in texts):
        raise refuse(Refusal.EXPRESSION, what="the session drops '' in a string")
