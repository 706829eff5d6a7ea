"""Delta tables: what changed and when (no Spark job), snapshots, change relations, commits.

Reads go through the log first; a commit happens exactly once, and says which writer did it and
why. Errors are `LakeError`s with a code; the refresh engine words them.
"""

from dt_jupyter.ivm import WEIGHT
from dt_jupyter.lake.actions import CommitFacts
from dt_jupyter.lake.changes import (
    Added,
    ChangePlan,
    Feed,
    FileDiff,
    Unchanged,
    Unreadable,
    may_change,
    plan_changes,
)
from dt_jupyter.lake.clustering import (
    MOST_COLUMNS,
    find_path,
    is_clusterable,
    recluster,
)
from dt_jupyter.lake.commit import Recovered, commit, recover
from dt_jupyter.lake.errors import (
    LakeError,
    LogBroken,
    NameTaken,
    NotSupported,
    TableGone,
    TableLocked,
    VersionGone,
)
from dt_jupyter.lake.heads import head
from dt_jupyter.lake.locks import table_lock
from dt_jupyter.lake.log import FileChanges, TableLog, TableSize, is_delta
from dt_jupyter.lake.marks import mark_of, marked
from dt_jupyter.lake.metadata import Metadata, Protocol, SchemaChange
from dt_jupyter.lake.paths import TablePath
from dt_jupyter.lake.relation import Relation, Small, relation
from dt_jupyter.lake.requests import (
    Append,
    Change,
    CommitRequest,
    CommitStatistics,
    Committed,
    Lost,
    Merge,
    Overwrite,
)
from dt_jupyter.lake.small import SmallTables, local_view, selecting_columns
from dt_jupyter.lake.snapshot import snapshot_sql
from dt_jupyter.lake.tables import (
    backing_properties,
    create,
    drop_folder,
    enable_feed,
    register,
    restore_folder,
    retain,
)
from dt_jupyter.lake.types import is_comparable, plain_type
from dt_jupyter.lake.writer_rs import FastLane
from dt_jupyter.model.hidden import OP

__all__ = [
    "MOST_COLUMNS",
    "OP",
    "WEIGHT",
    "Added",
    "Append",
    "Change",
    "ChangePlan",
    "CommitFacts",
    "CommitRequest",
    "CommitStatistics",
    "Committed",
    "FastLane",
    "Feed",
    "FileChanges",
    "FileDiff",
    "LakeError",
    "LogBroken",
    "Lost",
    "Merge",
    "Metadata",
    "NameTaken",
    "NotSupported",
    "Overwrite",
    "Protocol",
    "Recovered",
    "Relation",
    "SchemaChange",
    "Small",
    "SmallTables",
    "TableGone",
    "TableLocked",
    "TableLog",
    "TablePath",
    "TableSize",
    "Unchanged",
    "Unreadable",
    "VersionGone",
    "backing_properties",
    "commit",
    "create",
    "drop_folder",
    "enable_feed",
    "find_path",
    "head",
    "is_clusterable",
    "is_comparable",
    "is_delta",
    "local_view",
    "mark_of",
    "marked",
    "may_change",
    "plain_type",
    "plan_changes",
    "recluster",
    "recover",
    "register",
    "relation",
    "restore_folder",
    "retain",
    "selecting_columns",
    "snapshot_sql",
    "table_lock",
]  # fmt: skip
