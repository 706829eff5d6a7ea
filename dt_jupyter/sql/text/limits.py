"""What is too much to be kept incrementally: tables and operators.

A text passes `guard` by its length; what it comes to once views and common tables are put in their
places may still be any number of times as much.
"""

from __future__ import annotations

from dt_jupyter.ivm import Refusal, Rel, refuse

MOST_RELATIONS = 5_000
"""Spark's analysis puts each common table where it is read, and takes minutes for more."""
MOST_NODES = 2_000
DEEPEST = 150
"""Operators below each other: what renders and rewrites them is recursive."""


def refuse_large(rel: Rel) -> None:
    """Raises where a relation has too many operators, or too many below each other."""
    size, depth = _measured(rel, {})
    for count, most, what in (
        (size, MOST_NODES, "operators"),
        (depth, DEEPEST, "operators below each other"),
    ):
        if count > most:
            raise refuse(Refusal.EXPRESSION, what=f"it comes to more than {most:,} {what}")


def _measured(rel: Rel, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Operators and depth; a part that is used several times counts as often, measured once."""
    if id(rel) not in known:
        below = [_measured(i, known) for i in rel.inputs]
        size = 1 + sum(s for s, _ in below)
        known[id(rel)] = size, 1 + max((d for _, d in below), default=0)
    return known[id(rel)]
