"""The columns that a table is clustered by: as its log has them, and kept so.

Spark's overwrite empties them, whatever its options, so the committer sets them.
Source: Delta's protocol, clustered table (writer requirements) and domain metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.delta_log.type_changes import DeltaType
from dt_jupyter.lake.paths import sql_string, sql_table
from dt_jupyter.lake.storage.table_place import table_place
from dt_jupyter.lake.types import stored_name
from dt_jupyter.model import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_COLUMNS = 4
_ENTRY = re.compile(r"(?:`(?:[^`]|``)*`|[^,`])+")
STATISTICS = "delta.dataSkippingStatsColumns"
_CLUSTERABLE = frozenset(
    ("byte", "short", "integer", "long", "float", "double", "string", "date", "timestamp",
     "timestamp_ntz")
)  # fmt: skip
_Field: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[_Field, ...]
"""A column, or a field of one: from the column down, as the schema's JSON has them."""


def find_path(fields: Iterable[_Field], name: str) -> Path | None:
    """The column of that name, or the field at the end of its dotted parts; names match without
    regard to case."""
    for field in fields:
        known, wanted = field["name"].lower(), name.lower()
        if known == wanted:
            return (field,)
        if wanted.startswith(known + ".") and _is_struct(field["type"]):
            below = find_path(field["type"]["fields"], name[len(known) + 1 :])
            if below is not None:
                return (field, *below)
    return None


def _is_struct(type_: DeltaType) -> bool:
    return isinstance(type_, Mapping) and type_["type"] == "struct"


def is_clusterable(path: Path) -> bool:
    """Whether Delta keeps the statistics of such a column that clustering needs."""
    kind = path[-1]["type"]
    return isinstance(kind, str) and (kind in _CLUSTERABLE or kind.startswith("decimal("))


def clusterable_paths(fields: Sequence[_Field], names: Iterable[str]) -> tuple[Path, ...]:
    """Those of the named columns that are there, and can be clustered by."""
    found = (find_path(fields, name) for name in names)
    return tuple(p for p in found if p is not None and is_clusterable(p))[:MOST_COLUMNS]


def path_sql(path: Path) -> str:
    return ".".join(quote(f["name"]) for f in path)


def statistics_columns(listed: str) -> list[str]:
    """The entries of dataSkippingStatsColumns; a name in backquotes may have a comma."""
    return [c.strip() for c in _ENTRY.findall(listed) if c.strip()]


def is_clustered_by(log: TableLog, names: Sequence[str]) -> bool:
    """Whether the table is clustered by those of the columns that it has."""
    paths = clusterable_paths(log.metadata().fields, names)
    return log.clustering() == tuple(tuple(stored_name(f) for f in p) for p in paths)


def recluster(spark: SparkSession, log: TableLog, names: Sequence[str]) -> bool:
    """The table is clustered by those of the columns that it has: a commit that changes no rows
    where it is not, else nothing. The caller holds the table's lock."""
    if is_clustered_by(log, names):
        return False
    chosen = [path_sql(p) for p in clusterable_paths(log.metadata().fields, names)]
    _keep_statistics(spark, log, chosen)
    listed = f"({', '.join(chosen)})" if chosen else "NONE"
    spark.sql(f"ALTER TABLE {sql_table(log.path)} CLUSTER BY {listed}")
    table_place(log.path).settle((), log.version())
    return True


def _keep_statistics(spark: SparkSession, log: TableLog, columns: Sequence[str]) -> None:
    """Delta clusters by columns that it keeps statistics of, and refuses others."""
    listed = log.properties().get(STATISTICS)
    if listed is None:
        return
    known = statistics_columns(listed)
    missing = [c for c in columns if c.lower() not in {k.lower() for k in known}]
    if missing:
        pair = f"{sql_string(STATISTICS)} = {sql_string(','.join([*missing, *known]))}"
        spark.sql(f"ALTER TABLE {sql_table(log.path)} SET TBLPROPERTIES ({pair})")
