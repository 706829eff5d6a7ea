"""Plans of Spark Connect as SQL: messages without a server."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dt_jupyter.plans import NoForm, PythonFunction

proto = pytest.importorskip("pyspark.sql.connect.proto")

from dt_jupyter.plans.connect_query import ConnectWriter  # noqa: E402

KNOWN = StructType([StructField("id", LongType()), StructField("g", StringType())])


def write(relation: Any) -> str:
    return ConnectWriter(lambda r: KNOWN).write(relation)


def plan(number: int, **kind: Any) -> Any:
    made = proto.Relation(**kind)
    made.common.plan_id = number
    return made


def read(number: int, name: str) -> Any:
    named = proto.Read.NamedTable(unparsed_identifier=name)
    return plan(number, read=proto.Read(named_table=named))


def column(name: str, number: int | None = None) -> Any:
    found = proto.Expression.UnresolvedAttribute(unparsed_identifier=name)
    if number is not None:
        found.plan_id = number
    return proto.Expression(unresolved_attribute=found)


def call(name: str, *arguments: Any) -> Any:
    made = proto.Expression.UnresolvedFunction(function_name=name, arguments=arguments)
    return proto.Expression(unresolved_function=made)


def number(value: int) -> Any:
    return proto.Expression(literal=proto.Expression.Literal(long=value))


def test_conditions_and_items_stand_in_one_select() -> None:
    condition = call("and", call(">", column("id"), number(1)), call("isNotNull", column("g")))
    kept = plan(2, filter=proto.Filter(input=read(1, "t"), condition=condition))
    text = write(plan(3, project=proto.Project(input=kept, expressions=[column("g", 1)])))
    assert text == "SELECT g\nFROM t AS `t`\nWHERE (((id > 1L) AND (g IS NOT NULL)))"


def test_columns_of_one_name_are_told_by_their_plans() -> None:
    on = call("==", column("id", 1), column("id", 3))
    kept = plan(2, filter=proto.Filter(input=read(1, "t"), condition=call("isNull", column("g"))))
    joined = proto.Join(left=kept, right=read(3, "t"), join_condition=on, join_type=3)
    text = write(plan(4, join=joined))
    assert "LEFT JOIN t AS `t_2` ON (`q`.id = `t_2`.id)" in text


def test_columns_are_added_in_their_places() -> None:
    alias = proto.Expression.Alias(expr=call("upper", column("g")), name=["G"])
    text = write(plan(2, with_columns=proto.WithColumns(input=read(1, "t"), aliases=[alias])))
    assert text.startswith("SELECT `id`, upper(g) AS `g`\nFROM")


@pytest.mark.parametrize("kind", ["unpivot", "hint", "sample"])
def test_an_operator_without_a_form_is_named(kind: str) -> None:
    names = {"unpivot": "Unpivot", "hint": "Hint", "sample": "Sample"}
    made = getattr(proto, names[kind])(input=read(1, "t"))
    with pytest.raises(NoForm, match=kind):
        write(plan(2, **{kind: made}))


def test_a_program_is_told_by_its_name() -> None:
    program = proto.CommonInlineUserDefinedFunction(function_name="mine")
    given = proto.Expression(common_inline_user_defined_function=program)
    with pytest.raises(PythonFunction, match="mine"):
        write(plan(2, project=proto.Project(input=read(1, "t"), expressions=[given])))
