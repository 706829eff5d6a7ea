"""Documents of plans as they are read, without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dt_jupyter.plans import NoForm
from dt_jupyter.plans.plan_document import digest_document, read_document
from dt_jupyter.plans.plan_form import plan_form
from dt_jupyter.plans.plan_tree import TextSpan, Unknown


def node(kind: str, *children: int, **more: Any) -> dict[str, Any]:
    return {"class": kind, "package": "", "children": list(children), "fields": {}, **more}


def value(kind: str, *children: int, **fields: Any) -> dict[str, Any]:
    known = {"type": 0, "nullable": True, "deterministic": True}
    return node(kind, *children, **known, fields=fields)


def document(*nodes: dict[str, Any], version: int = 1) -> str:
    return json.dumps({"version": version, "spark": "4", "types": ["integer"], "nodes": nodes})


def project(number: int, literal: str, alias: str = "t", origin: list[Any] | None = None) -> str:
    column = value("AttributeReference", name="v", exprId={"id": number}, qualifier=[alias])
    leaf = node("LogicalRDD", fields={"output": [{"node": 0}], "rdd": {"unknown": "x.Rdd"}})
    return document(
        column,
        leaf,
        node("SubqueryAlias", 1, fields={"identifier": {"class": "Name", "name": alias}}),
        value("Literal", value=literal, dataType={"type": 0}),
        {**value("Add", 0, 3, left={"node": 0}, right={"node": 3},
                 evalContext={"class": "NumericEvalContext", "evalMode": {"class": "TRY"}}),
         "origin": origin or [2, 1, 10, 14, None]},
        value("Alias", 4, child={"node": 4}, name="w", exprId={"id": number + 1}),
        node("Project", 2, fields={"projectList": [{"node": 5}], "options": {"map": [["a", 1]]}}),
    )  # fmt: skip


def test_a_node_is_one_however_often_it_is_reached() -> None:
    plan = read_document(project(7, "1"))
    (alias,) = plan.trees("projectList")
    add = alias.child
    column, _ = add.children
    (leaf,) = (n for n in plan.walk() if not n.children)
    assert leaf.trees("output") == (column,)
    assert (alias.name, alias.id, column.id, add.type) == ("w", 8, 7, "integer")
    assert (plan.fields["options"], plan.is_plan, add.is_plan) == ({"a": 1}, True, False)
    assert (add.origin, add.eval_mode) == (TextSpan(2, 1, 10, 14), "TRY")
    assert [n.kind for n in plan.everything()].count("AttributeReference") == 1
    assert (leaf.unknown, leaf.fields["rdd"], plan.unknown) == (("rdd",), Unknown("x.Rdd"), ())


def test_a_digest_is_of_what_is_said() -> None:
    digest = digest_document(project(7, "1"))
    assert digest == digest_document(project(1000, "1", "other", [1, 0, 0, 4, "view"]))
    assert digest != digest_document(project(7, "2"))


def test_a_digest_is_the_same_where_spark_names_a_column_by_its_number() -> None:
    """As it does of what EXISTS selects of the query around."""
    one, other = (project(n, "1").replace('"w"', f'"v#{n}"') for n in (7, 1000))
    assert digest_document(one) == digest_document(other) != digest_document(project(7, "1"))


def test_a_chain_of_shared_nodes_is_walked_in_linear_time() -> None:
    nodes = [value("Literal", value="1")]
    nodes += [value("Add", i, i, left={"node": i}, right={"node": i}) for i in range(60)]
    plan = read_document(document(*nodes))
    assert len(list(plan.walk())) == len(list(plan.everything())) == 61
    nodes += [node("OneRowRelation"), value("Alias", 60, name="x", exprId={"id": 1})]
    nodes += [node("Project", 61, fields={"projectList": [{"node": 62}]})]
    _, columns = plan_form(read_document(document(*nodes)))
    assert len(columns) == 1


def test_another_version_is_refused() -> None:
    with pytest.raises(NoForm, match="version 2"):
        read_document(document(node("OneRowRelation"), version=2))
