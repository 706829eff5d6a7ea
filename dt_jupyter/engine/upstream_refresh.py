"""Refreshing in a graph: everything upstream first, at the same data timestamp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from dt_jupyter.catalog import Overtaken
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
    read_error,
)
from dt_jupyter.refresh import Refresher, has_new_columns
from dt_jupyter.sources import LeaseWaits, fix_past, upstream_now
from dt_jupyter.spark import check_cancelled

T = TypeVar("T")
_RECORDS = 20


@dataclass(frozen=True)
class Graph:
    """Manual refreshes and initialisations; `retried` is called before each, for views that wait
    for what they read, `published` when contents or columns are new, `changed` after every one."""

    refresher: Refresher
    clock: Clock
    waits: LeaseWaits
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
        wait: float | None = None,
    ) -> RefreshRecord:
        """A manual refresh: the data timestamp is at or after the command (or `at`, a past one).

        With `full` all its rows are recomputed, and nothing else upstream than without. Where a
        warehouse that it needs is suspended the record is SKIPPED, with DT-2112. Refreshes that
        run are waited for, `wait` seconds at most; DT-2104 at their end. DT-2109 for an `at` that
        is not after the present data timestamp, or later than now.
        """
        now = self.clock.now()
        if at is not None:
            low = table.data_timestamp
            if at > now or (low is not None and at <= low):
                raise error("DT-2109", timestamp=at, low=low or "the beginning", high=now)
            self._fix_past(table, at)
            return self.refresh_at(table, at, trigger, full=full, wait=wait)
        return self._when_free(table, now, trigger, full=full, fixed=False, wait=wait)

    def refresh_at(
        self,
        table: DynamicTable,
        t: Timestamp,
        trigger: RefreshTrigger,
        *,
        full: bool = False,
        wait: float | None = None,
    ) -> RefreshRecord:
        """The table at `t`, after everything upstream of it at `t`; theirs come with the record.
        Waits as `refresh` does."""
        return self._when_free(table, t, trigger, full=full, fixed=True, wait=wait)

    def _when_free(
        self,
        table: DynamicTable,
        start: Timestamp,
        trigger: RefreshTrigger,
        *,
        full: bool,
        fixed: bool,
        wait: float | None,
    ) -> RefreshRecord:
        """A refresh to `start`, or where that is not `fixed` to a later time, after those of
        others that are in its way; or the one among them that did the same."""
        deadline, t = self.waits.deadline(wait), start
        catalog = self.refresher.sources.catalog
        while True:
            try:
                with catalog.one_state(whole=False):
                    return self._run_upstream_first(table, t, trigger, full=full)
            except DTError as e:
                if e.code == "DT-2104":
                    self._await_end(e, deadline)
                elif fixed or not self._was_passed(e, start):
                    raise
            if not full and (done := self._same_refresh(table, start, fixed=fixed)) is not None:
                return done
            t = start if fixed else self._next_time(table, t)

    def repeat(self, work: Callable[[], T]) -> T:
        """`work()`, again after each refresh that is in its way, or that ended since it looked:
        what raises has changed nothing. DT-2104 where the waiting takes too long."""
        deadline = self.waits.deadline()
        while True:
            try:
                return work()
            except Overtaken:
                check_cancelled()
            except DTError as e:
                if e.code != "DT-2104":
                    raise
                self._await_end(e, deadline)

    def _await_end(self, problem: DTError, deadline: float) -> None:
        """Until the refresh that a DT-2104 names has ended, or its lease is over."""
        catalog = self.refresher.sources.catalog
        table = catalog.get(problem.facts["name"])
        held = next((x for x in catalog.running() if table and x.dt_id == table.id), None)
        attempt = held.attempt if held is not None else None
        kind = "scheduled " if held and held.trigger is RefreshTrigger.SCHEDULED else ""
        name, owner = problem.facts["name"], problem.facts["owner"]
        self.waits.until(
            lambda: all(x.attempt != attempt for x in catalog.running()),
            f"Waiting for the {kind}refresh of {name} ({owner})",
            problem,
            deadline,
        )

    def _was_passed(self, problem: DTError, start: Timestamp) -> bool:
        """Whether a table has been refreshed to a later time than that of this statement, since
        the statement began."""
        return problem.code == "DT-2109" and start < problem.facts["low"] <= self.clock.now()

    def _same_refresh(
        self, table: DynamicTable, start: Timestamp, *, fixed: bool
    ) -> RefreshRecord | None:
        """The refresh of another that read all that one from `start` on must read; to `start`
        itself where that is fixed."""
        catalog = self.refresher.sources.catalog
        now = catalog.by_id(table.id)
        t = now.data_timestamp if now is not None else None
        if now is None or t is None or now.needs_reinit is not None:
            return None
        if t < start or (fixed and t != start):
            return None
        records = catalog.history(now.name, _RECORDS)
        done = (r for r in records if r.state is RefreshState.SUCCEEDED and r.data_timestamp == t)
        return next(done, None)

    def _next_time(self, table: DynamicTable, tried: Timestamp) -> Timestamp:
        """The newest data timestamp upstream where one is later than what was tried, so that what
        is refreshed all the time is not refreshed once more for this; else now."""
        times = [t for t in self._times_upstream(table) if t > tried]
        if not times:
            return self.clock.now()
        self._fix_past(table, max(times))
        return max(times)

    def _times_upstream(self, table: DynamicTable) -> Iterator[Timestamp]:
        for other in upstream_now(self.refresher.sources, table):
            yield from self._times_upstream(other)
            if other.data_timestamp is not None:
                yield other.data_timestamp

    def _run_upstream_first(
        self, table: DynamicTable, t: Timestamp, trigger: RefreshTrigger, *, full: bool = False
    ) -> RefreshRecord:
        upstream: list[RefreshRecord] = []
        for other in upstream_now(self.refresher.sources, table):
            if self.refresher.sources.catalog.version_of(other.id, t) is not None:
                continue
            record = self._run_upstream_first(other, t, trigger)
            upstream.append(record)
            if record.state is not RefreshState.SUCCEEDED:
                return self._upstream_failed(table, t, trigger, other.name, tuple(upstream))
        record = self._asked_for(table, t, trigger, full=full)
        return replace(record, upstream=tuple(upstream))

    def bring_new(self, dt_id: str, t: Timestamp, trigger: RefreshTrigger) -> None:
        """Dynamic tables that a replaced view reads, and which no definition shows the
        scheduler before this refresh has succeeded, at `t`."""
        sources = self.refresher.sources
        table = sources.catalog.by_id(dt_id)
        if table is None or not table.definition.views:
            return
        known = {s.name for s in table.definition.sources}
        for other in upstream_now(sources, table):
            if other.name not in known and sources.catalog.version_of(other.id, t) is None:
                self._run_upstream_first(other, t, trigger)

    def _asked_for(
        self, table: DynamicTable, t: Timestamp, trigger: RefreshTrigger, *, full: bool
    ) -> RefreshRecord:
        """A refresh that was not scheduled: in a warehouse that is suspended it moves the data
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
        else now, refreshing upstream (DT paper 3.1.2). Waits as `refresh` does."""
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
        return self.refresh(table, RefreshTrigger.CREATION)

    def _fix_past(self, table: DynamicTable, t: Timestamp) -> None:
        """What is read at a past time, in the tables upstream too, is what was there by then."""
        sources = self.refresher.sources
        for other in upstream_now(sources, table):
            self._fix_past(other, t)
        fix_past(sources, table.definition.sources, t)

    def _has_tables(self, table: DynamicTable, t: Timestamp) -> bool:
        """Whether the base tables were there at `t`: one may be younger than the dynamic tables
        next to it."""
        logs = self.refresher.sources.logs
        paths = [s.path for s in table.definition.sources if s.kind is SourceKind.DELTA]
        try:
            return all(p is None or logs[p].version_at(t) is not None for p in paths)
        except LakeError:  # its log does not reach back to then
            return False


def failure_of(record: RefreshRecord) -> DTError:
    """The error of a refresh that did not succeed, for a statement that was to make it: the one
    that its history keeps."""
    if record.error_code == "DT-2112":
        return error("DT-2112", name=record.warehouse)
    found = read_error(record.error or "")
    if found is not None:
        return found
    problem = record.error or record.error_code or str(record.state)
    return error("DT-2105", work="refresh", name=record.name, problem=problem, hint="")
