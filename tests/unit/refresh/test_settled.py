"""What came and went inside an interval is no change: pairs cancel, weights stay one."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import cast

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from dt_jupyter.lake import Feed, Relation, TableLog, paired_off
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.refresh.consolidate import _paired_off, cancel_pairs
from tests.unit.small_worlds import connection, literal_rows

Row = tuple[int, int, int]
ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from([1, -1])), max_size=8
)


def settled(rows: list[Row]) -> list[Row]:
    """The statement that Spark runs, with the columns themselves as the hashes."""
    relation = literal_rows(("a", "b", "__dt_w"), list(rows)) + " x"
    text = _paired_off(relation, ("a", "b"), ("a", "b")).replace("`", '"')
    return [tuple(r) for r in connection().execute(f"SELECT * FROM {text}").fetchall()]


@settings(max_examples=60, derandomize=True, database=None)
@given(ROWS)
def test_pairs_cancel_and_what_is_left_weighs_the_same(rows: list[Row]) -> None:
    left = settled(rows)
    total: Counter[tuple[int, int]] = Counter()
    for a, b, weight in rows:
        total[(a, b)] += weight
    assert Counter(left) == Counter(
        {(*row, 1 if weight > 0 else -1): abs(weight) for row, weight in total.items() if weight}
    )


@settings(max_examples=100, derandomize=True, database=None)
@given(ROWS, st.sampled_from([pa.int64(), pa.float64(), pa.list_(pa.int64())]))
def test_a_small_change_is_paired_off_by_contents(rows: list[Row], type_: pa.DataType) -> None:
    values: dict[int, object] = {0: None, 1: [1] if pa.types.is_list(type_) else 1}
    columns = {
        "a": pa.array([values[r[0]] for r in rows], type_),
        "b": pa.array([r[1] for r in rows], pa.int64()),
        "__dt_w": pa.array([r[2] for r in rows], pa.int64()),
    }
    left = [tuple(r.values()) for r in paired_off(pa.table(columns)).to_pylist()]
    expected = [(values[a], b, w) for a, b, w in settled(rows)]
    assert len(left) == len(expected)
    assert all(row in expected for row in left)


def test_an_update_of_columns_that_nobody_reads_is_no_change() -> None:
    """Within one commit, too; a row that did change, and one of several copies, stay."""
    rows = pa.table({"a": [1, 1, 2, 3, 4, 4, 4], WEIGHT: [-1, 1, 1, -1, 1, 1, -1]})
    change = Relation("v", "local", "small", 7, ("v",), rows)
    left = cancel_pairs(change, cast(TableLog, None), Feed(3, 3, None, 0, 0), ["a"])
    assert left.arrow is not None
    assert sorted(zip(*left.arrow.to_pydict().values(), strict=True)) == [(2, 1), (3, -1), (4, 1)]
    assert left.rows == 3


@pytest.mark.parametrize("weights", [[1, -1, 1], [1, -1], [-1, -1, 1]])
def test_rows_without_columns_are_all_alike(weights: list[int]) -> None:
    left = paired_off(pa.table({WEIGHT: weights}))
    assert left.column_names == [WEIGHT]
    assert left[WEIGHT].to_pylist() == [sum(weights)] * bool(sum(weights))


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
def test_floats_are_paired_off_by_their_bits(type_: pa.DataType) -> None:
    """Zeros of both signs are two values, NaN is one; in chunks that do not begin at a buffer's
    start."""
    rng = Random(7)
    values = [rng.choice([0.0, -0.0, float("nan"), 1.5, None]) for _ in range(300)]
    weights = [rng.choice([1, -1]) for _ in values]
    whole = pa.table({"a": pa.array(values, type_), WEIGHT: weights})
    rows = pa.concat_tables([whole.slice(0, 117), whole.slice(117)])
    total: Counter[str] = Counter()
    for value, weight in zip(values, weights, strict=True):
        total[repr(value)] += weight
    left = paired_off(rows)
    assert left.schema == rows.schema
    found = Counter((repr(r["a"]), r[WEIGHT]) for r in left.to_pylist())
    assert found == {(v, 1 if w > 0 else -1): abs(w) for v, w in total.items() if w}
