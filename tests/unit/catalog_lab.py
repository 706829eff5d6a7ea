"""A catalog in a temporary folder, on a clock that the test moves, and short ways to fill it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from dt_jupyter.catalog import Attempt, Catalog, Owner, find_database, read_place
from dt_jupyter.model import (
    Clock,
    Definition,
    DTError,
    DynamicTable,
    Frontier,
    Initialize,
    Name,
    Reason,
    RefreshAction,
    RefreshMode,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    Source,
    SourceKind,
    TargetLag,
    Timestamp,
    ViewSource,
)

if TYPE_CHECKING:
    from tests.sinks.servers import PostgresServer

START = 1_700_000_000_000_000
HERE = Owner("host-a", 100, "uid-here", "1")
SCHEDULED, MANUAL = RefreshTrigger.SCHEDULED, RefreshTrigger.MANUAL


class Wall:
    """A wall clock that moves when told."""

    def __init__(self) -> None:
        self.micros = START

    def __call__(self) -> int:
        return self.micros

    def forward(self, seconds: float) -> None:
        self.micros += round(seconds * 1e6)


def name(table: str) -> Name:
    return Name("default", table)


def at(seconds: float) -> Timestamp:
    """So many seconds after the test's start."""
    return Timestamp(START).plus(seconds)


def definition(query: str = "SELECT a FROM t", *upstream: str) -> Definition:
    sources = [Source(name("t"), SourceKind.DELTA, "table-t", "/lake/t", ("a",))]
    sources += [Source(name(u), SourceKind.DYNAMIC_TABLE, u, f"/lake/{u}") for u in upstream]
    return Definition(
        query=query,
        settings={"spark.sql.ansi.enabled": "true"},
        columns=(("a", "INT", "the 'a' of it 🚆"), ("b", "DECIMAL(38,2)", None)),
        sources=tuple(sources),
        views=(ViewSource(name("v"), "SELECT 1"),),
        current_schema="other",
    )


def table(table_name: str, **changes: Any) -> DynamicTable:
    dt = DynamicTable(
        id=f"id-{table_name}",
        name=name(table_name),
        definition=definition(),
        target_lag=TargetLag(60.0),
        warehouse="default",
        mode=RefreshMode.AUTO,
        effective_mode=RefreshMode.INCREMENTAL,
        mode_reason=Reason("INCREMENTAL_SUPPORTED", "Every operator has a derivative."),
        initialize=Initialize.ON_CREATE,
        created=at(-100),
    )
    return replace(dt, **changes)


class Lab:
    """One catalog and as many engines on it as a test wants: a file, or in `server`."""

    server: ClassVar[PostgresServer | None] = None

    def __init__(self, folder: Path) -> None:
        self.path = folder / "_dt" / "catalog.sqlite"
        self.wall = Wall()
        self.dead: set[str] = set()
        self._ids = count(1)
        self.catalog = self.open()

    def open(self, owner: Owner = HERE) -> Catalog:
        return Catalog(
            self.path,
            Clock(self.wall),
            owner,
            database=find_database(self.path, self.server and self.server.url),
            alive=lambda other: other.uid not in self.dead,
            new_id=lambda: f"skip-{next(self._ids)}",
        )

    def make(self, *tables: str, **changes: Any) -> None:
        for each in tables:
            self.catalog.create(table(each, **changes))

    def begin(self, t: float, trigger: RefreshTrigger = MANUAL, dt: str = "a") -> Attempt:
        return self.catalog.begin(f"id-{dt}", trigger, at(t), f"q{next(self._ids)}", ttl=30)

    def finish(self, attempt: Attempt, **changes: Any) -> RefreshRecord:
        """A success that wrote: the next sequence, version 10 above it."""
        arguments: dict[str, Any] = {
            "frontier": Frontier(attempt.data_timestamp, {"table-t": attempt.sequence}),
            "sequence": attempt.sequence,
            "version": attempt.sequence + 10,
        } | changes
        return self.catalog.finish(attempt, success(attempt), **arguments)

    def refresh(self, t: float, trigger: RefreshTrigger = MANUAL, dt: str = "a") -> RefreshRecord:
        return self.finish(self.begin(t, trigger, dt))

    def fail(self, t: float, trigger: RefreshTrigger = SCHEDULED, dt: str = "a") -> None:
        attempt = self.begin(t, trigger, dt)
        self.catalog.fail(attempt, failure(attempt))

    def dt(self, dt: str = "a") -> DynamicTable:
        found = self.catalog.by_id(f"id-{dt}")
        assert found is not None
        return found

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """A statement on the catalog, as another program sees it."""
        if self.server is not None:
            place = read_place(self.path.parent)
            assert place is not None
            return self.server.run(f"SET search_path = dt_{place.id}; {sql}")
        connection = sqlite3.connect(self.path)
        try:
            with connection:
                return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table, as another program sees it."""
        of_file = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        of_schema = (
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = current_schema() ORDER BY 1"
        )
        names = [n for (n,) in self.run(of_schema if self.server else of_file)]
        return {n: sorted(self.run(f'SELECT * FROM "{n}"'), key=repr) for n in names}


def success(attempt: Attempt, action: RefreshAction = RefreshAction.INCREMENTAL) -> RefreshRecord:
    return RefreshRecord(
        attempt.name,
        attempt.id,
        RefreshState.SUCCEEDED,
        attempt.trigger,
        attempt.data_timestamp,
        action=action,
    )


def failure(attempt: Attempt, state: RefreshState = RefreshState.FAILED) -> RefreshRecord:
    return RefreshRecord(
        attempt.name,
        attempt.id,
        state,
        attempt.trigger,
        attempt.data_timestamp,
        error_code="DT-2105",
        error="division by zero",
    )


@contextmanager
def refused(code: str) -> Iterator[list[DTError]]:
    """The block raises that error of the catalogue; it is in the list after."""
    caught: list[DTError] = []
    with pytest.raises(DTError) as raised:
        yield caught
    assert raised.value.code == code, raised.value
    caught.append(raised.value)
