"""What a plan of Spark's reads, from its JSON: tables, views with what is in them, and files.

Pure. A plan as JSON is an array of nodes in the order of a walk from the root, each with the number
of its children; a plan within an expression, or within a command, is such an array in a field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dt_jupyter.model import Name

_Node = Mapping[str, Any]
_CLASS = "class"
_TARGETS = {
    "AppendData": ("table",),
    "OverwriteByExpression": ("table",),
    "OverwritePartitionsDynamic": ("table",),
}
"""The fields of a write that hold its target, which it does not read."""
_NAMED = ("name", "tableName", "table", "tableIdent", "catalogTable")
"""The fields of a command that may name its target."""
_NO_DATA = frozenset({
    "LocalRelation", "OneRowRelation", "Range", "LogicalRDD", "ExternalRDD", "CTERelationRef",
    "UnionLoopRef", "ResolvedTable", "ResolvedIdentifier", "ResolvedPersistentView",
    "ResolvedTempView", "ResolvedNamespace", "UnresolvedNamespace", "CommandResult",
    "EmptyRelation",
})  # fmt: skip
"""Leaves without files behind them: rows of the session, references, and what commands name."""


class ReadKind(StrEnum):
    TABLE = "table"
    VIEW = "view"
    TEMPORARY_VIEW = "temporary view"
    FILES = "files"


@dataclass(frozen=True)
class PlanRead:
    """A relation of a plan; `inner` is what a view reads. Files have no name."""

    kind: ReadKind
    name: Name | None = None
    inner: tuple[PlanRead, ...] = ()


@dataclass(frozen=True)
class PlanFacts:
    """The class of the root, what is read, the classes of all nodes and expressions, the target
    that the root names, and whether it says that it replaces it."""

    root: str
    reads: tuple[PlanRead, ...]
    classes: frozenset[str]
    target: Name | None = None
    replaces: bool = False


def facts_of(nodes: Sequence[_Node], own: frozenset[str] = frozenset()) -> PlanFacts:
    """Of a plan as JSON; the temporary views of `own` are not looked into."""
    root = _simple(nodes[0])
    reader = _Reader(own, set())
    reads = tuple(reader.tree(nodes, _TARGETS.get(root, ())))
    return PlanFacts(
        root, reads, frozenset(reader.classes), _target(nodes[0]), nodes[0].get("replace") is True
    )


@dataclass
class _Reader:
    own: frozenset[str]
    classes: set[str]

    def tree(self, nodes: Sequence[_Node], skipped: tuple[str, ...] = ()) -> Iterator[PlanRead]:
        """Of an array of nodes; `skipped` are fields of the root."""
        at = 0
        while at < len(nodes):
            found, at = self._node(nodes, at, skipped if at == 0 else ())
            yield from found

    def _node(
        self, nodes: Sequence[_Node], at: int, skipped: tuple[str, ...] = ()
    ) -> tuple[list[PlanRead], int]:
        """What is read at and below a node, and the place after it."""
        node, kind = nodes[at], _simple(nodes[at])
        self.classes.add(kind)
        found = [r for k, v in node.items() if k not in skipped for r in self._field(v)]
        is_plan = not node[_CLASS].startswith("org.apache.spark.sql.catalyst.expressions.")
        place, inner = at + 1, list[PlanRead]()
        for _ in range(int(node["num-children"])):
            below, place = self._node(nodes, place)
            inner += below
        if kind == "View":
            return [*found, self._view(node, tuple(inner))], place
        if is_plan and not node["num-children"] and kind not in _NO_DATA:
            found += _leaf(node, kind)
        return [*found, *inner], place

    def _field(self, value: object) -> Iterator[PlanRead]:
        """Of a field that holds trees, or lists of them."""
        if isinstance(value, list) and value:
            if isinstance(value[0], dict) and _CLASS in value[0]:
                yield from self.tree(value)
            elif isinstance(value[0], list | dict):
                for each in value:
                    yield from self._field(each)
        elif isinstance(value, dict):
            for each in value.values():
                yield from self._field(each)

    def _view(self, node: _Node, inner: tuple[PlanRead, ...]) -> PlanRead:
        name = _identifier(node["desc"].get("identifier"))
        if not node.get("isTempView"):
            return PlanRead(ReadKind.VIEW, name, inner)
        table = str(node["desc"]["identifier"]["table"]).lower()
        return PlanRead(ReadKind.TEMPORARY_VIEW, None, () if table in self.own else inner)


def _leaf(node: _Node, kind: str) -> Iterator[PlanRead]:
    table = node.get("catalogTable") or node.get("tableMeta")
    if isinstance(table, dict):
        name = _identifier(table.get("identifier"))
        if name is not None and name.schema not in FILE_SCHEMAS:
            yield PlanRead(ReadKind.TABLE, name)
            return
    if _IS_RELATION.search(kind):
        yield PlanRead(ReadKind.FILES)


FILE_SCHEMAS = frozenset(("avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text"))
"""Schemas by which Spark means files."""
_IS_RELATION = re.compile(r"Relation|Scan|Files|Stream")
"""Leaves that are not known are commands, unless they are called so."""


def _target(root: _Node) -> Name | None:
    for field in _NAMED:
        value = root.get(field)
        if isinstance(value, dict):
            name = _identifier(value.get("identifier", value))
            if name is not None:
                return name
    return None


def _identifier(value: object) -> Name | None:
    """A TableIdentifier with a schema."""
    if not isinstance(value, dict) or "table" not in value or not value.get("database"):
        return None
    return Name(str(value["database"]), str(value["table"]))


def _simple(node: _Node) -> str:
    return str(node[_CLASS]).rpartition(".")[2]
