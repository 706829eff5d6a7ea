"""Options of a dynamic table that its backing tables carry, which change at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.failures import as_error
from dt_jupyter.lake import (
    MOST_COLUMNS,
    TableLocked,
    find_path,
    is_clusterable,
    is_clustered_by,
    is_delta,
    recluster,
    retain,
    table_lock,
)
from dt_jupyter.model import Definition, DTError, DynamicTable, did_you_mean, error, quote
from dt_jupyter.sources import Sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTION = "CLUSTER BY"
DEFAULT_DAYS = 7
"""How long the past of a table is kept where its option does not say."""


def require_clusterable(definition: Definition, names: Sequence[str]) -> None:
    """DT-1102 for a column that the table does not have, DT-1003 for what Delta cannot cluster."""
    if not names:
        return
    fields = _fields(definition)
    for name in names:
        path = find_path(fields, name)
        if path is None:
            hint = did_you_mean(name, [c for c, _, _ in definition.columns])
            raise error("DT-1102", name=f"{name} of {_OPTION}", hint=hint)
        if not is_clusterable(path):
            raise _refused(
                names,
                f"{name} has a type without file statistics",
                "Cluster by numbers, texts, dates or timestamps.",
            )
    repeated = [n for n, k in Counter(n.lower() for n in names).items() if k > 1]
    if repeated:
        raise _refused(names, f"{repeated[0]} is listed twice", "Name each column once.")
    if len(names) > MOST_COLUMNS:
        problem = f"Delta clusters by at most {MOST_COLUMNS} columns"
        raise _refused(names, problem, "Name those that queries filter by most.")


def _refused(names: Sequence[str], problem: str, hint: str) -> DTError:
    return error(
        "DT-1003", option=_OPTION, value=f"({', '.join(names)})", problem=problem, hint=hint
    )


def _fields(definition: Definition) -> list[Mapping[str, Any]]:
    from pyspark.sql.types import StructType

    ddl = ", ".join(f"{quote(n)} {t}" for n, t, _ in definition.columns)
    schema: Any = StructType.fromDDL(ddl)
    return list(schema.jsonValue()["fields"])


def apply_options(
    spark: SparkSession, sources: Sources, table: DynamicTable, days: float | None
) -> None:
    """What the options of a table say of the tables behind it: the columns that it is clustered
    by, and, with `days`, how long all of them keep their past. Nothing is written where it is so
    already.

    DT-5107 where another process keeps one locked; the catalog has the options all the same.
    """
    public = sources.layout.public(table.id)
    stages = [Path(stage.path) for stage in sources.catalog.stages(table.id)]
    for path in (public, *stages):
        if not is_delta(path):
            continue
        log = sources.logs[str(path)]
        if days is None and (path != public or is_clustered_by(log, table.cluster_by)):
            continue  # a refresh may hold the lock
        try:
            with table_lock(path):
                if days is not None:
                    retain(spark, log, days)
                if path == public:
                    recluster(spark, log, table.cluster_by)
        except TableLocked as e:
            raise as_error(e, table.name) from e
