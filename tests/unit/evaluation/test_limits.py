"""An evaluation of many rows ends at its limits, and the evaluator goes on after it, in whichever
thread."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from threading import Barrier
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dt_jupyter.evaluation import Evaluator, LocalRows, arrow_value_kind, evaluator
from dt_jupyter.evaluation.expressions import Scalars, ScopeColumn
from dt_jupyter.evaluation.kinds import BIGINT
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.scalars import SCALARS
from dt_jupyter.ivm import STAR, Call, Expr, Infix, Literal, Reference, col
from dt_jupyter.sql import Joined, Table, hash_calls
from tests.queries import select

PLENTY = 1 << 30
COUNT, X = Call("COUNT", (STAR,)), col("x")
T, NONE = Table("t"), Literal("0")
COUNTED = select(T, n=COUNT)
BOTH = Infix(Infix(Reference("a", "x", "x"), "+", Reference("b", "x", "x")), ">", Literal("5"))
PAIRS = select(Joined(Table("t", "a"), Table("t", "b"), "JOIN", BOTH), n=COUNT)


def rows(count: int) -> dict[str, LocalRows]:
    table = pa.table({"x": pa.array(range(count), pa.int64())})
    kinds = tuple((f.name, arrow_value_kind(f.type)) for f in table.schema)
    return {"t": LocalRows(table, kinds)}


def never() -> bool:
    return False


def test_more_rows_than_a_statement_of_few_may_have() -> None:
    few, views = Evaluator(10), rows(1_000)
    assert few(COUNTED, views, is_utc=True) is None
    found = few.evaluate_whole(COUNTED, views, PLENTY, never, is_utc=True)
    assert found is not None
    assert found.to_pylist() == [{"n": 1_000}]


def test_a_result_of_too_many_bytes() -> None:
    of_all, views = Evaluator(10), rows(300_000)
    text = select(T, where=Infix(X, ">=", NONE), x=X)
    assert of_all.evaluate_whole(text, views, 1_000_000, never, is_utc=True) is None
    found = of_all.evaluate_whole(text, views, PLENTY, never, is_utc=True)
    assert found is not None
    assert found.num_rows == 300_000
    empty = of_all.evaluate_whole(
        select(T, where=Infix(X, "<", NONE), x=X), views, 1_000_000, never, is_utc=True
    )
    assert empty is not None
    assert (empty.num_rows, empty.column_names) == (0, ["x"])


def test_a_statement_that_is_over() -> None:
    """It would take minutes."""
    of_all, views = Evaluator(10), rows(300_000)
    assert of_all.evaluate_whole(PAIRS, views, PLENTY, lambda: True, is_utc=True) is None
    found = of_all.evaluate_whole(COUNTED, views, PLENTY, never, is_utc=True)
    assert found is not None
    assert found.to_pylist() == [{"n": 300_000}]


def test_a_statement_that_needs_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(evaluator._CONFIG, "memory_limit", "10MB")
    of_all, views = Evaluator(10), rows(1_000_000)
    text = select(T, keys=(X,), x=X, n=COUNT)
    assert of_all.evaluate_whole(text, views, PLENTY, never, is_utc=True) is None
    found = of_all.evaluate_whole(COUNTED, views, PLENTY, never, is_utc=True)
    assert found is not None
    assert found.to_pylist() == [{"n": 1_000_000}]


def test_threads_share_connections_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    connect, opened = duckdb.connect, []

    def counted(**how: Any) -> Any:
        opened.append(connect(**how))
        return opened[-1]

    monkeypatch.setattr(duckdb, "connect", counted)
    few, views, both = Evaluator(100), rows(10), Barrier(2)

    def count() -> Any:
        found = few(COUNTED, views, is_utc=True)
        assert found is not None
        return found.to_pylist()

    def wait() -> bool:
        both.wait(10)
        return False

    with ThreadPoolExecutor(2) as threads:
        assert threads.submit(count).result() == [{"n": 10}]
    with ThreadPoolExecutor(2) as threads:
        assert threads.submit(count).result() == [{"n": 10}]
    assert len(opened) == 1
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(lambda: (wait(), count())) for _ in range(20)]
        assert {str(a.result()[1]) for a in asked} == {"[{'n': 10}]"}
    assert len(opened) <= 2


def test_what_is_too_deep_is_sparks() -> None:
    deep: Expr = reduce(lambda a, b: Infix(a, "+", b), [X] * 2_000)
    shapes = {"t": rows(10)["t"].shape}
    found = Evaluator(100).translated(select(T, s=deep), shapes, is_utc=True)
    assert str(found) == "an expression that is too deep"


def test_a_statement_of_few_rows_that_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "_MOST_SECONDS", 0.3)
    few, views = Evaluator(1_000_000), rows(200_000)
    assert few(PAIRS, views, is_utc=True) is None
    assert few(COUNTED, views, is_utc=True) is not None


def test_an_evaluation_warns_of_nothing() -> None:
    """Whatever filters a notebook has reset."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        views = rows(10)
        assert Evaluator(100)(COUNTED, views, is_utc=True) is not None
        whole = Evaluator(100).evaluate_whole(COUNTED, views, PLENTY, never, is_utc=True)
        assert whole is not None


def test_the_hash_of_a_row_of_many_columns_is_evaluated() -> None:
    columns = [f"c{i}" for i in range(2_001)]
    hashed, _ = hash_calls((name, "int") for name in columns)
    table = pa.table({name: pa.array([1, None, 1], pa.int32()) for name in columns})
    kinds = tuple((f.name, arrow_value_kind(f.type)) for f in table.schema)
    found = Evaluator(10)(select(T, h=hashed), {"t": LocalRows(table, kinds)}, is_utc=True)
    assert found is not None
    one, null, same = found["h"].to_pylist()
    assert one == same != null


def test_columns_are_found_without_a_look_at_each() -> None:
    looks = 0

    class Columns(list[ScopeColumn]):
        def __iter__(self) -> Iterator[ScopeColumn]:
            nonlocal looks
            looks += 1
            return super().__iter__()

    both = [ScopeColumn(q, f"c{i}", f"{q}.c{i}", BIGINT) for q in "ab" for i in range(100)]
    scalars = Scalars(
        Columns([*both, ScopeColumn("a", "only", "a.only", BIGINT)]), SCALARS, {}, True
    )
    for i in range(100):
        node = Reference("b", f"c{i}", f"c{i}")
        assert replace(scalars, over="x")(node).sql == f"b.c{i}"
        with pytest.raises(LeftOut):
            scalars(col(f"c{i}"))  # of either
    assert scalars(col("only")).sql == "a.only"
    with pytest.raises(LeftOut):
        scalars(Reference("b", "only", "only"))
    assert looks == 1
