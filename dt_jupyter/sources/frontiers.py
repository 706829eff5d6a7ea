"""Data timestamps to versions, resolved once: the frontier that a refresh moves to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import LakeError, TableGone, VersionGone
from dt_jupyter.model import DTError, Frontier, Name, Source, SourceKind, Timestamp, error
from dt_jupyter.sources.early_commits import version_now, version_then
from dt_jupyter.sources.follow_files import Session, follow_files
from dt_jupyter.sources.source_names import Logs, Sources


@contextmanager
def gone_is_named(source: Source, of: Name) -> Iterator[None]:
    """A folder that is not there any more is the catalogue's DT-2102."""
    try:
        yield
    except TableGone as e:
        raise error("DT-2102", source=source.name, name=of) from e
    except VersionGone as e:
        raise error("DT-4101", name=source.name, point="that time", oldest=str(e)) from e


def follow_lists(
    sources: Sources, read: tuple[Source, ...], t: Timestamp, of: Name, session: Session | None
) -> frozenset[str]:
    """Records the files of the sources as they are for `t`; without a `session`, the ids of those
    whose new files would have to be read for it. Raises DT-2102, DT-1145 to DT-1147."""
    waiting = set()
    for source in read:
        files = sources.file_source(source)
        if files is None:
            continue
        with gone_is_named(source, of):
            if follow_files(files, t, session):
                waiting.add(source.table_id)
    return frozenset(waiting)


def resolve(
    catalog: Catalog,
    logs: Logs,
    sources: tuple[Source, ...],
    t: Timestamp,
    of: Name,
    *,
    forecast: bool = False,
) -> tuple[Frontier, dict[str, int]]:
    """The version of each source at `t`: the newest commit up to it for a table, exactly the
    version committed for it for a dynamic table; and those of base tables which are not on record
    yet. Raises DT-2102, DT-2103 or DT-4101.

    A `forecast` takes a dynamic table as it is: its own refresh to `t`, which would come first,
    is not run.
    """
    versions: dict[str, int] = {}
    tables: dict[str, Callable[[], int]] = {}
    for source in sources:
        if source.kind is SourceKind.FOREIGN:
            continue
        if source.kind is SourceKind.DYNAMIC_TABLE:
            exact = catalog.version_of(source.table_id, t)
            if exact is None and forecast:
                newest = catalog.newest_at(source.table_id, t)
                exact = newest[1] if newest else None
            if exact is None:
                raise error("DT-2103", name=source.name, timestamp=t)
            versions[source.table_id] = exact
            continue
        tables[source.table_id] = partial(_version, catalog, logs, source, t, of)
    known = catalog.known_versions(t, tables) if tables and not forecast else {}
    new = {table_id: compute() for table_id, compute in tables.items() if table_id not in known}
    return Frontier(t, versions | known | new), new


def resolve_together(sources: Sources, wanted: Iterable[tuple[Source, Timestamp]]) -> None:
    """Records the versions of many base tables, in one transaction for each time. What is wrong
    with one of them is reported when it is resolved alone, and files are listed before that."""
    found: dict[Timestamp, dict[str, int]] = {}
    for source, t in dict.fromkeys(wanted):
        if source.kind is not SourceKind.DELTA or source.path is None:
            continue
        if sources.is_file_list(source.path):
            continue
        known = found.setdefault(t, {})
        with suppress(DTError, LakeError, OSError):
            known[source.table_id] = _version(sources.catalog, sources.logs, source, t, source.name)
    for t, versions in found.items():
        computed = {table: partial(int, version) for table, version in versions.items()}
        sources.catalog.resolve_all(t, computed)


def fix_past(sources: Sources, read: Iterable[Source], t: Timestamp) -> None:
    """Resolves base tables at a past time, without commits dated ahead of now. What is
    wrong with one of them its refresh meets too."""
    found: dict[str, int] = {}
    for source in read:
        if source.kind is not SourceKind.DELTA or source.path is None:
            continue
        if sources.is_file_list(source.path):
            continue
        with suppress(LakeError, OSError):
            log = sources.logs[source.path]
            version = version_then(sources.catalog, source.table_id, log, t)
            if version is not None:
                found[source.table_id] = version
    sources.catalog.resolve_all(t, {table: partial(int, v) for table, v in found.items()})


def _version(catalog: Catalog, logs: Logs, source: Source, t: Timestamp, of: Name) -> int:
    assert source.path is not None
    with gone_is_named(source, of):
        log = logs[source.path]
        found = version_now(catalog, source.table_id, log, t)
        if found is None:
            oldest = log.commit_time(log.oldest())
            raise error("DT-4101", name=source.name, point=t, oldest=oldest)
        return found
