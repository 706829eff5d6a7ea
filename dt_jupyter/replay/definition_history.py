"""The past of a dynamic table: its definitions, frontiers and commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.catalog import DefinitionRow
from dt_jupyter.definition import Compiled, SparkAnswers, found_by
from dt_jupyter.lake import TableLog, mark_of, spark_schema
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    RefreshRecord,
    RefreshState,
    SourceKind,
    Timestamp,
    error,
)
from dt_jupyter.refresh import Refresher
from dt_jupyter.sources import Sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class PastCommit:
    """A refresh's commit to a backing table: what it carries."""

    version: int
    mark: Mapping[str, Any]

    @property
    def attempt(self) -> str:
        return str(self.mark["attempt"])

    @property
    def frontier(self) -> Frontier:
        return Frontier.from_json(self.mark["frontier"])


@dataclass(frozen=True)
class Past:
    """The past of one dynamic table, from its own log and the catalog."""

    sources: Sources
    table: DynamicTable

    @property
    def log(self) -> TableLog:
        return self.sources.logs[str(self.sources.layout.public(self.table.id))]

    def commits(self, upto: int | None = None) -> Iterator[PastCommit]:
        """The refreshes' commits up to a version, newest first."""
        newest = self.log.version() if upto is None else upto
        for version in range(newest, self.log.oldest() - 1, -1):
            mark = mark_of(self.log.user_metadata(version))
            if "attempt" in mark and "frontier" in mark:
                yield PastCommit(version, mark)

    def commit_of(self, version: int) -> PastCommit:
        """The refresh whose rows a version has; DT-4109 where the log does not show it."""
        found = next(self.commits(version), None)
        if found is None:
            raise error(
                "DT-4109",
                refresh=f"of {self.table.name} at version {version}",
                problem="its commit is not in the log any more",
                hint="",
            )
        return found

    def records(self) -> list[RefreshRecord]:
        """The refreshes that succeeded, newest first."""
        found = self.sources.catalog.recent(self.table.id, 1 << 30)
        return [r for r in found if r.state is RefreshState.SUCCEEDED and r.frontier is not None]

    def frontier_at(self, t: Timestamp, version: int) -> Frontier:
        """The versions of the sources at exactly a data timestamp, whose version is known."""
        for record in self.records():
            if record.frontier is not None and record.frontier.data_timestamp == t:
                return record.frontier
        return self.commit_of(version).frontier

    # -- definitions ------------------------------------------------------------------------------

    def definitions(self) -> tuple[DefinitionRow, ...]:
        """All that it ever had, oldest first."""
        return self.sources.catalog.definitions(self.table.id)

    def definition_of(self, commit: PastCommit) -> Definition:
        """The definition that a commit was computed by: the one that it names, else the one in
        force at its data timestamp."""
        known, told = self.definitions(), self.sources.catalog.digest
        digest = commit.mark.get("definition")
        named = [d for d in known if digest in (d.digest, told(d.definition))]
        if named:
            return named[-1].definition
        if digest == told(self.table.definition):
            return self.table.definition
        t = commit.frontier.data_timestamp
        before = [d for d in known if d.valid_from <= t] or list(known[:1])
        return before[-1].definition if before else self.table.definition

    def compiled(
        self,
        spark: SparkSession,
        refresher: Refresher,
        definition: Definition,
        frontier: Frontier,
        logs: Mapping[str, TableLog],
    ) -> Compiled:
        """The stages of a definition over the schemas that its sources had at a frontier; Refused
        where there are none."""
        schemas = {
            s.table_id: spark_schema(
                logs[s.table_id].metadata(frontier.versions[s.table_id]).fields, declared=True
            )
            for s in definition.sources
        }
        found = found_by(definition)
        answers = SparkAnswers(partial(self.sources.catalog.stored_plan, self.table.id))
        return refresher.definer.compile_over(spark, definition, found, schemas, answers)


def elsewhere(definition: Definition, folders: Mapping[str, Path]) -> Definition:
    """The definition with its sources read in other folders, by id."""
    sources = tuple(
        replace(s, path=str(folders[s.table_id])) if s.table_id in folders else s
        for s in definition.sources
    )
    return replace(definition, sources=sources)


def require_versions(definition: Definition, name: object) -> None:
    """DT-4109 for a source without versions: its rows of then are gone."""
    for source in definition.sources:
        if source.kind is SourceKind.FOREIGN:
            raise error(
                "DT-4109",
                refresh=f"of {name}",
                problem=f"{source.name} has no versions",
                hint="Make it a Delta table.",
            )
