"""Errors about a name on a magic's line, placed there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dt_jupyter.model import DTError, Span

_NAMED = frozenset({"DT-1101", "DT-1105", "DT-1108", "DT-1109", "DT-1119", "DT-3201"})


@contextmanager
def placed_on_line(line: str) -> Iterator[None]:
    """An error of the block about a name, without a place, at that name."""
    try:
        yield
    except DTError as failure:
        place = find_on_line(line, str(failure.facts.get("name", "")))
        if failure.span is not None or failure.code not in _NAMED or place is None:
            raise
        raise failure.at(line, place) from failure.__cause__


def find_on_line(line: str, name: str) -> Span | None:
    """The last part of a name, such as `a.b`, where the line first has it as a word."""
    last = name.rpartition(".")[2].strip("`")
    if not last:
        return None
    found = re.search(rf"(?<![\w-]){re.escape(last)}(?![\w-])", line, re.IGNORECASE)
    return Span(*found.span()) if found else None
