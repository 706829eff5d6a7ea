"""Files of other formats as sources: by their recorded list, new files are the change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.model import DTError, RefreshRecord
from tests.spark.engine_lab import Lab
from tests.spark.refresh.test_actions import settled


def lines(file: Path, *rows: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def parquet(file: Path, **columns: list[Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file)


def told(record: RefreshRecord) -> tuple[str, str]:
    assert record.error is None, record.error
    assert record.action is not None
    assert record.reason is not None
    return record.action.value, record.reason.code


def same(lab: Lab, name: str, query: str) -> None:
    """The rows of a dynamic table are those of Spark's own reading of the files."""
    wanted = sorted(map(str, map(tuple, lab.spark.sql(query).collect())))
    assert sorted(map(str, lab.rows(name))) == wanted
    assert lab.engine.verify(name)


def test_lines_of_json_are_read_once_and_new_files_are_the_change(
    quick_lab: Lab, tmp_path: Path
) -> None:
    lab = quick_lab
    folder = tmp_path / "in"
    lines(folder / "a b%20é.json", {"id": 1, "v": 2.5}, {"id": 1, "v": 2.5}, {"id": 2})
    lines(folder / "_half.json", {"id": 99})
    (folder / ".hidden.json").write_text("{")
    (folder / "empty.json").touch()
    query = f"SELECT id, count(*) AS n, sum(v) AS s FROM json.`{folder}` GROUP BY id"
    lab.dynamic_table("d", query)
    lab.dynamic_table("rows", f"SELECT * FROM json.`{folder}`")
    assert (lab.mode("d"), lab.mode("rows")) == ("INCREMENTAL", "INCREMENTAL")
    same(lab, "d", query)
    before = settled(lab)
    assert lab.refresh("d") == "NO_DATA"
    assert settled(lab) == before
    (folder / "_half.json").rename(folder / "[b]*{c,d}?.json")
    with (folder / "c.json").open("w") as file:
        file.write('{"id": 2, "v": 1, "more": "x"}\nno json\n{"id": null}\n')
    assert lab.refresh("d") == "INCREMENTAL"
    assert f"4 files of {folder}" not in str(lab.engine.explain("d"))
    assert f"3 files of {folder}" in str(lab.engine.explain("d"))
    shown = {str(n.name): n.files for n in lab.engine.graph().nodes}
    assert shown[f"json.`{folder}`"] == f"3 files of {folder}"
    described = lab.sql("DESCRIBE DYNAMIC TABLE d")
    assert (f"json.`{folder}`", f"3 files of {folder}", "READS", "id, v") in described
    assert lab.refresh("rows") == "INCREMENTAL"
    assert sorted(lab.rows("rows"), key=str) == sorted(
        [(1, 2.5), (1, 2.5), (2, None), (99, None), (2, 1.0), (None, None), (None, None)], key=str
    )
    lab.verified("rows")


@pytest.mark.nightly
def test_a_list_is_vacuumed_when_nothing_reads_it_and_undrop_finds_its_own(
    quick_lab: Lab, tmp_path: Path
) -> None:
    lab, lists = quick_lab, quick_lab.context.layout.files
    for name in ("read", "explained", "undone"):
        lines(tmp_path / name / "a.json", {"id": 1})
    parquet(tmp_path / "linked" / "a.parquet", id=[1])
    made = {n: f"SELECT id FROM json.`{tmp_path / n}`" for n in ("read", "explained", "undone")}
    linked = f"SELECT id FROM parquet.`{tmp_path / 'linked'}`"
    lab.dynamic_table("d", made["read"])
    lab.sql(f"EXPLAIN CREATE DYNAMIC TABLE no AS {made['explained']}")
    lab.sql(f"EXPLAIN CREATE DYNAMIC TABLE no AS {linked}")
    lab.dynamic_table("e", made["undone"])
    lab.sql("CREATE OR ALTER DYNAMIC TABLE e TARGET_LAG = '1 hour' AS SELECT id + 1 AS id FROM d")
    lab.sql("DROP DYNAMIC TABLE e; DROP DYNAMIC TABLE d")

    def vacuumed(days: float, **options: bool) -> list[str]:
        later = lab.context.clock.now().plus(days * 86400)
        done = lab.context.keeper.vacuum(None, None, later, **({"dry": False} | options))
        return sorted(t.name for t in done.tables if t.name.startswith("the list of"))

    unread = [f"the list of 0 files of {tmp_path / n}" for n in ("explained", "linked")]
    assert len(list(lists.glob("*-*/_delta_log"))) == 4
    assert vacuumed(6) == []
    assert vacuumed(8, dry=True) == vacuumed(8) == unread
    assert len(list(lists.glob("*-*/_delta_log"))) == 2
    assert (tmp_path / "linked" / "a.parquet").exists()
    lab.sql("UNDROP DYNAMIC TABLE d")
    assert lab.refresh("d") == "NO_DATA"
    lines(tmp_path / "read" / "b.json", {"id": 2})
    assert lab.refresh("d") == "INCREMENTAL"
    lab.dynamic_table("f", linked)
    same(lab, "f", linked)
    gone = lab.context.catalog.list("e", include_dropped=True)[0]
    lab.context.catalog.purge(gone.id)
    assert vacuumed(8) == [f"the list of 1 file of {tmp_path / 'undone'}"]


def test_a_file_that_changed_or_went_is_no_continuation(quick_lab: Lab, tmp_path: Path) -> None:
    lab = quick_lab
    folder = tmp_path / "in"
    lines(folder / "a.json", {"id": 1})
    lines(folder / "b.json", {"id": 2})
    parquet(folder.with_name("p") / "a.parquet", id=[1])
    parquet(folder.with_name("p") / "b.parquet", id=[2])
    for name, kind, where in (("j", "json", folder), ("p", "parquet", folder.with_name("p"))):
        lab.dynamic_table(name, f"SELECT id FROM {kind}.`{where}`", "REFRESH_MODE = INCREMENTAL")
    lines(folder / "a.json", {"id": 1}, {"id": 3})
    parquet(folder.with_name("p") / "a.parquet", id=[1, 3])
    with pytest.raises(DTError) as caught:
        lab.engine.verify("p")
    assert caught.value.code == "DT-2114"
    assert "p/a.parquet is gone, or was written again" in str(caught.value)
    for name in ("j", "p"):
        record = lab.record(name)
        assert told(record) == ("REINITIALIZE", "FILES_CHANGED")
        assert "a." in str(record.reason)
        assert "grew" in str(record.reason)
        assert lab.rows(name) == [(1,), (2,), (3,)]
        assert lab.engine.verify(name)
    (folder / "b.json").unlink()
    (folder.with_name("p") / "b.parquet").unlink()
    lines(folder / "c.json", {"id": 4})
    parquet(folder.with_name("p") / "c.parquet", id=[4])
    for name in ("j", "p"):
        record = lab.record(name)
        assert told(record) == ("REINITIALIZE", "FILES_CHANGED")
        assert f"b.{'json' if name == 'j' else 'parquet'} is gone" in str(record.reason)
        assert lab.rows(name) == [(1,), (3,), (4,)]
    lines(folder / "e.json", {"id": 5})
    assert lab.refresh("j") == "INCREMENTAL"
    assert lab.refresh("p") == "NO_DATA"


@pytest.mark.parametrize("point", ["files_copied", "files_listed"])
def test_a_refresh_that_ends_in_the_middle_of_a_list_reads_each_file_once(
    quick_lab: Lab, tmp_path: Path, point: str
) -> None:
    """As when the process is killed there: nobody cleans up."""
    lab, folder = quick_lab, tmp_path / "in"
    lines(folder / "a.json", {"id": 1}, {"id": 1})
    lab.dynamic_table("d", f"SELECT id, count(*) AS c FROM json.`{folder}` GROUP BY id")
    lines(folder / "b.json", {"id": 1}, {"id": 2})

    def killed() -> None:
        raise KeyboardInterrupt

    with hooked(point, killed), pytest.raises((KeyboardInterrupt, DTError)):
        lab.engine.refresh("d")
    lines(folder / "c.json", {"id": 3})
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(1, 3), (2, 1), (3, 1)]
    lab.verified("d")
    (lists,) = (f for f in lab.context.layout.files.iterdir() if f.is_dir())
    assert len([*lists.glob("batch/*")]) == (2 if point == "files_copied" else 3)
    assert not [*lists.glob("batch/*/_open")]


@pytest.mark.nightly
def test_data_frames_over_paths_are_followed_by_their_list(quick_lab: Lab, tmp_path: Path) -> None:
    lab, read, create = quick_lab, quick_lab.spark.read, quick_lab.engine.create
    odd = tmp_path / "a b`ü"
    parquet(odd / "a.parquet", id=[1, 2], v=[1.0, None])
    lines(tmp_path / "j" / "a.json", {"id": 1}, {"id": 7})
    for day in ("1", "2"):
        parquet(tmp_path / "days" / f"day={day}" / "a.parquet", id=[int(day)])
    create("p", read.parquet(str(odd)).groupBy("id").count(), target_lag="1 hour")
    joined = read.json(str(tmp_path / "j")).join(read.parquet(str(odd)), "id", "left")
    create("j", joined, target_lag="1 hour")
    create("d", read.parquet(str(tmp_path / "days")), target_lag="1 hour")
    parquet(odd / "b.parquet", id=[2, 7], v=[4.0, 5.0])
    lines(tmp_path / "j" / "b.json", {"id": 2})
    parquet(tmp_path / "days" / "day=3" / "a.parquet", id=[3])
    assert [lab.refresh(n) for n in ("p", "j", "d")] == ["INCREMENTAL"] * 3
    assert lab.rows("p") == [(1, 1), (2, 2), (7, 1)]
    assert sorted(lab.rows("j"), key=str) == [(1, 1.0), (2, 4.0), (2, None), (7, 5.0)]
    assert lab.rows("d") == [(1, 1), (2, 2), (3, 3)]
    lab.reopen()
    assert lab.refresh("p") == "NO_DATA"
    for refused in (
        read.parquet(str(odd), str(odd / "b.parquet")),
        read.schema("id STRING").json(str(tmp_path / "j")),
        read.option("multiLine", "true").json(str(tmp_path / "j")),
    ):
        with pytest.raises(DTError, match="make a table of them") as caught:
            lab.engine.create("no", refused, target_lag="1 hour")
        assert caught.value.code == "DT-1125"
    lab.engine.create("g", lab.spark.read.parquet(f"{tmp_path}/day*"), target_lag="1 hour")
    assert (lab.mode("g"), lab.rows("g")) == ("FULL", lab.rows("d"))  # folders of values below


@pytest.mark.nightly
def test_a_table_of_the_session_in_another_format(lab: Lab) -> None:
    columns, place = "id INT, t TIMESTAMP, c DECIMAL(9, 2)", lab.folder / "tables" / "files"
    lab.spark.sql(f"CREATE TABLE files ({columns}) USING parquet LOCATION '{place}'")
    lab.spark.sql("INSERT INTO files VALUES (1, timestamp'1500-01-01 00:00:00', 1), (2, NULL, 2)")
    lab.table("other", "id INT, s STRING", "1, 'a'", "3, 'c'")
    query = "SELECT f.id, f.t, f.c, o.s FROM files f LEFT JOIN other o ON f.id = o.id"
    lab.dynamic_table("d", query)
    assert lab.mode("d") == "INCREMENTAL"
    lab.spark.sql("INSERT INTO files VALUES (3, NULL, 3), (1, NULL, 9)")
    lab.insert("other", "2, 'b'")
    assert lab.refresh("d") == "INCREMENTAL"
    same(lab, "d", query)
    lab.reopen()
    assert lab.refresh("d") == "NO_DATA"
    lab.spark.sql("INSERT INTO files VALUES (4, NULL, 4)")
    assert lab.refresh("d") == "INCREMENTAL"
    same(lab, "d", query)
    lab.spark.sql("INSERT OVERWRITE files VALUES (5, NULL, 5)")
    assert told(lab.record("d")) == ("REINITIALIZE", "FILES_CHANGED")
    same(lab, "d", query)
    for statement, code in (
        ("CREATE STREAM s ON TABLE files", "DT-3106"),
        ("SELECT * FROM files AT (VERSION => 1)", "DT-3106"),
        ("SELECT * FROM files CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1)", "DT-3106"),
    ):
        with pytest.raises(DTError) as caught:
            lab.sql(statement)
        assert caught.value.code == code, caught.value
    lab.sql("DROP TABLE files")
    assert lab.record("d").error_code == "DT-2102"


@pytest.mark.nightly
def test_folders_of_partitions_and_files_that_are_not_whole(lab: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    parquet(folder / "day=2024-01-01/k=a%2Fb" / "1.parquet", id=[1])
    parquet(folder / "day=2024-01-02/k=__HIVE_DEFAULT_PARTITION__" / "1.parquet", id=[2])
    parquet(folder / "_tmp" / "day=2024-01-02" / "k=x" / "1.parquet", id=[77])
    query = f"SELECT * FROM parquet.`{folder}`"
    lab.dynamic_table("d", query)
    assert lab.mode("d") == "INCREMENTAL"
    same(lab, "d", query)
    new = folder / "day=2024-02-01/k=é x"
    parquet(new / "1.parquet", id=[3], more=["later"])
    whole = (new / "1.parquet").read_bytes()
    (new / "2.parquet").write_bytes(whole[: len(whole) // 2])
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d")[-1] == (3, date(2024, 2, 1), "é x")
    (new / "2.parquet").write_bytes(whole)
    assert lab.refresh("d") == "INCREMENTAL"
    assert len(lab.rows("d")) == 4
    lab.engine.verify("d")
    (new / "3.parquet").write_bytes(whole[: len(whole) // 2])
    os.utime(new / "3.parquet", (0, 0))
    assert lab.record("d").error_code == "DT-1145"
    (new / "3.parquet").unlink()
    parquet(folder / "day=2024-02-01" / "1.parquet", id=[3])
    assert lab.record("d").error_code == "DT-1146"


@pytest.mark.parametrize("kind", ["csv", "orc", "text", "xml", "json"])
@pytest.mark.nightly
def test_every_format_that_spark_reads_files_of(lab: Lab, tmp_path: Path, kind: str) -> None:
    folder, name = tmp_path / "in", f"in_{kind}"
    option = {"csv": "OPTIONS (header 'true', sep ';')", "xml": "OPTIONS (rowTag 'r')"}
    columns = "value STRING" if kind == "text" else "id INT, t TIMESTAMP, s STRING"
    rows = ("(1, timestamp'2020-01-01 12:00:00', 'a;b')", "(2, NULL, NULL)", "(2, NULL, NULL)")
    texts = ("('a')", "('b')", "('b')")
    lab.spark.sql(
        f"CREATE TABLE {name} ({columns}) USING {kind} {option.get(kind, '')} LOCATION '{folder}'"
    )

    def insert(*values: str) -> None:
        lab.spark.sql(f"INSERT INTO {name} VALUES {', '.join(values)}")

    some: Iterable[str] = texts if kind == "text" else rows
    insert(*some)
    query = f"SELECT *, 1 AS one FROM {name}"
    lab.dynamic_table("d", query)
    assert lab.mode("d") == "INCREMENTAL", lab.why("d")
    same(lab, "d", query)
    insert(*some)
    assert lab.refresh("d") == "INCREMENTAL"
    same(lab, "d", query)
    lab.reopen()
    insert(*some)
    assert lab.refresh("d") == "INCREMENTAL"
    same(lab, "d", query)


def test_a_shared_engine_makes_no_table_over_a_path_elsewhere(lab: Lab, tmp_path: Path) -> None:
    lines(tmp_path / "out" / "a.json", {"id": 1})
    made = f"CREATE DYNAMIC TABLE d AS SELECT id FROM json.`{tmp_path / 'out'}`"
    lab.engine.close()
    with Engine.connect(lab.folder, lab.spark, scheduler=False, shared=True) as shared:
        for statement in (made, f"EXPLAIN {made}"):
            with pytest.raises(DTError) as caught:
                shared.sql(statement)
            assert caught.value.code == "DT-5211"
    lab.reopen()


@pytest.mark.nightly
def test_a_table_that_is_made_later_has_the_columns_of_then(quick_lab: Lab, tmp_path: Path) -> None:
    """Those before keep theirs, also where they are defined anew; one that is replaced does not."""
    lab, folder = quick_lab, tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_text('{"id": 1}\n')
    lab.dynamic_table("early", f"SELECT * FROM json.`{folder}`")
    lab.dynamic_table("replaced", f"SELECT * FROM json.`{folder}`")
    (folder / "b.json").write_text('{"id": 2, "n": "x"}\n')
    lab.dynamic_table("late", f"SELECT * FROM json.`{folder}`")
    lab.sql(
        "CREATE OR REPLACE DYNAMIC TABLE replaced TARGET_LAG = '1 hour' AS "
        f"SELECT n, count(*) AS c FROM json.`{folder}` GROUP BY n"
    )
    (folder / "c.json").write_text('{"id": 3, "n": "y"}\n')
    names = ("early", "late", "replaced")
    assert [lab.refresh(name) for name in names] == ["INCREMENTAL"] * 3
    assert lab.rows("early") == [(1,), (2,), (3,)]
    assert lab.rows("late") == [(1, None), (2, "x"), (3, "y")]
    assert set(lab.rows("replaced")) == {(None, 1), ("x", 1), ("y", 1)}
    lab.reopen()
    (folder / "d.json").write_text('{"id": 4, "n": "y"}\n')
    assert [lab.refresh(name) for name in names] == ["INCREMENTAL"] * 3
    lab.verified(*names)
