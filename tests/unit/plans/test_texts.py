"""Literals, types and names of functions, as the JSON of Spark's plans has them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as T

from dt_jupyter.plans import NoForm
from dt_jupyter.plans.function_names import sql_function
from dt_jupyter.plans.literal_sql import ddl_type, literal_sql, spelled_sql
from dt_jupyter.plans.local_rows_sql import values_sql
from dt_jupyter.plans.plan_tree import Unknown
from dt_jupyter.plans.query_sql import FromText, QueryWriter, catalog_text
from dt_jupyter.plans.select_text import unique_names
from tests.unit.plans.trees import (
    Child,
    Written,
    alias,
    column,
    expression,
    number,
    operator,
    tree_of,
    word,
)

BUILTINS = frozenset({"sum", "date_format", "array_contains", "var_samp"})


@pytest.mark.parametrize(
    ("value", "kind", "sql"),
    [
        ("5", "integer", "5"),
        ("-5", "long", "-5L"),
        ("1.50", "decimal(3,2)", "1.50"),
        ("1.50", "decimal(10,2)", "CAST('1.50' AS DECIMAL(10,2))"),
        ("0.00", "decimal(2,2)", "0.00"),
        ("1E+3", "decimal(10,0)", "CAST('1E+3' AS DECIMAL(10,0))"),
        ("1.0E-7", "double", "1.0E-7D"),
        ("NaN", "float", "CAST('NaN' AS FLOAT)"),
        ("it's \\", "string", "'it\\'s \\\\'"),
        ("2026-01-02", "date", "DATE'2026-01-02'"),
        ("93784000000", "interval day to second", "INTERVAL '1 02:03:04.000000' DAY TO SECOND"),
        ("-259200000000", "interval day", "INTERVAL '-3' DAY"),
        ("14", "interval year to month", "INTERVAL '1-2' YEAR TO MONTH"),
        (None, "void", "NULL"),
        (None, {"type": "array", "elementType": "long"}, "CAST(NULL AS ARRAY<BIGINT>)"),
    ],
)
def test_a_literal_is_written_with_its_type(value: str | None, kind: Any, sql: str) -> None:
    assert literal_sql(value, kind) == sql


@pytest.mark.parametrize("kind", ["binary", "interval", "timestamp_ntz", {"type": "map"}])
def test_a_literal_that_the_plan_does_not_tell_is_none(kind: Any) -> None:
    with pytest.raises(NoForm):
        literal_sql("[B@1", kind)


def test_a_value_that_spark_spells_has_its_type() -> None:
    nulls = {"type": "array", "elementType": "integer", "containsNull": True}
    assert spelled_sql("ARRAY(1)", {**nulls, "containsNull": False}) == "ARRAY(1)"
    assert spelled_sql("ARRAY(1)", nulls) == "CAST(ARRAY(1) AS ARRAY<INT>)"
    assert spelled_sql("X'01'", "binary") == "X'01'"
    with pytest.raises(NoForm):
        spelled_sql(Unknown("variant"), nulls)


def test_types_are_written_to_any_depth() -> None:
    field = {"name": "a b", "type": {"type": "map", "keyType": "string", "valueType": "double"}}
    assert ddl_type({"type": "struct", "fields": [field]}) == "STRUCT<`a b`: MAP<STRING, DOUBLE>>"
    with pytest.raises(NoForm, match="udt"):
        ddl_type({"type": "udt"})


def test_a_function_is_found_by_the_name_of_its_class() -> None:
    found = [sql_function(k, BUILTINS) for k in ("Sum", "DateFormatClass", "ArrayContains")]
    assert found == ["sum", "date_format", "array_contains"]
    assert sql_function("VarianceSamp", BUILTINS) == "var_samp"
    assert sql_function("KnownNotNull", BUILTINS) is None


def test_names_differ_whatever_their_case() -> None:
    assert unique_names(["id", "ID", "id_2", ""]) == ("id", "ID_2", "id_2_2", "column")


def test_rows_at_hand_are_values_of_their_types() -> None:
    one = T.StructType([T.StructField("x", T.IntegerType())])
    kinds = (T.IntegerType(), T.StringType(), T.DecimalType(4, 2), T.TimestampType(),
             T.DateType(), T.ArrayType(one), T.BinaryType())  # fmt: skip
    schema = T.StructType([T.StructField(f"c{i}", kind) for i, kind in enumerate(kinds)])
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    row = (1, "it's", Decimal("1.5"), moment, date(2026, 1, 2), [{"x": None}], b"\x01")
    text = values_sql([dict(zip(schema.names, row, strict=True))], schema)
    assert text == (
        "VALUES (CAST(1 AS int), 'it\\'s', CAST('1.5' AS decimal(4,2)), "
        "timestamp_micros(1767225600000000), CAST('2026-01-02' AS date), "
        "CAST(array(CAST(named_struct('x', CAST(NULL AS int)) AS struct<x:int>)) "
        "AS array<struct<x:int>>), X'01')"
    )
    assert (
        values_sql([], T.StructType(schema.fields[:1])) == "(SELECT CAST(NULL AS int) WHERE FALSE)"
    )


# -- plans as Spark writes them --------------------------------------------------------------------


def table(name: str, *columns: tuple[str, int]) -> Written:
    identifier = {"table": name, "database": "default"}
    output = [[column(*c)] for c in columns]
    known = {"identifier": identifier}
    return operator("LogicalRelation", 0, catalogTable=known, output=output)


def leaf(node: Any) -> FromText:
    return catalog_text(node.fields["catalogTable"]["identifier"])


def write(*flat: Written) -> str:
    return QueryWriter(leaf, BUILTINS).write(tree_of(flat))


def test_what_fits_into_one_select_is_written_as_one() -> None:
    condition = [expression("GreaterThan", 2), column("id", 1),
                 number("1")]  # fmt: skip
    text = write(
        operator("Project", projectList=[[column("id", 1)]]),
        operator("Filter", condition=condition),
        operator("SubqueryAlias"),
        table("t", ("id", 1), ("v", 2)),
    )
    assert text == "SELECT `t`.`id`\nFROM `default`.`t` AS `t`\nWHERE (`t`.`id` > 1L)"


def test_two_columns_of_one_name_stay_two() -> None:
    text = write(
        operator("Filter", condition=[expression("IsNotNull", 1), column("id", 3)]),
        operator("Window", windowExpressions=[], partitionSpec=[], orderSpec=[]),
        operator("Join", 2, joinType=word("Inner")),
        table("t", ("id", 1)),
        table("t", ("id", 3)),
    )
    assert "SELECT `t`.`id`, `t_2`.`id` AS `id_2`\nFROM `default`.`t` AS `t`\n" in text
    assert text.startswith("SELECT `q`.`id`, `q`.`id_2` AS `id`\nFROM (")
    assert text.endswith("WHERE (`q`.`id_2` IS NOT NULL)")


def test_a_date_and_an_interval_of_days_are_written_as_such() -> None:
    days = number("259200000000", "interval day")
    item = [
        expression("Alias", 1, name="x", exprId={"id": 4}),
        expression("DateAdd", 2), column("d", 1),
        expression("UnaryMinus", 1), expression("ExtractANSIIntervalDays", 1), days,
    ]  # fmt: skip
    text = write(operator("Project", projectList=[item]), table("t", ("d", 1)))
    assert text.startswith("SELECT `t`.`d` - INTERVAL '3' DAY AS `x`\n")


def test_a_pivot_by_several_columns_is_none() -> None:
    pair = column("p", 1, dataType={"type": "struct"})
    first = expression("PivotFirst", 2, pivotColumnValues=[])
    call = [
        expression("Alias", 1, name="x", exprId={"id": 4}),
        expression("AggregateExpression", 1, isDistinct=False),
        first, pair, column("v", 2),
    ]  # fmt: skip
    with pytest.raises(NoForm, match="a pivot by other values"):
        write(
            operator("Aggregate", groupingExpressions=[], aggregateExpressions=[call]),
            table("t", ("p", 1), ("v", 2)),
        )


def test_an_operator_that_is_not_known_is_named() -> None:
    with pytest.raises(NoForm, match="an as-of join"):
        write(operator("AsOfJoin", 0))
    with pytest.raises(NoForm, match="the operator NewOne"):
        write(operator("NewOne", 0))


def test_between_is_written_as_such_and_as_what_it_comes_to_where_its_columns_are_others() -> None:
    shared = [
        expression("With", 2),
        expression("And", 2),
        expression("GreaterThanOrEqual", 2), expression("CommonExpressionRef", id=0), number("1"),
        expression("LessThanOrEqual", 2), expression("CommonExpressionRef", id=0), number("5"),
        expression("CommonExpressionDef", 1, id=0), column("id", 1),
    ]  # fmt: skip

    def text(read: int) -> str:
        call = expression(
            "Between", 1, proj=[column("id", read)], lower=[number("1")], upper=[number("5")],
            replacement=Child(0),
        )  # fmt: skip
        return write(operator("Filter", condition=[call, *shared]), table("t", ("id", 1)))

    assert text(1).endswith("WHERE (`t`.`id` BETWEEN 1L AND 5L)")
    assert text(7).endswith("WHERE (((`t`.`id`) >= 1L) AND ((`t`.`id`) <= 5L))")


def test_what_is_ordered_by_a_column_that_is_not_shown_stays_one_select() -> None:
    text = write(
        operator("GlobalLimit", limitExpr=[number("2", "integer")]),
        operator("Project", projectList=[[column("id", 1)]]),
        operator(
            "Sort", order=[[expression("SortOrder", 1, direction=word("Ascending"),
                                       nullOrdering=word("NullsFirst")), column("v", 2)]],
            **{"global": True},
        ),
        table("t", ("id", 1), ("v", 2)),
    )  # fmt: skip
    assert text == "SELECT `t`.`id`\nFROM `default`.`t` AS `t`\nORDER BY `t`.`v`\nLIMIT 2"


def test_a_union_of_distinct_rows_is_one() -> None:
    text = write(
        operator("Distinct"),
        operator("Union", 2, byName=False),
        table("t", ("id", 1)),
        table("u", ("id", 2)),
    )
    assert "\nUNION\n" in text
    assert "DISTINCT" not in text


def test_a_bit_of_what_tells_grouping_sets_apart_is_grouping() -> None:
    mark = column("spark_grouping_id", 5)
    bit = [
        expression("Cast", 1, dataType="byte"), expression("BitwiseAnd", 2),
        expression("ShiftRight", 2), mark, number("1", "integer"), number("1"),
    ]  # fmt: skip
    null = number(None)
    rows = [
        [[column("k", 1)], [column("v", 2)], [number("0")]],
        [[column("k", 1)], [null], [number("1")]],
    ]
    keys = [[column("k", 3)], [column("v", 4)], [mark]]
    text = write(
        operator("Aggregate", groupingExpressions=keys, aggregateExpressions=[alias("g", 9, *bit)]),
        operator("Expand", projections=rows, output=keys),
        table("t", ("k", 1), ("v", 2)),
    )
    assert text.startswith("SELECT grouping(`q`.`k`) AS `g`\n")
