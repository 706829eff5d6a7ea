"""Functions of the user's in definitions: called once for each row that brings new arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import functions as F
from pyspark.sql.functions import pandas_udf  # type: ignore[attr-defined]

from examples import embeddings
from tests.spark.engine_lab import Lab, refused


class Calls:
    """A file with a letter for each call of a function; the workers of Spark write it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self) -> int:
        """How many since it was asked last."""
        found = len(self.path.read_text()) if self.path.exists() else 0
        self.path.unlink(missing_ok=True)
        return found


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path / "calls")


def counted(calls: Calls) -> Callable[..., Any]:
    file = str(calls.path)

    def shout(x: str | None, times: int = 1) -> str | None:
        with open(file, "a") as log:
            log.write("x")
        return None if x is None else x.upper() * times

    return shout


def fill(lab: Lab) -> None:
    """Five rows with three arguments: duplicates and a NULL."""
    lab.table("t", "id INT, x STRING, n INT", "1, 'a', 1", "2, 'b', 1", "3, NULL, 1", "4, 'a', 1",
              "5, 'a', 2")  # fmt: skip


QUERIES = {
    "projected": ("SELECT id, shout(x) v, length(shout(x)) l, n FROM t WHERE n < 9", 3),
    "grouped": ("SELECT shout(x, n) v, count(*) c FROM t GROUP BY 1", 4),
    "filtered": ("SELECT DISTINCT x FROM t WHERE shout(`shout`(x)) = 'A' AND shout(x) <> 'B'", 6),
    "joined": (
        "SELECT a.id, b.id b, shout(concat(a.x, b.x)) v FROM t a JOIN t b ON shout(a.x) <> b.x "
        "AND a.n = b.n AND shout(a.x) = upper(b.x)", 5,
    ),
    "outer": ("SELECT a.id, b.x FROM t a LEFT JOIN t b ON a.id = b.id AND shout(b.x) = 'A'", 3),
    "above": ("SELECT n, shout(max(x)) v, sum(id) s FROM t GROUP BY n HAVING shout(max(x)) > '!'",
              2),
    "ranked": ("SELECT id, row_number() OVER (PARTITION BY n ORDER BY shout(x), id) r FROM t", 3),
    "none": ("SELECT id, shout('q') v FROM t WHERE id < 0", 0),
}  # fmt: skip
"""A query, and how often its function is called for the rows of `fill`."""

CHANGES = (
    # a statement, and the calls of `projected` for it
    ("INSERT INTO t VALUES (6, 'A', 1), (7, 'c', 1), (8, 'c', 1)", 2),
    ("INSERT INTO t VALUES (9, 'c', 1), (9, 'c', 1), (10, NULL, 2)", 0),
    ("UPDATE t SET n = n + 1 WHERE id = 1", 0),
    ("UPDATE t SET x = 'zz' WHERE id = 2", 1),
    ("DELETE FROM t WHERE id IN (2, 7, 8, 9)", 0),
)


@pytest.mark.parametrize(
    "names",
    [
        ("projected", "filtered", "above"),
        pytest.param(tuple(QUERIES), marks=pytest.mark.nightly),
    ],
    ids=["some", "all"],
)
def test_each_is_computed_once_for_new_arguments(
    quick_lab: Lab, calls: Calls, names: tuple[str, ...]
) -> None:
    lab = quick_lab
    fill(lab)
    lab.engine.register_udf("shout", counted(calls), "string", immutable=True)
    for name in names:
        query, expected = QUERIES[name]
        lab.dynamic_table(name, query)
        assert (name, lab.mode(name), lab.why(name)) == (name, "INCREMENTAL", "INCREMENTAL")
        assert (name, calls()) == (name, expected)
    assert {lab.refresh(name) for name in names} == {"NO_DATA"}
    assert calls() == 0
    for statement, expected in CHANGES:
        lab.sql(statement)
        assert lab.refresh("projected") == "INCREMENTAL"
        assert (statement, calls()) == (statement, expected)
    for name in names:
        lab.refresh(name)
    calls()
    lab.sql("DELETE FROM t WHERE id = 1")
    assert {lab.refresh(name) for name in names} <= {"INCREMENTAL", "NO_DATA"}
    assert calls() <= 1  # the new maximum of a group is a new argument
    lab.verified(*names)


@pytest.mark.nightly
def test_a_dataframe_calls_it_by_its_name(quick_lab: Lab, calls: Calls) -> None:
    lab, create = quick_lab, quick_lab.engine.create
    fill(lab)
    shout = counted(calls)
    lab.engine.register_udf("shout", shout, "string", immutable=True)
    t = lab.spark.table("t")
    create(
        "d", t.where(F.expr("shout(x) <> 'B'")).select("id", F.call_udf("SHOUT", "x").alias("v"))
    )
    assert lab.mode("d") == "INCREMENTAL"
    assert "shout(" in str(lab.engine.table("d").definition.query)
    assert calls() == 3
    lab.sql("INSERT INTO t VALUES (6, 'A', 1), (7, 'a', 1), (8, 'b', 1)")
    assert (lab.refresh("d"), calls()) == ("INCREMENTAL", 1)
    create("g", t.groupBy(F.expr("shout(x)").alias("v")).agg(F.count("*").alias("n")))
    lab.sql("DELETE FROM t WHERE id = 1")
    assert {lab.refresh("d"), lab.refresh("g")} == {"INCREMENTAL"}
    lab.verified("d", "g")

    # Another program under that name is none of the lake's, whoever registered it and when.
    anonymous = t.select("id", F.udf(lambda x: x, "string")("x").alias("v"))
    lab.spark.udf.register("shout", lambda x: x, "string")
    by_name = t.select("id", F.expr("shout(x)").alias("v"))
    maybe = t.select("id", F.udf(shout, "int")("x").alias("v"))
    for frame in (anonymous, by_name, maybe):
        with refused("DT-1127"):
            create("no", frame)
    create("again", t.select("id", F.expr("shout(x)").alias("v")))
    assert lab.mode("again") == "INCREMENTAL"
    lab.verified("again")


@pytest.mark.nightly
def test_a_large_change_calls_it_once_too(quick_lab: Lab, calls: Calls) -> None:
    lab = quick_lab
    fill(lab)
    lab.tune(driver_rows=2)
    lab.engine.register_udf("shout", counted(calls), "string", immutable=True)
    lab.dynamic_table("d", "SELECT id, shout(x) v FROM t")
    assert calls() == 3
    lab.sql("INSERT INTO t SELECT id, concat('r', id % 7), 1 FROM range(100, 140)")
    assert (lab.refresh("d"), calls()) == ("INCREMENTAL", 7)
    lab.sql("DELETE FROM t WHERE id % 2 = 0")
    assert (lab.refresh("d"), calls()) == ("INCREMENTAL", 0)
    lab.verified("d")


def test_another_function_of_the_name_reinitialises_what_calls_it(
    quick_lab: Lab, calls: Calls
) -> None:
    lab = quick_lab
    fill(lab)
    dt = lab.engine
    dt.register_udf("SHOUT", counted(calls), "string", immutable=True)
    lab.dynamic_table("d", "SELECT id, Shout(x) v FROM t")
    lab.dynamic_table("other", "SELECT id FROM t")
    calls()
    dt.register_udf("shout", counted(calls), "string", immutable=True)
    assert lab.refresh("d") == "NO_DATA"
    dt.register_udf("shout", lambda x: x and x + "!", "string", immutable=True)
    assert lab.refresh("other") == "NO_DATA"
    record = lab.record("d")
    assert record.action is not None
    assert record.action.value == "REINITIALIZE"
    assert "FUNCTION_REPLACED: the function shout was replaced" in str(record.reason)
    assert (1, "a!") in lab.rows("d")
    lab.verified("d")
    assert lab.refresh("d") == "NO_DATA"
    dt.register_udf("shout", lambda x: x and x + "?", "string", immutable=True)
    lab.sql("CREATE OR ALTER DYNAMIC TABLE d TARGET_LAG = '1 hour' AS SELECT id, Shout(x) v FROM t")
    lab.refresh("d")
    assert (1, "a?") in lab.rows("d")
    lab.verified("d")
    with refused("DT-1115") as problem:
        dt.drop_udf("shout")
    assert "d" in problem[0].sentence
    lab.sql("DROP DYNAMIC TABLE d")
    dt.drop_udf("shout")
    assert dt.udfs() == ()
    with refused("DT-1117"):
        dt.drop_udf("shout")


@pytest.mark.nightly
def test_one_that_is_not_immutable_is_full_and_says_so(quick_lab: Lab, calls: Calls) -> None:
    lab = quick_lab
    fill(lab)
    lab.engine.register_udf("shout", counted(calls), "string")
    lab.dynamic_table("d", "SELECT id, shout(x) v FROM t")
    assert (lab.mode("d"), lab.why("d"), calls()) == ("FULL", "NOT_IMMUTABLE", 5)
    assert "shout()" in lab.engine.table("d").mode_reason.sentence
    with refused("DT-1107") as problem:
        lab.dynamic_table("e", "SELECT shout(x) v FROM t", "REFRESH_MODE = INCREMENTAL")
    assert "immutable=True" in problem[0].hint
    lab.sql("INSERT INTO t VALUES (6, 'q', 1)")
    assert (lab.refresh("d"), calls()) == ("FULL", 6)


@pytest.mark.nightly
def test_pandas_and_arrow_functions_changes_and_exact_arguments(quick_lab: Lab) -> None:
    lab = quick_lab
    dt = lab.engine

    @pandas_udf("string")  # type: ignore[untyped-decorator]
    def text_of(x: pd.Series) -> pd.Series:
        return x.map(str)

    def doubled(x: Any) -> Any:
        import pyarrow.compute as pc

        return pc.multiply(x, 2)

    dt.register_udf("text_of", text_of, "string", immutable=True)
    dt.register_udf("doubled", doubled, "bigint", kind="arrow", immutable=True)
    dt.register_udf("first_of", lambda a: a[0] if a else None, "double", immutable=True)
    lab.table("f", "id BIGINT, x DOUBLE, a ARRAY<DOUBLE>", "1, 0.0D, ARRAY(-0.0D)",
              "2, -0.0D, ARRAY(0.0D)", "3, DOUBLE('NaN'), NULL",
              "4, 0.0D, ARRAY(1.5D)")  # fmt: skip
    query = "SELECT doubled(id) d, text_of(x) v, text_of(first_of(a)) w FROM f"
    lab.dynamic_table("d", query)
    assert lab.mode("d") == "INCREMENTAL"
    assert [r[:2] for r in lab.rows("d")] == [(2, "0.0"), (4, "-0.0"), (6, "nan"), (8, "0.0")]
    lab.sql("INSERT INTO f VALUES (5, -0.0D, ARRAY()); DELETE FROM f WHERE id = 2")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")
    rows = dt.changes("d").collect()
    assert rows
    changed = dt.query_changes("SELECT doubled(id) d FROM f", at=1).frame.collect()
    assert sorted((r["d"], r["$ACTION"]) for r in changed) == [(4, "DELETE"), (10, "INSERT")]


def test_what_it_raises_is_told_with_its_line(quick_lab: Lab) -> None:
    lab = quick_lab
    fill(lab)

    def inverse(x: int) -> float:
        y = x - 2
        return 1 / y

    lab.engine.register_udf("inverse", inverse, "double", immutable=True)
    lab.dynamic_table("d", "SELECT inverse(n) v FROM t WHERE id < 5")
    lab.sql("UPDATE t SET n = 2 WHERE id = 1")
    record = lab.record("d")
    assert record.error_code == "DT-1134"
    assert "The function inverse raised ZeroDivisionError: division by zero." in str(record.error)
    assert "Line 3 of it: return 1 / y" in str(record.error)
    lab.sql("UPDATE t SET n = 3 WHERE id = 1")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


def test_the_example_computes_changed_rows_only(quick_lab: Lab, tmp_path: Path) -> None:
    steps = list(embeddings.main(quick_lab.engine, tmp_path / "calls"))
    assert len(steps) == 6
    assert [made for _, _, made in steps] == [needed for _, needed, _ in steps]
    quick_lab.verified("embedding")


PROGRAM = """
import json, sys
from dt_jupyter.engine import Engine
with Engine.connect(sys.argv[1], scheduler=False) as dt:
    facts = {"same": dt.refresh("d").action.value}
    dt.sql("INSERT INTO t VALUES (7, 'new', 1)")
    facts["action"] = dt.refresh("d").action.value
    facts["rows"] = sorted(map(tuple, dt.sql("SELECT id, v FROM d WHERE id > 4").collect()))
    facts["equal"] = dt.verify("d").equal
    facts["functions"] = [str(f) for f in dt.udfs()]
print(json.dumps(facts))
"""


@pytest.mark.nightly
def test_another_process_knows_it(quick_lab: Lab, calls: Calls) -> None:
    fill(quick_lab)
    quick_lab.engine.register_udf("shout", counted(calls), "string", immutable=True)
    quick_lab.dynamic_table("d", "SELECT id, shout(x) v FROM t")
    quick_lab.engine.close()
    run = [sys.executable, "-c", PROGRAM, str(quick_lab.folder)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts == {
        "same": "NO_DATA",
        "action": "INCREMENTAL",
        "rows": [[5, "A"], [7, "NEW"]],
        "equal": True,
        "functions": ["shout → string (python, immutable, used by d)"],
    }


def test_functions_of_sql_are_expanded_kept_and_followed(quick_lab: Lab) -> None:
    lab = quick_lab
    fill(lab)
    lab.sql("CREATE FUNCTION plus(a INT, b INT) RETURNS BIGINT RETURN a + b")
    lab.sql("CREATE FUNCTION twice(a INT) RETURNS BIGINT RETURN plus(a, a)")
    lab.dynamic_table("d", "SELECT id, twice(id) w, plus(n, 2 * id) v FROM t WHERE twice(n) > 1")
    lab.dynamic_table("whole", "SELECT twice(id) w, rand(1) > 2 r FROM t")
    assert (lab.mode("d"), lab.mode("whole")) == ("INCREMENTAL", "FULL")
    lab.sql("INSERT INTO t VALUES (6, 'q', 7); DELETE FROM t WHERE id = 1")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")
    for name in ("plus", "twice"):
        with refused("DT-1115") as problem:
            lab.sql(f"DROP FUNCTION {name}")
        assert "d" in problem[0].sentence
    lab.sql("CREATE OR REPLACE FUNCTION plus(a INT, b INT) RETURNS BIGINT RETURN a + b + 100")
    record = lab.record("d")
    assert str(record.reason) == "FUNCTION_REPLACED: the function plus was replaced"
    lab.verified("d")
    lab.reopen()
    for name in ("plus", "twice"):
        lab.spark.sql(f"DROP FUNCTION IF EXISTS default.{name}")  # as in a new process
    lab.reopen()
    assert lab.sql("SELECT twice(2)") == [(104,)]
    assert lab.refresh("d") == "NO_DATA"
    lab.sql("INSERT INTO t VALUES (8, 'q', 7)")
    assert (lab.refresh("d"), lab.refresh("whole")) == ("INCREMENTAL", "FULL")
    lab.verified("d")
    lab.sql(
        "DROP DYNAMIC TABLE d; DROP DYNAMIC TABLE whole; DROP FUNCTION twice; DROP FUNCTION plus"
    )
    assert lab.engine.udfs() == ()
