from .change.change_plan import (
    Added as Added,
    ChangePlan as ChangePlan,
    Feed as Feed,
    FileDiff as FileDiff,
    Unchanged as Unchanged,
    Unreadable as Unreadable,
    feed_parts as feed_parts,
    find_same_rows as find_same_rows,
    may_change as may_change,
    plan_changes as plan_changes,
    plan_from_facts as plan_from_facts,
)
from .change.file_rows import files_view as files_view
from .change.pairs import paired_off as paired_off
from .change.relation import (
    Relation as Relation,
    feed_by_version as feed_by_version,
    inserted as inserted,
    relation as relation,
)
from .change.small_changes import (
    Small as Small,
    small_changes as small_changes,
    why_not_local as why_not_local,
)
from .delta_log.actions import (
    CommitFacts as CommitFacts,
    commit_name as commit_name,
    read_actions as read_actions,
)
from .delta_log.active_files import LiveFiles as LiveFiles, file_at as file_at, paths_of as paths_of
from .delta_log.commit_tags import mark_of as mark_of, marked as marked
from .delta_log.metadata import (
    PLAIN_FEATURES as PLAIN_FEATURES,
    Metadata as Metadata,
    Protocol as Protocol,
    SchemaChange as SchemaChange,
    schema_change as schema_change,
)
from .delta_log.table_log import (
    FileChanges as FileChanges,
    TableLog as TableLog,
)
from .delta_log.table_size import TableSize as TableSize
from .delta_log.type_changes import DeltaType as DeltaType, widens as widens
from .disk import sync as sync, write_durable as write_durable
from .disk_lock import file_lock as file_lock
from .errors import (
    LakeError as LakeError,
    LogBroken as LogBroken,
    NameTaken as NameTaken,
    NotSupported as NotSupported,
    StorageFailed as StorageFailed,
    TableGone as TableGone,
    TableLocked as TableLocked,
    VersionGone as VersionGone,
)
from .file_systems import REMOTE_KINDS as REMOTE_KINDS, file_system_of as file_system_of
from .files.file_list import (
    FileList as FileList,
    ListChange as ListChange,
    ListReader as ListReader,
    Recorded as Recorded,
    compare_lists as compare_lists,
)
from .files.list_log import (
    StoredFile as StoredFile,
    carry_on as carry_on,
    close_batch as close_batch,
    count_rows as count_rows,
    create_list as create_list,
    new_batch as new_batch,
    storable_fields as storable_fields,
    sweep_batches as sweep_batches,
)
from .files.listing import (
    DataFile as DataFile,
    list_folder as list_folder,
    list_roots as list_roots,
)
from .files.partition_values import (
    PARTITION_TYPES as PARTITION_TYPES,
    WrongValue as WrongValue,
    partition_names as partition_names,
    partition_values as partition_values,
)
from .keep.clone_files import Cloned as Cloned, CloneMark as CloneMark, clone_table as clone_table
from .keep.contents import Contents as Contents
from .keep.hardlinks import drop_mirror as drop_mirror, mirror as mirror, needed as needed
from .keep.mend_log import (
    cut as cut,
    is_whole as is_whole,
    require_whole as require_whole,
    restore_sequence as restore_sequence,
)
from .keep.retention import (
    gone_from_change as gone_from_change,
    gone_from_snapshot as gone_from_snapshot,
    gone_from_version as gone_from_version,
    readable as readable,
    reads_feed as reads_feed,
)
from .keep.retention_property import (
    DELETED_FILES as DELETED_FILES,
    LOG as LOG,
    retention as retention,
)
from .keep.vacuum import (
    UNCOMMITTED_SECONDS as UNCOMMITTED_SECONDS,
    Held as Held,
    VacuumPlan as VacuumPlan,
    plan_vacuum as plan_vacuum,
    run_vacuum as run_vacuum,
)
from .log_replay import Action as Action
from .paths import (
    TablePath as TablePath,
    find_escape as find_escape,
    hadoop_path as hadoop_path,
    local as local,
    sql_path as sql_path,
    sql_string as sql_string,
    sql_table as sql_table,
)
from .read.arrow_snapshot import (
    SmallTables as SmallTables,
    local_view as local_view,
    selecting_columns as selecting_columns,
)
from .read.disk_cache import DiskCache as DiskCache, column_cache as column_cache
from .read.kept_columns import KeptColumns as KeptColumns
from .read.local_views import (
    LocalViews as LocalViews,
    table_shape as table_shape,
)
from .read.row_ranges import RowPlace as RowPlace, RowRanges as RowRanges
from .read.sample import head as head
from .read.shown_rows import count_shown_rows as count_shown_rows, hides_rows as hides_rows
from .read.snapshot import scan_refusal as scan_refusal, snapshot_sql as snapshot_sql
from .read.wanted_rows import (
    ValueInterval as ValueInterval,
)
from .storage.copied_log import (
    COPIED_PLACE as COPIED_PLACE,
    CopiedLog as CopiedLog,
    read_copied_place as read_copied_place,
    write_copied_place as write_copied_place,
)
from .storage.hadoop import HadoopStorage as HadoopStorage
from .storage.mounts import (
    Lock as Lock,
    find_mounted as find_mounted,
    folder_exists as folder_exists,
    is_delta as is_delta,
    know_place as know_place,
    list_folders as list_folders,
    lock_writers as lock_writers,
    mount as mount,
    move_folder as move_folder,
    open_log as open_log,
    read_text as read_text,
    remove_folder as remove_folder,
    write_text as write_text,
)
from .storage.questions import ask_again as ask_again, ask_once as ask_once
from .storage.remote_files import RemoteStorage as RemoteStorage
from .storage.table_place import table_place as table_place
from .txn.fence import fence as fence, next_sequence as next_sequence, sequenced as sequenced
from .txn.net_changes import folded as folded
from .txn.publish import (
    Publication as Publication,
    check_publication as check_publication,
    loses_changes as loses_changes,
    make_staged_durable as make_staged_durable,
    publication as publication,
    publication_millis as publication_millis,
    publish as publish,
    published as published,
    refused as refused,
)
from .txn.shadow_log import Staging as Staging, stage_log as stage_log, unstage as unstage
from .types import (
    CHAR_TYPE as CHAR_TYPE,
    arrow_schema as arrow_schema,
    fields_named as fields_named,
    is_comparable as is_comparable,
    plain_type as plain_type,
    spark_schema as spark_schema,
    stored_name as stored_name,
    stored_schema as stored_schema,
    strip_metadata as strip_metadata,
)
from .write.backing_table import (
    add_columns as add_columns,
    admit_schema as admit_schema,
    backing_properties as backing_properties,
    create as create,
    drop_folder as drop_folder,
    enable_feed as enable_feed,
    free_label as free_label,
    put_aside as put_aside,
    register as register,
    restore_folder as restore_folder,
    retain as retain,
    table_entry as table_entry,
)
from .write.clustering import (
    MOST_COLUMNS as MOST_COLUMNS,
    find_path as find_path,
    is_clusterable as is_clusterable,
    is_clustered_by as is_clustered_by,
    recluster as recluster,
    statistics_columns as statistics_columns,
)
from .write.commit import Recovered as Recovered, commit as commit, recover as recover
from .write.commit_values import (
    Append as Append,
    Change as Change,
    CommitRequest as CommitRequest,
    CommitStatistics as CommitStatistics,
    Committed as Committed,
    Lost as Lost,
    Merge as Merge,
    Overwrite as Overwrite,
)
from .write.failpoints import reach as reach
from .write.local_rows import FastLane as FastLane
from .write.locks import (
    lock_file as lock_file,
    storage_lock as storage_lock,
    table_lock as table_lock,
)
from .write.writer_files import FILE_CONFS as FILE_CONFS
from .write.writer_rs import table_refusal as table_refusal
from .write.writer_spark import MICROS as MICROS, frame as frame
