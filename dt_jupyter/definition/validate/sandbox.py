"""Small tables in a private session, and stages moved on them by their own statements."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession, types as T

from dt_jupyter.definition.validate.row_bound import MOST_ROWS, RowBound, TooManyRows
from dt_jupyter.ivm import (
    End,
    Rel,
    Scan,
    Sizes,
    Stage,
    at,
    differentiate,
    directed,
    key_relations,
    with_keys,
)
from dt_jupyter.lake import arrow_schema
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import COUNT, EXISTED, HASH, OP, RESCAN, VISIBLE, WEIGHT, hidden
from dt_jupyter.spark import check_cancelled, collect_arrow, whole_frame
from dt_jupyter.sql import BagSql, GroupSql, Renderer

if TYPE_CHECKING:
    import pyarrow as pa


class Mismatch(Exception):
    """A change that does not fit the rows that it is to change."""


_Rows = list[dict[str, Any]]


@dataclass
class Sandbox:
    """Small tables in a private session, by source and end; what Spark is not asked of is not
    made there. The same list of rows is the same view, also in the next round."""

    spark: SparkSession
    tables: dict[tuple[str, End], tuple[_Rows, T.StructType]] = field(default_factory=dict)
    views: dict[int, tuple[str, _Rows]] = field(default_factory=dict)
    """By the identity of their rows, which are kept for that."""

    def put(self, source: str, ends: tuple[End, ...], values: _Rows, schema: T.StructType) -> None:
        for end in ends:
            self.tables[(source, end)] = values, schema

    def view(self, source: str, end: End) -> str:
        """The name of a temporary view of the table."""
        values, schema = self.tables[(source, end)]
        if id(values) not in self.views:
            name = hidden(f"guard_{len(self.views)}")
            self.frame(values, schema).createOrReplaceTempView(name)
            self.views[id(values)] = name, values
        return self.views[id(values)][0]

    def place(self, scan: Scan) -> str:
        return quote(self.view(scan.source, scan.end))

    def renderer(self, keys: str = "") -> Renderer:
        """For changes, whose joins compare row by row: a hashed relation takes a job, and from a
        megabyte to the page of a large sort, for forty rows."""
        return Renderer(
            self.place,
            keys=lambda name: quote(keys or name),
            small=lambda rel: True,
            hint="SHUFFLE_REPLICATE_NL",
        )

    def bound(self, rel: Rel) -> None:
        """TooManyRows where evaluating the relation may come to too many."""
        RowBound(lambda scan: self.tables[(scan.source, scan.end)][0])(rel)

    def rows(self, text: str) -> list[dict[str, Any]]:
        return few_rows(self.spark.sql(text))

    def frame(self, values: list[dict[str, Any]], schema: T.StructType) -> DataFrame:
        """The rows as a local relation: no file, no Python worker, one task."""
        import pyarrow as pa

        shape = arrow_schema(json.loads(schema.json())["fields"])
        columns = [pa.array([v[f.name] for v in values], f.type) for f in shape]
        return whole_frame(self.spark, pa.Table.from_arrays(columns, schema=shape), schema)

    def drop(self) -> None:
        for view, _ in self.views.values():
            self.spark.catalog.dropTempView(view)
        self.views.clear()


def as_rows(frame: DataFrame) -> list[dict[str, Any]]:
    return python_rows(collect_arrow(frame))


def python_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """TypeError where a value is a time that Python's calendar does not hold."""
    try:
        return list(rows.to_pylist())
    except (ValueError, OverflowError) as e:
        raise TypeError(str(e)) from e


def few_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame; TooManyRows where there are more than are looked at."""
    rows = as_rows(frame.limit(MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        raise TooManyRows
    return rows


def put_split(
    box: Sandbox,
    source: str,
    schema: T.StructType,
    data: list[dict[str, Any]],
    both: float,
    rng: random.Random,
) -> None:
    """Rows that are old, new, or `both`, that often; those in one only are the change."""
    fate = [rng.choice(("old", "new")) if rng.random() > both else "both" for _ in data]
    for kind, i in zip(
        ("old", "new"), rng.sample(range(len(data)), min(2, len(data))), strict=False
    ):
        fate[i] = kind
    old = [r for r, f in zip(data, fate, strict=True) if f != "new"]
    new = [r for r, f in zip(data, fate, strict=True) if f != "old"]
    delta = [
        {**r, WEIGHT: 1 if f == "new" else -1}
        for r, f in zip(data, fate, strict=True)
        if f != "both"
    ]
    box.put(source, (End.OLD,), old, schema)
    box.put(source, (End.NEW,), new, schema)
    box.put(source, (End.DELTA,), delta, _weighted(schema))


def _weighted(schema: T.StructType) -> T.StructType:
    return T.StructType([*schema.fields, T.StructField(WEIGHT, T.LongType(), False)])


def move_stage(
    box: Sandbox,
    stage: Stage,
    sql: GroupSql | BagSql,
    moved: Rel,
    moving: frozenset[str],
    sizes: Sizes,
) -> list[dict[str, Any]]:
    """The stage moved from old to new by its own statements, its input in the order `moved`; its
    visible rows."""
    before = at(stage.input, End.OLD)
    for rel in (before, at(stage.input, End.NEW)):
        box.bound(rel)
    check_cancelled()
    frame = box.spark.sql(sql.initial(Renderer(lambda s: box.place(replace(s, end=End.OLD)))))
    schema = frame.schema
    old = after = few_rows(frame)
    delta = differentiate(moved, moving)
    if delta is not None:
        delta = directed(_with_computed_keys(box, delta, sizes), sizes)
        box.bound(delta)
        move = _move_group if isinstance(sql, GroupSql) else _move_bag
        after = move(box, sql, box.renderer(), delta, old, schema)  # type: ignore[arg-type]
    box.put(stage.id, (End.OLD,), old, schema)
    box.put(stage.id, (End.NEW,), after, schema)
    change = [{**r, WEIGHT: -1} for r in old] + [{**r, WEIGHT: 1} for r in after]
    box.put(stage.id, (End.DELTA,), change, _weighted(schema))
    return [r for r in after if r.get(VISIBLE, True)]


def _with_computed_keys(box: Sandbox, delta: Rel, sizes: Sizes) -> Rel:
    """The derivative with the keys that it asks for as tables, as a refresh has them."""
    names: dict[Rel, str] = {}
    for keys in key_relations(delta):
        read = directed(with_keys(keys, names), sizes)
        box.bound(read)
        frame = box.spark.sql(box.renderer()(read))
        source = f"keys:{len(names)}"
        box.put(source, (End.NEW,), few_rows(frame), frame.schema)
        names[keys] = box.view(source, End.NEW)
    return with_keys(delta, names)


def _move_group(
    box: Sandbox,
    sql: GroupSql,
    render: Renderer,
    delta: Rel,
    old: list[dict[str, Any]],
    schema: T.StructType,
) -> list[dict[str, Any]]:
    box.put("state", (End.OLD,), old, schema)
    state = quote(box.view("state", End.OLD))
    touched = sql.touched(render, delta)
    merged = box.spark.sql(sql.merged(touched, state))
    changes = few_rows(merged)
    if any(c[COUNT] < 0 for c in changes):
        raise Mismatch("more rows leave a group than it has")
    again = [c for c in changes if c[RESCAN]]
    changes = [c for c in changes if not c[RESCAN]]
    if again:
        keys = T.StructType([f for f in merged.schema if f.name in (*sql.keys, EXISTED)])
        box.put("keys", (End.NEW,), again, keys)
        view = box.view("keys", End.NEW)
        changes += box.rows(sql.rescan(box.renderer(view), "keys"))
    if sql.once and (new := [c for c in changes if c[OP] == "I"]):
        box.put("new", (End.NEW,), new, merged.schema)
        computed = box.rows(sql.computed(quote(box.view("new", End.NEW))))
        changes = [c for c in changes if c[OP] != "I"] + computed

    def identity(row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(repr(_plain_zero(row[k])) for k in sql.keys)

    table = {identity(r): r for r in old}
    for change in changes:
        if change[OP] == "D":
            if table.pop(identity(change), None) is None:
                raise Mismatch("a group is deleted that is not there")
        elif change[OP] is not None:
            table[identity(change)] = {f.name: change[f.name] for f in schema}
    return list(table.values())


def _plain_zero(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and value == 0 else value


def _move_bag(
    box: Sandbox,
    sql: BagSql,
    render: Renderer,
    delta: Rel,
    old: list[dict[str, Any]],
    schema: T.StructType,
) -> list[dict[str, Any]]:
    weights: Counter[tuple[int, int]] = Counter()
    contents, (h1, h2) = {}, HASH
    for row in old:
        weights[(row[h1], row[h2])] += 1
        contents[(row[h1], row[h2])] = row
    for row in box.rows(sql.change(render, delta, consolidate=True)):
        weights[(row[h1], row[h2])] += row[WEIGHT]
        contents.setdefault((row[h1], row[h2]), row)
    if any(w < 0 for w in weights.values()):
        raise Mismatch("rows are deleted that are not there")
    return [contents[h] for h, w in weights.items() for _ in range(w)]
