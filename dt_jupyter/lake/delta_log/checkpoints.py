"""Checkpoints of a Delta log (classic, multi-part and V2), listed and read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dt_jupyter.lake.delta_log.actions import FILE_FIELDS, read_actions
from dt_jupyter.lake.errors import LogBroken
from dt_jupyter.lake.paths import data_file

_NAME = re.compile(
    r"(?P<version>\d{20})\.checkpoint\."
    r"(?:(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet|parquet|[0-9a-f-]{36}\.(?:parquet|json))\Z"
)
_SIDECAR = "sidecar"
_FILES = frozenset(("add", "remove"))
_MAPS = frozenset(("partitionValues", "tags", "configuration", "options"))


def checkpoints(names: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Complete checkpoints in a listing: version → its files."""
    groups: dict[tuple[int, int], list[str]] = {}
    for name in names:
        if m := _NAME.match(name):
            key = int(m["version"]), int(m["parts"] or 1)
            groups.setdefault(key, []).append(name)
    whole: dict[int, tuple[str, ...]] = {}
    for (version, parts), files in sorted(groups.items()):
        if parts == 1:
            whole[version] = (min(files),)
        elif len(files) == parts:
            whole.setdefault(version, tuple(sorted(files)))
    return whole


def last_checkpoint(folder: Path, upto: int) -> tuple[int, tuple[str, ...]]:
    """The newest checkpoint up to a version, with its files; −1 and none where there is none."""
    names = (n for n in os.listdir(folder) if ".checkpoint." in n)
    found = {c: files for c, files in checkpoints(names).items() if c <= upto}
    version = max(found, default=-1)
    return version, found.get(version, ())


def checkpoint_actions(
    file: Path, wanted: frozenset[str], *, statistics: bool = True
) -> Iterator[tuple[str, Any]]:
    """(kind, action) of the wanted kinds in one file of a checkpoint and its sidecars, as the JSON
    of a commit has them; files without what is known of their columns unless `statistics`. Raises
    LogBroken where it cannot be read."""
    kinds = wanted | {_SIDECAR} if wanted & _FILES else wanted
    for kind, body in _actions_in(file, kinds, statistics):
        if kind == _SIDECAR and _SIDECAR not in wanted:
            sidecar = data_file(file.parent / "_sidecars", unquote(body["path"]))
            yield from _actions_in(Path(sidecar), wanted, statistics)
        else:
            yield kind, body


def sidecars_of(file: Path) -> tuple[str, ...]:
    """The names of the files in `_sidecars` that one file of a checkpoint refers to. LogBroken."""
    found = _actions_in(file, frozenset((_SIDECAR,)), statistics=False)
    return tuple(unquote(body["path"]) for _, body in found)


def _actions_in(file: Path, kinds: frozenset[str], statistics: bool) -> Iterator[tuple[str, Any]]:
    return (
        read_actions(file, kinds) if file.suffix == ".json" else _parquet(file, kinds, statistics)
    )


def _parquet(file: Path, wanted: frozenset[str], statistics: bool) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            kinds = [k for k in parquet.schema_arrow.names if k in wanted]
            columns = [c for k in kinds for c in _columns(k, statistics)]
            for batch in parquet.iter_batches(columns=columns):
                for kind in kinds:
                    for body in batch.column(kind).drop_null().to_pylist():
                        yield kind, _plain(body)
    except (pa.ArrowException, OSError) as e:
        raise LogBroken(
            f"the checkpoint {file.name} cannot be read: {e}", path=str(file), file=file.name
        ) from e


def _columns(kind: str, statistics: bool) -> list[str]:
    return [kind] if statistics or kind not in _FILES else [f"{kind}.{f}" for f in FILE_FIELDS]


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """Maps are objects, what is absent is left out."""
    made: dict[str, Any] = {}
    for key, value in body.items():
        if value is None or key.endswith("_parsed"):
            continue
        if key in _MAPS and not isinstance(value, str):  # a domain's configuration is a text
            made[key] = dict(value)
        else:
            made[key] = _plain(value) if isinstance(value, Mapping) else value
    return made
