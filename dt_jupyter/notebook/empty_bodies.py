"""Cell magics without a body: IPython refuses them before they are asked, even for their help."""

from __future__ import annotations

import re
from collections.abc import Collection

_FIRST = re.compile(r"%%(\w+)(?![\w?])")


class EmptyBodies:
    """An input transformer: gives those of the named magics an empty line as their body."""

    has_side_effects = True
    """Not asked whether a cell is complete: there the body is still to be typed."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)

    def __call__(self, lines: list[str]) -> list[str]:
        found = _FIRST.match(lines[0]) if len(lines) == 1 else None
        return [*lines, "\n"] if found and found[1] in self._names else lines


__all__ = ["EmptyBodies"]
