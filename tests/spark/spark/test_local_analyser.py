"""Spark's analyser for Spark Connect, beside a classic session: both make the same plans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import SparkContext
from pyspark.errors import AnalysisException, ParseException

from dt_jupyter.ivm import Refused
from dt_jupyter.model import FunctionKind, UserFunction, error
from dt_jupyter.plans.plan_document import digest_document
from dt_jupyter.plans.plan_relation import read_query_document
from dt_jupyter.spark import MEANING, Catalyst, has_java, read_confs
from dt_jupyter.spark.analyser_process import AnalyserProcess, start_process
from dt_jupyter.spark.launch import is_own_java
from dt_jupyter.spark.local_analyser import LocalAnalyser, OneAnalyser
from tests.cases import nightly
from tests.spark.refresh import test_forms_of_queries, test_operators
from tests.spark.refresh.test_oracle_random import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

pytest.importorskip("grpc")  # whose exceptions are those of Spark Connect

QUERIES = {**test_operators.QUERIES, **test_forms_of_queries.QUERIES}
SOME = dict(list(QUERIES.items())[::11])
KINDS = {
    "c": "CHAR(5)", "vc": "VARCHAR(7)", "low": "STRING COLLATE UTF8_LCASE", "va": "VARIANT",
    "days": "INTERVAL DAY TO SECOND", "months": "INTERVAL YEAR TO MONTH", "n": "TIMESTAMP_NTZ",
    "nested": "STRUCT<a: ARRAY<STRUCT<`x y`: INT COMMENT 'of x', c: CHAR(3)>>, "
    "m: MAP<STRING COLLATE UNICODE_CI, DECIMAL(38, 18)>>", "nothing": "VOID",
}  # fmt: skip
"""Types whose JSON has more than a word."""
OF_KINDS = (
    "SELECT * FROM t", "SELECT c || 'x' AS x FROM t WHERE c = 'a'", "SELECT vc FROM t WHERE vc = c",
    "SELECT low, count(*) AS n FROM t WHERE low IN ('A', 'b') GROUP BY low",
    "SELECT va:a.b::INT AS v, days * 2 AS d, months + INTERVAL '1' MONTH AS m FROM t",
    "SELECT nested.a[0].`x y`, nested.m['k'], n + INTERVAL '1' HOUR AS n FROM t",
)  # fmt: skip
ZONES = ("Asia/Tokyo", "America/New_York")
NTZ_OR_NOT = ("TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
ANSI, ZONE = "spark.sql.ansi.enabled", "spark.sql.session.timeZone"


@pytest.fixture(scope="module")
def analyser() -> Iterator[LocalAnalyser]:
    process = start_process()
    yield LocalAnalyser(process)
    process.end()


@pytest.fixture(scope="module")
def schemas(spark: SparkSession) -> Mapping[str, StructType]:
    columns = {"p": COLUMNS, "q": COLUMNS, "dim": {"k": "STRING", "name": "STRING"}, "t": KINDS}
    return {name: schema_of(spark, kinds) for name, kinds in columns.items()}


def schema_of(spark: SparkSession, kinds: Mapping[str, str]) -> StructType:
    """With the metadata of CHAR columns, as a table has them."""
    from pyspark.sql.types import StructType

    session: Any = spark
    ddl = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    utils = session._jvm.org.apache.spark.sql.catalyst.util.CharVarcharUtils
    made = session._jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl)
    found: StructType = StructType.fromJson(
        json.loads(utils.replaceCharVarcharWithStringInSchema(made).json())
    )
    return found


@contextmanager
def session_with(spark: SparkSession, confs: Mapping[str, str]) -> Iterator[SparkSession]:
    made = spark.newSession()
    for key, value in confs.items():
        made.conf.set(key, value)
    yield made


def local_like(analyser: LocalAnalyser, spark: SparkSession) -> Catalyst:
    """An analyser with the confs of a classic session."""
    return Catalyst._of_local(analyser.session(read_confs(spark, MEANING)))


def digest(catalyst: Catalyst, schemas: Mapping[str, StructType], text: str) -> str:
    with catalyst.empty_views(schemas) as views:
        tables = ", ".join(f"{name} AS (SELECT * FROM {view})" for name, view in views.items())
        document = read_query_document(catalyst, f"WITH {tables} SELECT * FROM ({text})")
    return digest_document(document)


@pytest.mark.parametrize("queries", [SOME, nightly(QUERIES)], ids=["some", "all"])
def test_plans_of_all_operators_are_those_of_a_session(
    spark: SparkSession,
    analyser: LocalAnalyser,
    schemas: Mapping[str, StructType],
    queries: Mapping[str, str],
) -> None:
    catalysts = (local_like(analyser, spark), Catalyst.of(spark))
    local, wanted = ({n: digest(c, schemas, q) for n, q in queries.items()} for c in catalysts)
    assert local == wanted
    assert len(set(wanted.values())) == len(wanted)


def test_types_come_whole(
    spark: SparkSession, analyser: LocalAnalyser, schemas: Mapping[str, StructType]
) -> None:
    local, classic = local_like(analyser, spark), Catalyst.of(spark)
    found = []
    for catalyst in (local, classic):
        with catalyst.empty_views({"t": schemas["t"]}) as views:
            found.append(str(catalyst.analyse(f"SELECT * FROM {views['t']}").schema().json()))
        found += [digest(catalyst, {"t": schemas["t"]}, text) for text in OF_KINDS]
    assert found[: len(found) // 2] == found[len(found) // 2 :]
    assert '"dt_source":"t"' in found[0]


@pytest.mark.parametrize(
    ("conf", "values", "text"),
    [
        (ANSI, ("true", "false"), "SELECT CAST(k AS INT) / v AS x FROM p"),
        (ZONE, ZONES, "SELECT TIMESTAMP'2024-02-27 10:00:00' AS x, CAST(at AS DATE) AS d FROM p"),
        ("spark.sql.timestampType", NTZ_OR_NOT, "SELECT TIMESTAMP'2024-02-27 10:00:00' AS x"),
        ("spark.sql.caseSensitive", ("false",), "SELECT K FROM P"),
        ("spark.sql.ansi.doubleQuotedIdentifiers", ("true", "false"), 'SELECT "k" FROM p'),
        ("spark.sql.parser.escapedStringLiterals", ("true", "false"), r"SELECT 'a\d' AS x FROM p"),
        ("spark.sql.legacy.exponentLiteralAsDecimal.enabled", ("true", "false"), "SELECT 1e2 AS x"),
    ],
)  # fmt: skip
def test_confs_mean_what_they_do_in_a_session(
    spark: SparkSession,
    analyser: LocalAnalyser,
    schemas: Mapping[str, StructType],
    conf: str,
    values: tuple[str, ...],
    text: str,
) -> None:
    found = set()
    for value in values:
        with session_with(spark, {ANSI: "true", conf: value}) as session:
            settings = {**read_confs(session, MEANING), conf: value}
            local = Catalyst._of_local(analyser.session(settings))
            found.add(digest(local, schemas, text))
            assert found >= {digest(Catalyst.of(session), schemas, text)}
    assert len(found) == len(values)


def declared(name: str, kind: FunctionKind, returns: str, *, immutable: bool) -> UserFunction:
    return UserFunction(name, kind, returns, immutable, "def f(x): return x")


FUNCTIONS = (
    declared("shout", FunctionKind.PYTHON, "string", immutable=True),
    declared("loose", FunctionKind.PANDAS, "array<decimal(10,2)>", immutable=False),
    declared("arrows", FunctionKind.ARROW, "a int, b struct<c: date>", immutable=True),
    declared("of_sql", FunctionKind.SQL, "int", immutable=True),
)


@pytest.mark.parametrize("in_arrow", ["true", "false"])
def test_functions_are_called_as_in_a_session(
    spark: SparkSession, analyser: LocalAnalyser, schemas: Mapping[str, StructType], in_arrow: str
) -> None:
    from dt_jupyter.functions.registrations import register_in

    conf = "spark.sql.execution.pythonUDF.arrow.enabled"
    text = "SELECT SHOUT(k) AS s, loose(v + 1) AS l, arrows(at, id).b.c AS c FROM p"
    before = spark.conf.get(conf)
    spark.conf.set(conf, in_arrow)
    try:
        with session_with(spark, {conf: in_arrow}) as session:
            for function in FUNCTIONS[:3]:
                register_in(session, function, lambda x: x)
            settings = {**read_confs(session, MEANING), conf: in_arrow}
            plain = Catalyst._of_local(analyser.session(settings))
            local = plain.declare_functions(FUNCTIONS)
            assert digest(local, schemas, text) == digest(Catalyst.of(session), schemas, text)
    finally:
        spark.conf.set(conf, before)
    others = [declared("shout", FunctionKind.PYTHON, "int", immutable=True), *FUNCTIONS[1:]]
    assert digest(plain.declare_functions(others), schemas, text) != digest(local, schemas, text)
    with pytest.raises(AnalysisException) as e:
        digest(plain, schemas, text)
    assert e.value.getCondition() == "UNRESOLVED_ROUTINE"


def failures(catalyst: Catalyst) -> list[object]:
    found: list[object] = []
    for text in (
        "SELECT * FROM range(3) WHERE nowhere > 1",
        "SELECT a FROM WHERE (",
        "SELECT f(1)",
    ):
        with pytest.raises(AnalysisException) as e:
            catalyst.analyse(text)
        place = (e.value.getQueryContext() or [None])[0]
        found += [
            isinstance(e.value, ParseException), e.value.getCondition(), e.value.getSqlState(),
            e.value.getMessageParameters(), str(e.value).splitlines()[0].split(" SQLSTATE")[0],
            place and (place.startIndex(), place.stopIndex(), place.fragment()),
        ]  # fmt: skip
    return found


def test_failures_are_those_of_a_session(spark: SparkSession, analyser: LocalAnalyser) -> None:
    local, classic = failures(local_like(analyser, spark)), failures(Catalyst.of(spark))
    assert local == classic
    assert local[1] == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert local[6:8] == [True, "PARSE_SYNTAX_ERROR"]


def test_what_only_the_server_takes_is_refused(analyser: LocalAnalyser) -> None:
    local = analyser.session({})
    column = {"name": "a", "type": "of the server", "nullable": True, "metadata": {}}
    returning = declared("f", FunctionKind.PYTHON, "of the server", immutable=True)
    for fails in (
        lambda: analyser.session({ANSI: "perhaps"}),
        lambda: local.make_views({"v": {"type": "struct", "fields": [column]}}),
        lambda: local.with_functions([returning]),
    ):
        with pytest.raises(Refused) as e:
            fails()
        assert e.value.reason.code == "NO_ANALYSER"
        assert "as the server is set up: " in e.value.reason.sentence


def test_pyspark_knows_nothing_of_it(spark: SparkSession, analyser: LocalAnalyser) -> None:
    gateway = SparkContext._gateway
    assert gateway is not None
    assert analyser.process.run.pid != gateway.proc.pid
    assert (has_java(), is_own_java()) == (True, True)
    assert spark.getActiveSession() is not None
    assert spark.sparkContext.appName != "dt_jupyter analyser"


def test_threads_share_it(
    spark: SparkSession, analyser: LocalAnalyser, schemas: Mapping[str, StructType]
) -> None:
    """Each with its own settings, and several with the same."""
    text = "SELECT TIMESTAMP'2024-02-27 10:00:00' AS x FROM p"
    settings = [{**read_confs(spark, MEANING), ZONE: ZONES[i % 2]} for i in range(6)]
    wanted = []
    for zone in ZONES:
        with session_with(spark, {ZONE: zone}) as session:
            wanted.append(digest(Catalyst.of(session), schemas, text))
    found: list[list[str]] = [[] for _ in settings]

    def read(number: int) -> None:
        for _ in range(5):
            local = Catalyst._of_local(analyser.session(settings[number]))
            found[number].append(digest(local, schemas, text))

    threads = [threading.Thread(target=read, args=(i,)) for i in range(len(settings))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [[wanted[i % 2]] * 5 for i in range(len(settings))]


def starting(failure: str, tried: list[int]) -> Callable[[], AnalyserProcess]:
    def start() -> AnalyserProcess:
        tried.append(1)
        raise (
            error(failure, problem="it is full.", hint="")
            if failure == "DT-5105"
            else error(failure)
        )

    return start


@pytest.mark.parametrize(("code", "times"), [("DT-5104", 2), ("DT-5105", 1)])
def test_where_there_is_no_analyser_definitions_are_refused(code: str, times: int) -> None:
    """A start that takes long is not tried at each definition."""
    tried: list[int] = []
    one = OneAnalyser(starting(code, tried))
    for _ in range(2):
        with pytest.raises(Refused) as e:
            one.get()
        assert e.value.reason.code == "NO_ANALYSER"
        assert "it is read by an analyser" in e.value.reason.sentence
        assert "Java 17" in e.value.hint
    assert len(tried) == times


def test_where_java_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("dt_jupyter.spark.java.FOLDERS", ())
    monkeypatch.setattr("dt_jupyter.spark.java.packaged", lambda: None)
    monkeypatch.setattr("dt_jupyter.spark.java.find_java.__defaults__", ((),))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(Refused) as e:
        OneAnalyser().get()
    assert "No Java 17 or newer was found" in e.value.reason.sentence


PROGRAM = """
import os, signal, sys, time
from dt_jupyter.spark.launch import has_java
os.environ["SPARK_REMOTE"] = "sc://nowhere"
os.environ["PYSPARK_GATEWAY_PORT"] = "1"
before = dict(os.environ)
from dt_jupyter.spark.local_analyser import of_process
analyser = of_process.get()
from pyspark import SparkContext
assert analyser is of_process.get()
assert (SparkContext._gateway, SparkContext._jvm, SparkContext._active_spark_context) == (None,) * 3
assert dict(os.environ) == before
print(analyser.process.run.pid, flush=True)
{end}
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(0)"])
def test_it_ends_with_python(end: str) -> None:
    """In a process that is neither classic nor has a JVM of its own."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(end=end)], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip(), run.stderr
    assert "Py4J" not in run.stderr
    pid, until = int(run.stdout), time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.nightly
@pytest.mark.slow
def test_one_that_was_killed_is_started_again(schemas: Mapping[str, StructType]) -> None:
    one = OneAnalyser()
    first = one.get()
    local = Catalyst._of_local(first.session({}))
    os.kill(first.process.run.pid, 9)
    with pytest.raises(Refused) as e:
        digest(local, schemas, "SELECT 1")
    assert "its Java has ended" in e.value.reason.sentence
    second = one.get()
    assert digest(Catalyst._of_local(second.session({})), schemas, "SELECT k FROM p")
    second.process.end()
