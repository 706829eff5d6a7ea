"""Functions whose values are those of the time when a row came: computed then, and kept with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from dt_jupyter.lake import snapshot_sql
from dt_jupyter.model.hidden import COUNT
from dt_jupyter.reports import verification
from tests.spark.engine_lab import Lab, refused
from tests.spark.functions.test_functions import Calls, calls, fill

__all__ = ["calls"]


def numbered(calls: Calls) -> Callable[..., Any]:
    """A function with another value at each call: its argument, and a number that is never there
    twice."""
    file = str(calls.path)

    def stamp(x: str | None = None) -> str:
        import uuid

        with open(file, "a") as log:
            log.write("x")
        return f"{x}#{uuid.uuid4().hex}"

    return stamp


def numbered_series(calls: Calls) -> Callable[..., Any]:
    file = str(calls.path)

    def stamps(x: Any) -> Any:
        import uuid

        with open(file, "a") as log:
            log.write("x" * len(x))
        return x.map(lambda v: f"{v}#{uuid.uuid4().hex}")

    return stamps


def numbered_arrays(calls: Calls) -> Callable[..., Any]:
    file = str(calls.path)

    def stamps(x: Any) -> Any:
        import uuid

        import pyarrow as pa

        with open(file, "a") as log:
            log.write("x" * len(x))
        return pa.array([f"{v}#{uuid.uuid4().hex}" for v in x.to_pylist()], pa.string())

    return stamps


def kept(lab: Lab, name: str, key: str, value: str) -> dict[Any, set[str]]:
    """The values of each key."""
    found: dict[Any, set[str]] = {}
    for k, v in lab.sql(f"SELECT {key}, {value} FROM {name}"):
        found.setdefault(k, set()).add(v)
    return found


def test_a_value_is_computed_when_a_row_comes_and_stays_with_it(
    quick_lab: Lab, calls: Calls
) -> None:
    """By pandas here, whose functions see many rows at once; by each kind below."""
    follow_rows(quick_lab, calls, "pandas")


KINDS: dict[str, Callable[[Calls], Callable[..., Any]]] = {
    "python": numbered, "pandas": numbered_series, "arrow": numbered_arrays,
}  # fmt: skip


def follow_rows(lab: Lab, calls: Calls, kind: str) -> None:
    """Through an update, a delete, equal rows, other names and another session, in one refresh."""
    fill(lab)  # five rows; 1, 4 and 5 have the same argument
    lab.engine.register_udf("stamp", KINDS[kind](calls), "string", kind=kind, on_change=True)
    lab.dynamic_table("made", "SELECT id, x, stamp(x) AS v, upper(stamp(x)) AS w FROM t")
    assert (lab.mode("made"), calls()) == ("INCREMENTAL", 5)
    first = kept(lab, "made", "id", "v")
    assert len({v for vs in first.values() for v in vs}) == 5
    lab.sql("ALTER DYNAMIC TABLE made RENAME TO d; DROP DYNAMIC TABLE d; UNDROP DYNAMIC TABLE d")
    lab.reopen()
    lab.sql(
        "INSERT INTO t VALUES (6, 'a', 1), (7, NULL, 1), (6, 'a', 2), (3, NULL, 2);"
        "UPDATE t SET n = n + 1 WHERE id = 4; DELETE FROM t WHERE id = 5;"
        "UPDATE t SET n = 9, x = 'b' WHERE id = 1"
    )
    assert (lab.refresh("d"), calls()) == ("INCREMENTAL", 3), "of 1, 6 and 7"
    now = kept(lab, "d", "id", "v")
    assert {k for k in first.keys() | now.keys() if first.get(k) != now.get(k)} == {1, 5, 6, 7}
    assert all(w == v.upper() for v, w in lab.sql("SELECT v, w FROM d"))
    read = [sorted(lab.sql(f"SELECT id, x FROM {n}"), key=repr) for n in ("d", "t")]
    assert read[0] == read[1]
    verdict = lab.engine.verify("d")
    assert verdict.equal, verdict
    assert "values of stamp() are those of when their rows came" in str(verdict)
    assert (lab.refresh("d"), calls()) == ("NO_DATA", 0)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_kind_it_is(quick_lab: Lab, calls: Calls, kind: str) -> None:
    follow_rows(quick_lab, calls, kind)


@pytest.mark.nightly
def test_each_statement_computes_what_it_brings(quick_lab: Lab, calls: Calls) -> None:
    lab, dt = quick_lab, quick_lab.engine
    fill(lab)  # five rows; 1, 4 and 5 have the same argument
    dt.register_udf("stamp", numbered(calls), "string", on_change=True)
    assert "on change" in str(dt.udfs()[0])
    lab.dynamic_table("d", "SELECT id, x, stamp(x) AS v, upper(stamp(x)) AS w FROM t")
    assert (lab.mode("d"), calls()) == ("INCREMENTAL", 5)
    assert "functions that were computed when it was inserted" in str(dt.table("d").mode_reason)
    first = kept(lab, "d", "id", "v")
    assert len({v for vs in first.values() for v in vs}) == 5
    assert all(w == v.upper() for v, w in lab.sql("SELECT v, w FROM d"))
    assert lab.sql("SELECT v FROM d WHERE id = 3")[0][0].startswith("None#")
    assert (lab.refresh("d"), calls()) == ("NO_DATA", 0)

    for statement, made, changed, action in (
        ("INSERT INTO t VALUES (6, 'a', 1), (7, NULL, 1)", 2, {6, 7}, "INCREMENTAL"),
        ("INSERT INTO t VALUES (6, 'a', 1)", 0, set(), "INCREMENTAL"),  # equal rows have one value
        ("DELETE FROM t WHERE id = 7; UPDATE t SET n = 9, x = 'b' WHERE id = 1", 1, {1, 7},
         "INCREMENTAL"),
        ("UPDATE t SET n = n + 1 WHERE id = 4", 0, set(), "INCREMENTAL"),  # n is not read
    ):  # fmt: skip
        lab.sql(statement)
        assert (statement, lab.refresh("d"), calls()) == (statement, action, made)
        now = kept(lab, "d", "id", "v")
        moved = {k for k in first.keys() | now.keys() if first.get(k) != now.get(k)}
        assert (statement, moved) == (statement, changed)
        read = [sorted(lab.sql(f"SELECT id, x FROM {n}"), key=repr) for n in ("d", "t")]
        assert read[0] == read[1]
        first = now
    verdict = dt.verify("d")
    assert verdict.equal, verdict
    assert "values of stamp() are those of when their rows came" in str(verdict)
    record = dt.records("d", 2)[1]
    assert dt.replay_refresh("d", query_id=record.query_id).equal
    assert calls() == 0
    twice = "WITH c AS (SELECT id, stamp(x) v FROM t) SELECT a.id FROM c a JOIN c b ON a.v = b.v"
    with refused("DT-1107") as problem:
        lab.dynamic_table("no", twice, "REFRESH_MODE = INCREMENTAL")
    assert "two places" in problem[0].sentence


def moment() -> int:
    """Without a parameter."""
    import time

    return time.time_ns()


FROZEN = "CREATE DYNAMIC TABLE {} TARGET_LAG = '1 hour' FROZEN WHERE (id < 3) AS {}"


@pytest.mark.nightly
def test_rows_of_a_frozen_region_and_of_clones(quick_lab: Lab, calls: Calls) -> None:
    lab = quick_lab
    fill(lab)
    lab.engine.register_udf("stamp", numbered(calls), "string", on_change=True)
    lab.sql(FROZEN.format("d", "SELECT id, stamp(x) v FROM t"))
    assert (lab.mode("d"), calls()) == ("INCREMENTAL", 5)
    first = kept(lab, "d", "id", "v")
    lab.sql("CREATE DYNAMIC TABLE c CLONE d")
    lab.sql("UPDATE t SET x = 'z' WHERE id IN (1, 4); DELETE FROM t WHERE id IN (2, 5)")
    for name in ("d", "c"):
        assert lab.refresh(name) == "INCREMENTAL"
        now = kept(lab, name, "id", "v")
        assert {k for k in first if first[k] != now.get(k)} == {4, 5}, "1 and 2 are frozen"
        assert lab.engine.verify(name).equal
    assert 2 <= calls() <= 4  # a value of each for 4, and perhaps for what is frozen
    assert kept(lab, "d", "id", "v")[4] != kept(lab, "c", "id", "v")[4]


PROGRAM = """
import json, sys
from dt_jupyter.engine import Engine
with Engine.connect(sys.argv[1], scheduler=False) as dt:
    facts = {"same": dt.refresh("d").action.value}
    dt.sql("INSERT INTO t VALUES (7, 'new', 1); DELETE FROM t WHERE id = 5")
    facts["action"] = dt.refresh("d").action.value
    facts["rows"] = sorted(map(tuple, dt.sql("SELECT id, v FROM d").collect()))
    facts["equal"] = dt.verify("d").equal
print(json.dumps(facts))
"""


@pytest.mark.nightly
def test_another_process_goes_on_with_them(quick_lab: Lab, calls: Calls) -> None:
    fill(quick_lab)
    quick_lab.engine.register_udf("stamp", numbered(calls), "string", on_change=True)
    quick_lab.dynamic_table("d", "SELECT id, stamp(x) v FROM t")
    first = {k: v for k, v in quick_lab.rows("d") if k != 5}
    assert calls() == 5
    quick_lab.engine.close()
    run = [sys.executable, "-c", PROGRAM, str(quick_lab.folder)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    found = dict(facts.pop("rows"))
    assert found.pop(7).startswith("new#")
    assert found == first
    assert facts == {"same": "NO_DATA", "action": "INCREMENTAL", "equal": True}
    assert calls() == 1


@pytest.mark.nightly
def test_over_joins_groups_and_filters(quick_lab: Lab, calls: Calls) -> None:
    lab, dt = quick_lab, quick_lab.engine
    fill(lab)
    lab.table("u", "n INT, m STRING", "1, 'one'", "1, 'uno'", "2, 'two'")
    dt.register_udf("stamp", numbered(calls), "string", on_change=True)
    dt.register_udf("moment", moment, "bigint", on_change=True)
    queries = {
        "joined": ("SELECT t.id, u.m, stamp(t.x) v FROM t JOIN u ON t.n = u.n", 9),
        "below": ("SELECT s.id, u.m, s.v FROM (SELECT id, n, stamp(x) v FROM t) s "
                  "JOIN u ON s.n = u.n", 5),
        "filtered": ("SELECT id, v FROM (SELECT id, stamp(x) v FROM t) WHERE v LIKE 'a#%'", 5),
        "grouped": ("SELECT v, count(*) c FROM (SELECT n, stamp(n) v FROM t) GROUP BY v", 2),
        "above": ("SELECT n, c, stamp(c) v FROM (SELECT n, count(*) c FROM t GROUP BY n)", 2),
        "nothing": ("SELECT id, stamp() v FROM t", 5),
        "direct": ("SELECT id FROM t WHERE stamp(x) LIKE 'a#%'", 5),
        "bare": ("SELECT id, moment() m FROM t", 0),
        "outer_": ("SELECT t.id, s.v FROM t LEFT JOIN (SELECT n, m, stamp(m) v FROM u) s "
                   "ON t.n = s.n", 3),
    }  # fmt: skip
    for name, (query, made) in queries.items():
        lab.dynamic_table(name, query)
        assert (name, lab.mode(name), lab.why(name)) == (name, "INCREMENTAL", "INCREMENTAL")
        assert (name, calls()) == (name, made)
    moments = kept(lab, "bare", "id", "m")
    assert len(moments) == 5
    before = {n: kept(lab, n, "id", "v") for n in ("joined", "below", "filtered", "nothing")}
    lab.sql("INSERT INTO t VALUES (8, 'a', 1); DELETE FROM t WHERE id = 2")
    assert {lab.refresh(n) for n in queries} == {"INCREMENTAL"}
    assert calls() == 6  # two of `joined`, none of the groups, which are as they were
    lab.sql("INSERT INTO u VALUES (1, 'ein')")
    assert {lab.refresh(n) for n in ("joined", "below", "outer_")} == {"INCREMENTAL"}
    assert calls() == 4 + 0 + 1
    later = kept(lab, "bare", "id", "m")
    assert {k for k in later if moments.get(k) != later[k]} == {8}
    for name, old in before.items():
        now = kept(lab, name, "id", "v")
        assert all(old[k] <= now[k] for k in old if k != 2), name
    for name in queries:
        verdict = dt.verify(name)
        assert verdict.equal, verdict
    assert calls() == 0


@pytest.mark.nightly
def test_what_cannot_be_kept_and_what_computes_all_again(quick_lab: Lab, calls: Calls) -> None:
    lab, dt = quick_lab, quick_lab.engine
    fill(lab)
    dt.register_udf("stamp", numbered(calls), "string", on_change=True)
    twice = "WITH c AS (SELECT id, stamp(x) v FROM t) SELECT a.id FROM c a JOIN c b ON a.v = b.v"
    with refused("DT-1107") as problem:
        lab.dynamic_table("no", twice, "REFRESH_MODE = INCREMENTAL")
    assert "two places" in problem[0].sentence
    with refused("DT-1133"):
        dt.register_udf("stamp", numbered(calls), "string", immutable=True, on_change=True)
    lab.dynamic_table("d", "SELECT id, stamp(x) v FROM t")
    calls()
    dt.register_udf("stamp", numbered(calls), "string", on_change=True)
    assert (lab.refresh("d"), calls()) == ("NO_DATA", 0)
    lab.sql("CREATE OR ALTER DYNAMIC TABLE d TARGET_LAG = '1 hour' AS SELECT id, stamp(x) v FROM t")
    assert (lab.refresh("d"), calls()) == ("NO_DATA", 0)
    longer = "SELECT id, stamp(x) v, id + 1 AS n FROM t"
    lab.sql(f"CREATE OR ALTER DYNAMIC TABLE d TARGET_LAG = '1 hour' AS {longer}")
    assert (lab.refresh("d"), calls()) == ("NO_DATA", 5), "its values are computed by the statement"
    lab.sql("CREATE DYNAMIC TABLE e CLONE d")
    assert (lab.refresh("e"), calls()) == ("NO_DATA", 0)
    assert lab.rows("e") == lab.rows("d")
    lab.sql("INSERT INTO t VALUES (9, 'q', 1)")
    assert (lab.refresh("e"), calls()) == ("INCREMENTAL", 1)
    lab.reopen()
    dt = lab.engine
    lab.sql("INSERT INTO t VALUES (10, 'q', 1)")
    assert (lab.refresh("d"), calls()) == ("INCREMENTAL", 2)
    explained = str(dt.explain("d"))
    assert "the value of a function when its row came" in explained
    assert "functions that were computed when it was inserted or updated" in explained
    assert "'string', on_change=True)" in dt.export()
    old = lab.rows("d")
    assert dt.verify("d", at=lab.record("d").data_timestamp.words).equal
    dt.register_udf("stamp", numbered(calls), "string")
    record = lab.record("d")
    assert (str(record.action), str(record.reason), calls()) == (
        "REINITIALIZE", "FUNCTION_REPLACED: the function stamp was replaced", 7,
    )  # fmt: skip
    assert not {r[1] for r in old} & {r[1] for r in lab.rows("d")}
    with refused("DT-3102") as problem:
        dt.query_changes("SELECT stamp(x) v FROM t", at=1)
    assert "NOT_IMMUTABLE" in problem[0].sentence


@pytest.mark.nightly
def test_verify_finds_a_value_that_belongs_to_no_row(
    quick_lab: Lab, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, dt = quick_lab, quick_lab.engine
    fill(lab)
    dt.register_udf("stamp", numbered(calls), "string", on_change=True)
    lab.dynamic_table("d", "SELECT id, stamp(x) v FROM t")
    stage = lab.context.layout.stage(dt.table("d").id, 0)
    stored = lab.spark.read.format("delta").load(str(stage)).dtypes
    other = [f"-`{c}`" if k == "bigint" and c != COUNT else f"`{c}`" for c, k in stored]
    assert dt.verify("d").equal

    def and_one_more(path: str, version: int) -> str:
        rows = snapshot_sql(path, version)
        if str(path) != str(stage):
            return rows
        one = f"SELECT {', '.join(other)} FROM {rows} LIMIT 1"
        return f"(SELECT * FROM {rows} UNION ALL ({one}))"

    monkeypatch.setattr(verification, "snapshot_sql", and_one_more)
    assert "1 row and the values of stamp() do not belong together" in str(dt.verify("d"))
