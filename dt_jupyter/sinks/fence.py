"""Who may commit for which keys: the rule for all stores that keep checkpoints, ours included.

A store runs `plan_fence` over its rows in one transaction and writes what it says. Later commits
name the nonce that the newcomer got; a row with another nonce, or no row, is a fence.
Source: Flow materialization protocol, "Remote Store is Authoritative"; the fencing cases (exact
match, split from a parent, straddle, covered child) are those of Estuary's connectors.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from dt_jupyter.model import error
from dt_jupyter.sinks.binding import HashRange
from dt_jupyter.sinks.messages import Checkpoint


@dataclass(frozen=True)
class FenceRow:
    """What a store keeps of one split: `nonce` is that of the newest who opened it."""

    range: HashRange
    nonce: int
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True)
class FencePlan:
    """`own` is the newcomer's row, `removed` are ranges that no task may commit for any more,
    `rest` what is left of those outside of the newcomer's."""

    own: FenceRow
    rest: tuple[FenceRow, ...]
    removed: tuple[HashRange, ...]


def new_nonce() -> int:
    """A nonce where no row has one: another than that of any row that was deleted."""
    return secrets.randbits(48) + 1


def plan_fence(rows: Sequence[FenceRow], opened: HashRange, first: int) -> FencePlan:
    """What opening a range does to the rows of its sink; no two overlap, before or after;
    `first` is a `new_nonce` for where there is none.

    The newcomer begins at the checkpoint that all rows in its range have. DT-6123 where they
    differ, or where a part was never delivered and another was: no one checkpoint is right then.
    """
    touched = [row for row in rows if row.range.overlaps(opened)]
    nonce = max((row.nonce + 1 for row in touched), default=first)
    own = FenceRow(opened, nonce, _agreed(touched, opened))
    rest = [FenceRow(r, nonce, row.checkpoint) for row in touched for r in _outside(row, opened)]
    removed = sorted(row.range for row in touched if row.range != opened)
    return FencePlan(own, tuple(rest), tuple(removed))


def _agreed(rows: Sequence[FenceRow], opened: HashRange) -> Checkpoint | None:
    found = [row.checkpoint for row in rows]
    delivered = sum(_size(row.range) for row in rows)
    delivered -= sum(_size(r) for row in rows for r in _outside(row, opened))
    if delivered < _size(opened):
        found.append(None)
    if any(each != found[0] for each in found):
        raise error("DT-6123", range=opened, known=", ".join(str(r.range) for r in rows))
    return found[0]


def _size(range_: HashRange) -> int:
    return range_.end - range_.begin + 1


def _outside(row: FenceRow, opened: HashRange) -> list[HashRange]:
    """The parts of a row before and after a range."""
    begin, end = row.range.begin, row.range.end
    before = [HashRange(begin, opened.begin - 1)] if begin < opened.begin else []
    after = [HashRange(opened.end + 1, end)] if end > opened.end else []
    return before + after
