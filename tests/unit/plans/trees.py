"""Trees of plans without Spark: nodes in a list, each before its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dt_jupyter.plans.plan_tree import SparkNode


@dataclass(frozen=True)
class Written:
    """A node that `children` of the next ones are below."""

    kind: str
    children: int
    is_plan: bool
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Child:
    """In a field: the child at a place."""

    place: int


Flat = Sequence[Written]


def operator(kind: str, children: int = 1, **fields: Any) -> Written:
    return Written(kind, children, True, fields)


def expression(kind: str, children: int = 0, **fields: Any) -> Written:
    return Written(kind, children, False, fields)


def word(name: str) -> dict[str, str]:
    return {"class": name}


def column(name: str, number: int, **fields: Any) -> Written:
    known = {"name": name, "exprId": {"id": number}, "dataType": "long", **fields}
    return expression("AttributeReference", **known)


def alias(name: str, number: int, *call: Written) -> list[Written]:
    return [expression("Alias", 1, name=name, exprId={"id": number}), *call]


def number(value: str | None, kind: str = "long") -> Written:
    return expression("Literal", value=value, dataType=kind)


def tree_of(flat: Flat) -> SparkNode:
    node, end = _read(flat, 0)
    assert end == len(flat)
    return node


def _read(flat: Flat, at: int) -> tuple[SparkNode, int]:
    written, children, end = flat[at], [], at + 1
    for _ in range(written.children):
        child, end = _read(flat, end)
        children.append(child)
    fields = {name: _value(v, children) for name, v in written.fields.items()}
    kind = fields.get("dataType")
    return SparkNode(
        written.kind, fields, tuple(children), "", written.is_plan, kind, True, True
    ), end


def _value(value: Any, children: Sequence[SparkNode]) -> Any:
    """A list of nodes is a tree; one of lists has several."""
    if isinstance(value, Child):
        return children[value.place]
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], Written):
        return tree_of(value)
    return [_value(v, children) for v in value]
