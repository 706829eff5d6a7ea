"""GROUPING SETS, as Spark expands them: each row once for each set, the keys left out NULL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.plans.expression_reader import GROUPING_ID, ExpressionReader
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_tree import SparkNode

_ID = "spark_grouping_id"


@dataclass(frozen=True)
class GroupingSets:
    """`clause` is the text of GROUP BY, `columns` the texts of what the aggregate above reads,
    `keys` those of what it groups by."""

    clause: str
    columns: Mapping[int, str]
    keys: tuple[str, ...]


def grouping_sets(expand: SparkNode, scope: ExpressionReader) -> GroupingSets:
    """The sets of an expansion over columns of `scope`."""
    outputs = expand.trees("output")
    projections: list[list[SparkNode]] = expand.fields["projections"]
    columns, keys = dict(scope.columns), {}
    for place, output in enumerate(outputs):
        values = [row[place] for row in projections]
        if output.id in scope.columns:
            continue
        if output.name == _ID:
            columns[output.id] = GROUPING_ID
            continue
        kept = next((v for v in values if v.kind != "Literal"), None)
        if kept is None:
            raise NoForm("grouping sets that repeat")
        columns[output.id] = keys[place] = scope.sql(kept)
    sets = [[t for p, t in keys.items() if row[p].kind != "Literal"] for row in projections]
    listed = ", ".join(f"({', '.join(s)})" for s in sets)
    clause = f"GROUP BY {', '.join(keys.values())} GROUPING SETS ({listed})"
    return GroupingSets(clause, columns, tuple(keys.values()))
