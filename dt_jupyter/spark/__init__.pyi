from .activities import (
    ACTIVITIES as ACTIVITIES,
    Activities as Activities,
    Activity as Activity,
    Drawing as Drawing,
    activity as activity,
    activity_step as activity_step,
    add_rows as add_rows,
    current_activity as current_activity,
    in_background as in_background,
)
from .analysed import (
    Analysed as Analysed,
    ParsedText as ParsedText,
    analyse as analyse,
    analyse_what_binds as analyse_what_binds,
    conf_of as conf_of,
    file_paths as file_paths,
    locations as locations,
    of_frame as of_frame,
    parse_text as parse_text,
    provider_of as provider_of,
    reads_any as reads_any,
    run_analysed as run_analysed,
)
from .analysis_session import describe_session as describe_session
from .catalog_entries import (
    TableEntry as TableEntry,
    ViewEntry as ViewEntry,
    add_entries as add_entries,
)
from .catalyst import (
    SOURCE_MARK as SOURCE_MARK,
    Catalyst as Catalyst,
)
from .class_archive import (
    archive_of as archive_of,
    start_writer as start_writer,
)
from .classic_frames import (
    frame_of_plan as frame_of_plan,
    leave_plan as leave_plan,
    read_cached as read_cached,
    wrap_dataset as wrap_dataset,
)
from .coded_frames import (
    code_frame as code_frame,
    failure_in as failure_in,
)
from .compiled_java import compile_java as compile_java
from .conflicts import (
    conflict_error as conflict_error,
    find_conflict as find_conflict,
)
from .eager_frames import (
    analyse_now as analyse_now,
)
from .evaluation_session import (
    EvaluationSession as EvaluationSession,
    read_evaluation_session as read_evaluation_session,
)
from .file_roots import (
    match_paths as match_paths,
    partition_folders as partition_folders,
)
from .frames import (
    arrow_frame as arrow_frame,
    as_text as as_text,
    empty_frame as empty_frame,
    rows_frame as rows_frame,
    whole_frame as whole_frame,
)
from .function_commands import (
    FunctionCommand as FunctionCommand,
    described_function as described_function,
    function_command as function_command,
)
from .java import (
    Java as Java,
    find_java as find_java,
)
from .job_purposes import (
    JobPurpose as JobPurpose,
    note_purpose as note_purpose,
    purpose_of as purpose_of,
)
from .jobs import (
    CancelFlag as CancelFlag,
    Cancelled as Cancelled,
    cancel as cancel,
    check_cancelled as check_cancelled,
    count_jobs as count_jobs,
    job_group as job_group,
    make_cancel_check as make_cancel_check,
    run_cancellable as run_cancellable,
)
from .launch import (
    has_java as has_java,
)
from .metrics import (
    JobMetrics as JobMetrics,
    job_metrics as job_metrics,
)
from .modes import (
    is_connect as is_connect,
)
from .own_names import (
    catalog_id as catalog_id,
    forget_relation as forget_relation,
    keeps_own_names as keeps_own_names,
    list_relations as list_relations,
    remove_function as remove_function,
    schema_folders as schema_folders,
    separate_session as separate_session,
    set_schema_folder as set_schema_folder,
    set_warehouse as set_warehouse,
    table_folders as table_folders,
    warehouse_of as warehouse_of,
)
from .parameters import (
    Args as Args,
    bind_definition as bind_definition,
    bind_parameters as bind_parameters,
    binding as binding,
    parameter_literals as parameter_literals,
    values_in as values_in,
)
from .path_texts import (
    GLOB as GLOB,
    find_mount as find_mount,
    mount_place as mount_place,
    mounted_place as mounted_place,
    path_of_text as path_of_text,
    path_of_uri as path_of_uri,
    qualify_text as qualify_text,
    read_at as read_at,
    storage_at as storage_at,
    storage_of as storage_of,
    text_of_path as text_of_path,
)
from .plan_reads import (
    FILE_SCHEMAS as FILE_SCHEMAS,
    PlanFacts as PlanFacts,
    PlanRead as PlanRead,
    ReadKind as ReadKind,
)
from .pools import (
    SHARE as SHARE,
    Pool as Pool,
    declare_pool as declare_pool,
    in_pool as in_pool,
)
from .progress import (
    JobProgress as JobProgress,
)
from .relations import (
    FILE_FORMATS as FILE_FORMATS,
    CatalogRelation as CatalogRelation,
    RelationKind as RelationKind,
    builtin_functions as builtin_functions,
    listed as listed,
    lookup as lookup,
    qualified_text as qualified_text,
)
from .session import (
    active_session as active_session,
    has_delta_confs as has_delta_confs,
    local_session as local_session,
    order_session as order_session,
    prepare_session as prepare_session,
    replace_session as replace_session,
    require_delta as require_delta,
)
from .session_confs import (
    FIXED_TEXT as FIXED_TEXT,
    HELD as HELD,
    WHOLE_ROWS as WHOLE_ROWS,
    confs as confs,
    read_confs as read_confs,
)
from .session_life import (
    context_end as context_end,
    is_unused as is_unused,
    session_end as session_end,
)
from .sessions import (
    DROPS_QUOTES as DROPS_QUOTES,
    KEEPS_BACKSLASHES as KEEPS_BACKSLASHES,
    MEANING as MEANING,
    REFRESH_CONFS as REFRESH_CONFS,
    RefreshSessions as RefreshSessions,
    is_session_closed as is_session_closed,
    meaning as meaning,
    private_session as private_session,
    reset_session as reset_session,
)
from .shared_disk import is_shared as is_shared, runs_elsewhere as runs_elsewhere
from .spare import (
    SWITCH as SWITCH,
    SpareOrder as SpareOrder,
    dismiss_spare as dismiss_spare,
    has_spare as has_spare,
    keep_spare as keep_spare,
)
from .spare_keeper import (
    serve_spare as serve_spare,
)
from .standby import (
    dismiss as dismiss,
)
from .stored_types import (
    is_storable as is_storable,
    parts_of_type as parts_of_type,
    spark_arrow_schema as spark_arrow_schema,
)
from .thread_session import as_active as as_active
from .type_texts import (
    type_text as type_text,
    type_text_of as type_text_of,
)
from .variables import Variables as Variables
from .variants import collect_arrow as collect_arrow
