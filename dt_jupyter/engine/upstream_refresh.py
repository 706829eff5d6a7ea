"""Refreshing in a graph: everything upstream first, at the same data timestamp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dt_jupyter.lake import LakeError
from dt_jupyter.model import (
    Clock,
    DTError,
    DynamicTable,
    Name,
    Reason,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    SourceKind,
    Timestamp,
    error,
)
from dt_jupyter.refresh import Refresher, has_new_columns
from dt_jupyter.sources import fix_past, upstream_now


@dataclass(frozen=True)
class Graph:
    """Manual refreshes and initialisations; `retried` is called before each, for views that wait
    for what they read, `published` when contents or columns are new, `changed` after every one."""

    refresher: Refresher
    clock: Clock
    published: Callable[[DynamicTable], None]
    changed: Callable[[], None]
    retried: Callable[[], None]

    def refresh(
        self,
        table: DynamicTable,
        trigger: RefreshTrigger,
        at: Timestamp | None = None,
        *,
        full: bool = False,
    ) -> RefreshRecord:
        """A manual refresh: the data timestamp is at or after the command (or `at`, a past one).

        With `full` all its rows are recomputed, and nothing else upstream than without. Where a
        warehouse that it needs is suspended the record is SKIPPED, with DT-2112. DT-2109
        for an `at` that is not after the present data timestamp, or later than now.
        """
        now = self.clock.now()
        if at is not None:
            low = table.data_timestamp
            if at > now or (low is not None and at <= low):
                raise error("DT-2109", timestamp=at, low=low or "the beginning", high=now)
            self._fix_past(table, at)
        return self.refresh_at(table, at or now, trigger, full=full)

    def refresh_at(
        self, table: DynamicTable, t: Timestamp, trigger: RefreshTrigger, *, full: bool = False
    ) -> RefreshRecord:
        """The table at `t`, after everything upstream of it at `t`; theirs come with the record."""
        upstream: list[RefreshRecord] = []
        for other in upstream_now(self.refresher.sources, table):
            if self.refresher.sources.catalog.version_of(other.id, t) is not None:
                continue
            record = self.refresh_at(other, t, trigger)
            upstream.append(record)
            if record.state is not RefreshState.SUCCEEDED:
                return self._upstream_failed(table, t, trigger, other.name, tuple(upstream))
        record = self._asked_for(table, t, trigger, full=full)
        return replace(record, upstream=tuple(upstream))

    def bring_new(self, dt_id: str, t: Timestamp, trigger: RefreshTrigger) -> None:
        """Dynamic tables that a replaced view reads, and of which no definition tells the
        scheduler before this refresh has succeeded, at `t`."""
        sources = self.refresher.sources
        table = sources.catalog.by_id(dt_id)
        if table is None or not table.definition.views:
            return
        known = {s.name for s in table.definition.sources}
        for other in upstream_now(sources, table):
            if other.name not in known and sources.catalog.version_of(other.id, t) is None:
                self.refresh_at(other, t, trigger)

    def _asked_for(
        self, table: DynamicTable, t: Timestamp, trigger: RefreshTrigger, *, full: bool
    ) -> RefreshRecord:
        """A refresh that nobody scheduled: in a warehouse that is suspended it moves the data
        timestamp where nothing is new, and else resumes it where that is allowed, or waits for a
        RESUME, and says so."""
        catalog = self.refresher.sources.catalog
        warehouse = catalog.warehouse(table.warehouse)
        asleep = warehouse.suspended
        record = self.run(table.id, t, trigger, metadata_only=asleep, full=full)
        if record.state is not RefreshState.SCHEDULED:
            return record
        if warehouse.auto_resume:
            catalog.alter_warehouse(warehouse.name, suspended=False)
            return self.run(table.id, t, trigger, full=full)
        failure = error("DT-2112", name=table.warehouse)
        sentence = f"Warehouse {table.warehouse} is suspended, and the refresh has rows to compute."
        reason = Reason("WAREHOUSE_SUSPENDED", sentence)
        catalog.record_skip(table.id, t, RefreshState.SKIPPED, reason, trigger)
        return RefreshRecord(
            table.name,
            "",
            RefreshState.SKIPPED,
            trigger,
            t,
            reason=reason,
            warehouse=table.warehouse,
            error_code=failure.code,
            error=str(failure),
        )

    def _upstream_failed(
        self,
        table: DynamicTable,
        t: Timestamp,
        trigger: RefreshTrigger,
        upstream: Name,
        records: tuple[RefreshRecord, ...],
    ) -> RefreshRecord:
        last = records[-1]
        skipped = last.state is RefreshState.SKIPPED
        state = RefreshState.SKIPPED if skipped else RefreshState.UPSTREAM_FAILED
        failure = error("DT-2110", upstream=upstream, name=table.name, timestamp=t)
        told = f"{failure.sentence} {last.error}" if last.error else failure.sentence
        reason = Reason("UPSTREAM_FAILED", told)
        if skipped and last.reason is not None:
            sentence = f"{upstream}, which it reads, was skipped: {last.reason.sentence}"
            reason = Reason("UPSTREAM_SKIPPED", sentence)
        catalog = self.refresher.sources.catalog
        catalog.record_skip(table.id, t, state, reason, trigger)
        return RefreshRecord(
            table.name,
            "",
            state,
            trigger,
            t,
            reason=reason,
            warehouse=last.warehouse,
            error_code=last.error_code if skipped else failure.code,
            error=last.error or str(failure),
            upstream=records,
        )

    def run(
        self,
        dt_id: str,
        t: Timestamp,
        trigger: RefreshTrigger,
        *,
        metadata_only: bool = False,
        full: bool = False,
    ) -> RefreshRecord:
        """One refresh; publishes the view where the contents are the first or the columns new."""
        self.retried()
        refresh = self.refresher.refresh
        record = refresh(dt_id, t, trigger, metadata_only=metadata_only, full=full)
        if record is None:
            table = self.refresher.sources.catalog.by_id(dt_id)
            name = table.name if table else Name("default", dt_id)
            return RefreshRecord(name, "", RefreshState.SCHEDULED, trigger, t)
        if has_new_columns(record):
            table = self.refresher.sources.catalog.by_id(dt_id)
            if (
                table is not None
                and table.dropped is None
                and record.state is RefreshState.SUCCEEDED
            ):
                self.published(table)
        self.changed()
        return record

    def initialise(self, table: DynamicTable) -> RefreshRecord:
        """At the newest data timestamp within the target lag at which every source has a version,
        else now, refreshing upstream (DT paper 3.1.2)."""
        catalog = self.refresher.sources.catalog
        upstream = upstream_now(self.refresher.sources, table)
        now = self.clock.now()
        if upstream:
            common = set.intersection(*(set(catalog.timestamps(u.id)) for u in upstream))
            lag = table.target_lag.seconds
            fresh = [t for t in common if lag is None or now.since(t) <= lag]
            if fresh and self._has_tables(table, max(fresh)):
                self._fix_past(table, max(fresh))
                return self.refresh_at(table, max(fresh), RefreshTrigger.CREATION)
        return self.refresh_at(table, now, RefreshTrigger.CREATION)

    def _fix_past(self, table: DynamicTable, t: Timestamp) -> None:
        """What is read at a past time, in the tables upstream too, is what was there by then."""
        sources = self.refresher.sources
        for other in upstream_now(sources, table):
            self._fix_past(other, t)
        fix_past(sources, table.definition.sources, t)

    def _has_tables(self, table: DynamicTable, t: Timestamp) -> bool:
        """Whether the base tables were there at `t`: one may be younger than the dynamic tables
        beside it."""
        logs = self.refresher.sources.logs
        paths = [s.path for s in table.definition.sources if s.kind is SourceKind.DELTA]
        try:
            return all(p is None or logs[p].version_at(t) is not None for p in paths)
        except LakeError:  # its log does not reach back to then
            return False


def failure_of(record: RefreshRecord) -> DTError:
    """The error of a refresh that did not succeed, for a statement that was to make it."""
    if record.error_code == "DT-2112":
        return error("DT-2112", name=record.warehouse)
    code = record.error_code or "DT-2105"
    text = (record.error or code).removeprefix(f"[{code}] ")
    problem = text.removeprefix(f"The refresh of {record.name} failed: ")
    return error("DT-2105", name=record.name, problem=problem, hint="")
