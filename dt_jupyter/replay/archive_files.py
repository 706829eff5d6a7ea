"""Archives: snapshots written elsewhere, each known to the lake by a small file.

An archive is a folder of `rows.parquet` and `archive.json`, which is written last and says all that
is known of the rows. No VACUUM and no DROP reaches it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dt_jupyter.lake import write_durable
from dt_jupyter.model import DTError, Name, Timestamp, count_of, error
from dt_jupyter.replay.snapshots import Snapshots, whole
from dt_jupyter.sources import Layout, Moment, whole_micro

ROWS = "rows.parquet"
MANIFEST = "archive.json"
ARCHIVE_FORMAT = 1


@dataclass(frozen=True)
class Archive:
    """A snapshot of a table, view or dynamic table in `folder`.

    Its rows were those of `name` from `since` on until before `until`; `versions` are those of the
    tables that it reads, by name, `tables` their ids. `schema` is Spark's, as JSON; `digest` that
    of a replay's step, None where a type has none. `commits` are Delta's commitInfo of what made
    it, newest first; `definition` is the query of a dynamic table or view.
    """

    id: str
    name: Name
    folder: str
    since: Timestamp
    until: Timestamp
    versions: Mapping[str, int]
    tables: tuple[str, ...]
    rows: int
    bytes: int
    digest: str | None
    created: Timestamp
    schema: str = field(repr=False)
    commits: tuple[Mapping[str, Any], ...] = field(repr=False)
    definition: str | None = field(default=None, repr=False)

    def holds(self, at: Moment) -> bool:
        """Whether a point is in the interval of its rows; a version of a table."""
        if at.time is not None:
            t = Timestamp(at.time.micros - 1) if at.before else whole_micro(at.time)
            return self.since <= t < self.until
        if at.version is not None and len(self.versions) == 1:
            return tuple(self.versions.values()) == (at.version - at.before,)
        return False

    def __str__(self) -> str:
        versions = ", ".join(f"{n}@{v}" for n, v in self.versions.items())
        return (
            f"{self.name} from {self.since.words} to {self.until.words} ({versions}): "
            f"{count_of(self.rows, 'row')} in {self.folder}, digest {self.digest or 'none'}"
        )

    def to_json(self) -> str:
        times = {k: str(getattr(self, k)) for k in ("since", "until", "created")}
        name = [self.name.schema, self.name.table]
        return json.dumps(
            {"format": ARCHIVE_FORMAT, **asdict(self), **times, "name": name}, indent=1
        )

    @classmethod
    def of(cls, text: str) -> Archive:
        """Raises ValueError, KeyError and TypeError for what is none."""
        told = json.loads(text)
        if told.pop("format") != ARCHIVE_FORMAT:
            raise ValueError("it has another format")
        times = {k: Timestamp.parse(told[k]) for k in ("since", "until", "created")}
        lists = {k: tuple(told[k]) for k in ("tables", "commits")}
        return cls(**{**told, **times, **lists, "name": Name(*told["name"])})


@dataclass(frozen=True)
class Archives:
    """Those that a lake knows, oldest first; `broken` are files that cannot be read, with why."""

    found: tuple[Archive, ...]
    broken: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, number: int) -> Archive:
        return self.found[number]

    def __str__(self) -> str:
        return "\n".join((*map(str, self.found), *self.broken)) or "no archives"


@dataclass(frozen=True)
class ArchiveIndex:
    """The files by which a lake knows its archives; paths inside of the lake are relative to it."""

    layout: Layout

    @property
    def _folder(self) -> Path:
        return self.layout.own / "archives"

    def add(self, archive: Archive) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        stored = replace(archive, folder=self._stored(archive.folder))
        draft = self._folder / f".{archive.id}.{uuid.uuid4().hex}"
        write_durable(draft, stored.to_json())
        draft.replace(self._folder / f"{archive.id}.json")

    def remove(self, archive: Archive) -> None:
        (self._folder / f"{archive.id}.json").unlink(missing_ok=True)

    def list(self) -> Archives:
        """All of them; one that cannot be read does not hide the others."""
        found, broken = [], []
        for path in sorted(self._folder.glob("*.json")) if self._folder.is_dir() else ():
            try:
                one = Archive.of(path.read_text("utf-8"))
            except (OSError, ValueError, KeyError, TypeError) as e:
                broken.append(f"{path} cannot be read: {e}")
            else:
                found.append(replace(one, folder=self._found(one.folder)))
        return Archives(tuple(sorted(found, key=lambda a: (a.since, a.created))), tuple(broken))

    def find(self, name: Name, tables: Iterable[str], at: Moment) -> Archive | None:
        """The newest archive that has a point of what has the name now, or had it."""
        ids = tuple(sorted(tables))
        of = [a for a in self.list().found if a.name == name or (ids and a.tables == ids)]
        return next((a for a in reversed(of) if a.holds(at)), None)

    def require(self, name: Name, tables: Iterable[str], at: Moment) -> Archive:
        """As `find`; DT-4112, with those that there are, where none has the point."""
        found = self.find(name, tables, at)
        if found is not None:
            return found
        raise error("DT-4112", name=name, point=at, hint=_known(name, self.list().found))

    def _stored(self, folder: str) -> str:
        path = Path(folder)
        inside = path.is_relative_to(self.layout.lake)
        return f"./{path.relative_to(self.layout.lake)}" if inside else folder

    def _found(self, folder: str) -> str:
        return str(self.layout.lake / folder[2:]) if folder.startswith("./") else folder


@contextmanager
def naming_archive(snapshots: Snapshots, name: Name | None, at: Moment) -> Iterator[None]:
    """An error of a point that is older than what is retained names the archive that has it."""
    try:
        yield
    except DTError as e:
        if name is None or e.code not in ("DT-4101", "DT-4104", "DT-4111"):
            raise
        found = ArchiveIndex(snapshots.sources.layout).find(name, table_ids(snapshots, name), at)
        if found is None:
            raise
        also = (
            f"The archive {found.folder} has it: write ARCHIVE => TRUE after the point, as in "
            "AT (TIMESTAMP => '…', ARCHIVE => TRUE)."
        )
        raise DTError(e.code, {**e.facts, "also": also}, e.query, e.span, e.details) from e


def table_ids(snapshots: Snapshots, name: Name) -> tuple[str, ...]:
    """The tables that a name reads in the end, by id; none where nothing has it any more."""
    try:
        return tuple(s.table_id for s in snapshots.bases(whole(name), name.schema))
    except DTError as e:
        if e.code != "DT-1101":
            raise
        return ()


def read_manifest(folder: Path) -> Archive:
    """The archive in a folder; DT-4113 where there is none that can be read."""
    try:
        return replace(
            Archive.of((folder / MANIFEST).read_text("utf-8")), folder=str(folder.resolve())
        )
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise invalid_archive(folder, f"{MANIFEST} cannot be read: {e}") from e


def invalid_archive(folder: Path | str, problem: str) -> DTError:
    return error("DT-4113", folder=folder, problem=problem)


def _known(name: Name, archives: Sequence[Archive]) -> str:
    own = [a for a in archives if a.name == name]
    if not own:
        return f"It has no archive: dt.archive('{name}', at=…, to=…) makes one."
    spans = "; ".join(f"{a.since.words} to {a.until.words}" for a in own[-5:])
    return f"Its archives are of: {spans}."
