"""The columns of then in the schema of now: followed by id, by the files' name, by name."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.lake import Metadata
from dt_jupyter.model import DTError
from dt_jupyter.replay.digest import told
from dt_jupyter.replay.schema_modes import (
    as_it_was,
    as_now,
    same_columns,
    select_list,
    type_sql,
)
from tests.unit.delta_logs import column, metadata


def of(*columns: Any, id_: str = "t") -> Metadata:
    return Metadata.of(metadata(*columns, id_=id_)["metaData"])


def mapped(name: str, type_: Any = "long", id_: int = 1, physical: str = "") -> dict[str, Any]:
    return column(name, type_, id_, **{"delta.columnMapping.physicalName": physical or name})


def struct(*fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def map_(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def now(then: Metadata, current: Metadata) -> str:
    return select_list(as_now(then, current, "t"))


def test_a_schema_of_its_own_time_leaves_out_hidden_columns_only() -> None:
    then = of(column("a"), column("__dt_h1"), column("b c", "integer"))
    assert select_list(as_it_was(then)) == "`a`, `b c`"
    assert [(c.name, c.type) for c in as_it_was(then)] == [("a", "BIGINT"), ("b c", "INT")]


@pytest.mark.parametrize(
    ("then", "current", "expected"),
    [
        ([column("a")], [column("a"), column("b", "string")], "`a`, CAST(NULL AS STRING) AS `b`"),
        ([column("a"), column("b")], [column("b")], "`b`"),
        ([column("a"), column("b")], [column("b"), column("a")], "`b`, `a`"),
        ([column("A")], [column("a")], "`A` AS `a`"),
        ([column("a", "integer")], [column("a")], "CAST(`a` AS BIGINT) AS `a`"),
        (
            [column("d", "date")],
            [column("d", "timestamp_ntz")],
            "CAST(`d` AS TIMESTAMP_NTZ) AS `d`",
        ),
        (
            [column("a", "decimal(5,2)")],
            [column("a", "decimal(9,4)")],
            "CAST(`a` AS DECIMAL(9,4)) AS `a`",
        ),
        ([column("a", "short")], [column("a", "decimal(7,2)")], "CAST(`a` AS DECIMAL(7,2)) AS `a`"),
    ],
)
def test_by_name_where_there_are_no_ids(then: list[Any], current: list[Any], expected: str) -> None:
    assert now(of(*then), of(*current)) == expected


def test_by_id_where_there_are() -> None:
    then = of(mapped("a", id_=1), mapped("b", id_=2), mapped("c", id_=3))
    current = of(mapped("c", id_=5), mapped("z", id_=2), mapped("a", id_=1))
    assert now(then, current) == "CAST(NULL AS BIGINT) AS `c`, `b` AS `z`, `a`"


def test_by_the_name_in_the_files_where_mapping_came_later() -> None:
    """Mapping turned on keeps the names in the files; what came after it has others."""
    then = of(column("a"), column("b"))
    current = of(mapped("x", id_=1, physical="a"), mapped("b", id_=3, physical="col-7"))
    assert now(then, current) == "`a` AS `x`, CAST(NULL AS BIGINT) AS `b`"


def test_by_name_where_the_mapping_was_taken_off_again() -> None:
    assert now(of(mapped("a", id_=4, physical="col-1")), of(column("a"))) == "`a`"


def test_by_name_where_it_is_another_table() -> None:
    then = of(mapped("a", id_=1), mapped("b", id_=2), id_="one")
    current = of(mapped("b", id_=1), mapped("a", id_=2), id_="another")
    assert now(then, current) == "`b`, `a`"


def test_nested_fields_are_followed_too() -> None:
    old = struct(mapped("x", "integer", 2), mapped("y", "string", 3))
    new = struct(mapped("z", "string", 3), mapped("x", "long", 2), mapped("n", "date", 4))
    assert now(of(mapped("s", old)), of(mapped("s", new))) == (
        "CASE WHEN `s` IS NOT NULL THEN NAMED_STRUCT('z', `s`.`y`, "
        "'x', CAST(`s`.`x` AS BIGINT), 'n', CAST(NULL AS DATE)) END AS `s`"
    )
    assert now(of(mapped("s", old)), of(mapped("s", old))) == "`s`"


def test_within_arrays_and_maps() -> None:
    old = struct(column("k", "integer"))
    new = struct(column("k", "integer"), column("l", "string"))
    made = (
        "CASE WHEN {0} IS NOT NULL THEN NAMED_STRUCT('k', {0}.`k`, 'l', CAST(NULL AS STRING)) END"
    )
    expected = f"TRANSFORM(`a`, __dt_x0 -> {made.format('__dt_x0')}) AS `a`"
    assert now(of(column("a", array(old))), of(column("a", array(new)))) == expected
    expected = f"TRANSFORM_VALUES(`m`, (__dt_k0, __dt_v0) -> {made.format('__dt_v0')}) AS `m`"
    assert (
        now(of(column("m", map_("string", old))), of(column("m", map_("string", new)))) == expected
    )
    expected = "TRANSFORM_KEYS(`m`, (__dt_k0, __dt_v0) -> CAST(__dt_k0 AS BIGINT)) AS `m`"
    maps = map_("integer", "date"), map_("long", "date")
    assert now(of(column("m", maps[0])), of(column("m", maps[1]))) == expected


@pytest.mark.parametrize(
    ("then", "current"),
    [
        ("string", "long"),
        ("long", "integer"),
        ("decimal(9,4)", "decimal(9,5)"),
        ("long", "decimal(10,0)"),
        ("double", "float"),
        ("string", array("string")),
        (array("string"), map_("string", "string")),
        (struct(column("a")), "string"),
        (struct(column("a")), struct(column("a", "string"))),
    ],
)
def test_what_is_no_widening_is_refused_and_named(then: Any, current: Any) -> None:
    with pytest.raises(DTError, match=r"DT-4105.*Column c of t was .* and is .* now"):
        now(of(column("c", then)), of(column("c", current)))


def test_types_as_spark_writes_them() -> None:
    assert type_sql(struct(column("a b", array("byte")), column("m", map_("short", "binary")))) == (
        "STRUCT<`a b`: ARRAY<TINYINT>, `m`: MAP<SMALLINT, BINARY>>"
    )


def words(then: Metadata, current: Metadata) -> str:
    def names(of: Metadata) -> list[tuple[str, str]]:
        return [(c.name, c.type) for c in as_it_was(of)]

    return told(names(current), names(then), same_columns(then, current))


def test_a_rename_is_told_as_one() -> None:
    then = of(mapped("id", id_=1), mapped("a", id_=2), mapped("b", id_=3))
    assert words(then, of(mapped("id", id_=1), mapped("c", id_=2), mapped("b", id_=3))) == "a → c"
    swapped = of(mapped("id", id_=1), mapped("b", id_=2), mapped("a", id_=3))
    assert words(then, swapped) == "a → b, b → a"
    anew = of(mapped("id", id_=1), mapped("c", id_=2), mapped("b", id_=3), mapped("a", id_=4))
    assert words(then, anew) == "a → c, +a BIGINT"
    taken = of(mapped("id", id_=1), mapped("b", id_=2))
    assert words(then, taken) == "a → b, −b"
    wider = of(mapped("id", id_=1), mapped("A", "decimal(20,0)", id_=2), mapped("b", id_=3))
    assert words(then, wider) == "a → A, A BIGINT → DECIMAL(20,0)"


def test_a_rename_since_before_columns_had_ids_is_told_as_one() -> None:
    then = of(column("id"), column("a"))
    assert words(then, of(mapped("id", id_=1), mapped("b", id_=2, physical="a"))) == "a → b"


def test_another_table_is_compared_by_names() -> None:
    then, other = of(mapped("a", id_=1)), of(mapped("b", id_=1), id_="other")
    assert words(then, other) == "+b BIGINT, −a"


def test_columns_whose_ids_alone_are_new_are_no_change() -> None:
    """An overwrite of the schema gives every column another id."""
    then, anew = of(mapped("a b", id_=1)), of(mapped("a b", id_=7))
    assert words(then, anew) == ""
