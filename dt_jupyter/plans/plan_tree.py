"""Spark's own tree of a plan, as it writes it: nodes with their fields and children."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.spark import as_active, confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkNode:
    """An operator or an expression: the class that Spark has of it, without its package, its
    fields by name, and its children in order."""

    kind: str
    fields: dict[str, Any]
    children: tuple[SparkNode, ...]

    @property
    def child(self) -> SparkNode:
        """The first child. NoForm where there is none."""
        if not self.children:
            raise NoForm(f"what is below {self.kind}")
        return self.children[0]

    @property
    def id(self) -> int:
        """Of what names a column: the number by which Spark tells it from all others. NoForm where
        there is none."""
        return int(self._of_column("exprId")["id"])

    @property
    def name(self) -> str:
        return str(self._of_column("name"))

    def _of_column(self, field: str) -> Any:
        """What a column says of itself; of a column of the query around, what that one says."""
        inner = self.tree("e") if self.kind == "OuterReference" else self
        if inner is None or field not in inner.fields:
            raise NoForm(f"a column that is {self.kind}")
        return inner.fields[field]

    def tree(self, field: str) -> SparkNode | None:
        """The expression or plan in a field; None where it is empty."""
        value = self.fields.get(field)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return tree_of(value)
        return self.children[value] if isinstance(value, int) and value is not True else None

    def trees(self, field: str) -> tuple[SparkNode, ...]:
        """The expressions in a field that holds several."""
        return tuple(
            self.children[v] if isinstance(v, int) else tree_of(v) for v in self.fields[field] or ()
        )

    def word(self, field: str) -> str:
        """What a field says that is one of a few, as the kind of a join."""
        value = self.fields.get(field) or {}
        return _short(str(value.get("object") or value.get("product-class") or ""))

    def walk(self) -> Iterator[SparkNode]:
        """This and all that is below it by children; not what stands in other fields."""
        yield self
        for child in self.children:
            yield from child.walk()


def read_java_plan(spark: SparkSession, plan: Any) -> SparkNode:
    """The tree of a plan of classic Spark. NoForm for a CASE in a CASE in many more: Spark writes
    what stands in one twice, so each of them doubles the text (14 of them: 20 MB)."""
    depth = 0
    with as_active(spark), confs(spark, _ALL_FIELDS):
        text = str(plan.toString())
    for word in _CASE.findall(text):
        depth = depth + 1 if word == "CASE" else max(depth - 1, 0)
        if depth > DEEPEST_CASE:
            raise NoForm(f"CASE in CASE, more than {DEEPEST_CASE} deep")
    return read_plan(plan.toJSON())


DEEPEST_CASE = 10
_ALL_FIELDS = {"spark.sql.debug.maxToStringFields": str(1 << 30)}
_CASE = re.compile(r"\b(?:CASE|END)\b")


def read_plan(text: str) -> SparkNode:
    """The tree that Spark writes as JSON: a list of nodes, each before its children."""
    return tree_of(json.loads(text))


def tree_of(flat: Sequence[dict[str, Any]]) -> SparkNode:
    node, end = _read(flat, 0)
    if end != len(flat):
        raise NoForm("a plan that Spark wrote incompletely")
    return node


def _read(flat: Sequence[dict[str, Any]], at: int) -> tuple[SparkNode, int]:
    fields, children, end = flat[at], [], at + 1
    for _ in range(fields["num-children"]):
        child, end = _read(flat, end)
        children.append(child)
    return SparkNode(_short(fields["class"]), fields, tuple(children)), end


def _short(name: str) -> str:
    return name.rstrip("$").rpartition(".")[2].rpartition("$")[2]
