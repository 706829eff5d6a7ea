"""A folder of files: `file:///folder?format=parquet` (or `csv`, `jsonl`).

The recovery log is authoritative. A transaction is staged as Parquet in a folder with its name
below `_staged`; applying it writes new data files and then, at once, `_manifest.json`, which says
which files are the table and which staged names are applied. A file is never changed: readers of
the manifest see one state. The table is cut into buckets by the hash of the key, so that a
transaction rewrites those that it touches; with delta updates it adds a file.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock, Timeout

from dt_jupyter.lake import sync
from dt_jupyter.model import error, system_error
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import Binding, HashRange
from dt_jupyter.sinks.drivers.file_formats import FORMATS, FileFormat
from dt_jupyter.sinks.patterns import TOMBSTONE, IdempotentApply
from dt_jupyter.sinks.splits import key_hashes
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import is_wider
from dt_jupyter.sinks.type_texts import from_type_text, to_type_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_BUCKETS = 16
_LOCK_SECONDS = 30.0
_MANIFEST, _LOCK = "_manifest.json", "_lock"


class Manifest(NamedTuple):
    """What the folder holds, and for which sink, "" for none.

    `files` by bucket, or by transaction with delta updates; `applied` staged names whose folders
    may still be there; `ranges` of hashes with rows; `adopted`: the table was there.
    """

    sink: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    files: Mapping[str, str]
    applied: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    adopted: bool = False


class FilesStore(IdempotentApply):
    store = "a folder"
    names = NameRules("a folder", 200, '/\\"*:<>?|')
    columns = NameRules("a file", 1000)
    STAGED = "_staged"
    joins = True

    def __init__(self, address: StoreAddress) -> None:
        address.require_options("format", "table", "adopt", "timeout")
        name = address.options.get("format", "parquet").lower()
        if name not in FORMATS:
            known = f"Known: {', '.join(FORMATS)}."
            raise error(
                "DT-1003", option="format", value=name, problem="no such format", hint=known
            )
        self._format: FileFormat = FORMATS[name]
        self._wait = address.number("timeout", _LOCK_SECONDS, 0.01, 3600)
        self._address = address
        self._binding: Binding
        self._keys: list[pa.Table] = []
        self._parts: list[Path] = []
        self._staging: Path | None = None
        self._sealed: list[m.Checkpoint] = []

    # -- opening -----------------------------------------------------------------------------------

    def connect(self, message: m.Open) -> None:
        self._binding, self._sink = message.binding, message.task.sink
        self._range = message.task.range
        self._require_storable()
        self._folder = Path(self._address.path) / self._binding.target
        known = m.joined_checkpoints(message.driver_checkpoint)
        self._sealed = [each for each in known if each.get("staged")]
        with self._locked():
            manifest = self._followed(fresh=not message.driver_checkpoint)
            (self._folder / self.STAGED).mkdir(exist_ok=True)
            self._remove_unsealed()
            self._write_manifest(manifest)

    def _remove_unsealed(self) -> None:
        """What a task that this one takes the place of had staged and never committed: it is
        fenced, so that it cannot commit it any more. Without a range it is of no other task."""
        kept = {each["staged"] for each in self._sealed}
        for staged in (self._folder / self.STAGED).iterdir():
            if staged.name in kept or "-" not in staged.name:
                continue
            if HashRange.parse_first(staged.name).overlaps(self._range):
                shutil.rmtree(staged, ignore_errors=True)

    def _require_storable(self) -> None:
        binding = self._binding
        extra = (TOMBSTONE,) if binding.delta_updates else ()
        self.names.require(binding.target)
        if binding.target.startswith((".", "_")):
            problem = "a folder of that name is hidden"
            raise error("DT-6134", name=binding.target, store=self.store, problem=problem)
        self.columns.require_columns([*(c.name for c in binding.columns), *extra])
        for column in binding.columns:
            self._format.types.stored(column)

    def _followed(self, *, fresh: bool) -> Manifest:
        """The manifest for this sink and binding: DT-6140 to DT-6143 where there can be none."""
        binding, target = self._binding, str(self._folder)
        before = self._read_manifest()
        columns = {c.name: to_type_text(c.type) for c in binding.columns}
        if before is None:
            others = [p.name for p in self._folder.iterdir() if p.name not in (self.STAGED, _LOCK)]
            if not fresh:
                problem = f"{_MANIFEST} is gone"
                raise error("DT-6143", target=target, store=self.store, problem=problem)
            return self._adopted() if others else Manifest(self._sink, columns, binding.key, {})
        if not before.sink:
            before = self._taken_over(before, fresh=fresh)
        if before.sink != self._sink:
            raise error("DT-6141", target=target, store=self.store, owner=before.sink)
        if fresh and any(HashRange.parse(r).overlaps(self._range) for r in before.ranges):
            problem = "it has rows, and the recovery log knows nothing of them"
            raise error("DT-6143", target=target, store=self.store, problem=problem)
        if problem := self._difference(before):
            raise error("DT-6142", target=target, store=self.store, problem=problem)
        lost = [f for f in before.files.values() if not (self._folder / f).exists()]
        if lost:
            problem = f"{lost[0]} is gone"
            raise error("DT-6143", target=target, store=self.store, problem=problem)
        return before._replace(columns=columns)

    def _adopted(self) -> Manifest:
        """What is there and has no manifest: files alone are not a table with a key. DT-6140."""
        raise error("DT-6140", target=self._folder, store=self.store)

    def _taken_over(self, before: Manifest, *, fresh: bool) -> Manifest:
        """What a sink has left that was dropped. DT-6140, DT-6142."""
        if not (fresh and self._address.flag("adopt")):
            raise error("DT-6140", target=self._folder, store=self.store)
        by_bucket = all(name.isdecimal() for name in before.files)
        if before.files and by_bucket == self._binding.delta_updates:
            problem = "it has rows" if by_bucket else "it has delta updates"
            raise error("DT-6142", target=self._folder, store=self.store, problem=problem)
        return before._replace(sink=self._sink, applied=(), ranges=())

    def _difference(self, before: Manifest) -> str:
        if before.key != self._binding.key:
            return "it has another key"
        now = {c.name: c.type for c in self._binding.columns}
        for name, text in before.columns.items():
            kind = from_type_text(text)
            if name not in now:
                return f"the source has no column {name} any more"
            if kind != now[name] and not is_wider(kind, now[name]):
                return f"column {name} was {kind} and is {now[name]}"
        return ""

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool = False) -> None:
        self._binding, self._sink = binding, sink
        self._folder = Path(self._address.path) / binding.target
        with self._locked():
            manifest = self._read_manifest()
            if manifest is None or manifest.sink != sink:
                return
            shutil.rmtree(self._folder / self.STAGED, ignore_errors=True)
            if not empty:
                self._write_manifest(manifest._replace(sink=""))
                return
            for name in manifest.files.values():
                (self._folder / name).unlink(missing_ok=True)
            (self._folder / _MANIFEST).unlink()  # last: until then it shows what is gone

    # -- staging -----------------------------------------------------------------------------------

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        import pyarrow.parquet as pq

        self._format.require_values(rows)
        with _disk_errors():
            if self._staging is None:
                self._staging = self._staged_folder()
                self._staging.mkdir()
            kind = "delete" if delete else "store"
            part = self._staging / f"{len(self._parts):06d}-{kind}.parquet"
            pq.write_table(rows, part, compression="zstd")
            self._parts.append(part)

    def _staged_folder(self) -> Path:
        """A new one; its name says which task it is of."""
        return self._folder / self.STAGED / f"{self._range}-{uuid.uuid4().hex}"

    def seal(self, runtime_checkpoint: m.Checkpoint) -> m.Checkpoint:
        with _disk_errors():
            if self._staging is not None:
                sync([*self._parts, self._staging, self._staging.parent])
        sealed = self._checkpoint(None if self._staging is None else self._staging.name)
        self._staging, self._parts = None, []
        self._sealed = [sealed] if sealed["staged"] else []
        return sealed

    def _checkpoint(self, staged: str | None) -> m.Checkpoint:
        """The driver's, with what is staged now."""
        return {"staged": staged}

    # -- applying ----------------------------------------------------------------------------------

    def apply(self) -> None:
        for each in self._sealed:
            self._apply_one(each)

    def _apply_one(self, sealed: m.Checkpoint) -> None:
        name = sealed["staged"]
        staged = self._folder / self.STAGED / name
        with self._locked():
            manifest = self._own_manifest()
            if staged.exists() and name not in manifest.applied:
                files = self._applied(manifest, sorted(staged.iterdir()), name)
                left = [n for n in manifest.applied if (staged.parent / n).exists()]
                ranges = tuple({*manifest.ranges, str(self._range)})
                applied = (*left, name)
                done = manifest._replace(files=files, applied=applied, ranges=ranges)
                self._write_manifest(done)
                for gone in set(manifest.files.values()) - set(files.values()):
                    (self._folder / gone).unlink(missing_ok=True)
            shutil.rmtree(staged, ignore_errors=True)

    def _applied(self, manifest: Manifest, parts: list[Path], name: str) -> dict[str, str]:
        import pyarrow as pa

        binding, staged = self._binding, FORMATS["parquet"]
        files = dict(manifest.files)
        found = {
            kind: pa.concat_tables(
                [schema.empty_table(), *(staged.read(p, schema) for p in parts if kind in p.name)]
            )
            for kind, schema in (("-delete.", binding.key_schema), ("-store.", binding.schema))
        }
        deleted, stored = found["-delete."], found["-store."]
        if binding.delta_updates:
            files[name] = self._write(f"{len(files):08d}-{name}", with_tombstones(deleted, stored))
            return files
        touched = pa.concat_tables([deleted, stored.select(binding.key)])
        places, own = self._buckets(touched), self._buckets(stored.select(binding.key))
        for bucket in sorted(set(places.tolist())):
            kept = self._read_bucket(manifest, bucket)
            if kept.num_rows:
                away = touched.filter(pa.array(places == bucket))
                kept = _matching(kept, away, binding, among=False)
            whole = pa.concat_tables([kept, stored.filter(pa.array(own == bucket))])
            files.pop(str(bucket), None)
            if whole.num_rows:
                files[str(bucket)] = self._write(f"{bucket:02d}-{name}", whole)
        return files

    def _buckets(self, keys: pa.Table) -> npt.NDArray[np.int64]:
        import numpy as np

        return (key_hashes(keys) % np.uint64(_BUCKETS)).astype(np.int64)

    def _read_bucket(self, manifest: Manifest, bucket: int) -> pa.Table:
        name = manifest.files.get(str(bucket))
        if name is None:
            return self._binding.schema.empty_table()
        return self._format.read(self._folder / name, self._binding.schema)

    def _write(self, name: str, rows: pa.Table) -> str:
        file = self._folder / f"{name}.{self._format.suffix}"
        with _disk_errors():
            self._format.write(file, rows)
            sync([file])
        return file.name

    # -- loading -----------------------------------------------------------------------------------

    def stage_keys(self, keys: pa.Table) -> None:
        self._keys.append(keys)

    def load_rows(self) -> Iterator[pa.Table]:
        import pyarrow as pa

        keys, self._keys = self._keys, []
        if not keys:
            return
        wanted = pa.concat_tables(keys)
        manifest = self._own_manifest()
        places = self._buckets(wanted)
        for bucket in sorted(set(places.tolist())):
            rows = self._read_bucket(manifest, bucket)
            mine = wanted.filter(pa.array(places == bucket))
            if rows.num_rows:
                yield _matching(rows, mine, self._binding)

    # -- the manifest ------------------------------------------------------------------------------

    def _read_manifest(self) -> Manifest | None:
        try:
            found = json.loads((self._folder / _MANIFEST).read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            problem = f"{_MANIFEST} cannot be read"
            raise error("DT-6143", target=self._folder, store=self.store, problem=problem) from None
        return Manifest(
            found["sink"],
            found["columns"],
            tuple(found["key"]),
            found["files"],
            tuple(found["applied"]),
            tuple(found["ranges"]),
            found.get("adopted", False),
        )

    def _own_manifest(self) -> Manifest:
        found = self._read_manifest()
        if found is None or found.sink != self._sink:
            problem = f"{_MANIFEST} is gone"
            raise error("DT-6143", target=self._folder, store=self.store, problem=problem)
        return found

    def _write_manifest(self, manifest: Manifest) -> None:
        path = self._folder / _MANIFEST
        draft = path.with_name(f".{_MANIFEST}.tmp")
        with _disk_errors():
            draft.write_text(json.dumps(manifest._asdict(), indent=1), "utf-8")
            sync([draft])
            os.replace(draft, path)
            sync([self._folder])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Held by one process; DT-6110 where it does not get it, or there can be no folder."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / _LOCK, timeout=self._wait):
                yield
        except (OSError, Timeout) as e:
            problem = getattr(e, "strerror", None) or "another process has it"
            raise system_error(e) or error(
                "DT-6110", store=f"The folder {self._folder}", problem=problem
            ) from e

    def close(self) -> None:
        """What was staged and not committed is discarded."""
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging = None


def _matching(rows: pa.Table, keys: pa.Table, binding: Binding, *, among: bool = True) -> pa.Table:
    """The rows whose keys are among some, or are not; nested columns cannot be joined."""
    import numpy as np
    import pyarrow as pa

    number = hidden("number")
    numbered = rows.select(binding.key).append_column(number, pa.array(np.arange(rows.num_rows)))
    how = "left semi" if among else "left anti"
    return rows.take(numbered.join(keys, list(binding.key), join_type=how)[number])


def with_tombstones(deleted: pa.Table, stored: pa.Table) -> pa.Table:
    import pyarrow as pa

    both = pa.concat_tables([deleted, stored], promote_options="default").select(
        stored.schema.names
    )
    flags = pa.array([True] * deleted.num_rows + [False] * stored.num_rows)
    return both.append_column(TOMBSTONE, flags)


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise system_error(e) or error(
            "DT-6112", store="The folder", problem=e.strerror or e, hint=""
        ) from e
