"""What a plan computes, whatever its operators: its functions, and the constants that a query
spells out. What of them one plan has and another has not, the other does not compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dt_jupyter.plans.plan_tree import SparkNode

_EXPRESSIONS = "expressions"
_BY_RULES = frozenset({
    "Alias", "And", "AttributeReference", "CaseWhen", "Cast", "Coalesce", "EqualNullSafe",
    "EqualTo", "Exists", "GetArrayItem", "If", "In", "InSet", "InSubquery", "IsNotNull",
    "IsNull", "ListQuery", "Literal", "Not", "Or", "OuterReference", "ScalarSubquery", "SortOrder",
})  # fmt: skip
"""What rules of Spark's optimizer, and ours, write in the place of others."""
_COUNTED = frozenset({"byte", "short", "integer", "long", "boolean"})
"""Types whose constants such rules add, as the number of a grouping set."""


def plan_words(plan: SparkNode) -> frozenset[str]:
    """Classes of functions, and constants as `type value`; not those of aggregates, for which an
    order of their own may be put."""
    return frozenset(word for node in plan.everything() if (word := _word(node)))


def _word(node: SparkNode) -> str | None:
    if node.kind == "Literal":
        kind, value = str(node.fields["dataType"]), node.fields["value"]
        return f"{kind} {value}" if value is not None and kind not in _COUNTED else None
    return node.kind if node.package == _EXPRESSIONS and node.kind not in _BY_RULES else None
