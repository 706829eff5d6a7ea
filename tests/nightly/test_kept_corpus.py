"""Texts of the corpus as dynamic tables: each equals its query through random changes.

The texts are columns of a few tables; those that are not kept incrementally are taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dt_jupyter.spark import arrow_frame
from tests.nightly.test_corpus import AGGREGATES, SCALARS, TYPES, WINDOWS, drawn, schema
from tests.spark.engine_lab import without_check
from tests.spark.evaluation.random_statements import edge_rows

if TYPE_CHECKING:
    from tests.spark.engine_lab import Lab

KEPT_SEEDS = range(8)
BATCHES = 3
ASSIGNMENTS = (
    "i = NULL", "i = r", "l = -r", "s = u", "u = s", "s = NULL", "y = z", "v = w", "d = 1.50",
    "d = NULL", "b = NOT b", "k = r % 4", "h = 3", "e = d", "o = q", "n = NULL", "c = X'00'",
)  # fmt: skip


def near_rows(random: Random, count: int) -> pa.Table:
    """Rows whose times stay within Python's calendar, by which the oracle reads them, and whose
    BIGINTs do not cancel out: Spark's AVG of these is a sum of doubles in the order of its rows."""
    rows = edge_rows(random, count)
    for name in ("y", "v", "n"):
        year = pc.year(rows[name])
        near = pc.and_(pc.greater(year, 1000), pc.less(year, 9000))
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, pc.if_else(near, rows[name], None))
    small = pc.and_(pc.greater(rows["l"], -(2**40)), pc.less(rows["l"], 2**40))
    place = rows.schema.get_field_index("l")
    return rows.set_column(place, "l", pc.if_else(small, rows["l"], None))


def move(lab: Lab, random: Random, batch: int) -> None:
    """Rows of the table deleted, updated, doubled and inserted."""
    more = near_rows(random, 8)
    place, first = more.schema.get_field_index("r"), 1_000 * (batch + 1)
    more = more.set_column(place, "r", pa.array(range(first, first + 8), pa.int32()))
    arrow_frame(lab.spark, more, schema()).write.format("delta").mode("append").saveAsTable("a")
    assigned = ", ".join(random.sample(ASSIGNMENTS, 3))
    lab.sql(f"DELETE FROM a WHERE r % 5 = {random.randrange(5)}")
    lab.sql(f"UPDATE a SET {assigned} WHERE r % 4 = {random.randrange(4)}")
    lab.sql(f"INSERT INTO a SELECT * FROM a WHERE r % 3 = {random.randrange(3)}")


def kept(lab: Lab, items: Sequence[str], rest: str, name: str) -> dict[str, int]:
    """Dynamic tables of the texts that are kept incrementally, with how many each has."""
    columns = ", ".join(f"{e} AS c{i}" for i, e in enumerate(items))
    made = lab.dynamic_table(name, f"SELECT k, {columns} FROM a{rest}")
    if made.effective_mode == "INCREMENTAL":
        return {name: len(items)}
    lab.sql(f"DROP DYNAMIC TABLE {name}")
    if len(items) == 1:
        return {}
    half = len(items) // 2
    found = kept(lab, items[:half], rest, f"{name}0")
    return {**found, **kept(lab, items[half:], rest, f"{name}1")}


@pytest.mark.parametrize("seed", KEPT_SEEDS)
def test_expressions_are_kept_through_changes(
    quick_lab: Lab,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    lab, random = quick_lab, Random(f"kept {seed}")
    without_check(monkeypatch)
    lab.sql("SET spark.sql.ansi.enabled = false")
    lab.table("a", ", ".join(f"{n} {t}" for n, t in TYPES.items()))
    move(lab, random, 0)
    tables = dict[str, int]()
    for place, (rest, items) in enumerate(drawn(seed)):
        tables |= kept(lab, items, rest, f"t{place}")
    assert sum(tables.values()) > (SCALARS + AGGREGATES + WINDOWS) / 2
    for batch in range(1, BATCHES + 1):
        move(lab, random, batch)
        for name in tables:
            assert lab.refresh(name) in ("INCREMENTAL", "NO_DATA"), name
            wrong = lab.wrong(name)
            assert wrong is None, f"{wrong}\n{lab.engine.table(name).definition.query}"
    record_property("texts", sum(tables.values()))
