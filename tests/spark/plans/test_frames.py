"""Dynamic tables defined by DataFrames: each is kept as SQL, and shows what the DataFrame shows."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas
import pyarrow
import pytest
from pyspark.sql import Window, functions as F

from dt_jupyter.ivm import Expr
from dt_jupyter.plans import expression_reader, plan_leaves
from dt_jupyter.plans.plan_tree import SparkNode
from tests.spark.engine_lab import Lab, refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Frames = dict[str, Callable[[], "DataFrame"]]


def shop(lab: Lab) -> None:
    lab.table(
        "sale",
        "id INT, item STRING, price DECIMAL(10,2), at TIMESTAMP, tags ARRAY<STRING>, note STRING",
        "1, 'rug', 10.00, TIMESTAMP'2026-01-01 10:00:00', array('a', 'b'), '7'",
        "2, 'rug', 20.00, TIMESTAMP'2026-01-01 10:30:00', array('a'), 'x'",
        "3, 'car', NULL, TIMESTAMP'2026-01-01 11:00:00', array(), NULL",
        "3, 'car', NULL, TIMESTAMP'2026-01-01 11:00:00', array(), NULL",
        "4, NULL, 5.00, NULL, NULL, '9'",
    )  # fmt: skip
    lab.table("item", "item STRING, kind STRING", "'rug', 'home'", "'car', 'toy'", "'cup', 'home'")
    lab.dynamic_table("per_item", "SELECT item, count(*) AS n FROM sale GROUP BY item")


def change(lab: Lab) -> None:
    lab.sql(
        "INSERT INTO sale VALUES (5, 'cup', 7.5, TIMESTAMP'2026-01-01 11:30:00', array('c'), '3')"
    )
    lab.sql("DELETE FROM sale WHERE id = 1")
    lab.sql("UPDATE item SET kind = 'car' WHERE item = 'car'")


def frames(spark: SparkSession) -> Frames:
    """By the name of the table that is made of it: what the API of DataFrames makes of plans."""

    def sale() -> DataFrame:
        return spark.table("sale")

    def item() -> DataFrame:
        return spark.table("item")

    newest = Window.partitionBy("item").orderBy(F.desc("id"), "note")
    rates = [("home", 1.5), ("toy", None)]
    return {
        "joined": lambda: (
            sale().join(item(), "item", "left").withColumn("n", F.row_number().over(newest))
            .where(F.col("n") <= 2).withColumnRenamed("kind", "odd `name`").drop("tags", "n")
        ),
        "grouped": lambda: (
            sale().groupBy(F.upper("item").alias("item"))
            .agg(F.sum("price").alias("total"), F.count_distinct("id").alias("ids"),
                 F.count_if(F.col("note").isNotNull()).alias("notes"))
            .where("ids > 0")
        ),
        "sides": lambda: (
            sale().join(item().where("kind = 'home'"), "item", "left_semi").select("id", "item")
            .union(sale().join(item(), "item", "left_anti").select("id", "item"))
            .unionByName(spark.table("per_item").select("item"), allowMissingColumns=True)
        ),
        "again": lambda: (
            sale().alias("a").join(sale().alias("b"), F.col("a.item") == F.col("b.item"))
            .select("a.id", F.col("b.id").alias("other"), F.expr("a.price + b.price").alias("both"))
        ),
        "wide": lambda: sale().groupBy("item").pivot("id", [1, 2, 5]).agg(F.max("price")),
        "sets": lambda: sale().rollup("item", "note").agg(F.sum("price"), F.grouping_id()),
        "hours": lambda: sale().groupBy(F.window("at", "1 hour").alias("w")).count()
            .select("w.start", "count"),
        "tagged": lambda: sale().select("id", F.explode_outer("tags").alias("tag")).distinct(),
        "cleaned": lambda: (
            sale().na.drop(subset=["item"]).na.fill({"price": 0}).na.replace("car", "auto", "item")
            .select("id", "item", "price", F.col("note").try_cast("int").alias("number"),
                    F.when(F.col("price") > 4, F.col("price") * 2)
                    .otherwise(F.col("price") * F.col("id") / 3).alias("rated"))
        ),
        "rated": lambda: (
            item().join(spark.createDataFrame(rates, "kind string, rate double"), "kind", "full")
        ),
        "dearest": lambda: spark.table("dear").orderBy(F.desc("price"), "id").limit(2),
        "by_path": lambda: spark.read.format("delta").load(_folder(spark, "item")).exceptAll(
            item().where("kind = 'toy'")),
        "long": lambda: sale().unpivot("id", ["item", "note"], "what", "value").where("id > 1"),
        "inner": lambda: (
            sale().where("id = (SELECT max(id) FROM sale s WHERE s.item = sale.item)")
            .where("item IN (SELECT item FROM item)")
            .select("id", F.expr("transform(tags, x -> upper(x))").alias("t"))
        ),
    }  # fmt: skip


def _folder(spark: SparkSession, name: str) -> str:
    return str(spark.sql(f"DESCRIBE DETAIL {name}").first()["location"])


def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in frame.collect()), key=repr)


def _kept(lab: Lab, made: Frames) -> None:
    """Creates tables of frames, changes what they read, forgets all but the lake, refreshes."""
    spark = lab.spark
    dear = spark.table("sale").where("price > 4")
    dear.createOrReplaceTempView("dear")
    for name, frame in made.items():
        lab.engine.create(name, frame(), target_lag=3600)
        assert lab.mode(name) == "INCREMENTAL", (name, lab.engine.table(name).mode_reason)
        assert _rows(spark.table(name)) == _rows(frame()), name
        assert [f.name for f in spark.table(name).schema] == frame().columns
    spark.catalog.dropTempView("dear")
    change(lab)
    lab.reopen()  # what is kept is a text: the DataFrames and the view are gone
    for name in made:
        assert (name, lab.refresh(name)) == (name, "INCREMENTAL")
    spark.table("sale").where("price > 4").createOrReplaceTempView("dear")
    for name, frame in made.items():
        assert _rows(spark.table(name)) == _rows(frame()), name
    lab.verified(*made)
    spark.catalog.dropTempView("dear")


EACH_TIME = ("joined", "cleaned", "rated")


def test_a_dataframe_is_kept_incrementally_as_its_sql(quick_lab: Lab) -> None:
    shop(quick_lab)
    known = frames(quick_lab.spark)
    _kept(quick_lab, {name: known[name] for name in EACH_TIME})


@pytest.mark.nightly
def test_every_operation_of_dataframes_is_kept_incrementally(quick_lab: Lab) -> None:
    shop(quick_lab)
    _kept(quick_lab, frames(quick_lab.spark))


@pytest.mark.nightly
def test_the_example_runs_again_on_its_lake(quick_lab: Lab) -> None:
    path = Path(__file__).parents[3] / "examples" / "dataframe_pipeline.py"
    define = runpy.run_path(str(path))["define"]
    quick_lab.table("visits", "person INT, page STRING, at TIMESTAMP", "1, 'home', now()")
    define(quick_lab.engine)
    quick_lab.insert("visits", "1, 'shop', now()", "2, 'home', now()")
    define(quick_lab.engine)
    assert quick_lab.refresh("last_page") == "INCREMENTAL"
    assert quick_lab.rows("last_page") == [(1, "shop"), (2, "home")]


def test_a_row_of_each_key_is_kept_by_the_order_of_contents(quick_lab: Lab) -> None:
    lab, spark = quick_lab, quick_lab.spark
    lab.table("t", "k INT, v STRING", "1, 'b'", "1, 'a'", "NULL, 'z'", "NULL, 'y'")
    lab.engine.create("one", spark.table("t").dropDuplicates(["k"]))
    assert lab.rows("one") == [(1, "a"), (None, "y")]
    lab.sql("DELETE FROM t WHERE v = 'a'")
    assert lab.refresh("one") == "INCREMENTAL"
    assert lab.rows("one") == [(1, "b"), (None, "y")]


def test_a_function_defines_a_table(quick_lab: Lab) -> None:
    lab, spark = quick_lab, quick_lab.spark
    lab.table("t", "k INT, v INT", "1, 2")

    @lab.engine.dynamic_table(
        "named", target_lag="1 minute", refresh_mode="incremental", scheduler=False,
        comment="by a function", columns={"key": "of the row", "value": None}, cluster_by=["key"],
    )  # fmt: skip
    def named() -> DataFrame:
        return spark.table("t").select("k", F.col("v") + 1)

    assert named.table == lab.engine.table("named")
    assert named.table.target_lag.seconds == 60
    assert (named.table.scheduler_enabled, named.table.comment) == (False, "by a function")
    assert named.table.cluster_by == ("key",)
    assert named.table.definition.listed == (("key", "of the row"), ("value", None))
    again = lab.engine.create(
        "named", "SELECT k FROM t WHERE v > :least", {"least": 1}, replace=True
    )
    assert again.status == "Dynamic table named replaced."
    assert lab.rows("named") == [(1,)]
    kept = lab.engine.create("named", spark.table("t"), if_not_exists=True)
    assert "nothing done" in kept.status
    told = lab.engine.explain(spark.table("t").groupBy("k").agg(F.sum("v").alias("s")))
    assert "INCREMENTAL" in str(told)
    assert [str(t.name) for t in lab.context.catalog.list()] == ["named"]
    script = lab.engine.export()
    assert "CREATE DYNAMIC TABLE" in script


def test_what_has_no_sql_is_refused_by_its_name(quick_lab: Lab, tmp_path: Path) -> None:
    lab, spark, create = quick_lab, quick_lab.spark, quick_lab.engine.create
    lab.table("t", "k INT, v INT, d TIMESTAMP", "1, 2, NULL")
    t = spark.table("t")
    spark.range(3).write.parquet(str(tmp_path / "p"))
    plus = F.udf(lambda x: x, "int")
    cases = {
        "DT-1125": (t.sortWithinPartitions("k"), t.groupBy(F.session_window("d", "1 hour")).count(),
                    t.randomSplit([0.5, 0.5], 1)[1],
                    spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "p"))),
        "DT-1126": (spark.createDataFrame([(i,) for i in range(1001)], "k int"),),
        "DT-1127": (t.select(plus("k").alias("k")), t.mapInPandas(lambda rows: rows, "k int")),
        "DT-1104": (t.crossJoin(spark.table("t")),),
    }  # fmt: skip
    for code, given in cases.items():
        for frame in given:
            with refused(code):
                create("no", frame)
    with refused("DT-1129") as found:

        @lab.engine.dynamic_table("no")
        def nothing() -> None:
            return None

    assert "nothing(), line" in str(found[0])
    frame = pandas.DataFrame({"k": [1]})
    for local in (frame, pyarrow.table({"k": [1]})):
        for use in (
            lambda f=local: create("no", f),
            lambda f=local: lab.engine.dynamic_table("no")(lambda: f),
            lambda f=local: lab.engine.explain(f),
        ):
            with refused("DT-1166") as found:
                use()
            assert '_rows", frame)' in found[0].hint
    exec(found[0].hint.partition(" makes ")[0], {"dt": lab.engine, "frame": frame})
    create("made", spark.table("a_table_rows"))
    assert lab.mode("made") == "INCREMENTAL"
    assert lab.rows("made") == [(1,)]
    lab.sql("DROP DYNAMIC TABLE made")
    with refused("DT-1002"):
        create("no", t, target_lags="1 minute")
    with refused("DT-1003"):
        create("no", t, target_lag="soon")
    with refused("DT-1031"):
        create("no", 5)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        lab.engine.dynamic_table("no")(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert lab.names()[0] == set()


@pytest.mark.nightly
def test_files_of_a_pattern_are_followed_by_the_path_as_it_was_given(
    quick_lab: Lab, tmp_path: Path
) -> None:
    lab, spark, base = quick_lab, quick_lab.spark, tmp_path / "a b%20ü"

    def write(day: str) -> None:
        spark.createDataFrame([(1,), (2,)], "k int").write.parquet(str(base / day))

    write("01")
    spark.range(1).write.parquet(str(tmp_path / "a b ü" / "01"))  # what %20 means in a URI
    for name, path in (("whole", f"{base}/01"), ("all", f"{base}/0*"), ("one", f"file:{base}/0?")):
        lab.engine.create(name, spark.read.parquet(path).groupBy("k").count())
        assert (lab.mode(name), lab.rows(name)) == ("INCREMENTAL", [(1, 1), (2, 1)])
    write("02")
    found = {name: lab.refresh(name) for name in ("whole", "all", "one")}
    assert found == {"whole": "NO_DATA", "all": "INCREMENTAL", "one": "INCREMENTAL"}
    assert lab.rows("one") == lab.rows("all") == [(1, 2), (2, 2)]
    for folder in ("d e", "d%20e"):
        spark.range(5).write.format("delta").save(str(tmp_path / folder))
    with refused("DT-5128"):  # delta-rs would read the other one
        lab.engine.create("no", spark.read.format("delta").load(str(tmp_path / "d%20e")))


def test_a_text_that_says_something_else_is_refused(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, spark = quick_lab, quick_lab.spark
    lab.table("t", "k INT, v INT", "1, 2")
    monkeypatch.setitem(expression_reader.INFIX, "GreaterThan", ">=")
    with refused("DT-1128"):
        lab.engine.create("no", spark.table("t").where("v > 1"))
    monkeypatch.undo()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    lenient = spark.table("t").select(F.col("v").cast("string").cast("int").alias("v"))
    spark.conf.set("spark.sql.ansi.enabled", "true")
    with refused("DT-1128"):
        lab.engine.create("no", lenient)


INNER = "SELECT c FROM (SELECT k, {} FROM t GROUP BY k) AS x (k, c)"
"""Names an aggregate otherwise, which Spark's optimizer plans otherwise as a text of our own."""


def test_modes_versions_and_options_are_kept_and_compared(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, spark = quick_lab, quick_lab.spark
    lab.table("t", "k INT, v STRING", "1, '2'")
    lab.insert("t", "1, 'x'")
    tried = spark.sql(INNER.format("max(TRY_CAST(v AS INT))"))
    lab.engine.create("tried", tried)
    assert lab.rows("tried") == [(2,)]
    assert "TRY_CAST" in lab.engine.table("tried").definition.query
    few = "SELECT c FROM (SELECT k, count(*) FROM t VERSION AS OF {} GROUP BY k) AS x (k, c)"
    version = spark.sql("DESCRIBE HISTORY t LIMIT 1").collect()[0]["version"]
    lab.engine.create("before", spark.sql(few.format(version - 1)))
    assert lab.rows("before") == [(1,)]
    lab.engine.create("none", spark.table("t").where(F.col("k").isin([])), if_not_exists=True)
    assert lab.rows("none") == []
    with monkeypatch.context() as other:
        texts = plan_leaves.FromText
        swap = {f"OF {version - 1}": f"OF {version}"}
        other.setattr(
            plan_leaves, "FromText", lambda text, *more: texts(_replaced(text, swap), *more)
        )
        with refused("DT-1128"):
            lab.engine.create("no", spark.sql(few.format(version - 1)))
    spark.conf.set("spark.sql.ansi.enabled", "false")
    lenient = spark.sql(INNER.format("max(CAST(v AS INT))"))
    spark.conf.set("spark.sql.ansi.enabled", "true")
    with refused("DT-1128"):
        lab.engine.create("no", lenient)
    corrupt = "map('columnNameOfCorruptRecord', 'bad')"
    options = spark.sql(INNER.format(f"max(from_json(v, 'a INT, bad STRING', {corrupt}).bad)"))
    lab.engine.create("kept", options)
    assert (lab.mode("kept"), lab.rows("kept")) == ("INCREMENTAL", [("x",)])
    with monkeypatch.context() as other:
        other.setitem(expression_reader._SPECIAL, "JsonToStructs", _without_options)
        with refused("DT-1128"):
            lab.engine.create("no", options)


def _without_options(scope: expression_reader.ExpressionReader, node: SparkNode) -> Expr:
    return scope.from_text(replace(node, fields={**node.fields, "options": {}}))


def _replaced(text: str, words: dict[str, str]) -> str:
    for word, other in words.items():
        text = text.replace(word, other)
    return text
