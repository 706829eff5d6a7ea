"""The values of literals that the JSON of a plan does not have, as bytes, arrays and structs: asked
of the plan itself, which writes them as SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dt_jupyter.plans.literal_sql import ddl_type
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_tree import SparkNode

LITERAL_TEXT = "text"
"""The field of a literal's SQL."""
_SUBQUERIES = frozenset({"ScalarSubquery", "Exists", "ListQuery", "LateralSubquery"})
_UPDATE = "UpdateFields"
_REPLACED = "org.apache.spark.sql.catalyst.optimizer.ReplaceUpdateFieldsExpression$"


def fill_literals(plan: SparkNode, original: Any) -> None:
    """Puts the texts of such literals into a tree. NoForm where two are not told from each
    other."""
    wanted = [d for node in plan.walk() for d in _literals(node.fields)]
    if not wanted:
        return
    known: dict[str, str] = {}
    for literal in _of_plan(original):
        kind = json.loads(literal.dataType().json())
        if _is_silent(kind) and literal.value() is not None:
            key, text = _key(str(literal.toJSON())), _typed(str(literal.sql()), kind)
            if known.setdefault(key, text) != text:
                raise NoForm("two literals that Spark writes alike")
    for fields in wanted:
        key = _key(json.dumps([fields]))
        if key in known:
            fields[LITERAL_TEXT] = known[key]


def without_updates(spark: Any, plan: SparkNode, original: Any) -> Any:
    """A plan whose structs with a field more, or less, are written out, as Spark itself does it;
    the same where it has none."""
    from py4j.java_gateway import JavaClass

    if not any(_UPDATE in str(c) for node in plan.walk() for c in _classes(node.fields)):
        return original
    rule = JavaClass(_REPLACED, spark._jvm._gateway_client)
    return getattr(rule, "MODULE$").apply(original)


def require_no_description(plan: SparkNode) -> None:
    """NoForm for `describe` and `summary`: they write means and deviations as texts, which are
    others where rows are added up in another order."""
    for node in plan.walk():
        if node.kind != "Generate" or [n.name for n in node.trees("generatorOutput")] != [
            "summary"
        ]:
            continue
        generator = node.tree("generator")
        if generator is not None and any(n.kind == "Literal" for n in generator.children):
            raise NoForm("describe() and summary() (select the aggregates: df.agg(F.avg(…), …))")


def _typed(text: str, kind: Any) -> str:
    """A constructor has elements that are never NULL, where the type may say that they are."""
    empty = text.endswith("()")
    return f"CAST({text} AS {ddl_type(kind)})" if empty or _has_nulls(kind) else text


def _has_nulls(kind: Any) -> bool:
    return isinstance(kind, dict) and bool(
        kind.get("containsNull") or kind.get("valueContainsNull")
    )


def _is_silent(kind: Any) -> bool:
    return kind == "binary" or isinstance(kind, dict)


def _key(text: str) -> str:
    (fields, *_) = json.loads(text)
    return json.dumps([fields["value"], fields["dataType"]], sort_keys=True)


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from _dicts(part)


def _literals(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for found in _dicts(fields):
        named = str(found.get("class", "")).endswith(".expressions.Literal")
        if named and found["value"] is not None and _is_silent(found["dataType"]):
            yield found


def _classes(fields: dict[str, Any]) -> Iterator[Any]:
    return (found["class"] for found in _dicts(fields) if "class" in found)


def _of_plan(plan: Any) -> Iterator[Any]:
    expressions, below = plan.expressions(), plan.children()
    for i in range(expressions.size()):
        yield from _of_expression(expressions.apply(i))
    for i in range(below.size()):
        yield from _of_plan(below.apply(i))


def _of_expression(expression: Any) -> Iterator[Any]:
    kind = expression.getClass().getSimpleName()
    if kind == "Literal":
        yield expression
    if kind in _SUBQUERIES:
        yield from _of_plan(expression.plan())
    children = expression.children()
    for i in range(children.size()):
        yield from _of_expression(children.apply(i))


__all__ = ["LITERAL_TEXT", "fill_literals", "require_no_description", "without_updates"]
