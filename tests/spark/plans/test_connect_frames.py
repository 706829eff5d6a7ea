"""A DataFrame of Spark Connect defines a table: in a process of its own, as either is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import faulthandler, json, os, sys
faulthandler.dump_traceback_later(400, exit=True)
from pathlib import Path
from pyspark.sql import SparkSession, Window, functions as F
from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError
from dt_jupyter.spark import find_java
from dt_jupyter.spark.java import launch_environment
from dt_jupyter.spark.session import DELTA_CONFS

lake, package, answer = sys.argv[1:]
os.environ.update(launch_environment(find_java(os.environ), os.environ, Path(lake)))
builder = SparkSession.builder.remote("local[2]").config("spark.jars.packages", package)
for key, value in {**DELTA_CONFS, "spark.sql.shuffle.partitions": "1"}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
dt = Engine.connect(Path(lake), spark=spark, scheduler=False)
at = f"USING delta LOCATION '{lake}/"
dt.sql(f"CREATE TABLE sale (id INT, item STRING, price DECIMAL(10,2)) {at}sale'")
dt.sql(f"CREATE TABLE item (item STRING, kind STRING) {at}item'")
dt.sql("INSERT INTO sale VALUES (1, 'rug', 10), (2, 'rug', 20), (3, NULL, 5)")
dt.sql("INSERT INTO item VALUES ('rug', 'home')")
sale, item = spark.table("sale"), spark.table("item")
newest = Window.partitionBy("item").orderBy(F.desc("id"))
frames = {
    "grouped": sale.where(F.col("price") > 1).withColumn("twice", F.col("price") * 2)
        .groupBy("item").agg(F.sum("twice").alias("sum"), F.count("*").alias("n")),
    "joined": sale.join(item, sale.item == item.item, "left").select(sale.id, "kind"),
    "newest": sale.withColumn("n", F.row_number().over(newest)).where("n = 1").drop("n"),
}
facts = {}
for name, frame in frames.items():
    dt.create(name, frame, target_lag="1 hour")
    facts[name] = [dt.table(name).effective_mode.value]
dt.sql("INSERT INTO sale VALUES (4, 'rug', 7)")
for name, frame in frames.items():
    facts[name].append(dt.refresh(name).action.value)
    same = sorted(map(str, spark.table(name).collect())) == sorted(map(str, frame.collect()))
    facts[name].append(same)
for name, frame in {
    "udf": sale.select(F.udf(lambda x: x, "string")("item").alias("x")),
    "wide": sale.groupBy("item").pivot("id", [1, 2]).sum("price"),
}.items():
    try:
        dt.create(name, frame)
    except DTError as e:
        facts[name] = e.code
Path(answer).write_text(json.dumps(facts))
os._exit(0)  # a local server of Connect does not end by itself
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_frame_of_connect_is_kept_incrementally(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    answer = tmp_path / "facts.json"
    package = "io.delta:delta-spark_4.2_2.13:4.4.0"
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "lake"), package, str(answer)],
        capture_output=True,
        text=True,
        timeout=480,
        check=False,
    )
    assert answer.is_file(), run.stderr[-3000:]
    kept = ["INCREMENTAL", "INCREMENTAL", True]
    assert json.loads(answer.read_text()) == {
        "grouped": kept, "joined": kept, "newest": kept, "udf": "DT-1127", "wide": "DT-1125",
    }  # fmt: skip
