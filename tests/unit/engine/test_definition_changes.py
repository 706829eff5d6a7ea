"""What a statement changes of a dynamic table, and of what reads it, by values alone."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.engine.definition_changes import (
    describe_definition,
    describe_replacement,
    find_differences,
    with_unsaid,
)
from dt_jupyter.engine.dependents import Dependents, dropped_words, find_dependents
from dt_jupyter.engine.planned_differences import columns_differ, query_of_view, text_differs
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Name,
    RefreshMode,
    Sink,
    Source,
    SourceKind,
    Stream,
    TargetLag,
    Timestamp,
    ViewSource,
)
from dt_jupyter.sql import CreateDynamicTable
from tests.unit.catalog_lab import definition, table

T0 = Timestamp(0)


def name(text: str) -> Name:
    return Name("default", text)


def dynamic(text: str, query: str, *reads: str, columns: str = "id int, v int") -> DynamicTable:
    pairs = tuple((c.split()[0], c.split()[1], None) for c in columns.split(", "))
    sources = tuple(Source(name(r), SourceKind.DYNAMIC_TABLE, r, None) for r in reads)
    made = Definition(query, {}, pairs, sources)
    return replace(table(text), name=name(text), definition=made, mode=RefreshMode.AUTO)


def statement(query: str, **options: Any) -> CreateDynamicTable:
    return CreateDynamicTable(name=name("t"), query=query, **options)


def catalog(*tables: DynamicTable, **others: Any) -> Any:
    lists = {"views": (), "streams": (), "sinks": (), "tasks": (), "tables": ()} | others
    return SimpleNamespace(list=lambda: tables, **{k: lambda v=v: v for k, v in lists.items()})


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("SELECT id FROM src", "select  ID -- said\nfrom SRC /* twice */", True),
        ("SELECT id FROM src", "SELECT id FROM default.src", True),
        ("SELECT id FROM src", "SELECT id FROM `default`.`src`", True),
        ("SELECT id FROM src", "SELECT id FROM other.src", False),
        ("SELECT 'a' AS x FROM src", "SELECT 'A' AS x FROM src", False),
        ("SELECT 'a  b' AS x FROM src", "SELECT 'a b' AS x FROM src", False),
        ("SELECT '-- a' AS x FROM src", "SELECT '-- b' AS x FROM src", False),
        ("SELECT id, v FROM src", "SELECT v, id FROM src", False),
        ("SELECT id FROM src", "SELECT id FROM src WHERE v > 1", False),
        ("SELECT /*+ COALESCE(1) */ id FROM src", "SELECT id FROM src", False),
        ("WITH c AS (SELECT 1 AS x) SELECT x FROM c", "WITH c AS (SELECT 1 AS x) SELECT x FROM c",
         True),
        ("SELECT a FROM json.`/x/Y`", "SELECT a FROM json.`/x/y`", False),
    ],
)  # fmt: skip
def test_layout_comments_and_case_make_no_other_query(old: str, new: str, same: bool) -> None:
    known = dynamic("t", old)
    assert (find_differences(known, statement(new), "default").definition == ()) is same


def test_case_counts_where_the_table_was_made_so() -> None:
    plain = dynamic("t", "SELECT id FROM src")
    exact = replace(plain.definition, settings={"spark.sql.caseSensitive": "true"})
    asked = statement("SELECT ID FROM src")
    assert not find_differences(plain, asked, "default").definition
    assert find_differences(replace(plain, definition=exact), asked, "default").definition


def test_a_bare_name_in_another_schema_is_another_table() -> None:
    known, asked = dynamic("t", "SELECT id FROM src"), statement("SELECT id FROM src")
    assert find_differences(known, asked, "default").definition == ()
    assert find_differences(known, asked, "other").definition == ("query",)
    assert not find_differences(known, statement("SELECT id FROM default.src"), "other").definition


def test_options_are_told_beside_the_definition() -> None:
    known = replace(dynamic("t", "SELECT id FROM src"), target_lag=TargetLag(None), comment="said")
    asked = statement("SELECT id FROM src", target_lag=TargetLag(60), refresh_mode=RefreshMode.FULL)
    found = find_differences(known, asked, "default")
    assert found.definition == ("REFRESH_MODE AUTO → FULL",)
    assert found.options == ("TARGET_LAG DOWNSTREAM → 1 minute", "COMMENT said → none")
    magic = with_unsaid(known, replace(asked, partial=True))
    assert find_differences(known, magic, "default").options == (
        "TARGET_LAG DOWNSTREAM → 1 minute",
    )


def test_the_lines_that_differ_and_some_around_them() -> None:
    old = "SELECT id,\n  v,\n  w\nFROM src\nWHERE v > 0\n  AND w > 0\n"
    assert text_differs(old, old.replace("  v,", "  v + 1 AS v,")) == (
        "  SELECT id,", "-   v,", "+   v + 1 AS v,", "    w", "  FROM src",
    )  # fmt: skip
    assert text_differs(old, f"{old}  ") == ()
    far = old.replace("id,", "id, g,").replace("w > 0", "w > 1")
    assert "…" not in text_differs(old, far)[0]


def test_columns_come_go_and_change() -> None:
    def columns(text: str) -> Definition:
        return dynamic("t", "", columns=text).definition

    told = columns_differ(columns("id int, v int, w int"), columns("w bigint, id int, n string"))
    assert told == ("+ n string", "- v", "w int → bigint", "in the order w, id, n")
    assert columns_differ(columns("id int, v int"), columns("ID int, v int")) == ("id → ID",)
    commented = replace(definition(), columns=(("id", "int", "a"),))
    plain = replace(definition(), columns=(("id", "int", None),))
    assert columns_differ(plain, commented) == ("id COMMENT",)


def _readers() -> Any:
    stream = Stream("1", name("s"), name("t"), "DYNAMIC TABLE", {}, T0, T0)
    sink = Sink("2", name("k"), name("t"), "DYNAMIC TABLE", "sqlite:///x", T0, key=("id",))
    return catalog(
        dynamic("t", "SELECT id, v FROM src"),
        dynamic("sums", "SELECT id, sum(V) AS s FROM t GROUP BY id", "t"),
        dynamic("whole", "SELECT * FROM t", "t"),
        dynamic("ids", "SELECT id, 2 * id AS d FROM t", "t"),
        dynamic("far", "SELECT s FROM sums", "sums"),
        streams=(stream,),
        sinks=(sink,),
    )


def _below() -> Dependents:
    return find_dependents(_readers(), {name("t")})


def _costs(columns: str, rows: str = "recomputed: x") -> list[str]:
    known = dynamic("t", "SELECT id, v FROM src")
    new = replace(known.definition, query="SELECT …", columns=dynamic("t", "", columns=columns)
                  .definition.columns)  # fmt: skip
    return list(describe_definition(known, new, ("query",), _below(), rows).costs)


def test_what_becomes_of_readers_streams_and_sinks() -> None:
    assert _costs("id int, v int") == [
        "ids, sums, whole: refreshed by the rows that differ",
        "stream s: holds the rows that differ",
        "sink k: delivers the rows that differ",
    ]
    assert _costs("id int, v int, w int")[0] == "whole: gets the new columns at the next refresh"
    dropped = _costs("id int")
    assert dropped[0] == "sums reads v: its next refresh fails (DT-2116)"
    assert "ids: refreshed by the rows that differ" in dropped
    retyped = _costs("id int, v string")
    assert "sums, whole: recomputed" in retyped[0]
    assert "stream s: stale by the new type of v" in retyped
    assert "paused (DT-6142)" in retyped[-1]
    assert "paused (DT-6142)" in dropped[-1]
    assert "paused, its key column id is dropped" in _costs("v int")[-1]
    assert _costs("id int, v int", "kept") == []


def test_a_replacement_says_what_ends_with_the_old_one() -> None:
    known = replace(dynamic("t", "SELECT id, v FROM src"), version=7)
    change = describe_replacement(known, known.definition, (), _below())
    assert change.differs == ("nothing: CREATE OR ALTER would leave it as it is",)
    assert change.affects == ("far", "ids", "sums", "whole")
    told = "\n".join(change.costs)
    for said in ("versions 0 to 7 of t", "ids, sums, whole: recomputed", "stream s: stale",
                 "sink k: paused; ALTER SINK k RESET", "UNDROP DYNAMIC TABLE t"):  # fmt: skip
        assert said in told, said


def test_what_is_dropped_names_its_readers() -> None:
    over = ViewSource(name("over"), "SELECT id FROM T")
    far = ViewSource(name("far_view"), "SELECT id FROM default.over")
    through = dynamic("through", "SELECT id FROM far_view", "src")
    task = SimpleNamespace(name=name("clean"), schema="default", condition=None,
                           body="DELETE FROM x WHERE id IN (SELECT id FROM s)")  # fmt: skip
    known = _readers()
    views = (ViewSource(name("far_view"), far.text),)
    through = replace(through, definition=replace(through.definition, views=views))
    tables = (*known.list(), through)
    lake = catalog(*tables, views=(over, far), streams=known.streams(), sinks=known.sinks(),
                   tasks=(task,))  # fmt: skip
    found = find_dependents(lake, {name("t")})
    assert str(found) == (
        "dynamic tables sums, whole, ids, through (far downstream), views far_view, over, "
        "stream s, sink k and task clean"
    )
    assert dropped_words(found, "UNDROP TABLE t").endswith("fails until: UNDROP TABLE t")
    assert dropped_words(Dependents(), "UNDROP TABLE t") == ""
    assert str(find_dependents(lake, {name("t")}, lambda n: n == name("ids"))) == (
        "dynamic table ids"
    )
    whole = {
        name(n) for n in ("t", "s", "k", "sums", "whole", "ids", "through", "over", "far_view")
    }
    assert str(find_dependents(lake, whole)) == "dynamic table far and task clean"
    many = catalog(*(dynamic(f"d{i}", "SELECT id FROM t", "t") for i in range(20)))
    assert "d11 and 8 others" in str(find_dependents(many, {name("t")}))


def test_the_query_of_a_view_is_found_in_what_spark_keeps() -> None:
    query = "SELECT a FROM default.t"
    assert query_of_view(query) == query
    assert query_of_view(f"SELECT `a` AS `a` FROM (\n{query}\n)") == query
    assert query_of_view(f"SELECT * FROM (\n{query}\n) AS view_(`x`)") == query
