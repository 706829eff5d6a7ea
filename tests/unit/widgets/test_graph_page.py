"""The graph as one document: it names nothing outside of itself, and data stays data."""

from __future__ import annotations

import json
import re

from dt_jupyter.widgets import NodeState, graph_document
from dt_jupyter.wire import Column, GraphEdge, GraphMessage, GraphNode, NodeKind

NASTY = "a</script><script>alert(1)</script>"


def document(name: str) -> str:
    nodes = (GraphNode("orders", NodeKind.TABLE), GraphNode(name, NodeKind.DYNAMIC_TABLE))
    graph = GraphMessage(nodes, (GraphEdge("orders", name),))
    state = NodeState(name, "dynamic table", (("lag", name),), (Column(name, "int"),), name)
    return graph_document(graph, [state], name, "now")


def test_the_document_loads_nothing_and_allows_nothing() -> None:
    made = document("daily")
    assert "default-src 'none'" in made
    outside = re.findall(r"(?:src|href)\s*=\s*[\"'](?!data:)[^\"']+", made.split("<script")[0])
    assert outside == []
    assert "@import" not in made
    data = re.search(r'id="graph-data">(.*?)</script>', made, re.DOTALL)
    assert data is not None
    assert [node["name"] for node in json.loads(data[1])["nodes"]] == ["orders", "daily"]
    assert "export{" not in made.replace(" ", "")


def test_hostile_names_are_text() -> None:
    made = document(NASTY)
    assert "<script>alert" not in made
    assert len(re.findall("<script", made)) == 3
    assert len(re.findall("</script>", made)) == 3
