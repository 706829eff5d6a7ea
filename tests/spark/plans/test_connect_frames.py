"""A DataFrame of Spark Connect defines a table: in a process of its own, as either is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.connect_server import ConnectServer

PROGRAM = """
from pyspark.sql import Window, functions as F
from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError

lake = sys.argv[3]
dt = Engine.connect(lake, spark=spark, scheduler=False)
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
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_frame_of_connect_is_kept_incrementally(
    connect_server: ConnectServer, tmp_path: Path
) -> None:
    kept = ["INCREMENTAL", "INCREMENTAL", True]
    assert connect_server.facts(tmp_path, PROGRAM, seconds=400) == {
        "grouped": kept, "joined": kept, "newest": kept, "udf": "DT-1127", "wide": "DT-1125",
    }  # fmt: skip
