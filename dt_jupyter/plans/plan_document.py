"""Plans of classic Spark as documents: JSON that says all of a plan, which `PlanDocument.java`
writes and describes, and the tree that is read from it."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_tree import SparkNode, TextSpan, Unknown
from dt_jupyter.spark import Catalyst, type_text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENT_VERSION = 1
"""Of the documents that are read."""
_COLUMN = re.compile(r"#\d+L?")
_NAMES = {"SubqueryAlias": "identifier", "View": "desc"}
"""Fields that only name what is below."""
_PASSING = frozenset({"origin", "qualifier", "randomSeed"})
"""What is another one in another analysis, or in a text that is written otherwise."""


def write_document(catalyst: Catalyst, plan: Any) -> str:
    """The document of an analysed or optimized plan."""
    with catalyst.call("PlanDocument") as writer:
        compressed = writer.of(plan)
    return zlib.decompress(compressed).decode()


def read_document(text: str) -> SparkNode:
    """The plan of a document. NoForm for one of another version."""
    document = json.loads(text)
    if document["version"] != DOCUMENT_VERSION:
        raise NoForm(f"a plan in version {document['version']} of its form")
    nodes: list[SparkNode] = []
    types = [(kind, type_text_of(kind)) for kind in document["types"]]
    for described in document["nodes"]:
        nodes.append(_node(described, nodes, types))
    return nodes[-1]


def read_java_plan(spark: SparkSession, plan: Any) -> SparkNode:
    """The tree of a plan of classic Spark."""
    return read_document(write_document(Catalyst.of(spark), plan))


def digest_document(text: str) -> str:
    """The SHA-256 of what a document says, as 64 hexadecimal digits: the same for two analyses of a
    text, whatever numbers its columns and names its tables' aliases have."""
    document, numbers = json.loads(text), dict[int, int]()
    nodes = [_canonical_node(node, numbers) for node in document["nodes"]]
    for node in nodes:
        if node["fields"].get("hideSeed"):  # Spark takes another one for each analysis
            nodes[node["children"][0]] = None
    said = json.dumps([document["version"], document["types"], nodes], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


_Types = Sequence[tuple[Any, str]]
"""The types of a document, each as it stands there and as text."""


def _node(described: Mapping[str, Any], nodes: list[SparkNode], types: _Types) -> SparkNode:
    is_plan = "type" not in described
    number, origin = described.get("type"), described.get("origin")
    return SparkNode(
        described["class"],
        {name: _value(v, nodes, types) for name, v in described["fields"].items()},
        tuple(nodes[n] for n in described["children"]),
        described["package"],
        is_plan,
        types[number][0] if number is not None else None,
        described.get("nullable"),
        described.get("deterministic"),
        TextSpan(*origin) if origin is not None else None,
        types[number][1] if number is not None else "",
    )


def _value(value: Any, nodes: list[SparkNode], types: _Types) -> Any:
    if isinstance(value, list):
        return [_value(v, nodes, types) for v in value]
    if not isinstance(value, dict):
        return value
    tag, content = next(iter(value.items()))
    match tag:
        case "node":
            return nodes[content]
        case "type":
            return types[content][0]
        case "metadata":
            return content
        case "map":
            return {k: _value(v, nodes, types) for k, v in content}
        case "unknown":
            return Unknown(content, value.get("text", ""))
    return {k: _value(v, nodes, types) for k, v in value.items()}


def _canonical_node(described: Mapping[str, Any], numbers: dict[int, int]) -> Any:
    name = _NAMES.get(described["class"])
    fields = {
        k: _COLUMN.sub("#", v) if k == "name" and isinstance(v, str) else _canonical(v, numbers)
        for k, v in described["fields"].items()
        if k != name and k not in _PASSING
    }
    said = {k: v for k, v in described.items() if k not in _PASSING}
    return {**said, "fields": fields}


def _canonical(value: Any, numbers: dict[int, int]) -> Any:
    if isinstance(value, list):
        return [_canonical(v, numbers) for v in value]
    if not isinstance(value, dict) or "metadata" in value:
        return value
    if value.keys() == {"id"}:
        return numbers.setdefault(value["id"], len(numbers))
    if "unknown" in value:
        return {k: _COLUMN.sub("#", v) for k, v in value.items()}
    return {k: _canonical(v, numbers) for k, v in value.items()}
