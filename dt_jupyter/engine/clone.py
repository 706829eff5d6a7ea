"""CREATE DYNAMIC TABLE … CLONE: another table with the same definition, over the same files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.catalog import Attempt, StageRow
from dt_jupyter.definition import found_by
from dt_jupyter.engine.create import Creator
from dt_jupyter.engine.created import Created, schema_words
from dt_jupyter.engine.unmade_tables import making
from dt_jupyter.lake import (
    Cloned,
    CloneMark,
    LakeError,
    VersionGone,
    clone_table,
    open_log,
    remove_folder,
)
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    Name,
    Reason,
    RefreshAction,
    RefreshMode,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    Source,
    SourceKind,
    error,
    undo,
)
from dt_jupyter.refresh import Refresher, require_frozen_rows, stage_app_id, use_schema
from dt_jupyter.replay import Past, Snapshots, vacuum_lock
from dt_jupyter.sources import Moment, is_unreadable
from dt_jupyter.sql import CreateAction, statement_values as S

if TYPE_CHECKING:
    from dt_jupyter.sources import Layout

_STAGE = "stage:"


@dataclass(frozen=True)
class CloneContents:
    """What a clone takes over: the rows of a version, which are those of `definition` at
    `frontier`."""

    version: int
    frontier: Frontier
    definition: Definition
    told: Mapping[str, Any] | None = None
    """What the table was besides, as the version's commit says it; None where it is as now."""
    sources: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """The source and its version that the clone has read, in the place of one by that id."""
    earlier: frozenset[int] = frozenset()
    """Earlier versions that other clones have read."""

    @property
    def stages(self) -> dict[int, int]:
        """The versions of the hidden stages, from the bottom up."""
        found = self.frontier.versions.items()
        return {int(s.removeprefix(_STAGE)): v for s, v in found if s.startswith(_STAGE)}

    def without_state(self) -> CloneContents:
        """The rows alone."""
        versions = {s: v for s, v in self.frontier.versions.items() if not s.startswith(_STAGE)}
        frontier = replace(self.frontier, versions=versions, stateless=True)
        return replace(self, frontier=frontier)

    @property
    def frontier_of_clone(self) -> Frontier:
        """The versions of the sources, and of the clone's own stages, which are the first."""
        found = self.frontier.versions.items()
        own = {s: 0 for s, _ in found if s.startswith(_STAGE)}
        read = dict(self.sources.get(s, (s, v)) for s, v in found if s not in own)
        return replace(self.frontier, versions={**read, **own})


@dataclass(frozen=True)
class Cloner:
    """Clones dynamic tables; no row is computed or copied."""

    creator: Creator
    refresher: Refresher
    snapshots: Snapshots

    @property
    def _layout(self) -> Layout:
        return self.creator.sources.layout

    def clone(self, statement: S.CloneDynamicTable, at: Moment | None) -> Created:
        """CREATE [OR REPLACE] DYNAMIC TABLE n CLONE m [AT (…)]: a failure leaves everything as it
        was. DT-1101, DT-1105, DT-1106, DT-41xx."""
        catalog, name = self.creator.sources.catalog, statement.name
        existing = self.creator.existing(name, statement.action)
        if existing is not None and statement.action is CreateAction.IF_NOT_EXISTS:
            return Created(existing, None, None, f"{name} already exists, nothing done.")
        original = self.refresher.standing(catalog.require(statement.source))
        contents = self.contents(original, at)
        given = {"target_lag": statement.target_lag, "warehouse": statement.warehouse}
        table = self.row(original, name, contents, given)
        self._require_definition(table)
        found = found_by(table.definition)
        if path := self.creator.sources.cycle(name, found):
            raise error("DT-1106", name=name, path=path)
        if statement.warehouse is not None:
            catalog.warehouse(statement.warehouse)
        schema = self.creator.publisher.new_schema(name)
        step = making(table, existing, schema)
        with self.creator.log.begin(f"CREATE DYNAMIC TABLE {name}", step):
            self.creator.register(table, existing)
            record = self._fill(table, original, contents)
            self.creator.publisher.publish(catalog.require(name))
        return Created(catalog.require(name), None, record, _said(name, original, contents, schema))

    def _require_definition(self, table: DynamicTable) -> None:
        """DT-52xx for a definition that the session's role, which will own it, may not run."""
        self.creator.access.require_definition(table.definition)
        with self.creator.sessions.lease(table.warehouse, table.definition.settings) as spark:
            use_schema(spark, table.definition)
            self.creator.require_plan(spark, table.definition.query)

    def contents(self, original: DynamicTable, at: Moment | None) -> CloneContents | None:
        """None for a table that has no rows to take over. DT-2101, DT-4101 to DT-4104."""
        if at is None:
            if original.frontier is None or original.version is None or is_unreadable(original):
                return None
            return CloneContents(original.version, original.frontier, original.definition)
        if original.frontier is None:
            raise error("DT-2101", name=original.name)
        return self._contents_at(original, at)

    def _contents_at(self, original: DynamicTable, at: Moment) -> CloneContents:
        past = Past(self.creator.sources, original)
        source = source_of(self._layout, original)
        version = self.snapshots.versions([source], str(original.name), at)[original.id]
        read = self.snapshots.read_at(source, version, at.time)
        commit = past.commit_of(version)
        frontier = past.frontier_at(read.since, version)
        definition, told = past.definition_of(commit), commit.mark.get("table")
        same = definition == original.definition or not isinstance(told, dict)
        return CloneContents(version, frontier, definition, None if same else told)

    def row(
        self,
        original: DynamicTable,
        name: Name,
        contents: CloneContents | None,
        given: Mapping[str, Any],
    ) -> DynamicTable:
        """The clone as the catalog has it before its contents; `given` are options, None: as the
        original's."""
        modes = {} if contents is None or contents.told is None else _modes(contents.told)
        return replace(
            original,
            id=uuid.uuid4().hex,
            name=name,
            definition=contents.definition if contents else original.definition,
            created=self.creator.clock.now(),
            sequence=0,
            version=None,
            frontier=None,
            error_count=0,
            needs_reinit=None,
            **modes,
            **{option: value for option, value in given.items() if value is not None},
        )

    def _fill(
        self, table: DynamicTable, original: DynamicTable, contents: CloneContents | None
    ) -> RefreshRecord | None:
        """The clone's contents, taken over; computed where the original's cannot be read; none
        where it has none yet."""
        if contents is not None:
            with vacuum_lock(self._layout):
                return self.take_over(table, original, contents)[0]
        require_frozen_rows(self.creator.sources, self.refresher.contents, original)
        t = original.data_timestamp
        return None if t is None else self.creator.compute(table, t)

    def take_over(
        self, table: DynamicTable, original: DynamicTable, contents: CloneContents
    ) -> tuple[RefreshRecord, Cloned]:
        """As a refresh commits: the hidden stages first, the public table is the commit point.
        The caller keeps VACUUM out."""
        catalog, frontier = self.creator.sources.catalog, contents.frontier_of_clone
        attempt = catalog.begin(
            table.id,
            RefreshTrigger.CREATION,
            frontier.data_timestamp,
            uuid.uuid4().hex,
            self.refresher.tuning.lease_seconds,
        )
        waiting = table.needs_reinit or original.needs_reinit
        if waiting is not None:  # stays when the attempt ends
            catalog.update(table.id, needs_reinit=waiting)
        copies = _Copies(self.creator, self.snapshots, attempt, table, original, contents)
        try:
            copies, stages = copies.with_stages()
            made = copies.public()
        except BaseException as e:
            failed = replace(copies.record(RefreshState.FAILED), error=str(e))
            undo(e, lambda: catalog.fail(attempt, failed))
            raise
        version = made.versions[contents.version]
        record = catalog.finish(
            attempt,
            copies.record(RefreshState.SUCCEEDED, version),
            frontier=copies.contents.frontier_of_clone,
            sequence=1,
            version=version,
            stages=stages,
        )
        return record, made


@dataclass(frozen=True)
class _Copies:
    """The tables behind a clone, each made of one version of the original's."""

    creator: Creator
    snapshots: Snapshots
    attempt: Attempt
    table: DynamicTable
    original: DynamicTable
    contents: CloneContents

    def with_stages(self) -> tuple[_Copies, tuple[StageRow, ...]]:
        """The hidden stages. Where a version of theirs is gone, a clone without state: its next
        change recomputes that."""
        try:
            return self, tuple(self._stage(o, v) for o, v in sorted(self.contents.stages.items()))
        except (LakeError, FileNotFoundError):
            remove_folder(self.creator.sources.layout.folder(self.table.id))
            return replace(self, contents=self.contents.without_state()), ()

    def _stage(self, ordinal: int, version: int) -> StageRow:
        layout, frontier = self.creator.sources.layout, self.contents.frontier_of_clone
        app_id, path = stage_app_id(self.table.id, ordinal), layout.stage(self.table.id, ordinal)
        origin = self.creator.sources.logs[str(layout.stage(self.original.id, ordinal))]
        clone_table(origin, [version], path, self._mark(app_id))
        return StageRow(self.table.id, ordinal, f"{_STAGE}{ordinal}", 1, 0, frontier, str(path))

    def public(self) -> Cloned:
        """DT-4104 where its files are gone, and no pin has them."""
        layout, version = self.creator.sources.layout, self.contents.version
        source, path = source_of(layout, self.original), layout.public(self.table.id)
        folder = self.snapshots.table(source, version).folder
        wanted = {version, *self.contents.earlier}
        log = open_log(folder if len(wanted) == 1 else layout.public(self.original.id))
        try:
            return clone_table(log, wanted, path, self._mark(f"dt:{self.table.id}"))
        except (VersionGone, FileNotFoundError) as e:
            raise self.snapshots.past_retention(source, version) from e

    def _mark(self, app_id: str) -> CloneMark:
        return CloneMark(app_id, json.dumps(self._metadata(), sort_keys=True))

    def _metadata(self) -> dict[str, Any]:
        """What a commit says of its refresh, for recovery and for a catalog that is rebuilt."""
        catalog, frontier = self.creator.sources.catalog, self.contents.frontier_of_clone
        return {
            "seq": 1,
            "attempt": self.attempt.id,
            "epoch": self.attempt.epoch,
            "data_ts": str(frontier.data_timestamp),
            "frontier": frontier.to_json(),
            "action": self._action.value,
            "reason": [self._reason.code, self._reason.sentence],
            "trigger": self.attempt.trigger.value,
            "stages": {f"{_STAGE}{ordinal}": 0 for ordinal in self.contents.stages},
            "definition": catalog.digest(self.contents.definition),
            "table": catalog.registration(self.table.id, self.contents.definition),
        }

    @property
    def _action(self) -> RefreshAction:
        full = self.table.effective_mode is RefreshMode.FULL
        return RefreshAction.FULL if full else RefreshAction.REINITIALIZE

    @property
    def _reason(self) -> Reason:
        point = self.contents.frontier.data_timestamp.words
        return Reason("CLONED", f"the rows of {self.original.name} at {point} were taken over")

    def record(self, state: RefreshState, version: int | None = None) -> RefreshRecord:
        done = state is RefreshState.SUCCEEDED
        return RefreshRecord(
            self.table.name,
            self.attempt.id,
            state,
            self.attempt.trigger,
            self.attempt.data_timestamp,
            self._action,
            self._reason,
            self.contents.frontier_of_clone if done else None,
            version,
            RefreshStatistics(),
        )


def _modes(told: Mapping[str, Any]) -> dict[str, Any]:
    """The refresh modes in a commit's registration."""
    return {
        "mode": RefreshMode(told["mode"]),
        "effective_mode": RefreshMode(told["effective_mode"]),
        "mode_reason": Reason(*json.loads(str(told["mode_reason"]))),
    }


def source_of(layout: Layout, table: DynamicTable) -> Source:
    path = str(layout.public(table.id))
    return Source(table.name, SourceKind.DYNAMIC_TABLE, table.id, path)


def _said(
    name: Name, original: DynamicTable, contents: CloneContents | None, schema: str | None
) -> str:
    made = f"Dynamic table {name} cloned"
    if contents is not None:
        made = f"{made} from {original.name} at {contents.frontier.data_timestamp.words}"
    return f"{made}{schema_words(schema)}."


__all__ = ["CloneContents", "Cloner", "source_of"]
