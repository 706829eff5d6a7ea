"""Points in time, resolved to the version of each source: AT, BEFORE and END.

A snapshot is current from its own time, inclusive, until the next one's.
"""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import TableGone, TableLog, VersionGone
from dt_jupyter.model import Source, SourceKind, Timestamp, error


@dataclass(frozen=True)
class Moment:
    """A time, or the number of a version; `before`: what was current just before it."""

    time: Timestamp | None = None
    version: int | None = None
    before: bool = False

    def __str__(self) -> str:
        point = self.time if self.time is not None else f"version {self.version}"
        return f"before {point}" if self.before else str(point)


OLDEST = Moment()
"""The oldest version that is retained."""


@dataclass(frozen=True)
class Resolver:
    """Versions at `now` and before it."""

    catalog: Catalog
    now: Timestamp

    def version(self, source: Source, log: TableLog, at: Moment) -> int:
        """The version of a source. DT-4101 before the oldest, DT-4102 in the future."""
        if at.time is not None and at.time > self.now:
            raise error("DT-4102", name=source.name, point=at)
        try:
            found = self._version(source, log, at)
        except TableGone as e:
            raise error("DT-1101", name=source.name, hint="Its folder is gone.") from e
        except VersionGone:
            found = None
        if found is None:
            oldest = log.commit_time(log.oldest())
            raise error("DT-4101", name=source.name, point=at, oldest=oldest)
        return found

    def _version(self, source: Source, log: TableLog, at: Moment) -> int | None:
        if at is OLDEST:
            return log.oldest()
        if at.version is not None:
            return self._numbered(source, log, at.version - at.before, at)
        assert at.time is not None
        t = Timestamp(at.time.micros - 1) if at.before else at.time
        if source.kind is not SourceKind.DYNAMIC_TABLE:
            return log.version_at(t)
        newest = self.catalog.newest_at(source.table_id, t)
        return newest[1] if newest else None

    @staticmethod
    def _numbered(source: Source, log: TableLog, version: int, at: Moment) -> int | None:
        if version > log.version():
            raise error("DT-4102", name=source.name, point=at)
        return version if version >= log.oldest() else None
