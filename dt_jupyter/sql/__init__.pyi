from .emit.bag_sql import BagSql as BagSql
from .emit.hashing import (
    content_hash as content_hash,
    exact_text as exact_text,
    hash_calls as hash_calls,
)
from .emit.query import (
    AllColumns as AllColumns,
    FromNode as FromNode,
    Generated as Generated,
    Joined as Joined,
    Nested as Nested,
    Over as Over,
    Query as Query,
    Select as Select,
    SelectItem as SelectItem,
    Table as Table,
    TextQuery as TextQuery,
    UnionAll as UnionAll,
    tables_in as tables_in,
)
from .emit.render import Place as Place, Renderer as Renderer
from .emit.state_sql import GroupSql as GroupSql, stage_sql as stage_sql
from .grammar import statement_values as statement_values
from .grammar.failing_rows import RowQuery as RowQuery, failing_row_queries as failing_row_queries
from .grammar.functions import (
    find_parameters as find_parameters,
    qualified_name as qualified_name,
    replace_spans as replace_spans,
)
from .grammar.magic_cell import (
    CellKind as CellKind,
    CellPart as CellPart,
    cell_parts as cell_parts,
    format_cell as format_cell,
)
from .grammar.magic_options import (
    ChangesCommand as ChangesCommand,
    DtMagic as DtMagic,
    ReplayCommand as ReplayCommand,
    parse_changes as parse_changes,
    parse_dt as parse_dt,
    parse_dynamic_table as parse_dynamic_table,
    parse_replay as parse_replay,
    parse_time_point as parse_time_point,
)
from .grammar.magic_specs import (
    CHANGES as CHANGES,
    CHANGES_CELL as CHANGES_CELL,
    DT as DT,
    DYNAMIC_TABLE as DYNAMIC_TABLE,
    REPLAY as REPLAY,
    SQL as SQL,
    MagicOption as MagicOption,
    MagicSpec as MagicSpec,
    usage as usage,
)
from .grammar.moved_schema import (
    columns_by_schema as columns_by_schema,
    dotted_names as dotted_names,
    move_schema as move_schema,
    move_schema_in_statement as move_schema_in_statement,
)
from .grammar.options import (
    REDUCTIONS as REDUCTIONS,
    TABLE_OPTIONS as TABLE_OPTIONS,
    unknown_option as unknown_option,
)
from .grammar.parse import (
    parse_piece as parse_piece,
    parse_script as parse_script,
    pieces as pieces,
)
from .grammar.script_order import (
    Cycle as Cycle,
    InSchema as InSchema,
    order_by_dependencies as order_by_dependencies,
)
from .grammar.sql_functions import (
    SqlFunction as SqlFunction,
    created_function as created_function,
    dropped_function as dropped_function,
    expand_functions as expand_functions,
    replace_calls as replace_calls,
)
from .grammar.statement_values import (
    CreateAction as CreateAction,
    CreateDynamicTable as CreateDynamicTable,
    CreateStream as CreateStream,
    Information as Information,
    PointKind as PointKind,
    SchemaMode as SchemaMode,
    SinkSource as SinkSource,
    SparkKind as SparkKind,
    SparkStatement as SparkStatement,
    Statement as Statement,
    StreamSource as StreamSource,
    TimedRelation as TimedRelation,
    TimePoint as TimePoint,
    Unsupported as Unsupported,
)
from .grammar.subquery_dml import as_merge as as_merge
from .grammar.table_places import (
    NamedTable as NamedTable,
    named_tables as named_tables,
    reads_by_function as reads_by_function,
    require_bounded as require_bounded,
    table_places as table_places,
)
from .grammar.table_properties import require_table_properties as require_table_properties
from .grammar.task_block import block_script as block_script
from .grammar.task_condition import Condition as Condition, parse_condition as parse_condition
from .grammar.timed_relations import (
    find_current_role as find_current_role,
    find_last_query_id as find_last_query_id,
    has_alias as has_alias,
    quote_change_columns as quote_change_columns,
    relations_in as relations_in,
)
from .grammar.unsupported import later as later
from .text.called_functions import called_functions as called_functions
from .text.column_words import column_words as column_words
from .text.common_tables import recursive_place as recursive_place
from .text.cursor import CATALOG as CATALOG
from .text.deep_stack import deep as deep
from .text.item_names import unnamed_items as unnamed_items
from .text.layout import format_script as format_script
from .text.lex import Token as Token, TokenKind as TokenKind, tokens as tokens
from .text.like_patterns import matches as matches, patterns_for_spark as patterns_for_spark
from .text.limits import refuse_large as refuse_large
from .text.literals import (
    escape_quotes as escape_quotes,
    literal as literal,
    unquote as unquote,
)
from .text.local_rows import without_job as without_job
from .text.names_in_text import resolve_identifiers as resolve_identifiers, set_by as set_by
from .text.one_query import require_one_query as require_one_query
from .text.places import position as position, underline as underline
from .text.sample_clause import after_sample as after_sample
from .text.split import Piece as Piece, split as split
