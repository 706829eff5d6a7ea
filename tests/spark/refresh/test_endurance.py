"""What stays in memory of a process does not grow with the number of its refreshes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.endurance import Sample, make, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.engine_lab import Lab

ROUNDS, EVERY = 200, 40
COMMIT_OBJECTS = 12
"""A log remembers so many of Python's objects of each small commit, up to a number of bytes."""
LOGS = 3
"""That a refresh reads, or writes, at most."""

_FILLING = frozenset({"commits", "look-ups"})
"""Kinds to which every refresh adds, up to a number of bytes of their own."""


@pytest.mark.nightly
def test_many_refreshes_of_a_wide_table(quick_lab: Lab, tmp_path: Path) -> None:
    make(quick_lab.engine, tmp_path / "wide")
    samples: list[Sample] = []
    kinds: list[dict[str, int]] = []
    memory = quick_lab.context.refresher.small.columns.memory
    for sample in run(quick_lab.engine, tmp_path / "wide", ROUNDS, EVERY):
        samples.append(sample)
        kinds.append({c.kind: c.bytes for c in memory.caches if c.kind not in _FILLING})
    middle, last = samples[len(samples) // 2], samples[-1]
    added = 1_000 * (last.objects - middle.objects) / (last.refreshes - middle.refreshes)
    assert added < LOGS * COMMIT_OBJECTS, samples
    largest = max(sum(k.values()) for k in kinds[: len(kinds) // 2])
    assert sum(kinds[-1].values()) < 1.1 * largest, kinds
    quick_lab.verified("copied")
