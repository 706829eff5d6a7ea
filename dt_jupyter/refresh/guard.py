"""The check at creation: what was bound and derived, against the text itself, on small data.

Sources are filled with rows, split into an old and a new state; the stages are initialised on
the old one, moved by their own statements, and compared with the user's text on the new one.
What is wrong anywhere between the parser and the merge shows as a difference.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from dt_jupyter.ivm import (
    WEIGHT,
    End,
    Generate,
    Join,
    Rel,
    Scan,
    Stage,
    differentiate,
    equated,
    scans,
    walk,
)
from dt_jupyter.ivm.rel import rewrite
from dt_jupyter.lake import NotSupported
from dt_jupyter.lake.types import arrow_schema
from dt_jupyter.model import quote
from dt_jupyter.refresh.compare import difference
from dt_jupyter.refresh.samples import rows
from dt_jupyter.sql.maintain import COUNT, EXISTED, OP, RESCAN, BagSql, GroupSql
from dt_jupyter.sql.render import Renderer

ROWS, FEW = 40, 3
"""How many rows each source has here, and where they may multiply."""

_INTERPRETED = {
    # Compiling a plan costs a hundred times what a few rows do.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
}


@dataclass(frozen=True)
class Verdict:
    """What the check found: None in `mismatch` is agreement; `checked` says on what."""

    mismatch: str | None
    checked: str


@dataclass
class Sandbox:
    """Small tables in a private session: `views` maps (source, end) to a temporary view."""

    spark: SparkSession
    views: dict[tuple[str, End], str] = field(default_factory=dict)

    def put(self, source: str, end: End, frame: DataFrame) -> None:
        name = f"__dt_guard_{len(self.views)}"
        frame.createOrReplaceTempView(name)
        self.views[(source, end)] = name

    def place(self, scan: Scan) -> str:
        return quote(self.views[(scan.source, scan.end)])

    def rows(self, text: str) -> list[dict[str, Any]]:
        return as_rows(self.spark.sql(text))

    def frame(self, values: list[dict[str, Any]], schema: T.StructType) -> DataFrame:
        """The rows as a local relation: no file, no Python worker, one task."""
        import pyarrow as pa

        shape = arrow_schema(json.loads(schema.json())["fields"])
        columns = [pa.array([v[f.name] for v in values], f.type) for f in shape]
        return self.spark.createDataFrame(pa.Table.from_arrays(columns, schema=shape), schema)

    def drop(self) -> None:
        for view in self.views.values():
            self.spark.catalog.dropTempView(view)


def as_rows(frame: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


Original = Callable[[Mapping[str, str]], str]
"""The user's text with each source (by id) replaced by a relation."""


def check(
    spark: SparkSession, stages: tuple[tuple[Stage, GroupSql | BagSql], ...],
    sources: Mapping[str, T.StructType], real: Mapping[str, list[dict[str, Any]]],
    query: str, original: Original, rng: random.Random,
) -> Verdict:  # fmt: skip
    """Runs the check on generated rows and on a sample of real ones (`real`, by source id)."""
    for conf, value in _INTERPRETED.items():
        spark.conf.set(conf, value)
    most = FEW if any(explosive(stage.input) for stage, _ in stages) else ROWS
    real = {s: sample[:most] for s, sample in real.items()}
    made = {s: rows(schema, query, most, rng) for s, schema in sources.items()}
    attempts = [("generated and sampled", {s: made[s] + list(real.get(s, ())) for s in sources})]
    if any(real.values()):
        attempts.append(("sampled", {s: list(real.get(s, ())) for s in sources}))
    for kind, data in attempts:
        box = Sandbox(spark)
        try:
            mismatch = _once(box, stages, sources, data, original, rng)
        except (PySparkException, NotSupported, TypeError):
            # Rows that make the text itself fail, and types that cannot be generated, say
            # nothing of the derivative; what was checked is told.
            continue
        finally:
            box.drop()
        told = f"{sum(map(len, data.values()))} {kind} rows"
        return Verdict(f"{mismatch}, on {told}" if mismatch else None, told)
    return Verdict(None, "no rows: the query fails on all that were tried")


def explosive(rel: Rel) -> bool:
    """Whether a few rows may make any number: what generators make of them is combined freely.
    Interpreted as they are here, Spark does not end such tasks when they are cancelled."""
    nodes = list(walk(rel))
    combined = any(isinstance(n, Join) and not any(map(equated, n.on)) for n in nodes)
    return combined and any(isinstance(n, Generate) for n in nodes)


def _once(
    box: Sandbox, stages: tuple[tuple[Stage, GroupSql | BagSql], ...],
    sources: Mapping[str, T.StructType], data: Mapping[str, list[dict[str, Any]]],
    original: Original, rng: random.Random,
) -> str | None:  # fmt: skip
    for source, schema in sources.items():
        _split(box, source, schema, data[source], rng)
    for stage, sql in stages:
        public = _stage(box, stage, sql)
    wanted = box.rows(original({s: quote(box.views[(s, End.NEW)]) for s in sources}))
    names = [n for n, _ in stages[-1][0].outputs]
    return difference([tuple(r[n] for n in names) for r in public],
                      [tuple(r.values()) for r in wanted], tolerance=1e-9)  # fmt: skip


def _split(
    box: Sandbox, source: str, schema: T.StructType, data: list[dict[str, Any]], rng: random.Random
) -> None:
    """Two of three rows are old, two of three new; those in one only are the change."""
    fate = [rng.choice(("old", "new", "both")) for _ in data]
    old = [r for r, f in zip(data, fate, strict=True) if f != "new"]
    new = [r for r, f in zip(data, fate, strict=True) if f != "old"]
    delta = [
        {**r, WEIGHT: 1 if f == "new" else -1}
        for r, f in zip(data, fate, strict=True)
        if f != "both"
    ]
    weighted = T.StructType([*schema.fields, T.StructField(WEIGHT, T.LongType(), False)])
    for end, values, shape in (
        (End.OLD, old, schema),
        (End.NEW, new, schema),
        (End.DELTA, delta, weighted),
    ):
        box.put(source, end, box.frame(values, shape))


def _stage(box: Sandbox, stage: Stage, sql: GroupSql | BagSql) -> list[dict[str, Any]]:
    """The stage moved from old to new by its own statements; its visible rows."""
    render = Renderer(box.place)
    before = box.spark.sql(sql.initial(Renderer(lambda s: box.place(_as_old(s)))))
    schema = before.schema
    old = as_rows(before)
    delta = differentiate(stage.input, frozenset(s.source for s in scans(stage.input)))
    assert delta is not None
    move = _move_group if isinstance(sql, GroupSql) else _move_bag
    after = move(box, sql, render, delta, old, schema)  # type: ignore[arg-type]
    box.put(stage.id, End.OLD, box.frame(old, schema))
    box.put(stage.id, End.NEW, box.frame(after, schema))
    weighted = T.StructType([*schema.fields, T.StructField(WEIGHT, T.LongType(), False)])
    change = [{**r, WEIGHT: -1} for r in old] + [{**r, WEIGHT: 1} for r in after]
    box.put(stage.id, End.DELTA, box.frame(change, weighted))
    return [r for r in after if r.get("__dt_visible", True)]


def _as_old(scan: Scan) -> Scan:
    moved = rewrite(scan, lambda n: Scan(n.source, n.reads, End.OLD) if isinstance(n, Scan) else n)
    assert isinstance(moved, Scan)
    return moved


def _move_group(
    box: Sandbox, sql: GroupSql, render: Renderer, delta: Rel,
    old: list[dict[str, Any]], schema: T.StructType,
) -> list[dict[str, Any]]:  # fmt: skip
    box.put("state", End.OLD, box.frame(old, schema))
    state = quote(box.views[("state", End.OLD)])
    touched = sql.touched(render, delta)
    merged = box.spark.sql(sql.merged(touched, state))
    changes = as_rows(merged)
    if any(c[COUNT] < 0 for c in changes):
        return [{}]
    again = [c for c in changes if c[RESCAN]]
    changes = [c for c in changes if not c[RESCAN]]
    if again:
        keys = T.StructType([f for f in merged.schema if f.name in (*sql.keys, EXISTED)])
        box.put("keys", End.NEW, box.frame(again, keys))
        view = box.views[("keys", End.NEW)]
        changes += box.rows(sql.rescan(Renderer(box.place, keys=lambda _: quote(view)), "keys"))

    def identity(row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(repr(_plain_zero(row[k])) for k in sql.keys)

    table = {identity(r): r for r in old}
    for change in changes:
        if change[OP] == "D":
            del table[identity(change)]
        elif change[OP] is not None:
            table[identity(change)] = {f.name: change[f.name] for f in schema}
    return list(table.values())


def _plain_zero(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and value == 0 else value


def _move_bag(
    box: Sandbox, sql: BagSql, render: Renderer, delta: Rel,
    old: list[dict[str, Any]], schema: T.StructType,
) -> list[dict[str, Any]]:  # fmt: skip
    weights: Counter[tuple[int, int]] = Counter()
    contents = {}
    for row in old:
        weights[(row["__dt_h1"], row["__dt_h2"])] += 1
        contents[(row["__dt_h1"], row["__dt_h2"])] = row
    for row in box.rows(sql.change(render, delta, consolidate=True)):
        weights[(row["__dt_h1"], row["__dt_h2"])] += row[WEIGHT]
        contents.setdefault((row["__dt_h1"], row["__dt_h2"]), row)
    if any(w < 0 for w in weights.values()):
        return [dict.fromkeys(sql.names)]
    return [contents[h] for h, w in weights.items() for _ in range(w)]
