"""What came and went inside an interval is no change: pairs cancel, weights stay one."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from dt_jupyter.refresh.settled import _cancels, _paired_off
from tests.unit.ivm_lab import connection, literal_rows

Row = tuple[int, int, int]
ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from([1, -1])), max_size=8
)


def settled(rows: list[Row]) -> list[Row]:
    """The statement that Spark runs, with the columns themselves as the hashes."""
    relation = literal_rows(("a", "b", "__dt_w"), list(rows)) + " x"
    text = _paired_off(relation, ("a", "b"), ("a", "b")).replace("`", '"')
    return [tuple(r) for r in connection().execute(f"SELECT * FROM {text}").fetchall()]


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(ROWS)
def test_pairs_cancel_and_what_is_left_weighs_the_same(rows: list[Row]) -> None:
    left = settled(rows)
    total: Counter[tuple[int, int]] = Counter()
    for a, b, weight in rows:
        total[(a, b)] += weight
    assert Counter(left) == Counter({
        (*row, 1 if weight > 0 else -1): abs(weight) for row, weight in total.items() if weight
    })  # fmt: skip


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(ROWS)
def test_a_small_change_is_looked_at_before_it_is_sorted(rows: list[Row]) -> None:
    names = ("a", "b", "__dt_w")
    table = pa.table({n: [r[i] for r in rows] for i, n in enumerate(names)})
    both = {r[:2] for r in rows if r[2] > 0} & {r[:2] for r in rows if r[2] < 0}
    assert _cancels(table) == bool(both)
