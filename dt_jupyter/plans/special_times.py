"""Times such as 'today', which Spark reads as another value each day."""

from __future__ import annotations

import re
from itertools import pairwise

from dt_jupyter.ivm import Refusal, Refused, refuse
from dt_jupyter.sql import tokens

_SPECIAL = re.compile(r"\s*(now|today|tomorrow|yesterday)(?![a-z]).*", re.IGNORECASE | re.DOTALL)
_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"})


def refused_time(text: str) -> Refused | None:
    """The refusal of a string that is read as a time, if it is such a one; a zone may follow."""
    if _SPECIAL.fullmatch(text) is None:
        return None
    return refuse(Refusal.CONTEXT_FUNCTION, what=f"'{text.strip()}'")


def refuse_special_literals(text: str) -> None:
    """Raises Refused for DATE'today' and the like, which a plan has as the day of its analysis."""
    for word, string in pairwise(tokens(text)):
        if word.upper in _TYPES and string.text[:1] in "'\"":
            refused = refused_time(string.text[1:-1])
            if refused is not None:
                raise refused
