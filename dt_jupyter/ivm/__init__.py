"""The relation algebra: operators, derivatives, stages and refusals. Knows no engine.

A definition becomes a `Rel`; `compile_stages` cuts it into stages; `differentiate` gives the
change of a stage's input; aggregates are then kept by the rules of `aggregates`.
"""

from dt_jupyter.ivm.aggregates import (
    RECOMPUTED,
    SUPPORTED,
    TOO_WIDE,
    Kept,
    Kind,
    StateColumn,
    initial,
    is_floating,
    removed,
    weighted,
)
from dt_jupyter.ivm.derive import DERIVATIVES, LAWS, Law, differentiate, equated, restrict, rule
from dt_jupyter.ivm.equivalent import equivalent
from dt_jupyter.ivm.estimate import LARGE, JoinSize, Size, Sizes, estimated, total_size
from dt_jupyter.ivm.expr import Col, Expr, col, expr
from dt_jupyter.ivm.identity import IDENTIFIED, ROW_ID, Identified, identified
from dt_jupyter.ivm.operators import TABLES, PerOperator, missing_entries
from dt_jupyter.ivm.order import arranged, directed
from dt_jupyter.ivm.provenance import Origin, flows, origins, places, stage_origins
from dt_jupyter.ivm.reference import OperatorRow, operator_table
from dt_jupyter.ivm.refusal import Refusal, Refused, refuse
from dt_jupyter.ivm.rel import (
    OPERATORS,
    SETTLING,
    WEIGHT,
    Aggregate,
    Call,
    End,
    Filter,
    Generate,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
    WindowCall,
    at,
    combines,
    key_relations,
    monotone,
    rewrite,
    scans,
    settles,
    walk,
    with_keys,
)
from dt_jupyter.ivm.simplify import simplify
from dt_jupyter.ivm.stages import (
    Bag,
    Column,
    Group,
    Stage,
    compile_stages,
    settled,
    stage_source,
)

__all__ = [
    "DERIVATIVES", "IDENTIFIED", "LARGE", "LAWS", "OPERATORS", "RECOMPUTED", "ROW_ID", "SETTLING",
    "SUPPORTED", "TABLES", "TOO_WIDE", "WEIGHT", "Aggregate", "Bag", "Call", "Col", "Column", "End",
    "Expr", "Filter", "Generate", "Group", "Identified", "Join", "JoinSize", "Kept", "Kind", "Law",
    "Match", "MatchKind", "OperatorRow", "Origin", "PerOperator", "Project", "Refusal", "Refused",
    "Rel", "Restrict", "Rows", "Scan", "Size", "Sizes", "Stage", "StateColumn", "Top", "Union",
    "Window", "WindowCall", "arranged", "at", "col", "combines", "compile_stages", "differentiate",
    "directed", "equated", "equivalent", "estimated", "expr", "flows", "identified", "initial",
    "is_floating", "key_relations", "missing_entries", "monotone", "operator_table", "origins",
    "places", "refuse", "removed", "restrict", "rewrite", "rule", "scans", "settled", "settles",
    "simplify", "stage_origins", "stage_source", "total_size", "walk", "weighted", "with_keys",
]  # fmt: skip
