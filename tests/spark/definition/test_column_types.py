"""Types that a table does not take, that do not compare, or whose parts have other names."""

from __future__ import annotations

import pytest

from dt_jupyter.refresh import stage_run, stage_way
from tests.cases import some
from tests.spark.engine_lab import Lab, refused, without_check

DAY = "make_dt_interval(CAST(v AS INT))"
FOLDED = "CAST(v AS STRING) COLLATE UTF8_LCASE"
POINT = "ST_GeomFromWKB(X'0101000000000000000000F03F0000000000000040')"
UNSTORABLE = [
    DAY, FOLDED, POINT, "TIME'10:00:00'", "make_interval(CAST(v AS INT))", f"array({DAY})",
    f"map({FOLDED}, 1)", f"named_struct('a', array({FOLDED}))", "map(v, NULL)",
]  # fmt: skip
MAP = "map('q', v % 3)"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    without_check(monkeypatch)


@pytest.fixture
def made(lab: Lab) -> Lab:
    lab.table("t", "id INT, v INT", *(f"{i}, {i % 7}" for i in range(20)), "99, NULL")
    return lab


def change(lab: Lab) -> None:
    lab.sql("DELETE FROM t WHERE v = 2; INSERT INTO t VALUES (50, 5), (51, 8), (52, NULL), (4, 4)")


def test_what_delta_does_not_take_is_no_column(made: Lab) -> None:
    before = made.names()
    for item in UNSTORABLE:
        with refused("DT-1116") as found:
            made.dynamic_table("d", f"SELECT id, {item} AS x FROM t")
        assert "x has type" in str(found[0])
        assert made.names() == before


@pytest.mark.parametrize("key", some(1, [FOLDED, f"array({DAY})"]))
def test_groups_by_what_delta_does_not_take_are_computed_anew(made: Lab, key: str) -> None:
    query = f"SELECT count(*) AS n, count(DISTINCT id) AS m FROM t GROUP BY {key}"
    made.dynamic_table("d", query)
    assert (made.mode("d"), made.why("d")) == ("FULL", "UNSTORABLE")
    with refused("DT-1107"):
        made.dynamic_table("e", query, "REFRESH_MODE = INCREMENTAL")
    change(made)
    assert made.refresh("d") == "FULL"
    assert made.rows("d") == sorted(made.sql(query))


def test_a_hidden_table_takes_no_more_than_others(made: Lab) -> None:
    first = f"SELECT id, {FOLDED} AS x FROM t ORDER BY id LIMIT 5"
    made.dynamic_table("d", f"SELECT id, CAST(x AS INT) + 1 AS x FROM ({first}) WHERE id > 1")
    assert (made.mode("d"), made.why("d")) == ("FULL", "UNSTORABLE")
    change(made)
    assert made.refresh("d") == "FULL"
    made.verified("d")


@pytest.mark.parametrize("key", some(1, [MAP, f"named_struct('m', {MAP})", f"array({MAP})"]))
def test_groups_by_maps_are_computed_anew(made: Lab, key: str) -> None:
    query = f"SELECT {key} AS k, count(*) AS n, sum(v) AS s FROM t GROUP BY 1"
    made.dynamic_table("d", query)
    assert (made.mode("d"), made.why("d")) == ("FULL", "MAP_KEY")
    made.sql(f"CREATE VIEW v AS {query}")
    with refused("DT-3102") as found:
        made.sql("SELECT * FROM v CHANGES (INFORMATION => DEFAULT) AT (OFFSET => 0)")
    assert found[0].facts["reason"] == "MAP_KEY"
    change(made)
    assert made.refresh("d") == "FULL"
    assert made.rows("d") == sorted(made.sql(query), key=repr)


def test_groups_by_the_entries_of_maps_are_kept(made: Lab) -> None:
    made.dynamic_table(
        "d", f"SELECT array_sort(map_entries({MAP})) AS k, count(*) AS n FROM t GROUP BY 1"
    )
    change(made)
    assert made.refresh("d") == "INCREMENTAL"
    made.verified("d")


PARTS = [
    "named_struct('a b', named_struct('q', v))",
    "named_struct('a', named_struct('z.z', coalesce(v, 0)))",
    "named_struct('a b', array(named_struct('c c', v)))",
    "named_struct('a b', map('c c', v))",
    "map('a', named_struct('void', v, 'q q', named_struct('x', array(id))))",
]


@pytest.mark.parametrize("name", some(1, ["odd name", "x"]))
def test_parts_of_a_column_have_any_names(made: Lab, name: str) -> None:
    items = ", ".join(f"{part} AS `{name}{i}`" for i, part in enumerate(PARTS))
    made.dynamic_table("d", f"SELECT id, {items} FROM t")
    change(made)
    assert made.refresh("d") == "INCREMENTAL"
    expected = made.sql(f"SELECT id, {', '.join(PARTS)} FROM t")
    assert made.rows("d") == sorted(expected, key=repr)


WINDOWS = [
    "SELECT id, row_number() OVER (PARTITION BY {k} ORDER BY id) AS n FROM t",
    "SELECT id, sum(v) OVER (PARTITION BY {k}, v % 2) AS n FROM t",
    "SELECT id, n FROM (SELECT id, rank() OVER (PARTITION BY {k} ORDER BY v, id) AS n FROM t)"
    " WHERE n <= 2",
]


@pytest.mark.parametrize("query", some(1, WINDOWS))
@pytest.mark.parametrize("large", some(1, [1_000_000, 1]))
def test_partitions_are_found_again_by_their_collation(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, query: str, large: int
) -> None:
    for module in (stage_run, stage_way):  # of more rows the keys are staged in files
        monkeypatch.setattr(module, "LARGE", large)
    lab.table("t", "id INT, z STRING, v INT", *(f"{i}, '{'aAbB'[i % 4]}', {i}" for i in range(24)))
    text = query.format(k="z COLLATE UTF8_LCASE")
    lab.dynamic_table("d", text)
    lab.sql("INSERT INTO t VALUES (100, 'A', 7), (101, NULL, 7); DELETE FROM t WHERE id IN (0, 1)")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == sorted(lab.sql(text), key=repr)


UNORDERED_CALLS = [
    "string(any_value(parse_json(string(v))))",
    "string(mode(make_interval(v)))",
    "string(max_by(parse_json(string(v)), id))",
    "map_keys(any_value(map('a', v)))",
    "size(collect_list(map('a', v)))",
    "max_by(named_struct('m', map('a', v)), id).m['a']",
]


@pytest.mark.parametrize("call", some(2, UNORDERED_CALLS))
def test_values_without_an_order_are_picked_anew(made: Lab, call: str) -> None:
    query = f"SELECT id % 3 AS g, {call} AS x FROM t WHERE v = 3 GROUP BY 1"
    made.dynamic_table("d", query)
    assert (made.mode("d"), made.why("d")) == ("FULL", "UNORDERED")
    made.sql("INSERT INTO t VALUES (50, 3), (51, 4); DELETE FROM t WHERE id = 3")
    assert made.refresh("d") == "FULL"
    assert len(made.rows("d")) == len(made.sql(query))


PICKED = [
    "map_from_entries(any_value(array_sort(map_entries(map('a', v)))))",
    "any_value(to_json(parse_json(string(v))))",
    "max_by(make_dt_interval(v), id) > make_dt_interval(2)",
    "mode(map('a', v))['a']",
]


@pytest.mark.parametrize("call", some(2, PICKED))
def test_values_with_an_order_are_kept(made: Lab, call: str) -> None:
    made.dynamic_table("d", f"SELECT id % 3 AS g, {call} AS x FROM t GROUP BY 1")
    assert (made.mode("d"), made.why("d")) == ("INCREMENTAL", "INCREMENTAL")
    change(made)
    assert made.refresh("d") == "INCREMENTAL"
    made.verified("d")
