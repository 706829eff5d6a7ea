"""Points in time, resolved to the version of each source: AT, BEFORE and END.

A snapshot is current from its own time, inclusive, until the next one's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import TableGone, TableLog, VersionGone, mark_of
from dt_jupyter.model import DTError, Name, Source, SourceKind, Timestamp, error
from dt_jupyter.sources.early_commits import version_now, version_then

_LAST = 999_999_999


def whole_micro(t: Timestamp) -> Timestamp:
    """A time that people write means all timestamps of its microsecond."""
    return t if t.logical else Timestamp(t.micros, _LAST)


@dataclass(frozen=True)
class Moment:
    """A time, the number of a version, or the id of a statement; `before`: what was current just
    before it. The tables of a `frontier` are at its versions, the others at the time. To a time
    that is the `present` belongs all that is there, commits dated ahead of the clock too."""

    time: Timestamp | None = None
    version: int | None = None
    before: bool = False
    statement: str | None = None
    frontier: Mapping[str, int] | None = field(default=None, compare=False)
    present: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        numbered = f"version {self.version}" if self.version is not None else "the oldest version"
        stated = f"statement {self.statement}" if self.statement is not None else numbered
        point = self.time.words if self.time is not None else stated
        return f"before {point}" if self.before else point


def no_versions(name: Name | str) -> DTError:
    """DT-3106 for a table that is not Delta's, or whose log is on no disk."""
    problem = "it is not a Delta table on a disk"
    hint = "Convert it to one. A dynamic table over its rows has versions, and changes."
    return error("DT-3106", name=name, problem=problem, hint=hint)


OLDEST = Moment()
"""The oldest version that is retained."""


@dataclass(frozen=True)
class Resolver:
    """Versions at `now` and before it."""

    catalog: Catalog
    now: Timestamp

    def versions(
        self, bases: Sequence[tuple[Source, TableLog]], name: str, at: Moment
    ) -> dict[str, int]:
        """The version of each of the tables that `name` reads, by its id. DT-41xx."""
        moments: Mapping[str, Moment] = {}
        if at.statement is not None:
            moments = self._of_statement(bases, name, at, at.statement)
        return {s.table_id: self.version(s, log, moments.get(s.table_id, at)) for s, log in bases}

    def _of_statement(
        self, bases: Sequence[tuple[Source, TableLog]], name: str, at: Moment, statement: str
    ) -> dict[str, Moment]:
        """The table that has a commit of the statement is at it, or before it, the others at
        that commit's time. A statement may have written several. DT-4103 for none."""
        found = {s.table_id: _commits_of(statement, s, log) for s, log in bases}
        end = 0 if at.before else -1
        held = {table: commits[end] for table, commits in found.items() if commits}
        if not held:
            raise error("DT-4103", name=name, statement=statement)
        times = [log.commit_time(held[s.table_id]) for s, log in bases if s.table_id in held]
        time = min(times) if at.before else max(times)
        return {
            table: Moment(version=held[table], before=at.before)
            if table in held
            else Moment(time, before=at.before)
            for table in found
        }

    def version(self, source: Source, log: TableLog, at: Moment) -> int:
        """The version of a source. DT-4101 before the oldest, DT-4102 in the future."""
        if at.time is not None and at.time > self.now:
            raise error("DT-4102", name=source.name, point=at)
        try:
            found = self._version(source, log, at)
        except TableGone as e:
            raise error("DT-1101", name=source.name, hint="Its folder does not exist.") from e
        except VersionGone:
            found = None
        if found is None:
            raise error("DT-4101", name=source.name, point=at, oldest=self._oldest(source, log))
        return found

    def _oldest(self, source: Source, log: TableLog) -> str:
        """The oldest that there is: a version and its time."""
        if source.kind is SourceKind.DYNAMIC_TABLE:
            first = self.catalog.oldest(source.table_id)
            if first is not None:
                return f"version {first[1]} of data timestamp {first[0].words}"
        oldest = log.oldest()
        return f"version {oldest} of {log.commit_time(oldest).words}"

    def _version(self, source: Source, log: TableLog, at: Moment) -> int | None:
        if at is OLDEST:
            return log.oldest()
        if at.frontier is not None and source.table_id in at.frontier and not at.before:
            return self._numbered(source, log, at.frontier[source.table_id], at)
        if at.version is not None:
            return self._numbered(source, log, at.version - at.before, at)
        assert at.time is not None
        t = Timestamp(at.time.micros - 1) if at.before else at.time
        if source.kind is not SourceKind.DYNAMIC_TABLE:
            return self._of_table(source, log, t, present=at.present)
        newest = self.catalog.newest_at(source.table_id, whole_micro(t))
        return newest[1] if newest else None

    def _of_table(
        self, source: Source, log: TableLog, t: Timestamp, *, present: bool
    ) -> int | None:
        if not present:
            return version_then(self.catalog, source.table_id, log, whole_micro(t))
        found = version_now(self.catalog, source.table_id, log, t)
        if found is None or log.commit_time(found) <= t:
            return found
        return self.catalog.resolve(t, source.table_id, partial(int, found))

    @staticmethod
    def _numbered(source: Source, log: TableLog, version: int, at: Moment) -> int | None:
        if version > log.version():
            newest = f"The newest is version {log.version()}."
            raise error("DT-4102", name=source.name, point=at, instead=newest)
        return version if version >= log.oldest() else None


def _commits_of(statement: str, source: Source, log: TableLog) -> tuple[int, int] | None:
    """The first and the last commit of the newest run of those that carry the id."""
    try:
        last: int | None = None
        for version in range(log.version(), log.oldest() - 1, -1):
            mark = mark_of(log.user_metadata(version))
            of_transaction = mark.get("statements", ())
            if statement in (mark.get("statement"), mark.get("attempt"), *of_transaction):
                last = version if last is None else last
            elif last is not None:
                return version + 1, last
        return None if last is None else (log.oldest(), last)
    except TableGone as e:
        raise error("DT-1101", name=source.name, hint="Its folder does not exist.") from e
