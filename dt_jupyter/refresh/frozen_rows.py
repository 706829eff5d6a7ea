"""The rows that a table with a frozen region continues with, as a query over what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.definition import columns_of_region, frozen_at, read_condition
from dt_jupyter.ivm import Expr, Raw, Refused
from dt_jupyter.lake import Contents, is_delta, snapshot_sql, spark_schema
from dt_jupyter.model import Definition, DynamicTable, Timestamp, error
from dt_jupyter.model.hidden import STORED_ID, is_hidden, where_visible
from dt_jupyter.refresh.frozen_columns import ColumnsKept, ColumnTypes, carried_columns
from dt_jupyter.sources import Sources
from dt_jupyter.spark import type_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOST = frozenset(("LOG_LOST", "LOG_BROKEN", "LOG_REGRESSED"))


@dataclass(frozen=True)
class KeptRegion:
    """The frozen region at a refresh: `condition` over these `columns`, which calls `builtins` of
    Spark alone, is true of its rows and else false; `rows` is the query of those that are there in
    the columns of the definition, with their row ids where `has_ids`. Without rows the query gives
    the first ones too."""

    condition: str
    columns: tuple[tuple[str, str, str | None], ...]
    builtins: frozenset[str]
    rows: str | None = None
    has_ids: bool = False

    def read(self, spark: SparkSession) -> Expr:
        """The condition as Spark reads it; where no analyser does, as text."""
        try:
            return read_condition(spark, self.condition, self.columns, self.builtins)
        except Refused:
            return Raw((self.condition,))


def require_frozen_rows(sources: Sources, contents: Contents, table: DynamicTable) -> None:
    """DT-1144 where the table has frozen rows that cannot be read: no query gives them again."""
    if table.definition.frozen is None or table.frontier is None:
        return
    reason, path = table.needs_reinit, sources.layout.public(table.id)
    problem = reason.sentence if reason is not None and reason.code in _LOST else None
    if problem is None:
        there = is_delta(path)
        problem = contents.lost(sources.logs[str(path)]) if there else "the table's folder is gone"
    if problem is not None:
        raise error("DT-1144", name=table.name, problem=problem)


def kept_region(
    sources: Sources,
    builtins: frozenset[str],
    table: DynamicTable,
    definition: Definition,
    t: Timestamp,
    *,
    whole: bool,
) -> KeptRegion | None:
    """The frozen region at a data timestamp; None for a table without one. `whole` asks for the
    rows too, as a refresh that writes all rows does. DT-1142."""
    condition = frozen_at(definition, t)
    if condition is None:
        return None
    origin = _origin(sources, table, definition) if whole else None
    if origin is None:
        return KeptRegion(condition, definition.columns, builtins)
    path, version = origin
    fields = spark_schema(sources.logs[path].metadata(version).fields)
    stored = {f.name: type_text(f.dataType) for f in fields}
    items = carried_columns(table.name, _columns_kept(table, definition, stored))
    has_ids = table.frontier is not None and set(STORED_ID) <= stored.keys()
    ids = STORED_ID if has_ids else ()
    rows = f"SELECT {', '.join((*items, *ids))} FROM {snapshot_sql(path, version)}"
    query = f"SELECT * FROM (\n{rows}{where_visible(stored)}\n)\nWHERE {condition}"
    return KeptRegion(condition, definition.columns, builtins, query, has_ids)


def _origin(
    sources: Sources, table: DynamicTable, definition: Definition
) -> tuple[str, int] | None:
    """The folder and the version that have the frozen rows; None before there are any."""
    if table.frontier is not None and table.version is not None:
        return str(sources.layout.public(table.id)), table.version
    region = definition.frozen
    if region is None or region.backfill is None or region.version is None:
        return None
    assert region.backfill.path is not None
    return region.backfill.path, region.version


def _columns_kept(table: DynamicTable, definition: Definition, stored: ColumnTypes) -> ColumnsKept:
    public = {n: t for n, t in stored.items() if not is_hidden(n)}
    wanted = {n: t for n, t, _ in definition.columns}
    told = {n: t for n, t, _ in table.definition.columns}
    renamed = dict(definition.frozen.renamed) if definition.frozen else {}
    read = columns_of_region(definition.frozen, tuple(wanted)) or frozenset()
    return ColumnsKept(public, told, wanted, renamed, read)
