"""Tables made of files and of frames that are in this process."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.context import Context
from dt_jupyter.engine.script import run_last
from dt_jupyter.failures import arrow_of, is_frame, is_local_frame, shown
from dt_jupyter.lake import LakeError
from dt_jupyter.model import Name, count_of, did_you_mean, error, name_taken, quote
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sources import holder
from dt_jupyter.spark import is_connect, lookup, text_of_path, whole_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".orc": "orc",
}
_VIEW = hidden("loaded")
_ODD = " ,;{}()\n\t="
"""What Delta takes in no column's name."""
_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[\d.,]*\s*")
_SNIFFED = 65_536


@dataclass(frozen=True)
class LoadedTable:
    """A table that was made: its `columns` with their types, its number of rows, and what was
    decided about the `source`."""

    name: Name
    source: str
    columns: tuple[tuple[str, str], ...]
    rows: int
    notes: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """A query to begin with: the rows per value of a text column, else all of them."""
        texts = [name for name, kind in self.columns if kind == "string"]
        if not texts:
            return f"SELECT count(*) AS n FROM {self.name.sql}"
        key = quote(texts[0]) if not texts[0].isidentifier() else texts[0]
        return f"SELECT {key}, count(*) AS n FROM {self.name} GROUP BY {key}"

    def __str__(self) -> str:
        lines = [f"Table {self.name}: {count_of(self.rows, 'row')} of {self.source}."]
        lines += [f"  {name} {kind}" for name, kind in self.columns]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join([*lines, f"Now, for example: {self.query}"])


def load_table(context: Context, name: str | Name | None, source: Any) -> LoadedTable:
    """A new table with the rows of a file or a frame; without a name, that of the file.

    DT-1105 where something has the name, DT-1003 for a file that is not there, or of no known
    format.
    """
    known = context.name(name if name is not None else _stem(source))
    kind = holder(context.catalog, context.spark, known)
    if kind is not None:
        raise name_taken(kind, known, "Nothing was loaded. Choose another name, or drop it first.")
    frame, told, notes = _read(context, source)
    frame, renamed = _with_names(frame)
    frame.createOrReplaceTempView(_VIEW)
    try:
        run_last(context, f"CREATE TABLE {known.sql} USING delta AS SELECT * FROM {_VIEW}")
    finally:
        context.spark.catalog.dropTempView(_VIEW)
    table = context.spark.table(known.sql)
    columns = tuple((f.name, f.dataType.simpleString()) for f in table.schema)
    rows = _stored_rows(context, known)
    number = table.count() if rows is None else rows
    return LoadedTable(known, told, columns, number, (*notes, *renamed))


def _stored_rows(context: Context, name: Name) -> int | None:
    """The number of rows by the log of a table on this machine's disk, which takes no job of
    Spark's; None where the log does not have it."""
    found = lookup(context.spark, name, temporary=False)
    if found is None or found.location is None or not found.location.startswith("/"):
        return None
    try:
        return context.sources.logs[found.location].size().rows
    except LakeError:
        return None


def _read(context: Context, source: Any) -> tuple[DataFrame, str, tuple[str, ...]]:
    if is_frame(source):
        return source, "the DataFrame", ()
    if is_local_frame(source):
        return whole_frame(context.spark, arrow_of(source)), "the frame", ()
    if not isinstance(source, str | os.PathLike):
        raise error(
            "DT-1031", parameter="source", call="dt.load", given=shown(source),
            expected="a path, or a frame of Spark, pandas, Polars or Arrow",
        )  # fmt: skip
    path = os.fspath(source)
    reader, notes = context.spark.read, tuple[str, ...]()
    kind, local = _format(path), _local_path(context, path)
    if kind == "csv":
        header, separator = _first_line(local, path)
        reader = reader.options(header=header, inferSchema=True, sep=separator)
        first = "The first line has the names" if header else "No line has names"
        notes = (f"{first}; columns are separated by {separator!r}.",)
    return reader.format(kind).load(path if local is None else text_of_path(local)), path, notes


def _stem(source: Any) -> str:
    if not isinstance(source, str | os.PathLike):
        raise error("DT-1032", call="dt.load", problem="a frame has no name", signature="name")
    return quote(re.sub(r"\W+", "_", Path(os.fspath(source)).stem).lower() or "loaded")


def _format(path: str) -> str:
    """By its ending, that of a compressed file before it."""
    endings = [e.lower() for e in Path(path.removesuffix(".gz").removesuffix(".bz2")).suffixes]
    found = _FORMATS.get(endings[-1] if endings else "")
    if found is None:
        known = ", ".join(_FORMATS)
        problem, hint = "its format is not known", f"Its name must end with one of {known}."
        raise error("DT-1003", option="source", value=repr(path), problem=problem, hint=hint)
    return found


def _local_path(context: Context, path: str) -> Path | None:
    """The file or folder that this process can read; None where only Spark can. DT-1003 for one
    that is not there, with one that has nearly its name."""
    if "://" in path or is_connect(context.spark):
        return None
    whole = Path(path).expanduser().resolve()
    if whole.exists():
        return whole
    near = [p.name for p in whole.parent.iterdir()] if whole.parent.is_dir() else []
    problem, hint = "it does not exist", did_you_mean(whole.name, near)
    raise error("DT-1003", option="source", value=repr(path), problem=problem, hint=hint)


def _first_line(path: Path | None, name: str) -> tuple[bool, str]:
    """Whether the first line has names (a cell that is empty or a number is not a name), and the
    separator; of what is not a plain file here, what is usual."""
    usual = "\t" if name.lower().endswith(".tsv") else ","
    if path is None or not path.is_file() or path.suffix in (".gz", ".bz2"):
        return True, usual
    with path.open(encoding="utf-8", errors="replace", newline="") as opened:
        line = opened.read(_SNIFFED).partition("\n")[0]
    separator = max(usual + ",;\t|", key=lambda sign: (line.count(sign), sign == usual))
    cells = next(csv.reader([line.rstrip("\r")], delimiter=separator), [])
    return not any(not c.strip() or _NUMBER.fullmatch(c) for c in cells), separator


def _with_names(frame: DataFrame) -> tuple[DataFrame, tuple[str, ...]]:
    """With names that Delta takes, each once, and what was renamed."""
    plain = (re.sub(f"[{_ODD}]+", "_", column.strip(_ODD)) for column in frame.columns)
    names = _unique([name or "column" for name in plain])
    changed = [(a, b) for a, b in zip(frame.columns, names, strict=True) if a != b]
    notes = tuple(f"{old!r} is the column {new}." for old, new in changed)
    return (frame.toDF(*names) if changed else frame), notes


def _unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        taken = {n.lower() for n in found}
        numbered = (f"{name}_{i}" for i in range(2, len(names) + 2))
        free = (n for n in (name, *numbered) if n.lower() not in taken)
        found.append(next(free))
    return found
