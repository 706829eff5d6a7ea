"""A reduction leaves out rows, and never one that matters: joins over it are the same."""

from __future__ import annotations

import datetime
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pytest

from dt_jupyter.ivm import (
    Aggregate,
    Bracketed,
    End,
    Expr,
    Filter,
    Infix,
    Join,
    Literal,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Scan,
    Union,
    col,
    conjunction,
    equality,
    provenance,
    walk,
)
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.refresh import semijoin_reduction as module
from dt_jupyter.refresh.arrow_filter import sieved
from dt_jupyter.refresh.semijoin_reduction import Reduction, Tables, is_nothing
from dt_jupyter.sql.emit.render import Renderer
from tests.cases import some
from tests.recorded_plans import RecordedPlans
from tests.unit.expressions import read
from tests.unit.small_worlds import connection


class Lab:
    """Tables `a`, `b`, `c` (k, v) and the change of `a`; c is large: its rows are selected."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tables = {name: self._rows(9) for name in ("a", "b", "c")}
        weights = [self.random.choice((1, -1)) for _ in range(4)]
        self.change = self._rows(4).append_column(WEIGHT, pa.array(weights, pa.int64()))
        self.selected: list[tuple[str, list[int]]] = []
        self.keys = self._rows(2)

    def _rows(self, count: int) -> pa.Table:
        def value() -> int | None:
            return self.random.choice((None, *range(6)))

        columns = {n: pa.array([value() for _ in range(count)], pa.int64()) for n in ("k", "v")}
        return pa.table(columns)

    def rows(self, scan: Scan) -> pa.Table | None:
        if scan.end is End.DELTA:
            return self.change
        return None if scan.source == "c" else self.tables[scan.source]

    def select(
        self, scan: Scan, column: str, values: pa.ChunkedArray, nulls: bool
    ) -> pa.Table | None:
        wanted = {v for v in values.to_pylist() if v is not None} | ({None} if nulls else set())
        rows = self.tables[scan.source]
        self.selected.append((scan.source, sorted(v for v in wanted if v is not None)))
        return rows.filter(pa.array([v in wanted for v in rows[column].to_pylist()], pa.bool_()))

    def reduction(self, comparable: bool = True) -> Reduction:
        names = frozenset({"k", "v"}) if comparable else frozenset[str]()
        return Reduction(
            Tables(self.rows, self.select, lambda scan: names, lambda name, c: self.keys[c])
        )

    def answer(self, rel: Rel, found: dict[str, tuple[Scan, pa.Table]]) -> list[str]:
        """The rows of a relation by DuckDB."""
        numbers, database = itertools.count(), connection()

        def place(scan: Scan) -> str:
            rows = found[scan.source][1] if scan.source in found else None
            if rows is None:
                rows = self.change if scan.end is End.DELTA else self.tables[scan.source]
            name = f"t{next(numbers)}"
            database.register(name, rows)
            return name

        database.register("keys", self.keys)
        render = Renderer(place, quote=lambda name: '"' + name.strip("`") + '"')
        text = render(rel).replace("<=>", "IS NOT DISTINCT FROM").replace("LEFT SEMI", "SEMI")
        return sorted(map(str, database.execute(text.replace("LEFT ANTI", "ANTI")).fetchall()))


def scan(source: str, end: End = End.NEW) -> Scan:
    return Scan(source, ((f"{source}k", "k"), (f"{source}v", "v")), end)


D = scan("a", End.DELTA)
CHAIN = Join(
    (Join((D, scan("b")), (equality(col("ak"), col("bk")),)), scan("c")),
    (equality(col("bv"), col("cv")),),
)
RELATIONS: dict[str, Rel] = {
    "chain": CHAIN,
    "filtered": Filter(CHAIN, (read("cv > 2"),)),
    "below": Join(
        (D, Filter(scan("b"), (read("bv IN (1, 2)"),))),
        (equality(col("ak"), col("bk")),),
    ),
    "union": Join(
        (
            Union((D, Project(D, (("p", col("av")), ("q", col("ak")), (WEIGHT, col(WEIGHT))))),
                  ("uk", "uv", WEIGHT)),
            scan("c"),
        ),
        (equality(col("uk"), col("ck")),),
    ),
    "self": Union(
        (Join((D, scan("b")), (equality(col("ak"), col("bk")),)),
         Join((D, scan("b")), (equality(col("av"), col("bv")),))),
        ("r", "s", WEIGHT, "t", "u"),
    ),
    "left": Match(
        Join((D, scan("b")), (equality(col("ak"), col("bk")),)), scan("c"),
        MatchKind.LEFT, (("bv", "cv"),),
    ),
    "anti": Match(scan("b"), Filter(scan("c"), (read("cv > 3"),)),
                  MatchKind.ANTI, (("bk", "ck"),)),
    "kept": Match(scan("b"), scan("a"), MatchKind.ANTI, (("bk", "ak"),)),
    "semi": Match(scan("b"), Filter(scan("a"), (read("av > 4"),)),
                  MatchKind.SEMI, (("bk", "ak"),)),
    "semi in a join": Join(
        (D, Match(scan("c"), Filter(scan("b"), (read("bk > 2"),)),
                  MatchKind.SEMI, (("cv", "bv"),))),
        (equality(col("ak"), col("ck")),),
    ),
    "anti in a join": Join(
        (D, Match(scan("b"), scan("c"), MatchKind.ANTI, (("bv", "cv"),))),
        (equality(col("ak"), col("bk")),),
    ),
    "left in a join": Join(
        (D, Match(scan("b"), scan("c"), MatchKind.LEFT, (("bv", "cv"),))),
        (equality(col("ak"), col("bk")),),
    ),
    "by what an outer join adds": Join(
        (D, Match(scan("b"), scan("c"), MatchKind.LEFT, (("bv", "cv"),))),
        (read("ak = COALESCE(ck, 1)"),
         equality(col("av"), col("bk"))),
    ),
    "without a partner": Filter(
        Match(scan("b"), scan("a"), MatchKind.LEFT, (("bv", "av"),)),
        (read("ak IS NULL OR ak = 1"),),
    ),
    "keys": Restrict(scan("c"), "keys", (("ck", "k"),)),
    "twice": Union(
        (Join((D, scan("c")), (equality(col("ak"), col("ck")),)),
         Join((D, scan("c")), (equality(col("av"), col("ck")),))),
        ("r", "s", WEIGHT, "t", "u"),
    ),
    "grouped": Join(
        (D, Aggregate(Filter(scan("b"), (read("bv < 3"),)), ("bk",), ())),
        (equality(col("ak"), col("bk")),),
    ),
}  # fmt: skip


SEEDS = 15


def is_same(name: str, seed: int) -> bool:
    """Whether a relation has its rows after its reduction."""
    lab = Lab(seed)
    rel, reduction = RELATIONS[name], lab.reduction()
    left, whole = reduction(rel), lab.answer(rel, {})
    return lab.answer(left, reduction.found) == whole and is_nothing(left) <= (whole == [])


@pytest.mark.parametrize("name", RELATIONS)
def test_the_same_rows_come_from_what_is_left(name: str) -> None:
    assert [seed for seed in range(SEEDS) if not is_same(name, seed)] == []


def _matched(rel: Rel) -> Iterator[module._Narrowing]:
    """As if a row without a partner in an outer or anti join made no row."""
    yield from narrowings(rel)
    for node in walk(rel):
        if isinstance(node, Match):
            for a, b in node.pairs:
                for one, name in module.places(node.left, a):
                    yield module._Narrowing(one.source, name, tuple(origins(node.right, b) or ()))


def _first_read(
    self: Reduction, scan: Scan, name: str, values: pa.ChunkedArray, nulls: bool
) -> pa.Table | None:
    return next((r for known in self._asked.values() for _, r in known), None) or looked_up(
        self, scan, name, values, nulls
    )


def _without_member(self: Reduction, rel: Rel) -> Rel | None:
    """As if a union were nothing where one member is."""
    if isinstance(rel, Union) and None in map(self._without_empty, rel.members):
        return None
    return without_empty(self, rel)


narrowings, origins, looked_up = module._each_narrowing, module.origins, Reduction._read
without_empty, matched = Reduction._without_empty, Reduction._match_without_empty
MUTANTS: dict[str, tuple[object, str, object]] = {
    "what an outer and an anti join keep is narrowed": (module, "_each_narrowing", _matched),
    "what an outer join adds is narrowed": (provenance, "_kept", provenance._passed),
    "one source of a value is all": (
        module,
        "origins",
        lambda rel, c: list(origins(rel, c) or ())[:1],
    ),
    "NULL keys select nothing": (module._Narrowing, "null_safe", False),
    "rows read for other values will do": (Reduction, "_read", _first_read),
    "a union without a member is nothing": (Reduction, "_without_empty", _without_member),
    "an anti join with nothing is nothing": (
        Reduction,
        "_match_without_empty",
        lambda self, rel: matched(self, replace(rel, kind=MatchKind.SEMI)),
    ),
    "a condition leaves out a row more": (
        module,
        "sieved",
        lambda rows, names, on: sieved(rows, names, on).slice(1),
    ),
    "a row more has no partner": (module, "_as", lambda values, type_: values.cast(type_).slice(1)),
}


@pytest.mark.parametrize("name", some(3, MUTANTS))
def test_a_reduction_that_leaves_out_too_much_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*MUTANTS[name])  # type: ignore[arg-type]
    assert not all(is_same(shape, seed) for shape in RELATIONS for seed in range(SEEDS))


def test_rows_without_a_partner_and_outside_a_condition_are_left_out() -> None:
    lab = Lab(1)
    lab.tables["b"] = pa.table({"k": [1, 1, 2, 9], "v": [4, 5, 4, 4]})
    lab.change = pa.table({"k": [1, 7, None], "v": [0, 0, 0], WEIGHT: [1, 1, -1]})
    reduction = lab.reduction()
    reduction(Filter(CHAIN, (read("bv = 4"),)))
    kept = {scan.source: rows.to_pylist() for scan, rows in reduction.found.values()}
    assert [r["k"] for r in kept["a"]] in ([1], [])
    assert lab.selected == [("c", [4])]
    if kept["c"]:
        assert kept["b"] == [{"k": 1, "v": 4}]


def test_no_large_table_is_looked_up_in_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What few values leave of one is what the others are looked up in."""
    lab, size = Lab(1), 500
    lab.tables["b"] = pa.table({"k": list(range(size)), "v": list(range(size))})
    lab.change = pa.table({"k": [7], "v": [7], WEIGHT: [1]})
    monkeypatch.setattr(lab, "rows", lambda scan: lab.change if scan.end is End.DELTA else big)
    big, asked, as_kind = lab.tables["b"], [], module._as

    def spied(values: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray | None:
        asked.append(len(values))
        return as_kind(values, type_)

    monkeypatch.setattr(module, "_as", spied)
    reduction = lab.reduction()
    reduction(CHAIN)
    assert {rows.num_rows for _, rows in reduction.found.values()} == {1}
    assert asked
    assert max(asked) < size


def test_keys_that_are_lists_leave_nothing_out() -> None:
    lab = Lab(1)
    lists = pa.chunked_array([pa.array([[1], [2], None])])
    tables = Tables(lab.rows, lab.select, lambda scan: frozenset(), lambda *_: lists)
    for source in ("a", "c"):
        reduction = Reduction(tables)
        reduction(Restrict(Scan(source, (("x", "k"),)), "keys", (("x", "k"),)))
        assert [rows for _, rows in reduction.found.values()] == [lab.tables["a"]][: source == "a"]
    assert lab.selected == []


def test_forty_tables_joined_to_one_are_reduced_in_bounded_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many changes, each joined to the others: what is hashed and asked is linear in the
    conditions, of which there are 1,560."""
    lab, asked, hashed = Lab(1), Counter[str](), Counter[str]()
    names = [f"t{i}" for i in range(40)]
    rows = pa.table({"k": pa.array([1, 2, 3]), "v": pa.array([1, 2, 3])})
    few = rows.slice(0, 1).append_column(WEIGHT, pa.array([1], pa.int64()))
    lab.tables = {name: rows.take([0, 1 + i % 2]) for i, name in enumerate(names)}
    lab.change = few
    on = tuple(equality(col("k0"), col(f"k{i}")) for i in range(1, 40))

    def scan(i: int, end: End) -> Scan:
        return Scan(names[i], ((f"k{i}", "k"),), end)

    def told(end: int, i: int) -> End:
        return End.DELTA if i == end else End.OLD if i > end else End.NEW

    members = [Join(tuple(scan(i, told(d, i)) for i in range(40)), on) for d in range(40)]

    def comparable(scan: Scan) -> frozenset[str]:
        asked["comparable"] += 1
        return frozenset({"k", "v"})

    plain = Scan.__hash__

    def counted(self: Scan) -> int:
        hashed["scan"] += 1
        return plain(self)

    reduction = Reduction(Tables(lab.rows, lab.select, comparable, lambda *_: None))
    monkeypatch.setattr(Scan, "__hash__", counted)
    reduction(Union(tuple(members), tuple(f"{d}" for d in range(40))))
    assert asked["comparable"] <= 40 * 40
    assert hashed["scan"] <= 20 * 40 * 39
    assert {found.num_rows for _, found in reduction.found.values()} == {1}


def test_what_nothing_is_left_of_is_no_part_of_a_union() -> None:
    lab = Lab(1)
    lab.change = pa.table({"k": [7], "v": [1], WEIGHT: [1]})
    lab.tables["b"] = pa.table({"k": [1], "v": [1]})
    left = lab.reduction()(RELATIONS["self"])
    assert isinstance(left, Union)
    assert len(left.members) == 1
    lab.tables["b"] = pa.table({"k": [1], "v": [2]})
    assert is_nothing(lab.reduction()(RELATIONS["self"]))


def test_a_column_that_arrow_does_not_compare_leaves_nothing_out() -> None:
    lab = Lab(2)
    reduction = lab.reduction(comparable=False)
    reduction(RELATIONS["below"])
    assert all(rows is lab.rows(scan) for scan, rows in reduction.found.values())
    lab.reduction(comparable=False)(RELATIONS["keys"])
    assert lab.selected == []


DAY = datetime.date(1994, 12, 31)
VALUES = pa.table(
    {
        "i": pa.array([1, 2, None, -3], pa.int32()),
        "d": pa.array(
            [Decimal("0.05"), Decimal("0.06"), None, Decimal("24.00")], pa.decimal128(9, 2)
        ),
        "s": pa.array(["forest green", "green", None, "Grün"]),
        "t": pa.array([DAY, datetime.date(1995, 2, 28), None, datetime.date(1995, 1, 1)]),
    }
)
CONDITIONS = {
    "i > 1": [1], "i <> 2": [0, 3], "NOT (i = 2)": [0, 3], "2 >= i": [0, 1, 3],
    "i IN (1, -3)": [0, 3], "i NOT IN (1, 2)": [3], "i IS NULL": [2],
    "i IS NOT NULL": [0, 1, 3], "i BETWEEN 1 AND 1 + 1": [0, 1], "NOT (i BETWEEN 0 AND 1)": [1, 3],
    "i >= -(-2L)": [1], "i < 2.000": [0, 3],
    "d BETWEEN 0.06 - 0.01 AND 0.06 + 0.01": [0, 1], "d < 24": [0, 1], "d >= 24.000": [3],
    "d IN (0.05, 5BD)": [0],
    "s LIKE '%green%'": [0, 1], "s NOT LIKE 'forest%'": [1, 3], "s LIKE '%een'": [0, 1],
    "s = 'Grün'": [3], "t < DATE '1995-01-01'": [0], "s <> 'it\\'s'": [0, 1, 3],
    "t < DATE '1994-01-31' + INTERVAL '13' MONTH": [0, 3],
    "t >= DATE '1996-01-01' - INTERVAL '1' YEAR": [1, 3],
    "t <= CAST('1995-01-02' AS DATE) - INTERVAL '1' DAY": [0, 3],
    "substring(s, 3, 2) = 'ün'": [3], "substr(s, 1, 5) IN ('green', 'fores')": [0, 1],
    "SUBSTRING(s FROM 2 FOR 99) <> 'reen'": [0, 3],
    "substring(s, 2) = 'reen'": [1],
    "i = 1 OR s = 'green'": [0, 1], "i = 1 AND length(s) > 3": [0],
    "(i = 1 OR i = 2) AND (length(s) > 6 AND d < 0.06)": [0],
}  # fmt: skip
PARTLY_ASKED = {"(i = 1 AND length(s) > 30) OR i = -3": [0, 3]}
"""With the rows for which Arrow does not know that the condition is not true."""
NOT_ASKED = (
    "length(s) > 3", "i = 1 OR length(s) > 3", "NOT (i = 1 AND length(s) > 3)",
    "s = 1", "i = '1'", "d = 0.055", "d = 5e-2", "i = 1.5", "s LIKE 'a_c'",
    "s LIKE 'a%c'", "s LIKE 'a\\\\nb'", "t > '1995-01-01'", "i = d",
    "i <=> 1", "i IN (1, NULL)", "i < 2147483647 + 1", "s COLLATE UTF8_LCASE = 'GREEN'",
    "s LIKE 'a/%' ESCAPE '/'", "t > DATE'1995-01-01' + INTERVAL '1 01' DAY TO HOUR",
    "substring(s, -2, 2) = 'en'", "substring(s, 0, 2) = 'gr'",
    "substring(i, 1, 1) = '1'", "CAST(i AS STRING) = '1'",
)  # fmt: skip
_PLANS = RecordedPlans.of(__file__)
_COLUMNS = {"q": "i INT, d DECIMAL(9, 2), s STRING, t DATE"}


def _condition(text: str) -> Expr:
    """As Spark reads it."""
    rel = _PLANS.relation(f"SELECT * FROM q WHERE {text}", _COLUMNS)
    found = conjunction(next(node.on for node in walk(rel) if isinstance(node, Filter)))
    assert found is not None
    return found


def _sieved(condition: Expr) -> pa.Table:
    return sieved(VALUES, {n: n for n in VALUES.column_names}, condition)


@pytest.mark.parametrize(("text", "kept"), [*CONDITIONS.items(), *PARTLY_ASKED.items()])
def test_a_condition_keeps_the_rows_for_which_it_may_be_true(text: str, kept: list[int]) -> None:
    assert _sieved(_condition(text)).to_pylist() == VALUES.take(kept).to_pylist()


@pytest.mark.parametrize("text", NOT_ASKED)
def test_what_arrow_is_not_asked_leaves_nothing_out(text: str) -> None:
    assert _sieved(_condition(text)) is VALUES


@pytest.mark.parametrize(("op", "compare", "kept"), [("OR", "=", [1]), ("AND", "<>", [0, 3])])
@pytest.mark.parametrize("bracketed", [True, False])
def test_a_chain_of_a_thousand_conditions_is_answered(
    op: str, compare: str, kept: list[int], bracketed: bool
) -> None:
    tests: list[Expr] = [Infix(col("i"), compare, Literal(f"{i}")) for i in range(2, 1_000)]
    whole = reduce(lambda a, b: Infix(Bracketed(a) if bracketed else a, op, b), tests)
    assert _sieved(whole).to_pylist() == VALUES.take(kept).to_pylist()
