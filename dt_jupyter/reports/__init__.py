"""Values that tell of the graph, lineage, explanations and verifications; no picture."""
