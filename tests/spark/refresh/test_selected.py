"""What a change needs of large tables is selected by its own values, whatever their files hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.caches import cache_memory
from dt_jupyter.lake import SmallTables
from dt_jupyter.lake.read import disk_cache, kept_columns
from dt_jupyter.lake.read.file_columns import open_data_file
from dt_jupyter.refresh import stage_run, stage_way
from tests.cases import some
from tests.spark.engine_lab import Lab
from tests.unit.refresh.test_reduction import CONDITIONS, VALUES

ROWS = 3_000


@pytest.fixture
def large(quick_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Three tables that refer to each other; none of them is taken for a small one."""
    lab = quick_lab
    lab.context.refresher.small.table_bytes = 0
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: False)
    lab.table("buyer", "id BIGINT, name STRING")
    lab.table("sale", "id BIGINT, buyer BIGINT, day DATE")
    lab.table("line", "sale BIGINT, item STRING, price DECIMAL(9, 2)")
    lab.sql(f"INSERT INTO buyer SELECT id, concat('b\"', id) FROM range({ROWS})")
    lab.sql(
        "INSERT INTO sale SELECT id, id % 1500, date_add(DATE'2026-01-01', CAST(id % 9 AS INT)) "
        f"FROM range({ROWS})"
    )
    lab.sql(
        f"INSERT INTO line SELECT id % 3000, concat('i', id % 50), id % 100 FROM range({2 * ROWS})"
    )
    return lab


JOIN = "buyer b JOIN sale s ON s.buyer = b.id JOIN line l ON l.sale = s.id"
QUERIES = {
    "joined": f"SELECT b.name, s.day, l.item, l.price FROM {JOIN}",
    "summed": f"SELECT s.id, b.name, sum(l.price) AS total FROM {JOIN} GROUP BY s.id, b.name",
    "middle": f"SELECT s.id, median(l.price) AS middle FROM {JOIN} GROUP BY s.id",
    "bought": "SELECT name FROM buyer b WHERE EXISTS (SELECT 1 FROM sale s WHERE s.buyer = b.id)",
    "left": "SELECT s.id, l.item FROM sale s LEFT JOIN line l ON l.sale = s.id",
    "ranked": "SELECT sale, item, rank() OVER (PARTITION BY sale ORDER BY price) AS r FROM line",
    "named": "SELECT b.id, c.id AS other FROM buyer b JOIN buyer c ON b.name = c.name",
}
CHANGES = (
    "INSERT INTO line VALUES (7, 'new', 5.00)",
    "UPDATE sale SET day = DATE'2026-02-01' WHERE id IN (8, 2999)",
    "DELETE FROM line WHERE sale = 9",
    "UPDATE buyer SET name = 'b\"7' WHERE id = 11",
    "INSERT INTO sale VALUES (NULL, 7, NULL)",
    "INSERT INTO line VALUES (NULL, NULL, NULL)",
)


def test_a_change_reads_the_rows_that_it_meets(large: Lab) -> None:
    for name, query in QUERIES.items():
        large.dynamic_table(name, query)
    for change in CHANGES:
        large.sql(change)
        for name in QUERIES:
            record = large.record(name)
            assert record.action in ("INCREMENTAL", "NO_DATA"), f"{change}: {record}"
            assert record.statistics.rows_read < 100, f"{change}: {record}"
    large.verified(*QUERIES)
    used, most = large.engine.status()["kept_columns"].split(" of ")
    assert (float(used.removesuffix(" MB")) > 0, most) == (True, "1,024 MB")
    assert set(large.engine.status()["kept_by_kind"]) >= {"columns", "footers", "lists of files"}


@pytest.mark.parametrize("vectors", some(1, [True, False]))
def test_a_new_process_takes_columns_from_the_disk(
    large: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, vectors: bool
) -> None:
    """What its first refresh selects was decoded by another process; writers that make files
    again leave the columns of an older version."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(disk_cache, "_LEAST_ROWS", 1_000)
    monkeypatch.setattr(disk_cache, "_LEAST_BYTES", 1)
    for table in ("buyer", "sale", "line") if vectors else ():
        large.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    large.reopen()
    large.context.refresher.small.table_bytes = 0
    large.dynamic_table("summed", QUERIES["summed"])
    for change in (CHANGES[1], "DELETE FROM line WHERE sale = 19"):
        large.sql(change)
        assert large.record("summed").action == "INCREMENTAL"
    large.context.refresher.disk.flush()
    decoded: list[str] = []

    def opened(path: str, metadata: Any, *args: Any) -> Any:
        if "/_dt/" not in path and metadata.num_rows > 100:  # its own small files it writes again
            decoded.append(path)
        return open_data_file(path, metadata, *args)

    monkeypatch.setattr(kept_columns, "open_data_file", opened)
    large.reopen()
    large.context.refresher.small.table_bytes = 0
    large.sql(CHANGES[2])
    assert large.record("summed").action == "INCREMENTAL"
    large.verified("summed")
    assert decoded == []
    assert large.context.refresher.disk.hits > 0
    status = large.engine.status()
    assert (status["disk_cache"].endswith(" columns read"), status["problems"]) == (True, [])
    assert "mapped columns" in status["kept_by_kind"]


OF_MANY = (
    f"INSERT INTO sale SELECT id + {ROWS}, id % 1400, DATE'2026-02-02' FROM range(200)",
    "DELETE FROM line WHERE sale % 7 = 3; UPDATE buyer SET name = 'x' WHERE id % 9 = 4",
    "UPDATE sale SET day = NULL, buyer = buyer + 1 WHERE id % 5 = 1; "
    "DELETE FROM sale WHERE id % 11 = 2; INSERT INTO line SELECT * FROM line WHERE sale < 300",
)
LIMITS: dict[str, dict[str, int]] = {
    "at hand": {},
    "at hand, Spark's statements": {"evaluated_rows": 1},
    "read by Spark": {"read_rows": 50},
}


WAYS = (
    ("at hand", True),
    ("read by Spark", False),
    ("at hand", False),
    ("read by Spark", True),
    ("at hand, Spark's statements", True),
)


@pytest.mark.parametrize(("way", "vectors"), some(0, WAYS))
def test_a_change_of_many_rows(
    large: Lab, monkeypatch: pytest.MonkeyPatch, way: str, vectors: bool
) -> None:
    """More than are sent to every task: whoever reads them and computes with them, a table is
    moved by them, and where they are at hand without a job (a median is Spark's)."""
    for module in (stage_run, stage_way):
        monkeypatch.setattr(module, "LARGE", 20)
    large.tune(**LIMITS[way])
    large.context.refresher.small.table_bytes = 0
    for table in ("buyer", "sale", "line") if vectors else ():
        large.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    for name, query in QUERIES.items():
        large.dynamic_table(name, query)
    for change in OF_MANY:
        large.sql(change)
        for name in QUERIES:
            record = large.record(name)
            assert record.action in ("INCREMENTAL", "NO_DATA"), f"{change}: {record}"
            if record.action == "INCREMENTAL" and name != "middle":
                jobs, told = record.statistics.spark_jobs, f"{change}: {name}: {record}"
                assert jobs == 0 if way == "at hand" else jobs or way != "read by Spark", told
    large.verified(*QUERIES)


@pytest.mark.nightly
def test_rows_under_deletion_vectors_are_not_selected(large: Lab) -> None:
    large.dynamic_table("d", QUERIES["joined"])
    large.sql("ALTER TABLE line SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    large.sql("DELETE FROM line WHERE sale = 4 AND item = 'i4'")
    assert large.record("d").action == "INCREMENTAL"
    large.sql("UPDATE buyer SET name = 'x' WHERE id = 4")
    record = large.record("d")
    assert record.action == "INCREMENTAL"
    assert record.statistics.rows_read < 100, record
    large.verified("d")


def test_what_selects_too_much_is_left_to_spark(
    large: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large.context.refresher.small, "selected", 2)
    given_up = []
    select = SmallTables.select

    def spied(self: SmallTables, *args: Any, **kw: Any) -> Any:
        found = select(self, *args, **kw)
        given_up.append(found is None)
        return found

    monkeypatch.setattr(SmallTables, "select", spied)
    large.dynamic_table("d", QUERIES["summed"])
    large.sql("UPDATE buyer SET name = 'y' WHERE id < 5")
    assert large.record("d").action == "INCREMENTAL"
    assert True in given_up
    large.verified("d")


def test_conditions_mean_here_what_they_mean_to_spark(quick_lab: Lab) -> None:
    spark = quick_lab.engine.spark
    spark.createDataFrame(VALUES).createOrReplaceTempView("v")
    for text, kept in CONDITIONS.items():
        where = text.format(**{n: f"`{n}`" for n in VALUES.column_names})
        rows = spark.sql(f"SELECT * FROM v WHERE {where}").toArrow()
        assert rows.to_pylist() == VALUES.take(kept).to_pylist(), text


DEARER = "price > (SELECT avg(price) FROM line)"
ORDERED = {
    "dearer": f"SELECT sale, item, price FROM line WHERE {DEARER}",
    "at_most": "SELECT sale FROM line WHERE price <= (SELECT avg(price) + 0 AS a FROM line)",
    "bought_dear": f"SELECT item, count(*) AS n, sum(price) AS total FROM line l WHERE {DEARER} "
    "AND NOT EXISTS (SELECT 1 FROM sale s WHERE s.id = l.sale AND s.day IS NULL) GROUP BY item",
    "totals": "SELECT sale, sum(price) AS t FROM line GROUP BY sale ORDER BY t DESC LIMIT 5",
    "some_totals": "SELECT sale, sum(price) AS t, count(*) AS n FROM line GROUP BY sale "
    "HAVING count(*) > 1 ORDER BY t NULLS LAST, sale LIMIT 3 OFFSET 2",
    "days": "SELECT buyer, max(day) AS d FROM sale GROUP BY buyer ORDER BY d DESC, buyer LIMIT 4",
    "names": "SELECT id, name FROM buyer ORDER BY name LIMIT 4",
}
"""Of all rows few are above one average and not above the next, or among the first."""
LATER = (
    "INSERT INTO line VALUES (7, 'new', 5.00), (NULL, NULL, NULL)",
    "UPDATE line SET price = 99.99 WHERE sale < 40",
    "INSERT INTO sale VALUES (7, 8, NULL), (9999, 3, DATE'2030-01-01'); "
    "UPDATE sale SET day = NULL WHERE buyer = 3",
    "DELETE FROM line WHERE sale = 1999 OR price > 99; UPDATE buyer SET name = NULL WHERE id = 11",
)


@pytest.mark.nightly
def test_a_change_reads_the_rows_that_compare_otherwise(
    large: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_way, "_SELECTED_FROM", 100)
    large.context.refresher.small.table_bytes = 1_000
    for name, query in ORDERED.items():
        large.dynamic_table(name, query)
    for change in LATER:
        large.sql(change)
        for name in ORDERED:
            record = large.record(name)
            assert record.action in ("INCREMENTAL", "NO_DATA"), f"{change}: {record}"
            assert record.statistics.spark_jobs == 0, f"{change}: {name}: {record}"
    large.verified(*ORDERED)


def test_a_value_of_no_rows_is_compared_with(large: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The average is NULL, and nothing is above it: before the first row and after the last."""
    monkeypatch.setattr(stage_way, "_SELECTED_FROM", 100)
    large.table("mark", "v DECIMAL(9, 2)")
    query = "SELECT sale, price FROM line WHERE price > (SELECT avg(v) FROM mark)"
    large.dynamic_table("d", query)
    large.dynamic_table("shown", "SELECT l.sale, a FROM line l, (SELECT avg(v) AS a FROM mark) m "
                        "WHERE l.price > m.a")  # fmt: skip
    for change in ("INSERT INTO mark VALUES (97), (NULL)", "DELETE FROM mark"):
        large.sql(change)
        for name in ("d", "shown"):
            assert large.record(name).action == "INCREMENTAL", change
        large.verified("d", "shown")
