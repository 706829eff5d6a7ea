"""How many files, bytes and rows a snapshot has: listed once, and carried on by its commits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.lake.delta_log.actions import commit_name, live_rows, read_actions
from dt_jupyter.lake.delta_log.snapshot_files import LiveFile

_MOST_COMMITS = 32
_READ = frozenset(("commitInfo", "add", "remove"))
_COUNTED = frozenset(
    ("CREATE TABLE AS SELECT", "WRITE", "MERGE", "UPDATE", "DELETE", "OPTIMIZE",
     "STREAMING UPDATE", "FILES CAME")
)  # fmt: skip
"""Operations that add no file that is there already; others list one again, as to track rows."""


@dataclass(frozen=True, slots=True)
class TableSize:
    """Files and bytes of a snapshot, and its rows if every file has a count (else None)."""

    files: int
    bytes: int
    rows: int | None


def size_of(files: Sequence[LiveFile]) -> TableSize:
    """What the files add up to."""
    return TableSize(len(files), sum(f.bytes for f in files), _sum([f.rows for f in files]))


NO_FILES = TableSize(0, 0, 0)
"""Before the first commit."""


def _sum(rows: Sequence[int | None]) -> int | None:
    known = [r for r in rows if r is not None]
    return sum(known) if len(known) == len(rows) else None


def carry_size(folder: Path, known: TableSize, first: int, last: int) -> TableSize | None:
    """The size after the commits first … last of a log's folder, from the one before them; None
    where these do not have it. Raises FileNotFoundError and LogBroken."""
    if last - first >= _MOST_COMMITS:
        return None
    size: TableSize | None = known
    for version in range(first, last + 1):
        size = None if size is None else _after(f"{folder}{os.sep}{commit_name(version)}", size)
    return size


def _after(commit: str, before: TableSize) -> TableSize | None:
    files, size, rows = before.files, before.bytes, before.rows
    operation, seen = "", set[tuple[str, str]]()
    for kind, body in read_actions(commit, _READ):
        if kind == "commitInfo":
            operation = str(body.get("operation"))
            continue
        sign, live = 1 if kind == "add" else -1, live_rows(body)
        if body.get("size") is None or (kind, body["path"]) in seen:
            return None
        seen.add((kind, body["path"]))
        files, size = files + sign, size + sign * int(body["size"])
        rows = None if rows is None or live is None else rows + sign * live
    after = TableSize(files, size, rows)
    told = operation in _COUNTED and (rows is not None or before.rows is None)
    return after if told or after == before else None
