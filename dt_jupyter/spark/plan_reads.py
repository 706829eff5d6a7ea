"""What a plan of Spark's reads: tables, views with what is in them, and files.

Pure: `PlanSurvey.java` says what a plan consists of.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dt_jupyter.model import Name

_Names = Mapping[str, Sequence[str]]
_TARGETS = {
    "AppendData": ("table",),
    "OverwriteByExpression": ("table",),
    "OverwritePartitionsDynamic": ("table",),
}
"""The fields of a write that hold its target, which it does not read."""
_NAMED = ("name", "tableName", "table", "tableIdent", "catalogTable")
"""The fields of a command that may name its target."""


class LeafNeed(StrEnum):
    """The meaning of a leaf of a plan that is not a command and names no table."""

    NOTHING = "no files: rows of the session, references, what commands name, what is not found"
    FILES = "files, whose paths the plan has"
    UNKNOWN = "what the plan does not show"


_NOTHING = """
CDCNameBased CDCPathBased CTERelationRef ClusterByPlan CommandResult CurrentNamespace$ EmptyRelation
ExternalRDD LocalRelation LogicalRDD OneRowRelation Range RelationChanges RelationTimeTravel
ResolvedIdentifier ResolvedInlineTable ResolvedNamespace ResolvedNonPersistentFunc
ResolvedPathBasedNonDeltaTable ResolvedPersistentFunc ResolvedPersistentView ResolvedProcedure
ResolvedTable ResolvedTempView TimeTravel Transpose UnionLoopRef UnresolvedCteRelationRef
UnresolvedExecuteImmediate UnresolvedFunctionName UnresolvedIdentifier UnresolvedInlineTable
UnresolvedNamespace UnresolvedPathBasedDeltaTable UnresolvedPathBasedTable UnresolvedProcedure
UnresolvedRelation UnresolvedTable UnresolvedTableOrView UnresolvedTableValuedFunction
UnresolvedView
"""
_FILES = "DataSourceV2Relation LogicalRelation UnresolvedPathBasedDeltaTableRelation"
_UNKNOWN = """
DataSourceV2ScanRelation DummyExpressionHolder ExpressionLogicalPlanWrapper HiveTableRelation
InMemoryRelation LogicalQueryStage MemoryPlan NonGroupingAggregateReference OffsetHolder
PythonWorkerLogs SQLTableFunction ScanBuilderHolder StreamingDataSourceV2Relation
StreamingDataSourceV2ScanRelation StreamingExecutionRelation StreamingRelation StreamingRelationV2
TemporaryViewRelation UnresolvedCatalogRelation UnresolvedDataSource V2TableReference
"""
LEAVES: Mapping[str, LeafNeed] = {
    name: need
    for need, names in (
        (LeafNeed.NOTHING, _NOTHING),
        (LeafNeed.FILES, _FILES),
        (LeafNeed.UNKNOWN, _UNKNOWN),
    )
    for name in names.split()
}
"""By its class. The table is closed: another one is UNKNOWN, and a test fails until it is in it.
Source: the classes under `LeafNode` in the jars of Spark 4.2 and Delta 4.4."""


class ReadKind(StrEnum):
    TABLE = "table"
    VIEW = "view"
    TEMPORARY_VIEW = "temporary view"
    FILES = "files"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class PlanRead:
    """A relation of a plan; `inner` is what a view reads. Files, and what the plan does not
    show, have no name."""

    kind: ReadKind
    name: Name | None = None
    inner: tuple[PlanRead, ...] = ()


@dataclass(frozen=True)
class PlanFacts:
    """The class of the root, what is read, the classes of all nodes and expressions, the target
    that the root names, and whether it says that it replaces it; `acts` where a node is a command,
    or what the parser makes of one; `options` are the names of the options that anything in it is
    given, "?" one whose name is computed."""

    root: str
    reads: tuple[PlanRead, ...]
    classes: frozenset[str]
    target: Name | None = None
    replaces: bool = False
    acts: bool = False
    options: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SurveyedNode:
    """A node of a plan: `up` is the place of the one above it, `field` that one's field, "" for a
    child; `names` are the tables that its own fields name, `flags` those of its fields that are
    true; `acts` says that it is a command, or what the parser makes of one."""

    kind: str
    up: int
    field: str
    names: _Names
    flags: Sequence[str]
    acts: bool


def facts_of(survey: Mapping[str, Any], own: frozenset[str] = frozenset()) -> PlanFacts:
    """Of a plan; the temporary views of `own` are not looked into."""
    nodes = [SurveyedNode(*fields) for fields in survey["nodes"]]
    root = nodes[0]
    return PlanFacts(
        root.kind,
        tuple(_reads(nodes, own)),
        frozenset(survey["classes"]),
        _target(root),
        "replace" in root.flags,
        survey["acts"],
        frozenset(survey["options"]),
    )


def _reads(nodes: Sequence[SurveyedNode], own: frozenset[str]) -> Iterator[PlanRead]:
    """From the leaves up: a plan may be deeper than Python calls functions."""
    children: list[deque[PlanRead]] = [deque() for _ in nodes]
    fields: list[deque[PlanRead]] = [deque() for _ in nodes]
    parents = {node.up for node in nodes if not node.field}
    for at in range(len(nodes) - 1, 0, -1):
        node = nodes[at]
        found = [*fields[at], *_inner(node, children[at], own, is_leaf=at not in parents)]
        skipped = node.up == 0 and node.field in _TARGETS.get(nodes[0].kind, ())
        if not skipped:
            (fields if node.field else children)[node.up].extendleft(reversed(found))
    yield from fields[0]
    yield from _inner(nodes[0], children[0], own, is_leaf=0 not in parents)


def _inner(
    node: SurveyedNode, below: Sequence[PlanRead], own: frozenset[str], *, is_leaf: bool
) -> Sequence[PlanRead]:
    """What a node reads, its fields aside."""
    if node.kind == "View":
        return [_view(node, tuple(below), own)]
    return list(_leaf(node)) if is_leaf else below


def _view(node: SurveyedNode, below: tuple[PlanRead, ...], own: frozenset[str]) -> PlanRead:
    schema, table = node.names["desc"]
    if "isTempView" not in node.flags:
        return PlanRead(ReadKind.VIEW, _name(schema, table), below)
    return PlanRead(ReadKind.TEMPORARY_VIEW, None, () if table.lower() in own else below)


def _leaf(node: SurveyedNode) -> Iterator[PlanRead]:
    found = node.names.get("catalogTable") or node.names.get("tableMeta")
    name = _name(*found) if found else None
    if name is not None and name.schema not in FILE_SCHEMAS:
        yield PlanRead(ReadKind.TABLE, name)
    elif not node.acts and (need := LEAVES.get(node.kind)) is not LeafNeed.NOTHING:
        yield PlanRead(ReadKind.FILES if need is LeafNeed.FILES else ReadKind.UNKNOWN)


FILE_SCHEMAS = frozenset(("avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text"))
"""Schemas by which Spark means files."""


def _target(root: SurveyedNode) -> Name | None:
    named = (_name(*root.names[field]) for field in _NAMED if field in root.names)
    return next((name for name in named if name is not None), None)


def _name(schema: str, table: str) -> Name | None:
    """None for a name without a schema."""
    return Name(schema, table) if schema else None
