"""Small tables in a private session, and stages moved on them by their own statements."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, types as T

from dt_jupyter.definition.validate.generated_rows import NoValues
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
from dt_jupyter.lake import LocalViews, arrow_schema
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import COUNT, EXISTED, HASH, OP, RESCAN, VISIBLE, WEIGHT, hidden
from dt_jupyter.spark import check_cancelled, collect_arrow, whole_frame
from dt_jupyter.sql import BagSql, GroupSql, Query, Renderer

if TYPE_CHECKING:
    import pyarrow as pa


class Mismatch(Exception):
    """A change that does not fit the rows that it is to change."""


_Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class RowColumns:
    """The columns of a small table: those of a schema of Spark's, or of rows that were computed in
    this process."""

    schema: T.StructType | pa.Schema

    @cached_property
    def arrow(self) -> pa.Schema:
        """NotSupported for a type whose way through Arrow is not proved."""
        if not isinstance(self.schema, T.StructType):
            return self.schema
        return arrow_schema(json.loads(self.schema.json())["fields"])

    @property
    def spark(self) -> T.StructType | None:
        return self.schema if isinstance(self.schema, T.StructType) else None

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def with_weight(self) -> RowColumns:
        import pyarrow as pa

        if self.spark is None:
            return RowColumns(self.arrow.append(pa.field(WEIGHT, pa.int64())))
        weight = T.StructField(WEIGHT, T.LongType(), False)
        return RowColumns(T.StructType([*self.spark.fields, weight]))

    def only(self, names: Collection[str]) -> RowColumns:
        import pyarrow as pa

        kept = [f for f in self.schema if f.name in names]
        return RowColumns(pa.schema(kept) if self.spark is None else T.StructType(kept))


@dataclass
class Sandbox:
    """Small tables by source and end, in memory; Spark is given one for a statement that it is to
    run. The same list of rows is the same view, also in the next round."""

    views: LocalViews
    tables: dict[tuple[str, End], tuple[_Rows, RowColumns]] = field(default_factory=dict)
    names: dict[int, tuple[str, _Rows]] = field(default_factory=dict)
    """The names of views by the identity of their rows, which are kept for that."""

    def put(self, source: str, ends: tuple[End, ...], values: _Rows, columns: RowColumns) -> None:
        for end in ends:
            self.tables[(source, end)] = values, columns

    def view(self, source: str, end: End) -> str:
        """The name of a view of the table."""
        values, columns = self.tables[(source, end)]
        if id(values) not in self.names:
            name = hidden(f"guard_{len(self.names)}")
            self._add(name, values, columns)
            self.names[id(values)] = name, values
        return self.names[id(values)][0]

    def _add(self, name: str, values: _Rows, columns: RowColumns) -> None:
        import pyarrow as pa

        try:
            arrays = [pa.array([v[f.name] for v in values], f.type) for f in columns.arrow]
        except (pa.ArrowTypeError, pa.ArrowInvalid) as e:
            raise NoValues(str(e)) from e
        rows = pa.Table.from_arrays(arrays, schema=columns.arrow)

        def make() -> None:
            """A local relation: no file, no Python worker, one task."""
            whole_frame(self.views.spark, rows, columns.spark).createOrReplaceTempView(name)

        self.views.add_rows(name, rows, columns.spark, make)

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

    def rows(self, query: Query) -> tuple[_Rows, RowColumns]:
        """The rows of a statement, computed where a refresh of so few rows computes them.
        TooManyRows."""
        found = self.views.evaluate(query)
        if found is None:
            return self.rows_by_spark(query.sql)
        return few_rows(found), RowColumns(found.schema)

    def rows_by_spark(self, text: str) -> tuple[_Rows, RowColumns]:
        """The rows of a statement that Spark runs. TooManyRows."""
        self.views.give(text)
        frame = self.views.spark.sql(text)
        return few_rows(collect_arrow(frame.limit(MOST_ROWS + 1))), RowColumns(frame.schema)


def as_rows(frame: DataFrame) -> list[dict[str, Any]]:
    return python_rows(collect_arrow(frame))


def few_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows; TooManyRows where there are more than are read."""
    if rows.num_rows > MOST_ROWS:
        raise TooManyRows
    return python_rows(rows)


def python_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """With timestamps in UTC, whatever the zone of the session that computed them. NoValues where
    one is not in Python's calendar."""
    import pyarrow as pa

    for i, f in enumerate(rows.schema):
        if pa.types.is_timestamp(f.type) and f.type.tz not in (None, "UTC"):
            kind = pa.timestamp(f.type.unit, "UTC")
            rows = rows.set_column(i, f.with_type(kind), rows[i].cast(kind))
    try:
        return list(rows.to_pylist())
    except (ValueError, OverflowError) as e:
        raise NoValues(str(e)) from e


def put_split(
    box: Sandbox,
    source: str,
    columns: RowColumns,
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
    box.put(source, (End.OLD,), old, columns)
    box.put(source, (End.NEW,), new, columns)
    box.put(source, (End.DELTA,), delta, columns.with_weight())


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
    for end in (End.OLD, End.NEW):
        box.bound(at(stage.input, end))
    check_cancelled()
    before = sql.initial(Renderer(lambda s: box.place(replace(s, end=End.OLD))))
    old, columns = box.rows(before)
    after = old
    delta = differentiate(moved, moving)
    if delta is not None:
        delta = directed(_with_computed_keys(box, delta, sizes), sizes)
        box.bound(delta)
        move = _move_group if isinstance(sql, GroupSql) else _move_bag
        after = move(box, sql, box.renderer(), delta, old, columns)  # type: ignore[arg-type]
    box.put(stage.id, (End.OLD,), old, columns)
    box.put(stage.id, (End.NEW,), after, columns)
    change = [{**r, WEIGHT: -1} for r in old] + [{**r, WEIGHT: 1} for r in after]
    box.put(stage.id, (End.DELTA,), change, columns.with_weight())
    return [r for r in after if r.get(VISIBLE, True)]


def _with_computed_keys(box: Sandbox, delta: Rel, sizes: Sizes) -> Rel:
    """The derivative with the keys that it asks for as tables, as a refresh has them."""
    names: dict[Rel, str] = {}
    for keys in key_relations(delta):
        read = directed(with_keys(keys, names), sizes)
        box.bound(read)
        source = f"keys:{len(names)}"
        box.put(source, (End.NEW,), *box.rows(box.renderer().query(read)))
        names[keys] = box.view(source, End.NEW)
    return with_keys(delta, names)


def _move_group(
    box: Sandbox,
    sql: GroupSql,
    render: Renderer,
    delta: Rel,
    old: list[dict[str, Any]],
    columns: RowColumns,
) -> list[dict[str, Any]]:
    box.put("state", (End.OLD,), old, columns)
    state = quote(box.view("state", End.OLD))
    touched = sql.touched(render, delta)
    changes, merged = box.rows(sql.merged(touched, state))
    if any(c[COUNT] < 0 for c in changes):
        raise Mismatch("more rows leave a group than it has")
    again = [c for c in changes if c[RESCAN]]
    changes = [c for c in changes if not c[RESCAN]]
    if again:
        box.put("keys", (End.NEW,), again, merged.only((*sql.keys, EXISTED)))
        view = box.view("keys", End.NEW)
        changes += box.rows(sql.rescan(box.renderer(view), "keys"))[0]
    if sql.once and (new := [c for c in changes if c[OP] == "I"]):
        box.put("new", (End.NEW,), new, merged)
        computed, _ = box.rows(sql.computed(quote(box.view("new", End.NEW))))
        changes = [c for c in changes if c[OP] != "I"] + computed

    def identity(row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(repr(_plain_zero(row[k])) for k in sql.keys)

    table = {identity(r): r for r in old}
    for change in changes:
        if change[OP] == "D":
            if table.pop(identity(change), None) is None:
                raise Mismatch("a group is deleted that is not there")
        elif change[OP] is not None:
            table[identity(change)] = {n: change[n] for n in columns.names}
    return list(table.values())


def _plain_zero(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and value == 0 else value


def _move_bag(
    box: Sandbox,
    sql: BagSql,
    render: Renderer,
    delta: Rel,
    old: list[dict[str, Any]],
    columns: RowColumns,
) -> list[dict[str, Any]]:
    weights: Counter[tuple[int, int]] = Counter()
    contents, (h1, h2) = {}, HASH
    for row in old:
        weights[(row[h1], row[h2])] += 1
        contents[(row[h1], row[h2])] = row
    for row in box.rows(sql.change(render, delta, consolidate=True))[0]:
        weights[(row[h1], row[h2])] += row[WEIGHT]
        contents.setdefault((row[h1], row[h2]), row)
    if any(w < 0 for w in weights.values()):
        raise Mismatch("rows are deleted that are not there")
    return [contents[h] for h, w in weights.items() for _ in range(w)]
