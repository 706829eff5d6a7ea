"""What a lake's own logs have of its transactions, for the checker of histories.

Each commit that changed rows is a write, and those of one transaction have its id; each commit of a
refresh derives a version from those of its frontier; what consumed streams has read their sources
as far as its commits say. What does not change rows, as OPTIMIZE, makes no version: it is the last
one before that had other rows.  Source: reliability, section 5.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dt_jupyter.catalog import Catalog
from dt_jupyter.histories import (
    DeriveEvent,
    HistoryEvent,
    ReadEvent,
    TransactionHistory,
    Version,
    WriteEvent,
)
from dt_jupyter.lake import CommitFacts, TableLog, is_delta, mark_of
from dt_jupyter.model import Isolation, Name, SourceKind, Timestamp
from dt_jupyter.sources import Layout, Logs


@dataclass(frozen=True)
class RecordedTable:
    """A table's commits that changed its rows, oldest first, as far back as its log has them."""

    id: str
    label: str
    commits: Sequence[CommitFacts]

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        return tuple(c.version for c in self.commits)

    def version(self, number: int) -> Version:
        """The version whose rows those of version `number` are."""
        at = bisect_right(self.numbers, number)
        return Version(self.label, str(self.numbers[at - 1] if at else number))


@dataclass(frozen=True)
class _Step:
    """Something that happened, with the versions that must be there before."""

    time: Timestamp
    events: tuple[HistoryEvent, ...]
    made: Version | None = None
    sources: tuple[Version, ...] = ()


def read_lake_history(
    catalog: Catalog, logs: Logs, layout: Layout, queries: Iterable[tuple[Timestamp, Isolation]]
) -> TransactionHistory:
    """The history of a lake, and of the queries that are given with the time at which each read.

    Tables are those made through the engine, what dynamic tables read, and these themselves.
    Transactions are named by their commits (`orders@5`), by their ids, or `query 3`.
    """
    tables = {t.id: t for t in _recorded_tables(catalog, logs, layout)}
    steps = [
        *(s for table in tables.values() for s in _written(table, tables)),
        *_queried(tables, queries),
    ]
    events = tuple(e for step in _ordered(steps) for e in step.events)
    return TransactionHistory(events, _orders(events))


def _recorded_tables(catalog: Catalog, logs: Logs, layout: Layout) -> Iterator[RecordedTable]:
    found = dict(_folders(catalog, layout))
    labels = Counter(str(name) for name, _ in found.values())
    for table_id, (name, path) in found.items():
        if not is_delta(path):
            continue
        log = logs[path]
        label = str(name) if labels[str(name)] == 1 else f"{name}#{table_id}"
        yield RecordedTable(table_id, label, _changes(log))


def _changes(log: TableLog) -> Sequence[CommitFacts]:
    return [c for c in log.commits(log.oldest() - 1, log.version()) if c.data_change]


def _folders(catalog: Catalog, layout: Layout) -> Iterator[tuple[str, tuple[Name, str]]]:
    """Each table's id with its name and folder."""
    for base in catalog.tables():
        yield base.table_id, (base.name, base.path)
    for dt in catalog.list():
        for source in dt.definition.sources:
            if source.kind is SourceKind.DELTA and source.path is not None:
                yield source.table_id, (source.name, source.path)
        yield dt.id, (dt.name, str(layout.public(dt.id)))


def _written(table: RecordedTable, tables: Mapping[str, RecordedTable]) -> Iterator[_Step]:
    for commit in table.commits:
        mark = mark_of(commit.user_metadata)
        made = Version(table.label, str(commit.version))
        if "attempt" in mark and "frontier" in mark:
            sources = _versions(mark["frontier"]["versions"], tables)
            derived = DeriveEvent(str(mark["attempt"]), made, sources)
            yield _Step(commit.time, (derived,), made, sources)
            continue
        writer = str(mark.get("intent", f"{table.label}@{commit.version}"))
        read = _versions(mark.get("reads", {}), tables)
        reads = (ReadEvent(writer, v) for v in read)
        yield _Step(commit.time, (*reads, WriteEvent(writer, made)), made, read)


def _versions(told: Mapping[str, Any], tables: Mapping[str, RecordedTable]) -> tuple[Version, ...]:
    return tuple(
        tables[t].version(int(v)) if t in tables else Version(t, str(v)) for t, v in told.items()
    )


def _queried(
    tables: Mapping[str, RecordedTable], queries: Iterable[tuple[Timestamp, Isolation]]
) -> Iterator[_Step]:
    for number, (time, query) in enumerate(queries, 1):
        read = _versions({r.table_id: r.version for r in query.reads}, tables)
        yield _Step(time, tuple(ReadEvent(f"query {number}", v) for v in read), None, read)


def _ordered(steps: Sequence[_Step]) -> Iterator[_Step]:
    """By time, but each after what it reads: clocks of tables may have the same millisecond."""
    makers = {step.made: step for step in steps if step.made is not None}
    done: set[int] = set()
    for step in sorted(steps, key=lambda s: s.time):
        waiting = [step]
        while waiting:
            if id(waiting[-1]) in done:
                waiting.pop()
                continue
            first = (makers.get(v) for v in waiting[-1].sources)
            missing = [s for s in first if s is not None and id(s) not in done and s not in waiting]
            if missing:
                waiting.extend(missing)
                continue
            yield (last := waiting.pop())
            done.add(id(last))


def _orders(events: Iterable[HistoryEvent]) -> Mapping[str, tuple[Version, ...]]:
    """Of each table its versions by number: what a transaction wrote to several tables has been
    committed at the last of them."""
    found: dict[str, list[Version]] = {}
    for event in events:
        if isinstance(event, WriteEvent | DeriveEvent):
            found.setdefault(event.version.object, []).append(event.version)
    return {name: tuple(sorted(v, key=lambda one: int(one.number))) for name, v in found.items()}
