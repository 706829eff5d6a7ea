"""The change of a table with row tracking is the rows that differ, by their ids."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dt_jupyter.lake import NotSupported
from dt_jupyter.lake.change.row_tracking import tracked_table
from tests.unit.delta_logs import Written, column, info, metadata

IDS = "_row-id-col-1"
TRACKED = {"rowTracking.materializedRowIdColumnName": IDS, "enableRowTracking": "true"}
COLUMNS = (column("n", "integer"), column("Name", "string"), column("x", "double"))
SCHEMA = pa.schema([("n", pa.int32()), ("Name", pa.string()), ("x", pa.float64())])
Row = tuple[int | None, str | None, float | None]
Rows = Mapping[int, Row]
"""By row id."""
CHANCES: tuple[Row, ...] = (
    (1, "a", 0.0),
    (1, "a", -0.0),
    (1, None, 0.0),
    (None, "a", float("nan")),
    (2, "ä", None),
    (None, None, None),
)


class Tracked(Written):
    """A table whose files are written by hand, as Delta writes those of a table with row tracking:
    ids of new rows are their places, those of copied rows are stored."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, metadata(*COLUMNS, **TRACKED))
        self.ids = 0
        self.files: dict[str, Rows] = {}

    def add(self, rows: Iterable[Row], copied: Rows | None = None) -> dict[str, Any]:
        """The action of a new file, which holds new rows and copied ones."""
        copied, fresh = copied or {}, list(rows)
        base, self.ids = self.ids, self.ids + len(copied) + len(fresh)
        ids = {base + len(copied) + n: row for n, row in enumerate(fresh)}
        columns = list(zip(*copied.values(), *fresh, strict=True)) or [[], [], []]
        file = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)
        if copied:
            stored = [*copied, *(None for _ in fresh)]
            file = file.append_column(IDS, pa.array(stored, pa.int64()))
        name = f"part-{len(self.files)}.parquet"
        pq.write_table(file, self.path / name)
        self.files[name] = {**copied, **ids}
        return self.action("add", name, base)

    def action(self, kind: str, name: str, base: int = 0) -> dict[str, Any]:
        size = (self.path / name).stat().st_size
        return {kind: {"path": name, "partitionValues": {}, "size": size, "dataChange": True,
                       "baseRowId": base, "defaultRowCommitVersion": self.next}}  # fmt: skip


def told(rows: pa.Table) -> set[str]:
    return {repr(tuple(r.values())) for r in rows.to_pylist()}


def difference(old: Rows, new: Rows) -> set[str]:
    return {
        repr((*row, id_, weight))
        for mine, other, weight in ((new, old, 1), (old, new, -1))
        for id_, row in mine.items()
        if id_ not in other or repr(other[id_]) != repr(row)
    }


@pytest.mark.parametrize("seed", range(8))
def test_histories(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    table = Tracked(tmp_path / "t")
    live: dict[str, int] = {}
    states: list[Rows] = [{}]
    for _ in range(12):
        actions = []
        gone = chance.sample(sorted(live), k=min(len(live), chance.randrange(3)))
        copied = {k: row for name in gone for k, row in table.files[name].items()}
        for id_ in chance.sample(sorted(copied), k=len(copied) // 3):
            if chance.random() < 0.5:
                copied[id_] = chance.choice(CHANCES)
            else:
                del copied[id_]
        items = list(copied.items())
        chance.shuffle(items)
        actions += [table.action("remove", name, live.pop(name)) for name in gone]
        added = table.add(chance.choices(CHANCES, k=chance.randrange(4)), dict(items))
        live[added["add"]["path"]] = added["add"]["baseRowId"]
        table.commit(info("UPDATE"), *actions, added)
        states.append({k: row for name in live for k, row in table.files[name].items()})
    for old in range(12):
        for new in range(old + 1, 13):
            found = tracked_table(table.log, old + 1, new, ["n", "name", "x"])
            assert found.column_names == ["n", "name", "x", "__dt_row_id", "__dt_w"]
            assert told(found) == difference(states[old], states[new]), (old, new)
            assert len(found) == len(told(found))


def test_what_it_leaves_to_spark(tmp_path: Path) -> None:
    table = Tracked(tmp_path / "t")
    first = table.add([(1, "a", 0.5)])
    table.commit(info(), first)
    vector = {"pathOrInlineDv": "v", "offset": 1, "cardinality": 1, "storageType": "u"}
    table.commit(
        info("DELETE"),
        table.action("remove", "part-0.parquet"),
        {"add": {**first["add"], "deletionVector": vector}},
    )
    unknown = table.add([(2, "b", 0.5)])
    del unknown["add"]["baseRowId"]
    table.commit(info(), unknown)
    assert len(tracked_table(table.log, 1, 1, ["x"])) == 1
    for version, problem in ((2, "deletion vector"), (3, "ids")):
        with pytest.raises(NotSupported, match=problem):
            tracked_table(table.log, version, version, ["x"])
