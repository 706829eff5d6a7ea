"""The declared keys of what a refresh reads: at its new end one row has each.

A version that a refresh has read was checked, so of the next one only those keys are checked
that were added since; where the change cannot be read, or the key is younger, all of them are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.lake import (
    ChangePlan,
    Relation,
    SmallTables,
    TableLog,
    Unchanged,
    Unreadable,
    fields_named,
    local_view,
    relation,
    selecting_columns,
    snapshot_sql,
    spark_schema,
)
from dt_jupyter.model import DynamicTable, SourceKind, quote
from dt_jupyter.model.hidden import WEIGHT, hidden
from dt_jupyter.refresh.observation import Look
from dt_jupyter.sources import By, Identity, Sources, find_declared_key, require_key, surely_unique
from dt_jupyter.spark import type_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_VIEW = hidden("declared_keys")


def require_source_keys(
    spark: SparkSession, sources: Sources, small: SmallTables, table: DynamicTable, seen: Look
) -> None:
    """DT-3108 where a declared key of a source has two rows at the frontier that was seen."""
    for keys in _declared(sources, table, seen):
        if not isinstance(keys.plan, Unchanged):
            keys.require_unique(spark, small)


def has_new_keys(sources: Sources, table: DynamicTable, seen: Look) -> bool:
    """Whether a source whose rows are the same has a key that it had not when they were read."""
    plans = seen.plans
    return any(
        k.plan is None and isinstance(plans.get(k.table_id), Unchanged)
        for k in _declared(sources, table, seen)
    )


def _declared(sources: Sources, table: DynamicTable, seen: Look) -> Iterator[_Keys]:
    stood = table.frontier.versions if table.frontier is not None else {}
    for source in seen.sources:
        if source.kind is SourceKind.FOREIGN or source.path is None:
            continue
        log, new = sources.logs[source.path], seen.frontier.versions[source.table_id]
        key, old = find_declared_key(log, new), stood.get(source.table_id)
        if key:
            plan = seen.plans.get(source.table_id)
            same = old == new or (old is not None and _had(log, old, key))
            known = same and not isinstance(plan, Unreadable)
            yield _Keys(log, new, source.table_id, key, str(source.name), plan if known else None)


def _had(log: TableLog, version: int, key: tuple[str, ...]) -> bool:
    return version >= log.oldest() and find_declared_key(log, version) == key


@dataclass(frozen=True)
class _Keys:
    """The key of a source at the version `new`, and the change since a version that had it; None:
    all rows are checked."""

    log: TableLog
    new: int
    table_id: str
    key: tuple[str, ...]
    name: str
    plan: ChangePlan | None

    def require_unique(self, spark: SparkSession, small: SmallTables) -> None:
        if self.plan is None:
            if not self._is_sure(small.columns_of(self.log, self.new, self.key)):
                self._require(spark, snapshot_sql(self.log.path, self.new))
            return
        change = relation(
            spark, self.log, self.plan, self.key,
            view_prefix=_VIEW, local_views=False, kept=small.columns,
        )  # fmt: skip
        try:
            if not self._is_sure(self._selected(small, change.arrow)):
                self._require_came(spark, change)
        finally:
            for view in change.views if change.arrow is None else ():
                spark.catalog.dropTempView(view)

    def _require_came(self, spark: SparkSession, change: Relation) -> None:
        """Require it of the rows that came since, by Spark."""
        if change.arrow is not None:
            local_view(spark, self.log, self.new, change.arrow, change.views[0])
        came = f"(SELECT * FROM {change.sql} WHERE {WEIGHT} > 0) c"
        same = " AND ".join(f"n.{quote(k)} <=> c.{quote(k)}" for k in self.key)
        rows = snapshot_sql(self.log.path, self.new)
        self._require(spark, f"(SELECT n.* FROM {rows} n LEFT SEMI JOIN {came} ON {same})")

    def _selected(self, small: SmallTables, change: pa.Table | None) -> pa.Table | None:
        """The keys at the new end of rows that came, perhaps with others; None: Spark looks."""
        import pyarrow.compute as pc

        if change is None:
            return None
        came = change.filter(pc.greater(change[WEIGHT], 0))
        if not came.num_rows:
            return came.select(self.key)
        known = selecting_columns(self.log.metadata(self.new))
        by = next((k for k in self.key if k in known), None)
        if by is None:
            return small.columns_of(self.log, self.new, self.key)
        return small.select(self.log, self.new, self.key, by, came[by], nulls=True)

    def _is_sure(self, keys: pa.Table | None) -> bool:
        import pyarrow as pa

        if keys is None:
            return False
        ones = pa.array([1] * keys.num_rows, pa.int64())
        return surely_unique(keys.append_column(WEIGHT, ones), self.key)

    def _require(self, spark: SparkSession, rows: str) -> None:
        fields = spark_schema(fields_named(self.log.metadata(self.new), self.key))
        columns = tuple((f.name, type_text(f.dataType)) for f in fields)
        named = ", ".join(map(quote, self.key))
        weighted = f"(SELECT {named}, 1L AS {WEIGHT} FROM {rows})"
        require_key(spark, weighted, self.name, Identity(By.KEY, columns, "key"), ())
