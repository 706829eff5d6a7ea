"""The check at creation of tables that call functions of the user's: none of them is called."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dt_jupyter.definition.validate.generated_rows import NoValues
from dt_jupyter.definition.validate.stand_ins import stand_ins
from dt_jupyter.ivm import DERIVATIVES, Join
from dt_jupyter.model import FunctionKind, Name, UserFunction
from dt_jupyter.sql import CreateDynamicTable, GroupSql, Query, TextQuery
from tests.spark.engine_lab import Lab
from tests.spark.functions.test_functions import Calls, calls, counted, fill
from tests.spark.functions.test_on_change import numbered
from tests.unit.ivm.test_mutants import RULES

__all__ = ["calls"]

QUERIES = {
    "projected": "SELECT id, shout(x, n) v, shout(upper(x)) w FROM t WHERE `SHOUT`(x, 1) <> 'a'",
    "nested": "SELECT n, shout(shout(max(x)), n) v, count(*) c FROM t GROUP BY n",
    "joined": "SELECT a.id, b.id AS b, shout(a.x, b.n) v FROM t a JOIN t b ON a.n = b.n",
    "within": "SELECT id, shout(louder(x)) v FROM t",
    "of rows": "SELECT id, stamp(x) v, stamp() w FROM t",
    "joined rows": "SELECT a.id, b.id AS b, stamp(a.x) v FROM t a JOIN t b ON a.n = b.n",
}


def swapped(self: GroupSql, new: str) -> Query:
    """The values of new groups, each function called with the arguments of the others, or none."""
    text = COMPUTED(self, new).sql
    return TextQuery(text.replace("_0`", "_9`").replace("_1`", "_0`").replace("_9`", "_1`"))


COMPUTED = GroupSql.computed
OTHERS: dict[str, tuple[str, Any]] = {
    "values are not computed": (
        "of rows",
        lambda self, new: TextQuery(f"SELECT * EXCEPT ({', '.join(_extra(self))}) FROM {new}"),
    ),
    "arguments are swapped": ("joined", swapped),
}


def _extra(sql: GroupSql) -> list[str]:
    from dt_jupyter.model import quote
    from dt_jupyter.model.hidden import EXISTED, RESCAN

    return [RESCAN, EXISTED, *(quote(c) for _, a in sql.once for c in sql._arguments(a))]


def checked(lab: Lab, query: str) -> tuple[str, str]:
    """Why it is incremental or not, and what was compared."""
    asked = CreateDynamicTable(Name("default", "d"), query)
    told = lab.engine.explain(asked)
    return told.reason.code, told.checked


@pytest.fixture
def world(lab: Lab, calls: Calls) -> Iterator[Lab]:
    lab.tune(check_seconds=600.0)  # on a busy machine it takes longer than it may
    fill(lab)
    lab.engine.register_udf("shout", counted(calls), "string", immutable=True)
    lab.engine.register_udf("stamp", numbered(calls), "string", on_change=True)
    lab.sql("CREATE FUNCTION louder(a STRING) RETURNS STRING RETURN concat(a, '!')")
    yield lab
    lab.sql("DROP FUNCTION louder")


@pytest.mark.nightly
def test_they_are_checked_and_none_is_called_and_what_is_wrong_is_found(
    world: Lab, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    why, told = checked(world, QUERIES["projected"])
    assert (why, "test rows" in told) == ("INCREMENTAL", True), told
    monkeypatch.setattr(GroupSql, "computed", OTHERS["values are not computed"][1])
    assert checked(world, QUERIES["of rows"])[0] == "GUARD_MISMATCH"
    assert calls() == 0


@pytest.mark.nightly
def test_all_of_them(world: Lab, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, query in QUERIES.items():
        why, told = checked(world, query)
        assert (why, "test rows" in told) == ("INCREMENTAL", True), (name, why, told)
    for name, wrong in OTHERS.values():
        with monkeypatch.context() as m:
            m.setattr(GroupSql, "computed", wrong)
            assert checked(world, QUERIES[name])[0] == "GUARD_MISMATCH", name
    monkeypatch.setitem(DERIVATIVES, Join, RULES["join forgets its last term"][1])
    for name in ("joined", "joined rows"):
        assert (name, checked(world, QUERIES[name])[0]) == (name, "GUARD_MISMATCH")
    assert calls() == 0


def test_values_of_every_type(spark: SparkSession) -> None:
    types = ("boolean", "tinyint", "bigint", "double", "decimal(10,2)", "string", "binary", "date",
             "timestamp", "timestamp_ntz", "array<float>", "map<string,date>",
             "struct<a: int, `b c`: array<decimal(4,1)>>")  # fmt: skip
    for returns in types:
        function = UserFunction("f", FunctionKind.PYTHON, returns, True, "f = lambda x: x")
        made = stand_ins(spark, (function,), "SELECT 'it''s' || 7", random.Random(returns))
        frame = spark.sql(made.text("SELECT f(id, 'x') AS v, f(id) IS NULL n FROM range(40)"))
        wanted = spark.sql(f"SELECT CAST(NULL AS {returns}) AS v").schema["v"].dataType
        assert frame.schema["v"].dataType == wanted
        rows = frame.collect()
        assert len({repr(r["v"]) for r in rows}) > (2 if returns == "boolean" else 3), returns
        assert any(r["n"] for r in rows)
    for returns in ("map<int,int>", "interval day", "variant"):
        function = UserFunction("f", FunctionKind.PYTHON, returns, True, "f = lambda x: x")
        with pytest.raises(NoValues):
            stand_ins(spark, (function,), "SELECT 1", random.Random(1))
