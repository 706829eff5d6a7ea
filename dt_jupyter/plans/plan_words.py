"""What a plan computes, whatever its operators: its functions, and the constants that a query
spells out. What of them one plan has and another has not, the other does not compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dt_jupyter.plans.plan_tree import SparkNode

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_BY_RULES = frozenset({
    "Alias", "And", "AttributeReference", "CaseWhen", "Cast", "Coalesce", "EqualNullSafe",
    "EqualTo", "Exists", "ExprId", "GetArrayItem", "If", "In", "InSet", "InSubquery", "IsNotNull",
    "IsNull", "ListQuery", "Literal", "Not", "Or", "OuterReference", "ScalarSubquery", "SortOrder",
})  # fmt: skip
"""What rules of Spark's optimizer, and ours, write in the place of others."""
_COUNTED = frozenset({"byte", "short", "integer", "long", "boolean"})
"""Types whose constants such rules add, as the number of a grouping set."""


def plan_words(plan: SparkNode) -> frozenset[str]:
    """Classes of functions, and constants as `type value`; not those of aggregates, for which an
    order of their own may be put."""
    return frozenset(_words([node.fields for node in plan.walk()]))


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _words(one)
    elif isinstance(value, dict):
        name = str(value.get("class", ""))
        kind = name.removeprefix(_EXPRESSIONS)
        if kind == "Literal":
            type_ = str(value.get("dataType"))
            if type_ not in _COUNTED and value.get("value") is not None:
                yield f"{type_} {value['value']}"
        elif kind != name and "." not in kind and kind not in _BY_RULES:
            yield kind
        for one in value.values():
            yield from _words(one)
