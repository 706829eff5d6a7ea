"""What order says leaves out rows, and never one that matters: a change weighs the same, and a
LIMIT takes the same rows."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dt_jupyter.ivm import (
    Aggregate,
    AggregateCall,
    End,
    Filter,
    Infix,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Scan,
    Top,
    Union,
    col,
    equality,
    expr,
)
from dt_jupyter.lake import ValueInterval
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.refresh import order_bounds as module, semijoin_reduction as reduction_module
from dt_jupyter.refresh.arrow_filter import sieved
from dt_jupyter.refresh.semijoin_reduction import Reduction, Tables
from dt_jupyter.sql.emit.render import Renderer
from tests.cases import some
from tests.unit.expressions import read, read_term
from tests.unit.small_worlds import connection, duck_quote, to_duck

SEEDS = 20
VALUES = (None, *range(6))


class Lab:
    """The tables `p` and `q` (k, v) and the change of `s` (v); of p rows may be selected."""

    def __init__(self, seed: int, *, many: bool) -> None:
        rng = self.random = random.Random(seed)
        self.many, self.read = many, list[str]()
        self.tables = {"p": self._rows(12), "q": self._rows(4)}
        weights = rng.choice(([-1, 1], [-1, 1], [1, -1, -1, 1], [1], [1, 1, -1]))
        values = [rng.choice(VALUES) for _ in weights]
        self.change = pa.table({"v": pa.array(values, pa.int64()), WEIGHT: weights})

    def _rows(self, count: int) -> pa.Table:
        columns = {n: [self.random.choice(VALUES) for _ in range(count)] for n in ("k", "v")}
        return pa.table({n: pa.array(v, pa.int64()) for n, v in columns.items()})

    def rows(self, scan: Scan) -> pa.Table:
        self.read.append(scan.source)
        return self.change if scan.end is End.DELTA else self.tables[scan.source]

    def between(self, scan: Scan, name: str, interval: ValueInterval) -> pa.Table:
        rows = self.tables[scan.source]
        return rows.filter(interval.holds(rows[name]))

    def columns(self, scan: Scan, names: Sequence[str]) -> pa.Table:
        return self.tables[scan.source].select(names)

    def reduction(self) -> Reduction:
        tables = Tables(
            self.rows,
            lambda *_: None,
            lambda scan: frozenset({"k", "v"}),
            lambda *_: None,
            lambda scan: self.many,
            self.between,
            self.columns,
        )
        return Reduction(tables)

    def answer(self, rel: Rel, found: dict[str, tuple[Scan, pa.Table]]) -> list[tuple[Any, ...]]:
        """The rows of a relation by DuckDB."""
        numbers = itertools.count()

        def place(scan: Scan) -> str:
            rows = found[scan.source][1] if scan.source in found else None
            if rows is None:
                rows = self.change if scan.end is End.DELTA else self.tables[scan.source]
            name = f"t{next(numbers)}"
            connection().register(name, rows)
            return name

        names = ", ".join(map(duck_quote, rel.columns))
        text = to_duck(f"SELECT {names} FROM ({Renderer(place, quote=duck_quote)(rel)})")
        return connection().execute(text).fetchall()

    def weights(self, rel: Rel, found: dict[str, tuple[Scan, pa.Table]]) -> dict[Any, int]:
        """The rows with their weights summed up, 1 each where they have none; zeros dropped."""
        total, columns = Counter[Any](), rel.columns
        at = columns.index(WEIGHT) if WEIGHT in columns else None
        for row in self.answer(rel, found):
            values = [v for i, v in enumerate(row) if i != at]
            total[tuple(values)] += 1 if at is None else row[at]
        return {row: weight for row, weight in total.items() if weight}


S = Scan("s", (("sv", "v"),), End.DELTA)
P = Scan("p", (("pk", "k"), ("pv", "v")))
Q = Scan("q", (("qk", "k"), ("qv", "v")))


def shown(rel: Rel, *columns: str) -> Project:
    return Project(rel, tuple((c, col(c)) for c in columns))


def compared(sign: str, left: str = "pv", right: str = "sv", of: Rel = P) -> Join:
    return Join((S, of), (Infix(col(left), sign, col(right)),))


MORE = compared(">")
CHANGED = shown(MORE, "pk", "pv", WEIGHT)
CHANGES: dict[str, Rel] = {
    **{f"pv {s} sv": shown(compared(s), "pk", "pv", WEIGHT) for s in ("<", "<=", ">", ">=")},
    **{f"sv {s} pv": shown(compared(s, "sv", "pv"), "pk", WEIGHT) for s in ("<", ">=")},
    "the value is read": shown(MORE, "pk", "sv", WEIGHT),
    "the value is computed with": Project(
        MORE, (("x", read("pk + sv")), (WEIGHT, col(WEIGHT)))
    ),
    "the value is compared twice": shown(
        Join((S, P), (*MORE.on, Infix(col("pk"), "<", col("sv")))), "pk", "pv", WEIGHT
    ),
    "the value is filtered": shown(
        Filter(MORE, (read("sv > 2"),)), "pk", "pv", WEIGHT
    ),
    "renamed": shown(
        compared("<", "b", of=Project(P, (("a", col("pk")), ("b", col("pv"))))), "a", WEIGHT
    ),
    "computed": shown(
        compared("<", "b", of=Project(P, (("a", col("pk")), ("b", read("-pv"))))),
        "a", WEIGHT,
    ),
    "joined": shown(Join((CHANGED, Q), (equality(col("pk"), col("qk")),)),
                    "pv", "qv", WEIGHT),
    "anti": Match(CHANGED, Q, MatchKind.ANTI, (("pk", "qk"),)),
    "left": shown(Match(MORE, Q, MatchKind.LEFT, (("pk", "qk"),)), "pk", "qv", WEIGHT),
    "of two": shown(Union((CHANGED, shown(compared("<"), "pk", "pv", WEIGHT)), ("x", "y", WEIGHT)),
                    "x", WEIGHT),
    "a partner": Match(Q, MORE, MatchKind.SEMI, (("qk", "pk"),)),
    "counted": Aggregate(MORE, ("pk",), (("n", AggregateCall("count", (), expr("COUNT(*)"))),)),
    "the weight is filtered": shown(Filter(MORE, (expr("{w} > 0", w=col(WEIGHT)),)), "pk", WEIGHT),
    "the weight is made another": Project(
        MORE, (("pk", col("pk")), (WEIGHT, expr("ABS({w})", w=col(WEIGHT))))
    ),
}  # fmt: skip


def first(*order: str, count: int | None = 3, skip: int = 0, of: Rel = P, by: str = "pv") -> Rel:
    """The first rows by a column with these words, then by others."""
    return Top(of, tuple(read_term(t) for t in (by + order[0], *order[1:])), count, skip)


FILTERED = Filter(P, (read("pk > 2"),))
TOPS: dict[str, Rel] = {
    **{f"pv{w}": first(w) for w in ("", " DESC", " NULLS LAST", " ASC NULLS FIRST",
                                    " DESC NULLS FIRST", " DESC NULLS LAST")},
    "ties": first(" DESC", "pk"),
    "skipped": first(" DESC", count=2, skip=3),
    "all": first("", count=12),
    "none": first("", count=0),
    "no end": first("", count=None, skip=2),
    "computed": first(" * -1 DESC"),
    "filtered": first(" DESC", of=FILTERED),
    "filtered in another way": first("", of=Filter(P, (read("ABS(pk) > 2"),))),
    "filtered in two ways": first("", of=Filter(
        P, (read("pk > 2 AND ABS(pk) < 5"),))),
    "renamed": first(" DESC", by="b", of=Project(FILTERED, (("b", col("pv")), ("a", col("pk"))))),
    "a computed column": first(" DESC", by="b", of=Project(
        P, (("b", read("-pv")), ("a", col("pk"))))),
    "grouped": first(" DESC", by="pk", of=Aggregate(P, ("pk",), ())),
    "both": Union((first(" DESC"), first("", of=FILTERED)), ("x", "y")),
    "keys below": first(" DESC", of=Restrict(P, Project(Q, (("k", col("qk")),)), (("pk", "k"),))),
}  # fmt: skip
RELATIONS = {**CHANGES, **TOPS}


def is_same(name: str, seed: int, *, many: bool) -> bool:
    """Whether a relation weighs the same after its reduction."""
    lab = Lab(seed, many=many)
    rel, reduction = RELATIONS[name], lab.reduction()
    left = reduction(rel)
    return lab.weights(left, reduction.found) == lab.weights(rel, {})


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("name", RELATIONS)
def test_the_same_comes_from_what_is_left(name: str, many: bool) -> None:
    assert [seed for seed in range(SEEDS) if not is_same(name, seed, many=many)] == []


def _inside(self: ValueInterval, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """As if the ends were none of the values."""
    found = holds(self, values)
    for end in (self.least, self.most):
        if end is not None:
            found = pc.and_(found, pc.fill_null(pc.not_equal(values, end), True))
    return found


def _without_null(self: ValueInterval, values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.and_(holds(self, values), pc.is_valid(values))


def _of_all(rel: Rel, read: frozenset[str]) -> module._Below:
    """As if every operator were linear, and read what is read of it."""
    return [(i, read & set(i.columns), True) for i in rel.inputs]


def _as_if_balanced(self: module.ChangeComparison, change: pa.Table) -> ValueInterval | None:
    ones = pa.array([0] * change.num_rows, pa.int64())
    return interval_of(self, change.drop_columns(WEIGHT).append_column(WEIGHT, ones))


holds, interval_of, rows_of = (
    ValueInterval.holds,
    module.ChangeComparison.interval,
    module.FirstRows.interval,
)
MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "the ends are left out": (ValueInterval, "holds", _inside),
    "NULL is never first": (ValueInterval, "holds", _without_null),
    "all that is joined alike cancels": (module.ChangeComparison, "interval", _as_if_balanced),
    "what is read of a change cancels too": (
        reduction_module,
        "find_comparisons",
        lambda rel: [replace(c, cancels=True) for c in module.find_comparisons(rel)],
    ),
    "every operator is linear": (
        module,
        "_BELOW",
        {**module._BELOW, **dict.fromkeys((Aggregate, Filter, Project), _of_all)},
    ),
    "a row less is taken": (
        module.FirstRows,
        "interval",
        lambda self, rows: rows_of(replace(self, count=self.count - 1), rows),
    ),
    "rows that are skipped do not count": (
        reduction_module,
        "find_first_rows",
        lambda rel: [replace(f, count=min(f.count, 2)) for f in module.find_first_rows(rel)],
    ),
    "conditions are not looked at": (
        module.FirstRows,
        "interval",
        lambda self, rows: rows_of(replace(self, conditions=()), rows),
    ),
    "a condition is answered in part": (
        module,
        "filtered",
        sieved,
    ),
}


@pytest.mark.parametrize("name", some(4, MUTANTS))
def test_a_bound_that_leaves_out_too_much_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    assert not all(is_same(r, seed, many=True) for r in RELATIONS for seed in range(SEEDS))


def test_a_row_that_is_above_both_values_is_left_out() -> None:
    lab = Lab(1, many=True)
    lab.tables["p"] = pa.table({"k": [1, 2, 3, 4, 5], "v": [1, 3, 4, None, 9]})
    lab.change = pa.table({"v": [3, 5, None], WEIGHT: [-1, 1, 1]})
    reduction = lab.reduction()
    reduction(CHANGED)
    (kept,) = (rows for scan, rows in reduction.found.values() if scan.source == "p")
    assert kept["k"].to_pylist() == [2, 3]
    assert lab.read == ["s"]
    lab.change = pa.table({"v": [3, 5], WEIGHT: [1, 1]})  # of a partner more each row is more
    reduction = lab.reduction()
    reduction(CHANGED)
    assert lab.read[1:] == ["s", "p"]


def test_of_a_limit_the_rows_up_to_the_last_are_read() -> None:
    lab = Lab(1, many=True)
    lab.tables["p"] = pa.table({"k": range(9), "v": [5, 1, 5, None, 3, 2, 3, 9, 0]})
    reduction = lab.reduction()
    reduction(first(" DESC", count=2, skip=2))
    ((_, kept),) = reduction.found.values()
    assert sorted(kept["v"].to_pylist()) == [3, 3, 5, 5, 9]
    assert lab.read == []


def test_types_that_spark_casts_to_compare_them_are_left_alone() -> None:
    wide, small, scaled = pa.decimal128(38, 0), pa.decimal128(9, 2), pa.decimal128(38, 10)
    assert module.are_alike(small, scaled)
    assert module.are_alike(pa.int16(), pa.int64())
    assert module.are_alike(pa.string(), pa.string())
    for one, other in ((wide, scaled), (wide, pa.int64()), (pa.date32(), pa.string())):
        assert not module.are_alike(one, other)
    lab = Lab(1, many=False)
    lab.change = pa.table({"v": [Decimal("1.5"), Decimal("2.5")], WEIGHT: [-1, 1]})
    reduction = lab.reduction()
    assert reduction(CHANGED) is not None
    (kept,) = (rows for scan, rows in reduction.found.values() if scan.source == "p")
    assert kept is lab.tables["p"]
