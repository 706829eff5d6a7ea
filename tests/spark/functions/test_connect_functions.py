"""Functions of the user's over Spark Connect: in texts, in DataFrames, and in what is verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.connect_server import ConnectServer

PROGRAM = """
from pyspark.sql import functions as F
from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError

lake = sys.argv[3]
dt = Engine.connect(lake, spark=spark, scheduler=False)
dt.sql(f"CREATE TABLE word (id INT, x STRING) USING delta LOCATION '{lake}/word'")
dt.sql("INSERT INTO word VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'a')")

def shout(x):
    return None if x is None else x.upper()

t = spark.table("word")
dt.register_udf("shout", shout, "string", immutable=True)
dt.register_udf("loose", shout, "string")
made = {
    "text": "SELECT id, shout(x) v FROM word",
    "named": t.where(F.expr("shout(x) <> 'B'")).select(F.call_udf("SHOUT", "x").alias("v")),
    "called": t.groupBy(F.call_function("shout", "x").alias("v")).agg(F.count("*").alias("n")),
    "whole": t.select(F.expr("loose(x)").alias("v")),
}
for name, query in made.items():
    dt.create(name, query)
    facts[name] = [dt.table(name).effective_mode.value]
dt.sql("INSERT INTO word VALUES (5, 'z')")
for name in made:
    facts[name] += [dt.refresh(name).action.value, dt.verify(name).equal]
facts["rows"] = sorted(r.v for r in spark.table("named").collect())

spark.udf.register("mine", shout, "string")
spark.udf.register("shout", lambda x: x, "string")
for name, column in {
    "another": F.udf(shout, "int")("x"), "unkept": F.expr("mine(x)"),
}.items():
    try:
        dt.create("no", t.select(column.alias("v")))
    except DTError as e:
        facts[name] = e.code
dt.create("again", t.select(F.expr("shout(x)").alias("v")))
facts["again"] = [dt.table("again").effective_mode.value, dt.verify("again").equal]
facts["direct"] = sorted(r.v for r in dt.sql("SELECT shout(x) v FROM word WHERE id < 3").collect())
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_they_are_called_by_name_refreshed_and_verified(
    connect_server: ConnectServer, tmp_path: Path
) -> None:
    kept = ["INCREMENTAL", "INCREMENTAL", True]
    assert connect_server.facts(tmp_path, PROGRAM) == {
        "text": kept,
        "named": kept,
        "called": kept,
        "whole": ["FULL", "FULL", True],
        "rows": ["A", "A", "Z"],
        "another": "DT-1127",
        "unkept": "DT-1117",
        "again": ["INCREMENTAL", True],
        "direct": ["A", "B"],
    }
