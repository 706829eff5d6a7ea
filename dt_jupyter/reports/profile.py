"""What a table holds: for each column its NULLs, its distinct values and their bounds, with a few
rows, all of one snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.model import Name, ReadAt, count_of
from dt_jupyter.spark import as_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_PROFILED = 200
"""Of a wider table the first ones are profiled."""
_DEVIATION = 0.02
_UNORDERED = ("map", "array", "struct", "variant", "binary", "interval", "void")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """`distinct` is approximate, within some 2 %; the bounds are texts as Spark writes them, None
    where the column has no value, or none that has an order."""

    name: str
    type: str
    nulls: int
    distinct: int | None
    least: str | None = None
    greatest: str | None = None


@dataclass(frozen=True)
class TableProfile:
    """Of the snapshot that `reads` are: a table's version, or those of a view's tables."""

    name: Name
    reads: tuple[ReadAt, ...]
    row_count: int
    columns: tuple[ColumnProfile, ...]
    sample: tuple[tuple[str | None, ...], ...]

    @property
    def snapshot(self) -> str:
        """`version 7 (2026-01-31 09:00:00 UTC)`, with the name of each where there are several."""
        named = len(self.reads) > 1
        return ", ".join(
            f"{f'{r.name} ' if named else ''}version {r.version} "
            f"({r.since.datetime:%Y-%m-%d %H:%M:%S} UTC)"
            for r in self.reads
        )

    def __str__(self) -> str:
        lines = [f"{self.name}: {count_of(self.row_count, 'row')}, {self.snapshot}"]
        for c in self.columns:
            distinct = "" if c.distinct is None else f", about {c.distinct:,} distinct"
            bounds = "" if c.least is None else f", {c.least} to {c.greatest}"
            lines.append(f"  {c.name} {c.type}: {c.nulls:,} NULL{distinct}{bounds}")
        return "\n".join(lines)


def profile_columns(frame: DataFrame) -> tuple[int, tuple[ColumnProfile, ...]]:
    """How many rows, and each column's profile, by one aggregation."""
    from pyspark.sql import Column, functions as f

    fields = [(x.name, x.dataType.simpleString()) for x in frame.schema.fields]
    places = [f"c{i}" for i in range(len(fields))]
    wanted: list[Column] = [f.count(f.lit(1)).alias("rows")]
    shown = list(zip(places, fields, strict=True))[:MOST_PROFILED]
    for place, (_, kind) in shown:
        column = f.col(place)
        wanted.append(f.count(column).alias(f"{place}_values"))
        if not kind.startswith(_UNORDERED):
            distinct = f.approx_count_distinct(column, _DEVIATION)
            wanted += [
                distinct.alias(f"{place}_distinct"),
                as_text(f.min(column), kind).alias(f"{place}_least"),
                as_text(f.max(column), kind).alias(f"{place}_greatest"),
            ]
    row = frame.toDF(*places).agg(*wanted).first()
    assert row is not None
    found = row.asDict()
    rows: int = found["rows"]
    profiles = tuple(
        ColumnProfile(
            name,
            kind,
            rows - found[f"{place}_values"],
            found.get(f"{place}_distinct"),
            found.get(f"{place}_least"),
            found.get(f"{place}_greatest"),
        )
        for place, (name, kind) in shown
    )
    return rows, profiles
