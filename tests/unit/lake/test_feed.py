"""The change data feed read from its files gives the difference of the snapshots."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from dt_jupyter.caches.cache_memory import ENTRY_BYTES
from dt_jupyter.lake import NotSupported, TableLog
from dt_jupyter.lake.change import feed
from dt_jupyter.lake.change.feed import feed_table
from dt_jupyter.lake.change.feed_cache import KeptRows
from dt_jupyter.lake.read.column_memory import table_bytes
from tests.unit.delta_logs import PROPERTIES

SCHEMA = pa.schema([
    ("id", pa.int64()), ("Day", pa.date32()), ("kind", pa.string()), ("big", pa.bool_()),
    ("at", pa.timestamp("us", "UTC")), ("price", pa.decimal128(9, 2)), ("x", pa.float64()),
])  # fmt: skip
COLUMNS = ("x", "kind", "ID", "day", "price", "at", "big")
ODD = ("a b", "ä/ö", "50%", "=", None, "{}")


def some(*ids: int) -> pa.Table:
    columns = [
        list(ids),
        [date(2024, 1, 1 + i % 3) for i in ids],
        [ODD[i % 6] for i in ids],
        [(True, False, None)[i % 3] for i in ids],
        [i * 1_000_001 for i in ids],
        [Decimal(i) / 4 for i in ids],
        [(0.5, float("nan"), None)[i % 3] for i in ids],
    ]
    arrays = [pa.array(c).cast(f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def made(path: Path, partitions: Sequence[str] = ()) -> TableLog:
    DeltaTable.create(str(path), SCHEMA, partition_by=list(partitions), configuration=PROPERTIES)
    return TableLog(path)


def bag(rows: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(r.values())) for r in rows.to_pylist())


def difference(log: TableLog, old: int, new: int, columns: Sequence[str]) -> Counter[str]:
    """The oracle: the rows of the one snapshot less those of the other."""
    total: Counter[str] = Counter()
    for version, weight in ((new, 1), (old, -1)):
        rows = DeltaTable(str(log.path), version=version).to_pyarrow_table()
        stored = {n.lower(): n for n in rows.column_names}
        for row in rows.select([stored[c.lower()] for c in columns]).to_pylist():
            total[repr(tuple(row.values()))] += weight
    return Counter({row: n for row, n in total.items() if n})


def summed(rows: pa.Table) -> Counter[str]:
    total: Counter[str] = Counter()
    for row in rows.to_pylist():
        *values, weight = row.values()
        total[repr(tuple(values))] += weight
    return Counter({row: n for row, n in total.items() if n})


@pytest.fixture
def files_alone(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on delta-rs reads nothing."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("delta-rs read the feed")

    return lambda: monkeypatch.setattr(feed, "_by_delta_rs", refuse)


def wander(log: TableLog, steps: int, chance: random.Random) -> None:
    for step in range(steps):
        table, path = DeltaTable(str(log.path)), str(log.path)
        lowest = chance.randrange(30)
        where = f"id >= {lowest} AND id < {lowest + chance.randrange(1, 12)}"
        match chance.randrange(6):
            case 0 | 1:
                write_deltalake(path, some(*chance.choices(range(30), k=3)), mode="append")
            case 2:
                table.update(updates={"x": "1.5", "kind": f"'{step}'"}, predicate=where)
            case 3:
                table.delete(where)
            case 4:
                write_deltalake(path, some(step, step + 1), mode="overwrite")
            case 5:
                table.optimize.compact()


@pytest.mark.parametrize("partitions", [(), ("Day",), ("kind", "big")], ids=str)
def test_histories(tmp_path: Path, files_alone: Callable[[], None], partitions: Any) -> None:
    log = made(tmp_path / "a 'b' ä", partitions)
    write_deltalake(str(log.path), some(*range(20)), mode="append")
    wander(log, 14, random.Random(str(partitions)))
    last = log.version()
    intervals = [(1, last), (2, last), *((v, v) for v in range(1, last + 1)), (3, last - 2)]
    expected = [difference(log, a - 1, b, COLUMNS) for a, b in intervals]
    assert sum(map(len, expected)) > 50
    files_alone()
    for (first, upto), rows in zip(intervals, expected, strict=True):
        found = feed_table(log, first, upto, COLUMNS)
        assert found.column_names == [*COLUMNS, "__dt_w"]
        assert summed(found) == rows, (first, upto)
        day = feed_table(log, first, upto, ["Day"])
        assert summed(day) == difference(log, first - 1, upto, ["Day"])


def test_columns_that_came_later_are_null(tmp_path: Path, files_alone: Any) -> None:
    log = made(tmp_path / "t")
    write_deltalake(str(log.path), some(1), mode="append")
    more = some(2).append_column("more", pa.array([7], pa.int32()))
    write_deltalake(str(log.path), more, mode="append", schema_mode="merge")
    DeltaTable(str(log.path)).update(updates={"more": "8"}, predicate="id = 1")
    files_alone()
    found = feed_table(log, 1, 3, ["more", "id"])
    assert sorted(found.to_pylist(), key=str) == sorted(
        (
            {"more": m, "id": i, "__dt_w": w}
            for m, i, w in ((None, 1, 1), (7, 2, 1), (None, 1, -1), (8, 1, 1))
        ),
        key=str,
    )
    assert found.schema.field("more").type == pa.int32()


def test_types_as_other_writers_store_them(tmp_path: Path, files_alone: Any) -> None:
    log = made(tmp_path / "t")
    for n in (1, 2, 3):
        write_deltalake(str(log.path), some(n), mode="append")
    files = [log.path / a["path"] for a in log.file_changes(1, 3).added]
    stored = pq.read_table(files[0])
    as_others = stored.set_column(2, "KIND", stored["kind"].cast(pa.large_string()))
    as_others = as_others.set_column(4, "at", stored["at"].cast(pa.timestamp("ns", "UTC")))
    pq.write_table(as_others.set_column(0, "id", stored["id"].cast(pa.int32())), files[0])
    files_alone()
    expected = bag(
        pa.concat_tables([some(1), some(2), some(3)]).append_column("w", pa.array([1, 1, 1]))
    )
    assert bag(feed_table(log, 1, 3, SCHEMA.names)) == expected


def test_what_was_read_is_kept_and_only_the_news_read(tmp_path: Path) -> None:
    log = made(tmp_path / "t")
    for n in (1, 2):
        write_deltalake(str(log.path), some(n), mode="append")
    before = feed_table(log, 1, 2, ["id", "day"])
    for file in log.path.glob("*.parquet"):
        file.unlink()
    write_deltalake(str(log.path), some(3), mode="append")
    again, grown = feed_table(log, 1, 2, ["id", "day"]), feed_table(log, 1, 3, ["id", "day"])
    assert again == before
    assert grown.slice(0, 2) == before
    assert grown["id"].to_pylist() == [1, 2, 3]
    for first, last, columns in ((1, 2, ["id", "day"]), (2, 3, ["id", "day"]), (1, 3, ["id"])):
        with pytest.raises(FileNotFoundError):
            feed_table(log, first, last, columns)


def test_a_table_made_again_has_rows_of_its_own(tmp_path: Path) -> None:
    log = made(tmp_path / "t")
    write_deltalake(str(log.path), some(1), mode="append")
    assert feed_table(log, 1, 1, ["id"])["id"].to_pylist() == [1]
    shutil.rmtree(log.path)
    made(tmp_path / "t")
    write_deltalake(str(log.path), some(2), mode="append")
    assert feed_table(log, 1, 1, ["id"])["id"].to_pylist() == [2]


def test_rows_are_kept_by_their_bytes() -> None:
    rows = pa.table({"id": [1, 2, 3, 4]})
    kept = KeptRows(most=3 * (table_bytes(rows) + ENTRY_BYTES))
    for first in range(1, 6):
        kept.keep(first, 9, rows)
        kept.keep(1, 9, rows)
    assert [f for f in range(1, 6) if kept.find(f, 9, rows.schema)] == [1, 4, 5]
    kept.keep(7, 9, pa.table({"id": range(1_000)}))
    assert kept.find(7, 9, rows.schema) is None
    assert (kept.find(1, 8, rows.schema), kept.find(1, 12, rows.schema)) == (None, (9, rows))
    assert kept.find(1, 9, pa.schema([("id", pa.int32())])) is None


def test_old_timestamps_are_sparks(tmp_path: Path) -> None:
    log = made(tmp_path / "t")
    write_deltalake(str(log.path), some(1), mode="append")
    (file,) = log.path.glob("*.parquet")
    pq.write_table(pq.read_table(file), file, use_deprecated_int96_timestamps=True)
    with pytest.raises(NotSupported, match="INT96"):
        feed_table(log, 1, 1, ["at"])
    assert feed_table(log, 1, 1, ["id"]).to_pylist() == [{"id": 1, "__dt_w": 1}]


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    log = made(tmp_path / "t")
    for n in (1, 2):
        write_deltalake(str(log.path), some(n), mode="append")
    next(log.path.glob("*.parquet")).unlink()
    with pytest.raises(FileNotFoundError):
        feed_table(log, 1, 2, ["id"])


def test_nested_columns_are_left_to_delta_rs(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.list_(pa.timestamp("us", "UTC")))])
    DeltaTable.create(
        str(tmp_path / "t"),
        schema,
        configuration={k: v for k, v in PROPERTIES.items() if "Skipping" not in k},
    )
    log = TableLog(tmp_path / "t")
    write_deltalake(str(log.path), pa.table({"id": [1], "at": [[0]]}).cast(schema), mode="append")
    (row,) = feed_table(log, 1, 1, ["id", "at"]).to_pylist()
    assert (row["id"], len(row["at"]), row["__dt_w"]) == (1, 1, 1)
    (file,) = log.path.glob("*.parquet")
    pq.write_table(pq.read_table(file), file, use_deprecated_int96_timestamps=True)
    with pytest.raises(NotSupported, match="INT96"):
        feed_table(log, 1, 1, ["at"])


def test_nothing_changed(tmp_path: Path) -> None:
    found = feed_table(made(tmp_path / "t"), 0, 0, ["id", "Day"])
    assert (found.num_rows, found.column_names) == (0, ["id", "Day", "__dt_w"])
