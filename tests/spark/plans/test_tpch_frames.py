"""TPC-H's queries as DataFrames: each is accepted, and moved by the changes of its sources alone to
the rows that the DataFrame shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pytest

from bench import tiny
from bench.data import change
from bench.tpch import queries
from tests.spark.engine_lab import Lab
from tests.spark.plans.tpch_frames import TpchFrames
from tests.spark.refresh.test_tpch import BATCHES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Frames = Callable[[], dict[str, Callable[[], "DataFrame"]]]
EACH_TIME = ("q13_named",)
"""An aggregate of an aggregate with other names."""


def _kept(lab: Lab, frames: Frames, names: Iterable[str], batches: Iterable[Iterable[str]]) -> None:
    """Creates tables of frames, and refreshes them after each batch: a refresh stream and more."""
    made, moved = {n: f() for n, f in frames().items() if n in names}, dict.fromkeys(names, 0)
    for name, frame in made.items():
        lab.engine.create(name, frame, target_lag="1 hour", refresh_mode="incremental")
        assert lab.mode(name) == "INCREMENTAL", name
    for salt, batch in enumerate(batches):
        change(lab.engine, 0.1, "mixed", 10 * salt)
        for statement in batch:
            lab.sql(statement)
        for name in names:
            record = lab.record(name)
            assert (name, record.error) == (name, None)
            assert str(record.action) in ("INCREMENTAL", "NO_DATA"), (name, record.reason)
            moved[name] += record.statistics.inserted_rows + record.statistics.deleted_rows
            now = frames()[name]()
            assert lab.rows(name) == sorted(map(tuple, now.collect()), key=repr), name
            assert lab.spark.table(name).columns == now.columns
    assert not [n for n, rows in moved.items() if not rows], "no batch changed these"


def _frames(lab: Lab) -> Frames:
    """Each time anew: a DataFrame shows the tables as they were when it was made."""
    return lambda: TpchFrames(lab.spark, 0.0001 / tiny.SCALE).all()


@pytest.mark.nightly
def test_tpch_as_dataframes_is_kept_incrementally(quick_lab: Lab) -> None:
    tiny.load(quick_lab.engine)
    _kept(quick_lab, _frames(quick_lab), EACH_TIME, [()])


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_of_tpch_as_dataframes_is_kept_incrementally(quick_lab: Lab) -> None:
    tiny.load(quick_lab.engine)
    frames = _frames(quick_lab)
    known = frames()
    assert {n.partition("_")[0] for n in known} == set(queries(1.0))
    _kept(quick_lab, frames, tuple(known), BATCHES.values())


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_text_of_tpch_is_kept_as_the_dataframe_that_spark_makes_of_it(quick_lab: Lab) -> None:
    tiny.load(quick_lab.engine)
    for name, text in queries(tiny.SCALE).items():
        told = str(quick_lab.engine.explain(quick_lab.spark.sql(text)))
        assert told.startswith("the_dataframe: INCREMENTAL"), (name, told)
