"""What a store takes as a name, and which two names are one there."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from dt_jupyter.model import error


@dataclass(frozen=True)
class NameRules:
    """Of one store: `most` bytes of UTF-8, `barred` characters besides control characters."""

    store: str
    most: int
    barred: str = ""

    def require(self, name: str) -> None:
        """DT-6134 for a name that the store cannot have, or would cut in silence."""
        if problem := self._problem(name):
            shown = name.encode("ascii", "backslashreplace").decode()
            raise error("DT-6134", name=f"{shown:.80}", store=self.store, problem=problem)

    def _problem(self, name: str) -> str:
        if not name:
            return "it is empty"
        if any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
            return "it has a control character or half a surrogate pair"
        if any(unicodedata.bidirectional(c) in _DIRECTIONS for c in name):
            return "it has a character that turns the direction of writing"
        if found := [c for c in self.barred if c in name]:
            return f"it has a {found[0]!r}"
        size = len(name.encode("utf-8"))
        return f"it has {size} bytes; {self.most} are allowed" if size > self.most else ""

    def require_columns(self, names: Sequence[str]) -> None:
        """DT-6134, and DT-6135 for two that differ by case or by how Unicode writes them."""
        seen: dict[str, str] = {}
        for name in names:
            self.require(name)
            twin = seen.setdefault(_folded(name), name)
            if twin is not name:
                raise error("DT-6135", names=f"{twin} and {name}", store=self.store)


_DIRECTIONS = frozenset(("RLE", "LRE", "RLO", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI"))


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
