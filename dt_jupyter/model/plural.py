"""A count with its noun: `1 row`, `1,234 rows`."""

from __future__ import annotations

_HISSING = ("s", "sh", "ch", "x")


def count_of(count: int, noun: str) -> str:
    """The count and the noun, which is in the singular, as English has them."""
    return f"{count:,} {noun if count == 1 else plural_of(noun)}"


def plural_of(noun: str) -> str:
    return f"{noun}es" if noun.endswith(_HISSING) else f"{noun}s"
