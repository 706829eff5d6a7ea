"""The relation algebra: operators, derivatives, stages and refusals. Knows no engine.

A definition becomes a `Rel`; `compile_stages` cuts it into stages; `differentiate` gives the
change of a stage's input; aggregates are then kept by the rules of `aggregates`.
"""

from dt_jupyter.ivm.aggregates import (
    RECOMPUTED,
    SUPPORTED,
    Kept,
    Kind,
    StateColumn,
    initial,
    is_floating,
    removed,
    weighted,
)
from dt_jupyter.ivm.derive import DERIVATIVES, differentiate, restrict
from dt_jupyter.ivm.expr import Col, Expr, col, expr
from dt_jupyter.ivm.refusal import Refusal, Refused, refuse
from dt_jupyter.ivm.rel import (
    OPERATORS,
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
    monotone,
    rewrite,
    scans,
    walk,
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
    "DERIVATIVES", "OPERATORS", "RECOMPUTED", "SUPPORTED", "WEIGHT", "Aggregate", "Bag", "Call",
    "Col", "Column", "End", "Expr", "Filter", "Generate", "Group", "Join", "Kept", "Kind",
    "Match", "MatchKind", "Project", "Refusal", "Refused", "Rel", "Restrict", "Rows", "Scan",
    "Stage", "StateColumn", "Top", "Union", "Window", "WindowCall", "at", "col", "compile_stages",
    "differentiate", "expr", "initial", "is_floating", "monotone", "refuse", "removed",
    "restrict", "rewrite", "scans", "settled", "simplify", "stage_source", "walk", "weighted",
]  # fmt: skip
