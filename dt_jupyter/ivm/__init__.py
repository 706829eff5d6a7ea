"""The relation algebra: operators, derivatives, stages and refusals. Independent of the engine.

A definition becomes a `Rel`; `compile_stages` cuts it into stages; `differentiate` gives the
change of a stage's input; aggregates are then kept by the rules of `aggregates`.
"""

from dt_jupyter.ivm.added_columns import (
    NamedColumns as NamedColumns,
    find_null_outputs as find_null_outputs,
    null_before as null_before,
)
from dt_jupyter.ivm.aggregates import (
    ON_CHANGE as ON_CHANGE,
    ONCE as ONCE,
    RECOMPUTED as RECOMPUTED,
    SUPPORTED as SUPPORTED,
    UNRULED as UNRULED,
    Kept as Kept,
    Kind as Kind,
    StateColumn as StateColumn,
    initial as initial,
    is_floating as is_floating,
    removed as removed,
    weighted as weighted,
)
from dt_jupyter.ivm.compose import (
    Ids as Ids,
    Split as Split,
    ask_for_absence as ask_for_absence,
    ask_for_rows as ask_for_rows,
    count_sides as count_sides,
    join_fully as join_fully,
    mark_partners as mark_partners,
    match as match,
    one_row_each as one_row_each,
    row_count as row_count,
    with_columns as with_columns,
)
from dt_jupyter.ivm.derivable import (
    Derivation as Derivation,
    KeyColumns as KeyColumns,
    Underivable as Underivable,
    derivation as derivation,
)
from dt_jupyter.ivm.derive import (
    DERIVATIVES as DERIVATIVES,
    LAWS as LAWS,
    Law as Law,
    differentiate as differentiate,
    equated as equated,
    restrict as restrict,
    rule as rule,
)
from dt_jupyter.ivm.equivalent import equivalent as equivalent
from dt_jupyter.ivm.estimate import (
    LARGE as LARGE,
    JoinSize as JoinSize,
    Size as Size,
    Sizes as Sizes,
    estimated as estimated,
    total_size as total_size,
)
from dt_jupyter.ivm.explain import (
    PlanNode as PlanNode,
    list_laws as list_laws,
    tree as tree,
)
from dt_jupyter.ivm.expr import (
    EXPRESSIONS as EXPRESSIONS,
    NO_VALUE as NO_VALUE,
    NULL as NULL,
    STAR as STAR,
    Between as Between,
    Bracketed as Bracketed,
    Call as Call,
    Case as Case,
    Cast as Cast,
    Column as Column,
    Element as Element,
    Expr as Expr,
    ExpressionFacts as ExpressionFacts,
    Infix as Infix,
    InList as InList,
    Literal as Literal,
    Postfix as Postfix,
    Prefix as Prefix,
    Raw as Raw,
    Reference as Reference,
    SortOrder as SortOrder,
    case as case,
    chain as chain,
    col as col,
    conjunction as conjunction,
    equality as equality,
    expr as expr,
    numbered as numbered,
    separated as separated,
    walk_expression as walk_expression,
    without_brackets as without_brackets,
)
from dt_jupyter.ivm.expression_types import (
    ColumnType as ColumnType,
    Untyped as Untyped,
    type_expression as type_expression,
)
from dt_jupyter.ivm.growing_condition import (
    containing as containing,
    find_shrinking as find_shrinking,
)
from dt_jupyter.ivm.identity import (
    IDENTIFIED as IDENTIFIED,
    Identified as Identified,
    identified as identified,
)
from dt_jupyter.ivm.join_order import (
    arranged as arranged,
    directed as directed,
)
from dt_jupyter.ivm.operators import (
    TABLES as TABLES,
    PerOperator as PerOperator,
    missing_entries as missing_entries,
)
from dt_jupyter.ivm.provenance import (
    Origin as Origin,
    origins as origins,
    places as places,
    stage_origins as stage_origins,
)
from dt_jupyter.ivm.reference import (
    OperatorRow as OperatorRow,
    operator_table as operator_table,
)
from dt_jupyter.ivm.refusal import (
    Refusal as Refusal,
    Refused as Refused,
    refuse as refuse,
)
from dt_jupyter.ivm.rel import (
    OPERATORS as OPERATORS,
    SETTLING as SETTLING,
    Aggregate as Aggregate,
    AggregateCall as AggregateCall,
    End as End,
    Filter as Filter,
    Generate as Generate,
    Join as Join,
    Match as Match,
    MatchKind as MatchKind,
    Project as Project,
    Rel as Rel,
    Restrict as Restrict,
    Rows as Rows,
    Scan as Scan,
    Top as Top,
    TypesOf as TypesOf,
    Union as Union,
    Window as Window,
    WindowCall as WindowCall,
    at as at,
    combines as combines,
    key_relations as key_relations,
    monotone as monotone,
    own_reads as own_reads,
    rewrite as rewrite,
    sample_condition as sample_condition,
    scans as scans,
    settles as settles,
    walk as walk,
    with_keys as with_keys,
)
from dt_jupyter.ivm.relation_types import (
    RelationTypes as RelationTypes,
)
from dt_jupyter.ivm.row_limits import (
    has_all as has_all,
)
from dt_jupyter.ivm.settled_calls import (
    PICKS as PICKS,
    CallParts as CallParts,
    make_call as make_call,
    picked_values as picked_values,
    require_rule as require_rule,
)
from dt_jupyter.ivm.simplify import (
    prune as prune,
    simplify as simplify,
)
from dt_jupyter.ivm.stage_groups import (
    Group as Group,
    StageColumn as StageColumn,
)
from dt_jupyter.ivm.stages import (
    Bag as Bag,
    Stage as Stage,
    compile_stages as compile_stages,
    settle_types as settle_types,
    stage_source as stage_source,
)
from dt_jupyter.ivm.unstable import unstable as unstable
from dt_jupyter.ivm.user_calls import (
    innermost_calls as innermost_calls,
    with_results as with_results,
)
from dt_jupyter.ivm.window_rules import (
    PEER_EDGES as PEER_EDGES,
    UP_TO_PEERS as UP_TO_PEERS,
    WHOLE_PARTITION as WHOLE_PARTITION,
    settle_window as settle_window,
)
from dt_jupyter.model.hidden import (
    ROW_ID as ROW_ID,
    WEIGHT as WEIGHT,
)
