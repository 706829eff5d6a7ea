"""Files of which a session's catalog, a pattern, or the names of folders say how they count."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.model import DTError
from tests.cases import some
from tests.spark.engine_lab import Lab
from tests.spark.sources.test_files import lines, parquet, same, told


def write(kind: str, folder: Path, id_: int, name: str = "1") -> None:
    if kind == "parquet":
        parquet(folder / f"{name}.parquet", id=[id_])
    else:
        lines(folder / f"{name}.json", {"id": id_})


@pytest.mark.parametrize("kind", some(1, ["parquet", "json"]))
def test_a_folder_with_a_value_of_another_type_gives_no_rows_until_it_is_gone(
    quick_lab: Lab, tmp_path: Path, kind: str
) -> None:
    lab, folder = quick_lab, tmp_path / "in"
    query = f"SELECT * FROM {kind}.`{folder}`"
    write(kind, folder / "y=2024", 1)
    write(kind, folder / "y=007", 2)
    lab.dynamic_table("d", query)
    write(kind, folder / "y=-3", 3)
    write(kind, folder / "y=__HIVE_DEFAULT_PARTITION__", 4)
    assert lab.refresh("d") == "INCREMENTAL"
    same(lab, "d", query)
    for wrong in ("abc", "99999999999", "1.5", "", "%2B5", " 5", "2024-01-01"):
        write(kind, folder / f"y={wrong}", 5)
        record = lab.record("d")
        assert record.error_code == "DT-1148", (wrong, record.error)
        (file,) = (folder / f"y={wrong}").iterdir()
        file.unlink()
        (folder / f"y={wrong}").rmdir()
    write(kind, folder / "y=2024", 5, "2")
    assert lab.refresh("d") == "INCREMENTAL"
    same(lab, "d", query)
    write(kind, folder / "y=abc", 6)
    columns = "id BIGINT, y STRING"
    lab.spark.sql(f"CREATE TABLE t ({columns}) USING {kind} PARTITIONED BY (y) LOCATION '{folder}'")
    lab.spark.sql("MSCK REPAIR TABLE t")
    lab.dynamic_table("e", "SELECT * FROM t")
    assert lab.mode("e") == "INCREMENTAL"
    same(lab, "e", "SELECT * FROM t")
    assert {(6, "abc"), (2, "007"), (4, None)} < set(lab.rows("e"))


def test_a_partition_where_there_were_none_and_folders_that_say_nothing(
    quick_lab: Lab, tmp_path: Path
) -> None:
    lab, flat, mixed = quick_lab, tmp_path / "flat", tmp_path / "mixed"
    for folder in (flat, mixed):
        write("json", folder, 1)
    write("json", flat / "sub" / "x", 9)
    write("json", mixed / "y=1", 2)
    lab.dynamic_table("d", f"SELECT * FROM json.`{flat}`")
    lab.dynamic_table("m", f"SELECT * FROM json.`{mixed}`")
    assert (lab.mode("d"), lab.mode("m")) == ("INCREMENTAL", "FULL")
    assert "FOREIGN_SOURCE" in lab.why("m")
    same(lab, "d", f"SELECT * FROM json.`{flat}`")
    (flat / "y=1").mkdir()
    assert lab.refresh("d") == "NO_DATA"
    write("json", flat / "sub" / "y=1", 3)
    record = lab.record("d")
    assert record.error_code == "DT-1146"
    assert "sub/y=1/1.json" in str(record.error)


@pytest.mark.parametrize("kind", some(1, ["parquet", "json"]))
def test_the_catalog_says_which_partitions_of_a_table_count(
    quick_lab: Lab, tmp_path: Path, kind: str
) -> None:
    lab, sql, folder = quick_lab, quick_lab.spark.sql, tmp_path / "in"
    sql(
        f"CREATE TABLE days (id BIGINT, day DATE, k STRING) USING {kind} "
        f"PARTITIONED BY (day, k) LOCATION '{folder}'"
    )
    sql("INSERT INTO days VALUES (1, DATE'2024-01-01', 'a/b%'), (1, NULL, NULL), (1, NULL, NULL)")
    query = "SELECT k, day, id, 1 AS one FROM days"
    lab.dynamic_table("d", query)
    lab.dynamic_table("n", "SELECT day, count(*) AS n FROM days GROUP BY day")
    assert (lab.mode("d"), lab.mode("n")) == ("INCREMENTAL", "INCREMENTAL"), lab.why("d")
    assert lab.refresh("d") == "NO_DATA"
    sql("INSERT INTO days VALUES (2, DATE'2024-01-02', 'é x'), (3, DATE'2024-01-01', 'a/b%')")
    assert (lab.refresh("d"), lab.refresh("n")) == ("INCREMENTAL", "INCREMENTAL")
    same(lab, "d", query)
    write(kind, folder / "day=2024-01-03" / "k=z", 4)
    assert lab.refresh("d") == "NO_DATA"
    sql("ALTER TABLE days ADD PARTITION (day = '2024-01-03', k = 'z')")
    assert lab.refresh("d") == "INCREMENTAL"
    same(lab, "d", query)
    write(kind, folder / "day=2024-01-04" / "k=z", 5)
    lab.reopen()
    assert lab.refresh("d") == "NO_DATA"
    same(lab, "d", query)
    sql("ALTER TABLE days DROP PARTITION (day = '2024-01-01', k = 'a/b%')")
    assert told(lab.record("d")) == ("REINITIALIZE", "FILES_CHANGED")
    same(lab, "d", query)
    assert lab.refresh("n") == "REINITIALIZE"
    assert lab.engine.verify("n")
    write(kind, tmp_path / "else", 7)
    sql(f"ALTER TABLE days ADD PARTITION (day = '2025-01-01', k = 'e') LOCATION '{tmp_path}/else'")
    record = lab.record("d")
    assert record.error_code == "DT-1146"
    assert "else" in str(record.error)
    sql("ALTER TABLE days DROP PARTITION (day = '2025-01-01', k = 'e')")
    sql("DROP TABLE days")
    assert lab.record("d").error_code == "DT-2102"


@pytest.mark.nightly
def test_tables_whose_files_the_catalog_does_not_tell_alone_stay_full(
    quick_lab: Lab, tmp_path: Path
) -> None:
    lab, sql = quick_lab, quick_lab.spark.sql
    made = {
        "padded": "id INT, c CHAR(4)) USING parquet PARTITIONED BY (c",
        "at": "id INT, t TIMESTAMP) USING parquet PARTITIONED BY (t",
        "filled": "id INT) USING parquet OPTIONS ('compression' 'none'",
    }
    for name, text in made.items():
        sql(f"CREATE TABLE {name} ({text}) LOCATION '{tmp_path / name}'")
    sql("INSERT INTO padded VALUES (1, 'a')")
    sql("INSERT INTO at VALUES (1, TIMESTAMP'2024-01-01 10:00:00')")
    sql("INSERT INTO filled VALUES (1)")
    sql("ALTER TABLE filled ADD COLUMN more INT DEFAULT 5")
    for name in made:
        lab.dynamic_table(f"of_{name}", f"SELECT * FROM {name}")
        assert lab.mode(f"of_{name}") == "FULL"
        same(lab, f"of_{name}", f"SELECT * FROM {name}")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", some(1, ["parquet", "json"]))
def test_a_pattern_names_folders_that_come_later_too(
    quick_lab: Lab, tmp_path: Path, kind: str
) -> None:
    lab, data = quick_lab, tmp_path / "da ta"
    write(kind, data / "a" / "x%20", 1)
    write(kind, data / "b" / "x%20", 1)
    write(kind, data / "b" / "y", 9)
    write(kind, data / "b" / "x%20" / "below", 9)
    query = f"SELECT * FROM {kind}.`{data}/*/x*`"
    lab.dynamic_table("d", query)
    lab.dynamic_table("n", f"SELECT id, count(*) AS n FROM {kind}.`{data}/{{a,c}}/x*` GROUP BY id")
    assert (lab.mode("d"), lab.mode("n")) == ("INCREMENTAL", "INCREMENTAL"), lab.why("d")
    same(lab, "d", query)
    assert lab.refresh("d") == "NO_DATA"
    write(kind, data / "c" / "x%20", 2)
    write(kind, data / "k=5" / "x", 3)
    write(kind, data / "_hidden" / "x", 4)
    write(kind, data / "a" / "x%20", 5, "_2")
    write(kind, data / "a" / "x%20", 5, "2")
    assert (lab.refresh("d"), lab.refresh("n")) == ("INCREMENTAL", "INCREMENTAL")
    same(lab, "d", query)
    assert lab.rows("n") == [(1, 1), (2, 1), (5, 1)]
    lab.reopen()
    assert lab.refresh("d") == "NO_DATA"
    assert f"files of {data}/*/x*" in str(lab.engine.explain("d"))
    (data / "c" / "x%20").rename(data / "c" / "y")
    assert told(lab.record("d")) == ("REINITIALIZE", "FILES_CHANGED")
    same(lab, "d", query)
    write(kind, data / "a" / "x%20" / "p=1", 6)
    assert lab.record("d").error_code == "DT-1146"
    data.rename(tmp_path / "gone")
    assert lab.record("d").error_code == "DT-2102"
    for twice in (f"{tmp_path}/gone/b/{{y,y/1.*}}", f"{tmp_path}/none/*"):
        with pytest.raises(DTError):
            lab.dynamic_table("no", f"SELECT * FROM {kind}.`{twice}`", "REFRESH_MODE = INCREMENTAL")
