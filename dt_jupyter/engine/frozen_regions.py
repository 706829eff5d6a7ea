"""A frozen region as a statement asks for it: where its first rows come from, and the effect on
the rows where the region of a table is another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dt_jupyter.definition import Definer
from dt_jupyter.ivm import Expr, Project, Refused, Rel, col
from dt_jupyter.lake import spark_schema
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    FrozenRegion,
    Name,
    Source,
    SourceKind,
    error,
)
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.sources import Sources
from dt_jupyter.spark import type_text
from dt_jupyter.sql import CreateDynamicTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dt_jupyter.refresh import Refresher

_DELTA = "Write its rows into a Delta table: CREATE TABLE t USING delta AS SELECT …."
_CAST = "Make a table with the columns of the query, by name and type, and fill from that."


@dataclass(frozen=True)
class Regions:
    """Makes the regions of statements."""

    sources: Sources
    refresher: Refresher

    def asked(self, statement: CreateDynamicTable) -> FrozenRegion | None:
        """The region of a statement, its source at the version that it has. DT-1101, DT-1143."""
        if statement.frozen is None:
            return None
        if statement.backfill is None:
            return FrozenRegion(statement.frozen)
        source, version = self._backfill(statement.name, statement.backfill)
        return FrozenRegion(statement.frozen, source, version)

    def _backfill(self, name: Name, table: Name) -> tuple[Source, int]:
        source = self.sources.source(table, name)
        if not isinstance(source, Source) or source.kind is SourceKind.FOREIGN:
            problem = "it is neither a Delta table nor a dynamic table"
            raise error("DT-1143", table=table, name=name, problem=problem, hint=_DELTA)
        assert source.path is not None
        known = self.sources.catalog.get(table)
        if known is None:
            return source, self.sources.logs[source.path].version()
        version = self.refresher.standing(known).version
        if version is None:
            raise error("DT-2101", name=table)
        return source, version

    def require_fitting(self, name: Name, definition: Definition) -> None:
        """DT-1143 where the table that fills the region has other columns than the query."""
        region = definition.frozen
        if region is None or region.backfill is None or region.version is None:
            return
        assert region.backfill.path is not None
        fields = self.sources.logs[region.backfill.path].metadata(region.version).fields
        schema = spark_schema(fields)
        given = {f.name: type_text(f.dataType) for f in schema if not is_hidden(f.name)}
        problem = differing_column(given, {n: t for n, t, _ in definition.columns})
        if problem is not None:
            table = region.backfill.name
            raise error("DT-1143", table=table, name=name, problem=problem, hint=_CAST)


def differing_column(given: Mapping[str, str], wanted: Mapping[str, str]) -> str | None:
    """How the columns of a table are not those of a query, by name and type; None: they are."""
    known = {n.lower(): t for n, t in given.items()}
    for name, kind in wanted.items():
        found = known.pop(name.lower(), None)
        if found is None:
            return f"it has no column {name}"
        if found != kind:
            return f"its column {name} is {found}, that of the query {kind}"
    more = next((n for n in given if n.lower() in known), None)
    return None if more is None else f"the query has no column {more}"


def with_region(table: DynamicTable, where: str | None) -> Definition:
    """The definition of a table with another region, None: without one."""
    region = None if where is None else FrozenRegion(where)
    return replace(table.definition, frozen=region)


def require_keepable(
    definer: Definer, spark: SparkSession, table: DynamicTable, definition: Definition
) -> None:
    """DT-1139 for a region that an incremental table cannot keep."""
    try:
        definer.compile(spark, definition, table.frontier)
    except Refused as e:
        problem, hint = e.reason.sentence, "CREATE OR ALTER it with REFRESH_MODE = FULL."
        raise error("DT-1139", name=table.name, problem=problem, hint=hint) from e


def renamed_columns(
    old: Rel | None, new: Rel | None, before: Sequence[str], now: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """The columns (new name, old name) that a new query shows as the old one did, under names that
    neither has otherwise; both relations as they are bound, None where they are not."""
    if old is None or new is None:
        return ()
    (one, shown), (other, items) = _shown(old), _shown(new)
    if one != other:
        return ()
    lost = {e: n for n, e in zip(before, shown, strict=True) if n not in now}
    pairs = ((n, lost.get(e)) for n, e in zip(now, items, strict=True))
    return tuple((n, o) for n, o in pairs if o is not None and n not in before)


def _shown(rel: Rel) -> tuple[Rel, list[Expr]]:
    if isinstance(rel, Project):
        return rel.input, [e for _, e in rel.items]
    return rel, [col(c) for c in rel.columns]
