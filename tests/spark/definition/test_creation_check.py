"""The check at creation: what is broken on purpose is found, in little time whatever is joined,
and an interrupt ends it with nothing left behind."""

from __future__ import annotations

import _thread
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import types as T

import dt_jupyter.definition.define as define
import dt_jupyter.definition.validate.creation_check as guard
import dt_jupyter.definition.validate.sandbox as sandbox
import dt_jupyter.engine.create as create
import dt_jupyter.refresh.protocol as run
import dt_jupyter.spark.jobs as jobs
import dt_jupyter.sql.emit.state_sql as maintain
from dt_jupyter.definition.compile import compile_query
from dt_jupyter.definition.query_meaning import CallableFunctions, QueryText, empty_relation
from dt_jupyter.definition.validate.creation_check import Verdict, check
from dt_jupyter.ivm import (
    DERIVATIVES,
    Filter,
    Generate,
    Join,
    Match,
    Rel,
    Scan,
    Top,
    Union,
    Window,
    expr,
)
from dt_jupyter.model import Definition, Name, Source, SourceKind
from dt_jupyter.model.hidden import public_rows
from dt_jupyter.sources.pinned_text import pinned
from dt_jupyter.sources.source_names import name_of
from dt_jupyter.spark import CancelFlag, Cancelled, run_cancellable
from dt_jupyter.sql import Query, TextQuery
from dt_jupyter.sql.emit import render
from tests.cases import some
from tests.unit.definition.test_check_plan import (
    chain,
    columns as wide_columns,
    one_key,
    self_join,
    star,
)
from tests.unit.ivm.test_mutants import RULES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.engine_lab import Lab

SMALL = {
    "f": "k INT, j INT, v INT, s STRING, xs ARRAY<INT>",
    "d": "k INT, j INT, name STRING",
    "e": "j INT, w INT",
}


@dataclass(frozen=True)
class Subject:
    """A query over tables that need not exist, for the check alone."""

    spark: SparkSession
    query: str
    schemas: Mapping[str, T.StructType]

    def checked(self, seconds: float = 600.0, real: Any = None) -> Verdict:
        """The verdict on one change of all sources."""
        sources = {
            Name("default", n): Source(Name("default", n), SourceKind.DELTA, n, None)
            for n in self.schemas
        }
        empty = {n: empty_relation(s) for n, s in self.schemas.items()}
        fields = self.spark.sql(_pinned(self.query, empty)).schema.fields
        columns = tuple((f.name, f.dataType.simpleString(), None) for f in fields)
        found = compile_query(
            self.spark,
            QueryText(self.query, "default", sources, {}),
            CallableFunctions(builtins(self.spark), frozenset()),
            self.schemas,
            Definition(self.query, {}, columns, tuple(sources.values())),
        )

        def original(relations: Mapping[str, str]) -> str:
            if found.settles:
                return found.text(lambda s: relations[s.source])
            public = {s: public_rows(t, self.schemas[s].names) for s, t in relations.items()}
            return _pinned(self.query, public)

        stages = tuple((s.stage, s.sql) for s in found.stages)
        return check(
            self.spark,
            stages,
            self.schemas,
            real or {},
            self.query,
            original,
            random.Random(self.query),
            rounds_seconds=0.0,
            most_seconds=seconds,
        )


def _pinned(query: str, relations: Mapping[str, str]) -> str:
    return pinned(query, lambda p: relations[str(name_of(p, "default"))], lambda p: None)


@cache
def builtins(spark: SparkSession) -> frozenset[str]:
    return frozenset(r[0] for r in spark.sql("SHOW SYSTEM FUNCTIONS").collect())


@pytest.fixture(scope="module")
def checking(spark: SparkSession) -> SparkSession:
    return spark.newSession()


def subject(spark: SparkSession, query: str) -> Subject:
    read = {n: s for n, s in SMALL.items() if f" {n} " in f"{query} "}
    return Subject(spark, query, {n: T.StructType.fromDDL(s) for n, s in read.items()})


def wide(spark: SparkSession, query: str, n: int) -> Subject:
    """A join of `shapes`, over tables of integers."""
    named = {s: c for s, c in wide_columns(n).items() if f" {s} " in f"{query} "}
    return Subject(
        spark,
        query,
        {
            s: T.StructType([T.StructField(c, T.IntegerType()) for c in names])
            for s, names in named.items()
        },
    )


# -- its power ------------------------------------------------------------------------------------

QUERIES: dict[type[Rel], str] = {
    Scan: "SELECT k, v FROM f",
    Filter: "SELECT k, v, s FROM f WHERE v > 1 AND k < 3",
    Join: "SELECT f.v, d.name, e.w FROM f JOIN d ON f.k = d.k AND f.v > d.j JOIN e ON d.j = e.j",
    Union: "SELECT k, v FROM f UNION ALL SELECT j, k FROM d",
    Generate: "SELECT k, x FROM f LATERAL VIEW OUTER explode(xs) t AS x",
    Match: "SELECT f.v, d.name, e.w FROM f LEFT JOIN d ON f.k = d.k AND f.v > d.j"
    " LEFT JOIN e ON d.j = e.j",
    Window: "SELECT k, j, v, row_number() OVER (PARTITION BY j ORDER BY v, k, s) n FROM f",
    Top: "SELECT k, v FROM f ORDER BY v, k LIMIT 7",
}
CHECKED = tuple(n for n, (kind, _) in RULES.items() if kind in QUERIES)
AGGREGATES = (
    "SELECT k, sum(v) s, count(*) c, max(j) m FROM f GROUP BY k",
    "SELECT d.k, sum(f.v) s, min(f.j) m FROM f JOIN d ON f.k = d.k GROUP BY d.k",
    "SELECT max(v) m, count(v) c FROM f",
)


@pytest.mark.parametrize("query", some(12, [*QUERIES.values(), *AGGREGATES]))
def test_what_is_right_agrees(checking: SparkSession, query: str) -> None:
    verdict = subject(checking, query).checked()
    assert verdict.mismatch is None
    assert "test rows" in verdict.checked
    assert "changes of" not in verdict.checked


FEW_MUTANTS = (
    "join negates", "join forgets its last term", "join reads the new side after the change",
    "filter is dropped", "union drops a branch", "generator loses OUTER",
    "match forgets the old end", "match is taken for an inner join",
    "match loses its further conditions", "window forgets the partitions of deletes",
    "window forgets the old end", "top forgets the new end",
)  # fmt: skip


@pytest.mark.parametrize("name", [n for n in CHECKED if n in FEW_MUTANTS])
def test_a_wrong_derivative_is_found(
    checking: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kind, rule = RULES[name]
    monkeypatch.setitem(DERIVATIVES, kind, rule)
    assert subject(checking, QUERIES[kind]).checked().mismatch


@pytest.mark.parametrize(("shape", "n"), some(1, [(star, 9), (chain, 9)]))
def test_a_wrong_derivative_of_a_wide_join_is_found(
    checking: SparkSession, monkeypatch: pytest.MonkeyPatch, shape: Callable[[int], str], n: int
) -> None:
    monkeypatch.setitem(DERIVATIVES, Join, RULES["join reads the old side before the change"][1])
    assert wide(checking, shape(n), n).checked().mismatch


def weighted_as_if_inserted(state: Any) -> Any:
    return maintain.initial(state)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("weighted", weighted_as_if_inserted), ("_reached", lambda state: expr("FALSE"))],
)
def test_a_wrong_merge_of_groups_is_found(
    checking: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any
) -> None:
    monkeypatch.setattr(maintain, name, wrong)
    assert subject(checking, AGGREGATES[0]).checked().mismatch


def test_what_is_bound_wrongly_is_found(
    checking: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ends alike, so that only the text itself tells."""
    inner = render._RENDER[Match]

    def rendered(r: Any, rel: Rel) -> Query:
        return TextQuery(inner(r, rel).sql.replace(" LEFT JOIN ", " JOIN "))

    monkeypatch.setitem(render._RENDER, Match, rendered)
    assert subject(checking, QUERIES[Match]).checked().mismatch


# -- its bounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "n"), some(2, [
    (star(40), 40), (self_join(5), 5), (chain(9, "LEFT JOIN"), 9), (one_key(9), 9),
    (star(9, "LEFT JOIN"), 9), (star(9), 9),
]))  # fmt: skip
def test_wide_joins_agree_and_meet(
    checking: SparkSession, monkeypatch: pytest.MonkeyPatch, query: str, n: int
) -> None:
    """Rows come out of both ends, so that there is something to compare."""
    seen: list[tuple[int, int]] = []
    difference = guard.difference

    def counted(got: list[Any], wanted: list[Any], tolerance: float) -> str | None:
        seen.append((len(got), len(wanted)))
        return difference(got, wanted, tolerance)

    monkeypatch.setattr(guard, "difference", counted)
    verdict = wide(checking, query, n).checked()
    assert verdict.mismatch is None
    assert all(a and b for a, b in seen), seen
    assert seen


def test_what_was_left_out_is_told(checking: SparkSession) -> None:
    """Of forty tables as many change as a round has; a second was not begun."""
    told = wide(checking, star(40), 40).checked().checked
    assert told.endswith("of 40 sources")
    assert "changes of" in told


def test_rows_that_all_meet_are_fewer_and_not_a_product(checking: SparkSession) -> None:
    """Forty equal real rows in each of nine tables."""
    query = one_key(9)
    made = wide(checking, query, 9)
    real = {n: [dict.fromkeys(s.names, 1)] * 40 for n, s in made.schemas.items()}
    verdict = made.checked(real=real)
    assert verdict.mismatch is None
    assert verdict.checked.startswith("360 test rows")


def test_generators_that_make_too_many_rows_are_not_waited_for(checking: SparkSession) -> None:
    query = "SELECT k, x FROM f LATERAL VIEW explode(sequence(1, 1000000)) t AS x"
    verdict = subject(checking, query).checked()
    assert verdict == Verdict(None, "no rows: even a few rows of each source are too many")


def test_time_is_a_limit_that_cancels(
    checking: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = threading.Event()
    monkeypatch.setattr(guard, "put_split", _after(late, guard.put_split))
    cancel = guard.cancel

    def cancelled(*args: Any) -> None:
        cancel(*args)
        late.set()

    monkeypatch.setattr(guard, "cancel", cancelled)
    verdict = subject(checking, QUERIES[Join]).checked(seconds=0.0)
    assert verdict.mismatch is None
    assert verdict.checked.endswith("stopped after 0 s")
    assert not checking.sparkContext.statusTracker().getActiveJobsIds()


def _after(event: threading.Event, fn: Callable[..., Any]) -> Callable[..., Any]:
    def waited(*args: Any) -> Any:
        event.wait()
        return fn(*args)

    return waited


def test_what_another_cancels_is_no_verdict(
    checking: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = CancelFlag()
    monkeypatch.setattr(guard, "put_split", _first(flag.set, guard.put_split))
    with pytest.raises(Cancelled):
        run_cancellable(checking, "outer", "x", subject(checking, QUERIES[Join]).checked, flag)


def _first(act: Callable[[], None], fn: Callable[..., Any]) -> Callable[..., Any]:
    def acted(*args: Any, **named: Any) -> Any:
        act()
        return fn(*args, **named)

    return acted


# -- interrupts -----------------------------------------------------------------------------------


@contextmanager
def interrupting(place: Any, name: str) -> Iterator[list[str]]:
    """The main thread is interrupted when the function is called; the list then says so."""
    told: list[str] = []
    pressed = threading.Event()
    fn = getattr(place, name)

    def acted(*args: Any, **named: Any) -> Any:
        if not told:
            told.append(name)
            _thread.interrupt_main()
            pressed.wait(5)
        return fn(*args, **named)

    with pytest.MonkeyPatch.context() as m:
        m.setattr(place, name, acted)
        m.setattr(jobs, "_stop", _then(jobs._stop, pressed.set))
        yield told


def _then(fn: Callable[..., Any], act: Callable[[], None]) -> Callable[..., Any]:
    def acted(*args: Any) -> None:
        fn(*args)
        act()

    return acted


@pytest.mark.parametrize(("place", "name"), [
    (define.Sources, "of_query"), (define.Definer, "_analyse"), (define, "compile_query"),
    (define, "check"), (guard, "put_split"), (sandbox, "few_rows"), (create.Creator, "_row"),
    (run.Refresher, "_run"),
])  # fmt: skip
def test_an_interrupted_creation_leaves_nothing(lab: Lab, place: Any, name: str) -> None:
    lab.table("s", "k INT, v INT", "1, 2", "2, 3")
    before = lab.names(), lab.files()
    query = "SELECT a.k, b.v FROM s a JOIN s b ON a.k = b.v"
    with interrupting(place, name) as told, pytest.raises(KeyboardInterrupt):
        lab.dynamic_table("t", query)
    assert told == [name]
    assert (lab.names(), lab.files()) == before
    assert not lab.spark.sparkContext.statusTracker().getActiveJobsIds()
    lab.dynamic_table("t", "SELECT k, sum(v) v FROM s GROUP BY k")
    assert lab.mode("t") == "INCREMENTAL"
