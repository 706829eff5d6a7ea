"""Whether a query reads more than the sources that its names tell."""

from __future__ import annotations

from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.plans.plan_facts import mark_in
from dt_jupyter.plans.plan_tree import SparkNode

_OWN_ROWS = frozenset({
    "LocalRelation", "OneRowRelation", "Range", "CTERelationRef", "UnionLoopRef", "EmptyRelation",
})  # fmt: skip
"""Leaves that read nothing."""
_PROGRAMS = frozenset({"PythonUDTF", "UnresolvedPythonUDTF", "ScriptTransformation"})
"""What may read anything."""


def reads_elsewhere(document: str) -> bool:
    """Whether a plan over marked views has a leaf that is none of them, or runs a program that
    makes rows."""
    return any(map(_reads_elsewhere, read_document(document).everything()))


def _reads_elsewhere(node: SparkNode) -> bool:
    if not node.is_plan or node.children:
        return node.kind in _PROGRAMS
    output = node.fields.get("output")
    columns = output if isinstance(output, list) else []
    return node.kind not in _OWN_ROWS and mark_in(columns) is None
