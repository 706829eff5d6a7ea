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


VALUES = """
import datetime as D
from decimal import Decimal
import numpy as np
from pyspark.sql import functions as F, types as T
from pyspark.sql.connect import proto
from pyspark.sql.connect.column import Column
from pyspark.sql.connect.expressions import Expression
from pyspark.sql.connect.types import pyspark_types_to_proto_types as typed
from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError

lake = sys.argv[3]
dt = Engine.connect(lake, spark=spark, scheduler=False)
dt.sql("CREATE TABLE valued (id INT, at TIMESTAMP, a STRUCT<x: INT, y: STRUCT<z: STRING, w: INT>>) "
       f"USING delta LOCATION '{lake}/valued'")
dt.sql("INSERT INTO valued VALUES (2, NULL, NULL), (1, TIMESTAMP'2024-03-31 01:00:00', "
       "named_struct('x', 1, 'y', named_struct('z', 'p', 'w', 2)))")
Literal = proto.Expression.Literal

class Given(Expression):
    def __init__(self, **kind):
        super().__init__()
        self.literal = Literal(**kind)

    def to_plan(self, session):
        made = self._create_proto_expression()
        made.literal.CopyFrom(self.literal)
        return made

    def __repr__(self):
        return "given"

def given(**kind):
    return Column(Given(**kind))

def several(**kind):
    return given(**{name: getattr(Literal, name.title())(**known) for name, known in kind.items()})

pair = T.StructType([T.StructField("p-q'", T.IntegerType()), T.StructField("d", T.DateType())])
numbers = typed(T.IntegerType())
some = [Literal(integer=1), Literal(null=numbers)]
literals = {
    "null": given(null=typed(T.DecimalType(4, 2))), "null_pair": given(null=typed(pair)),
    "binary": F.lit(b"\\x00\\xff'"), "boolean": F.lit(False), "byte": F.lit(np.int8(-128)),
    "short": given(short=-32768), "integer": F.lit(-(2**31)), "long": F.lit(-(2**63)),
    "float": F.lit(np.float32(0.1)), "tiny": given(float=1e-40), "nan": F.lit(float("nan")),
    "double": F.lit(5e-324), "zero": F.lit(-0.0), "infinite": F.lit(float("-inf")),
    "decimal": F.lit(Decimal("1.5")), "whole": F.lit(Decimal("1E+3")),
    "small": given(decimal=Literal.Decimal(value="-0.001")), "large": F.lit(Decimal("9" * 38)),
    "string": F.lit("it's \\\\ % ü"), "date": F.lit(D.date(1, 1, 1)),
    "timestamp": F.lit(D.datetime(1500, 1, 1, 2, 3, 4, 5)), "local": given(timestamp_ntz=-1),
    "months": F.col("at") + given(year_month_interval=-14),
    "days": F.col("at") + F.lit(D.timedelta(days=-1, microseconds=5)),
    "hours": F.col("at") + given(day_time_interval=5_400_000_000,
                                 data_type=typed(T.DayTimeIntervalType(1, 2))),
    "array": several(array={"element_type": numbers, "elements": some}),
    "no_array": several(array={"element_type": typed(pair)}),
    "map": several(map={"key_type": numbers, "value_type": numbers, "keys": some[:1],
                        "values": some[1:]}),
    "struct": several(struct={"struct_type": typed(pair),
                              "elements": [Literal(integer=1), Literal(date=5)]}),
    "numpy": F.lit(np.array(["a", "b'"])),
}
t, a = spark.table("valued"), F.col("a")
frames = {
    "literal_kinds": lambda: t.select("id", *[v.alias(k) for k, v in literals.items()]),
    "updated": lambda: t.select(
        "id", a.withField("x", F.lit(5)).withField("n", F.col("id") + 1).alias("wider"),
        a.withField("y.z", F.upper("a.y.z")).dropFields("x").alias("inner"),
        a.dropFields("y.w").alias("less"), t.colRegex("`(at|none)`"),
        F.struct("id", "at").withField("`e f`", F.lit(1)).alias("made"),
        F.element_at(F.array("a"), 1).withField("y", F.lit(None).cast("int")).alias("first"),
    ),
    "chosen": lambda: t.where(a.withField("k", F.col("id"))["k"] > 0).select("id"),
}
for name, frame in frames.items():
    dt.create(name, frame(), target_lag="1 hour")
    facts[name] = [dt.table(name).effective_mode.value]
dt.sql("INSERT INTO valued VALUES "
       "(3, TIMESTAMP'2024-01-31 00:00:00', named_struct('x', 3, 'y', NULL))")
for name, frame in frames.items():
    facts[name].append(dt.refresh(name).action.value)
    kept, wanted = spark.table(name), frame()
    same = sorted(map(repr, kept.collect())) == sorted(map(repr, wanted.collect()))
    facts[name] += [same, kept.schema.simpleString() == wanted.schema.simpleString()]
calendar = given(calendar_interval=Literal.CalendarInterval(days=1))
for name, frame in {
    "calendar": t.select(F.col("at") + calendar),
    "variable": t.select(F.transform(F.array("a"), lambda s: s.withField("k", F.lit(1)))),
    "joined": t.join(t.select(F.col("id").alias("j")), a.dropFields("y")["x"] == F.col("j")),
}.items():
    try:
        dt.create("no", frame)
    except DTError as e:
        facts[name] = [e.code, "calendar_interval" in str(e) or "withField" in str(e)]
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_literals_of_each_kind_and_fields_of_structs_are_kept_as_the_frame_has_them(
    connect_server: ConnectServer, tmp_path: Path
) -> None:
    kept = ["INCREMENTAL", "INCREMENTAL", True, True]
    assert connect_server.facts(tmp_path, VALUES) == {
        "literal_kinds": kept, "updated": kept, "chosen": kept,
        "calendar": ["DT-1125", True], "variable": ["DT-1125", True], "joined": ["DT-1125", True],
    }  # fmt: skip
