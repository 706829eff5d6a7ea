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
from dt_jupyter.ivm.derive import DERIVATIVES, differentiate, equated, restrict
from dt_jupyter.ivm.equivalent import equivalent
from dt_jupyter.ivm.expr import Col, Expr, col, expr
from dt_jupyter.ivm.identity import IDENTIFIED, Identified, identified
from dt_jupyter.ivm.order import LARGE, Sizes, arranged, directed
from dt_jupyter.ivm.origins import Origin, flows, origins
from dt_jupyter.ivm.refusal import Refusal, Refused, refuse
from dt_jupyter.ivm.rel import (
    OPERATORS,
    SETTLING,
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
from dt_jupyter.model.hidden import ROW_ID, WEIGHT

__all__ = [
    "DERIVATIVES", "IDENTIFIED", "LARGE", "OPERATORS", "RECOMPUTED", "ROW_ID", "SETTLING",
    "SUPPORTED", "TOO_WIDE", "WEIGHT", "Aggregate", "Bag", "Call", "Col", "Column", "End", "Expr",
    "Filter", "Generate", "Group", "Identified", "Join", "Kept", "Kind", "Match", "MatchKind",
    "Origin", "Project", "Refusal", "Refused", "Rel", "Restrict", "Rows", "Scan", "Sizes", "Stage",
    "StateColumn", "Top", "Union", "Window", "WindowCall", "arranged", "at", "col",
    "compile_stages", "differentiate", "directed", "equated", "equivalent", "expr", "flows",
    "identified", "initial", "is_floating", "key_relations", "monotone", "origins", "refuse",
    "removed", "restrict", "rewrite", "scans", "settled", "settles", "simplify", "stage_source",
    "walk", "weighted", "with_keys",
]  # fmt: skip
