"""Who is fenced by whom: the cases of Estuary's connectors, and the two ways back to one task."""

from __future__ import annotations

import itertools
import random

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sinks.binding import LAST_HASH, HashRange, hash_ranges
from dt_jupyter.sinks.fence import FencePlan, FenceRow, plan_fence
from tests.unit.sinks.lab import LEFT, RIGHT, refused

WHOLE = HashRange()


def row(range_: HashRange, nonce: int, at: int | None) -> FenceRow:
    return FenceRow(range_, nonce, None if at is None else {"at": at})


def test_the_first_begins_at_nothing() -> None:
    assert plan_fence([], WHOLE, 1) == FencePlan(row(WHOLE, 1, None), (), ())


def test_exact_match() -> None:
    plan = plan_fence([row(WHOLE, 4, 7)], WHOLE, 1)
    assert plan == FencePlan(row(WHOLE, 5, 7), (), ())


def test_split_from_a_parent_takes_its_checkpoint_and_leaves_it_nothing_to_commit_to() -> None:
    plan = plan_fence([row(WHOLE, 4, 7)], LEFT, 1)
    assert plan == FencePlan(row(LEFT, 5, 7), (row(RIGHT, 5, 7),), (WHOLE,))


def test_a_straddle_fences_both() -> None:
    middle = HashRange(0x4000_0000, 0xBFFF_FFFF)
    plan = plan_fence([row(LEFT, 2, 7), row(RIGHT, 3, 7)], middle, 1)
    rest = (row(HashRange(0, 0x3FFF_FFFF), 4, 7), row(HashRange(0xC000_0000, LAST_HASH), 4, 7))
    assert plan == FencePlan(row(middle, 4, 7), rest, (LEFT, RIGHT))


def test_a_straddle_over_two_checkpoints_is_refused() -> None:
    with refused("DT-6123"):
        plan_fence([row(LEFT, 2, 7), row(RIGHT, 3, 8)], HashRange(0x4000_0000, 0xBFFF_FFFF), 1)


def test_a_covered_child_is_fenced_and_gone() -> None:
    plan = plan_fence([row(LEFT, 6, 7), row(RIGHT, 5, 7)], WHOLE, 1)
    assert plan == FencePlan(row(WHOLE, 7, 7), (), (LEFT, RIGHT))


def test_a_covered_child_that_went_on_alone_is_refused() -> None:
    with refused("DT-6123"):
        plan_fence([row(LEFT, 6, 9), row(RIGHT, 5, 7)], WHOLE, 1)


def test_children_at_one_point_are_joined() -> None:
    plan = plan_fence([row(LEFT, 2, 9), row(RIGHT, 5, 9)], WHOLE, 1)
    assert plan == FencePlan(row(WHOLE, 6, 9), (), (LEFT, RIGHT))


def test_a_part_never_delivered_is_not_joined_to_one_that_was() -> None:
    with refused("DT-6123"):
        plan_fence([row(LEFT, 2, 9)], WHOLE, 1)


def test_a_neighbour_is_left_alone() -> None:
    assert plan_fence([row(RIGHT, 5, 9)], LEFT, 1) == FencePlan(row(LEFT, 1, None), (), ())


@pytest.mark.parametrize("seed", range(60))
def test_every_hash_is_delivered_once_whatever_is_opened(seed: int) -> None:
    """A model: each hash remembers how far it was delivered; a task that opens and commits must
    begin where each of its hashes is."""
    rng = random.Random(seed)
    rows: dict[HashRange, FenceRow] = {}
    grid = [LAST_HASH // 8 * i for i in range(9)]
    reached = [0] * 8
    for step in range(1, 30):
        a, b = sorted(rng.sample(range(9), 2))
        opened = HashRange(grid[a], grid[b] - 1)
        try:
            plan = plan_fence(list(rows.values()), opened, 1)
        except DTError as e:
            if e.code != "DT-6123" or len(set(reached[a:b])) < 2:
                raise
            continue
        start = 0 if plan.own.checkpoint is None else plan.own.checkpoint["at"]
        assert set(reached[a:b]) == {start}
        fenced = {(r.range, r.nonce) for r in rows.values() if r.range.overlaps(opened)}
        for range_ in plan.removed:
            del rows[range_]
        rows |= {r.range: r for r in (*plan.rest, plan.own)}
        assert not fenced & {(r.range, r.nonce) for r in rows.values()}
        if rng.random() < 0.6:
            rows[opened] = row(opened, plan.own.nonce, step)
            reached[a:b] = [step] * (b - a)


def test_ranges_tile_the_hashes() -> None:
    for count in (1, 2, 3, 7, 64):
        ranges = hash_ranges(count)
        assert (ranges[0].begin, ranges[-1].end) == (0, LAST_HASH)
        assert all(a.end + 1 == b.begin for a, b in itertools.pairwise(ranges))
