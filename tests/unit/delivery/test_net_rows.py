"""What is left of few changes, and which keys are new."""

from __future__ import annotations

import pyarrow as pa

from dt_jupyter.delivery.net_rows import net_changes, new_keys
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sinks import KIND


def changes(*rows: tuple[int, str, int]) -> pa.Table:
    """Of id and name, with the weight last."""
    ids, names, weights = zip(*rows, strict=True)
    return pa.table({"id": ids, "name": names, WEIGHT: weights})


def told(rows: pa.Table) -> list[tuple[int, str, int]]:
    return [(row["id"], row["name"], row[KIND]) for row in rows.to_pylist()]


def test_what_came_and_went_cancels_whatever_the_order() -> None:
    found = net_changes(
        changes((1, "b", 1), (1, "a", -1), (2, "x", 1), (2, "x", -1), (1, "c", 1), (1, "b", -1))
    )
    assert told(found) == [(1, "a", 1), (1, "c", 0)]


def test_equal_rows_count() -> None:
    found = net_changes(changes((1, "a", 1), (1, "a", 1), (2, "b", -1)))
    assert told(found) == [(2, "b", 1), (1, "a", 0), (1, "a", 0)]


def test_a_key_is_new_that_only_came() -> None:
    found = net_changes(changes((1, "a", -1), (1, "b", 1), (2, "b", 1), (3, "c", -1)))
    keys = new_keys(found, ["id"])
    assert keys is not None
    assert keys["id"].to_pylist() == [2]


def test_two_rows_of_one_key_are_for_a_closer_look() -> None:
    assert new_keys(net_changes(changes((1, "a", 1), (1, "b", 1))), ["id"]) is None
