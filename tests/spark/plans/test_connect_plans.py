"""Definitions over Spark Connect are read as in a classic session: the documents of their plans are
the same, whatever the server's session has set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.spark import MEANING, Catalyst, is_connect, read_confs
from tests.spark.connect_server import ConnectServer
from tests.spark.refresh import test_forms_of_queries, test_operators
from tests.spark.refresh.test_oracle_random import COLUMNS
from tests.spark.spark.test_local_analyser import digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

QUERIES = {**test_operators.QUERIES, **test_forms_of_queries.QUERIES}
TEXTS = (
    "SELECT CAST(k AS INT) / v AS x FROM p",
    "SELECT TIMESTAMP'2024-02-27 10:00:00' AS x FROM p",
)
CONFS = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Tokyo"}
TABLES = {
    **{n: ", ".join(f"{c} {t}" for c, t in COLUMNS.items()) for n in ("p", "q")},
    "dim": "k STRING, name STRING",
    "t": "c CHAR(5), v VARIANT, n STRUCT<a: ARRAY<VARCHAR(3)>>",
    "u": "low STRING COLLATE UTF8_LCASE, d INTERVAL DAY TO SECOND, m INTERVAL YEAR TO MONTH",
}
FORMATS = {"u": "parquet"}
"""Delta stores no collations and no intervals."""
OF_TYPES = "SELECT low, v:a::INT AS a, n.a[0] AS n, d * 2 AS d, m FROM t, u WHERE c = 'a'"

PROGRAM = """
import os
from pyspark import SparkContext
from pyspark.errors import AnalysisException, ParseException
from dt_jupyter.ivm import Refused
from dt_jupyter.spark import Catalyst, active_session, has_java
from dt_jupyter.spark import local_analyser
from tests.spark.plans.test_connect_plans import CONFS, FORMATS, OF_TYPES, QUERIES, TABLES, TEXTS
from tests.spark.spark.test_local_analyser import digest

before = dict(os.environ)
for name, shape in TABLES.items():
    spark.sql(f"CREATE TABLE {name} ({shape}) USING {FORMATS.get(name, 'delta')}")
schemas = {name: spark.table(name).schema for name in TABLES}
facts["schemas"] = {name: schema.json() for name, schema in schemas.items()}
facts["queries"] = {n: digest(Catalyst.of(spark), schemas, q) for n, q in QUERIES.items()}
facts["types"] = digest(Catalyst.of(spark), schemas, OF_TYPES)
facts["texts"] = [digest(Catalyst.of(spark), schemas, text) for text in TEXTS]
for key, value in CONFS.items():
    spark.conf.set(key, value)
facts["others"] = [digest(Catalyst.of(spark), schemas, text) for text in TEXTS]
for key in CONFS:
    spark.conf.unset(key)
facts["again"] = [digest(Catalyst.of(spark), schemas, text) for text in TEXTS]
facts["one"] = local_analyser.of_process.get() is local_analyser.of_process.get()
for text, kind in (("SELECT nowhere FROM t", AnalysisException), ("SELECT (", ParseException)):
    found = []
    for analyse in (Catalyst.of(spark).analyse, lambda text: spark.sql(text).schema):
        try:
            analyse(text.replace("t", "range(1)"))
        except kind as e:
            places = [c.fragment() for c in e.getQueryContext()]
            found.append([type(e).__name__, e.getCondition(), e.getSqlState(), places, str(e)[:60]])
    facts[kind.__name__] = found
facts["undisturbed"] = [
    has_java(), SparkContext._gateway, SparkContext._jvm, dict(os.environ) == before,
    active_session() is spark,
]
local_analyser._VERSIONS[spark] = "3.5.1"
try:
    Catalyst.of(spark)
except Refused as e:
    facts["other release"] = e.reason.code
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_plans_of_connect_are_those_of_a_session(
    spark: SparkSession, connect_server: ConnectServer, tmp_path: Path
) -> None:
    if is_connect(spark):
        pytest.skip("there is nothing to compare with")
    facts = connect_server.facts(tmp_path, PROGRAM, seconds=480)
    schemas = read_schemas(facts["schemas"])
    assert "char(5)" in facts["schemas"]["t"]
    session = spark.newSession()
    settings = read_confs(spark, MEANING)
    classic = Catalyst.of(session)
    assert facts["queries"] == {n: digest(classic, schemas, q) for n, q in QUERIES.items()}
    assert facts["types"] == digest(classic, schemas, OF_TYPES)
    assert facts["texts"] == facts["again"] == [digest(classic, schemas, t) for t in TEXTS]
    for key, value in CONFS.items():
        assert settings[key] != value
        session.conf.set(key, value)
    assert facts["others"] == [digest(classic, schemas, t) for t in TEXTS]
    assert facts["others"] != facts["texts"]
    assert facts["one"]
    for kind, condition in (
        ("AnalysisException", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ParseException", "PARSE_SYNTAX_ERROR"),
    ):
        own, server = facts[kind]
        assert own == server
        assert own[:2] == [kind, condition]
    assert facts["undisturbed"] == [False, None, None, True, True]
    assert facts["other release"] == "NO_ANALYSER"


WITHOUT_JAVA = """
from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError, error
from dt_jupyter.spark import local_analyser

def start():
    raise error("DT-5104")

local_analyser.of_process.start = start
dt = Engine.connect(sys.argv[3], spark=spark, scheduler=False)
dt.sql(f"CREATE TABLE word (id INT, x STRING) USING delta LOCATION '{sys.argv[3]}/word'")
dt.sql("INSERT INTO word VALUES (1, 'a'), (2, 'b')")
dt.create("found", "SELECT x, count(*) AS n FROM word GROUP BY x")
table = dt.table("found")
facts["chosen"] = [table.effective_mode.value, table.mode_reason.code]
facts["sentence"] = table.mode_reason.sentence
dt.sql("INSERT INTO word VALUES (3, 'b')")
facts["refreshed"] = [dt.refresh("found").action.value for _ in range(2)]
facts["equal"] = dt.verify("found").equal
try:
    dt.sql("CREATE DYNAMIC TABLE asked TARGET_LAG = '1 hour' REFRESH_MODE = INCREMENTAL "
           "AS SELECT x FROM word")
except DTError as e:
    facts["asked"] = [e.code, e.facts["reason"], e.hint]
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_without_java_definitions_are_full_and_say_why(
    connect_server: ConnectServer, tmp_path: Path
) -> None:
    facts = connect_server.facts(tmp_path, WITHOUT_JAVA, seconds=480)
    assert facts["chosen"] == ["FULL", "NO_ANALYSER"]
    assert "No Java 17 or newer was found" in facts["sentence"]
    assert facts["refreshed"] == ["FULL", "NO_DATA"]
    assert facts["equal"]
    code, reason, hint = facts["asked"]
    assert (code, reason) == ("DT-1107", "NO_ANALYSER")
    assert "pip install 'dt-jupyter[java]'" in hint


STORED = """
from dt_jupyter.engine import Engine
from dt_jupyter.model import error
from dt_jupyter.spark import local_analyser

def start():
    raise error("DT-5104")

def connect():
    return Engine.connect(sys.argv[3], spark=spark, scheduler=False)

dt = connect()
dt.sql(f"CREATE TABLE word (id INT, x STRING) USING delta LOCATION '{sys.argv[3]}/word'")
dt.sql("INSERT INTO word VALUES (1, 'a'), (2, 'b')")
dt.create("found", "SELECT x, count(*) AS n FROM word GROUP BY x")
facts["mode"] = dt.table("found").effective_mode.value
lineage = dt.lineage("found")
dt.close()
local_analyser.of_process._made.process.end()
local_analyser.of_process._made, local_analyser.of_process.start = None, start
dt = connect()
dt.sql("INSERT INTO word VALUES (3, 'b')")
facts["refreshed"] = dt.refresh("found").action.value
facts["rows"] = sorted([r.x, r.n] for r in dt.sql("SELECT * FROM found").collect())
facts["lineage"] = bool(lineage.edges) and dt.lineage("found") == lineage
facts["started"] = local_analyser.of_process._made is not None
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_a_stored_plan_is_enough_where_no_analyser_starts(
    connect_server: ConnectServer, tmp_path: Path
) -> None:
    facts = connect_server.facts(tmp_path, STORED, seconds=480)
    assert (facts["mode"], facts["refreshed"]) == ("INCREMENTAL", "INCREMENTAL")
    assert facts["rows"] == [["a", 1], ["b", 2]]
    assert facts["lineage"]
    assert not facts["started"]


def read_schemas(told: Mapping[str, str]) -> dict[str, StructType]:
    from pyspark.sql.types import StructType

    return {name: StructType.fromJson(json.loads(text)) for name, text in told.items()}
