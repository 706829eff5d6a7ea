"""The Delta driver, into tables outside of a lake."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from dt_jupyter.sinks import Binding
from dt_jupyter.sinks.drivers.sql import quoted
from dt_jupyter.sinks.type_texts import to_type_text
from tests.sinks.conformance import Protocol
from tests.sinks.site import Site, row
from tests.unit.sinks.lab import Change, D, I, Row, binding, refused, summed

LONG, TEXT = pa.int64(), pa.string()


class DeltaSite(Site):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def url(self) -> str:
        return f"delta://{self.folder}"

    def table(self, made: Binding) -> pa.Table:
        folder = self.folder / made.target
        if not (folder / "_delta_log").exists():
            return made.schema.empty_table()
        query = QueryBuilder().register("t", DeltaTable(folder))
        names = ", ".join(quoted(c.name) for c in made.columns)
        found = pa.table(query.execute(f"SELECT {names} FROM t").read_all())
        return found.rename_columns(made.schema.names).cast(made.schema)

    def rows(self, made: Binding) -> dict[Any, Row]:
        found = self.table(made).to_pylist()
        keys = [tuple(row[k] for k in made.key) for row in found]
        assert len(set(keys)) == len(keys), "a key twice"
        return dict(zip(keys, found, strict=True))


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Site]:
    numbers = itertools.count()
    return lambda: DeltaSite(tmp_path / str(next(numbers)))


@pytest.fixture
def site(fresh: Callable[[], Site]) -> Site:
    return fresh()


class TestDelta(Protocol):
    FENCED = "DT-6143"
    STRIDE = 17

    def test_a_table_that_is_there_is_not_ours(self, site: DeltaSite) -> None:
        DeltaTable.create(site.folder / "t", summed().schema)
        with refused("DT-6140"):
            site.deliver(summed(), [(I, row(1, 1))])
        assert site.rows(summed()) == {}

    def test_a_folder_that_delta_rs_takes_for_another_is_refused(self, tmp_path: Path) -> None:
        site = DeltaSite(tmp_path / "a%2520b")
        with refused("DT-6101"):
            site.deliver(summed(), [(I, row(1, 1))])

    def test_two_sinks_into_one_table_are_refused(self, site: DeltaSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        with refused("DT-6141"):
            site.deliver(summed(), [(I, row(1, 1))], sink="other")

    def test_a_table_whose_log_is_gone_is_told(self, site: DeltaSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        shutil.rmtree(site.folder / "t" / "_delta_log")
        with refused("DT-6143"):
            site.deliver(summed(), [(I, row(1, 1)), (I, row(1, 1))], size=1)

    def test_a_type_that_is_widened_is_followed_by_one_commit(self, site: DeltaSite) -> None:
        """Also by who comes after one that died between the manifest and the commit."""
        site.deliver(
            binding(("k", pa.int32()), ("v", pa.decimal128(5, 1)), ("w", TEXT)),
            [(I, {"k": 1, "v": Decimal(1), "w": "x"}), (I, {"k": 2, "v": None, "w": None})],
        )
        made = binding(("k", LONG), ("v", pa.decimal128(12, 2)), ("w", TEXT))
        before = DeltaTable(site.folder / "t").version()
        manifest = json.loads((site.folder / "t" / "_manifest.json").read_text())
        manifest["columns"] = {c.name: to_type_text(c.type) for c in made.columns}
        (site.folder / "t" / "_manifest.json").write_text(json.dumps(manifest))
        site.deliver(made, [])
        assert DeltaTable(site.folder / "t").version() == before + 1
        first = [{"k": 1, "v": Decimal(1), "w": "x"}, {"k": 2, "v": None, "w": None}]
        assert site.table(made).sort_by("k").to_pylist() == first
        big = {"k": 2**40, "v": Decimal("1.25"), "w": "y"}
        site.deliver(made, [(I, row) for row in (*first, big)], size=2)
        assert site.table(made).sort_by("k").to_pylist() == [*first, big]
        with refused("DT-6142"):
            site.deliver(binding(("k", LONG), ("v", pa.decimal128(5, 1)), ("w", TEXT)), [])

    def test_a_table_that_is_there_is_adopted(self, site: DeltaSite) -> None:
        """With what else it has; emptied, it is the same table."""
        columns = {"k": [1, 5], "v": [7, 8], "n": ["a", "b"]}
        rows = pa.table(columns, pa.schema([("k", LONG), ("v", pa.int32()), ("n", TEXT)]))
        write_deltalake(site.folder / "t", rows, partition_by=["n"])
        adopt, made = {"adopt": "true"}, binding(("k", LONG), ("v", LONG))
        with refused("DT-6142") as found:
            site.deliver(binding(("k", LONG), ("z", TEXT)), [], options=adopt)
        assert "column z" in str(found[0])
        with refused("DT-6142") as found:
            site.deliver(binding(("k", LONG), ("v", TEXT)), [], options=adopt)
        assert "column v was int32" in str(found[0])
        site.deliver(made, [(I, {"k": 1, "v": 9}), (I, {"k": 2, "v": 3})], options=adopt)
        assert site.rows(made) == {
            (1,): {"k": 1, "v": 9}, (2,): {"k": 2, "v": 3}, (5,): {"k": 5, "v": 8},
        }  # fmt: skip
        table = DeltaTable(site.folder / "t")
        assert table.metadata().partition_columns == ["n"]
        known, version = table.metadata().id, table.version()
        site.driver(**adopt).forget(made, "s", empty=True)
        assert DeltaTable(site.folder / "t").metadata().id == known
        assert DeltaTable(site.folder / "t").version() == version + 1
        assert site.rows(made) == {}

    def test_what_a_dropped_sink_has_left_is_taken_over(self, site: DeltaSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        site.driver().forget(summed(), "s", empty=False)
        with refused("DT-6140"):
            site.deliver(summed(), [(I, row(1, 1))], sink="new")
        site.deliver(summed(), [(I, row(1, 4))], sink="new", options={"adopt": "true"})
        assert site.rows(summed()) == {(1,): row(1, 5)}

    def test_a_column_that_is_added_comes_and_another_type_waits(self, site: DeltaSite) -> None:
        site.deliver(binding(("k", LONG), ("v", pa.int32())), [(I, {"k": 1, "v": 1})])
        wider = binding(("k", LONG), ("v", pa.int32()), ("w", TEXT))
        changes: list[Change] = [(I, {"k": 1, "v": 1}), (I, {"k": 2, "v": 2, "w": "x"})]
        site.deliver(wider, changes, size=1)
        assert site.rows(wider)[2,] == {"k": 2, "v": 2, "w": "x"}
        assert site.rows(wider)[1,] == {"k": 1, "v": 1, "w": None}
        for columns in ([("k", LONG), ("v", TEXT), ("w", TEXT)], [("k", LONG), ("v", pa.int32())]):
            with refused("DT-6142"):
                site.deliver(binding(*columns), [])

    def test_delta_updates_are_rows_with_tombstones(self, site: DeltaSite) -> None:
        made = summed(delta=True)
        changes: list[Change] = [(I, row(1, v)) for v in (-1, 3, 2, 6, -7, -1)]
        site.deliver(made, [*changes, (D, {"k": 1})], size=3)
        columns = (*((c.name, c.type) for c in made.columns), ("dt_deleted", pa.bool_()))
        found = site.table(binding(*columns)).to_pylist()
        told = sorted((r["dt_deleted"], r["v"] or 0) for r in found)
        assert told == [(False, -2), (False, 4), (True, 0)]

    def test_each_transaction_is_one_commit(self, site: DeltaSite) -> None:
        site.deliver(summed(), [(I, row(k, 1)) for k in range(12)], size=4)
        table = DeltaTable(site.folder / "t")
        assert table.version() == 3
        assert list((site.folder / "t" / "_staged").iterdir()) == []
