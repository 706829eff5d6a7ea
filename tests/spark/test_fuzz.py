"""Hostile input on a real engine: it answers, or says an error of the catalogue that it foresaw."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.lake import TableLog
from dt_jupyter.model import DTError
from tests.spark.engine_lab import Lab, quick, without_check
from tests.unit.hostile import Hostile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = int(os.environ.get("DT_JUPYTER_CASES", "60"))
SEED = int(os.environ.get("DT_JUPYTER_SEED", "14"))
THERE = ("item", "d", "s", "seen", "default", "w")
_OTHER = frozenset({  # what closes the engine, goes on beside the test, or has a test of its own
    "close", "connect", "start_scheduler", "stop_scheduler", "start_refresh", "transaction",
    "consume", "create",
})  # fmt: skip


@pytest.fixture(scope="module")
def target(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lake with one of each, for input that should leave it as it is."""
    with pytest.MonkeyPatch.context() as patched, quick(spark, patched):
        without_check(patched)
        patched.chdir(tmp_path_factory.mktemp("folder"))  # some of it names folders
        made = Lab.open(spark, tmp_path_factory.mktemp("hostile"))
        made.table("item", "id INT, name STRING, v INT", "1, 'rug', 1", "2, 'car', 2")
        made.dynamic_table("d", "SELECT id, v FROM item")
        made.sql("CREATE STREAM s ON TABLE item; CREATE WAREHOUSE w")
        made.engine.pin("seen", "item")
        yield made
        made.close()


def answered(call: Callable[[], Any], what: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except DTError as e:
        if e.code == "DT-5111":
            raise AssertionError(f"{what}: {e}\n{e.details}") from e
    except BaseException as e:
        raise AssertionError(f"{what}: {type(e).__name__}: {e}") from e


def test_statements(target: Lab) -> None:
    hostile = Hostile(SEED, THERE)
    for _ in range(CASES):
        script = hostile.statement()
        args = {"x": hostile.point()} if ":x" in script else None
        answered(lambda: target.engine.sql(script, args), script[:500])  # noqa: B023
        target.spark.sql("USE default")
        if target.context.transactions.current is not None:
            target.engine.sql("ROLLBACK")


def test_the_python_api(target: Lab) -> None:
    hostile = Hostile(SEED, THERE)
    methods = [
        (name, function)
        for name, function in inspect.getmembers(Engine, inspect.isfunction)
        if not name.startswith("_") and name not in _OTHER
    ]
    for _ in range(max(CASES // len(methods), 1)):
        for name, function in methods:
            given = {p.name: _value(hostile, p) for p in _chosen(hostile, function)}
            bound = getattr(target.engine, name)
            answered(lambda: bound(**given), f"{name}({str(given)[:500]})")  # noqa: B023


def _chosen(hostile: Hostile, function: Callable[..., Any]) -> list[inspect.Parameter]:
    found = list(inspect.signature(function).parameters.values())[1:]
    return [p for p in found if p.default is p.empty or hostile.random.random() < 0.5]


def _value(hostile: Hostile, parameter: inspect.Parameter) -> Any:
    """Mostly one of its type."""
    text = str(parameter.annotation)
    if hostile.random.random() < 0.1:
        return hostile.random.choice((None, b"", object(), [], hostile.number(), hostile.text()))
    if "Point" in text or "datetime" in text:
        return hostile.point()
    if "float" in text or "int" in text:
        return hostile.number()
    if "bool" in text:
        return hostile.random.random() < 0.5
    if "Mapping" in text:
        return {hostile.name(): hostile.point()}
    if parameter.name in ("script", "query", "subject"):
        return hostile.query()
    return hostile.name() if parameter.name in ("name", "table", "stream") else hostile.text()


def test_what_the_engine_gave_back(target: Lab) -> None:
    hostile = Hostile(SEED, THERE)
    engine = target.engine
    newest = TableLog(target.context.layout.tables / "item").version()  # others may be vacuumed
    with engine.replay("item", at=newest, to="now") as replay:
        for number in (hostile.number() for _ in range(20)):
            answered(lambda: replay[number], f"replay[{number}]")  # noqa: B023
            answered(lambda: replay.frame(number), f"frame({number})")  # noqa: B023
            answered(lambda: replay.changes(number), f"changes({number})")  # noqa: B023
            answered(lambda: list(replay.batches(0, number)), f"batches({number})")  # noqa: B023
            answered(lambda: replay.marked(0, number, limit=3), f"marked({number})")  # noqa: B023
            answered(lambda: replay.marked(0, limit=number), f"limit={number}")  # noqa: B023
    answered(replay.to_arrow, "closed")
    for name in (hostile.name() for _ in range(10)):
        with engine.transaction() as tx:
            answered(lambda: tx.rows(name), f"rows({name[:80]})")  # noqa: B023
            answered(lambda: tx.insert(target.spark.table("item"), name), name[:80])  # noqa: B023
            if engine.context.transactions.current is not None:
                engine.sql("ROLLBACK")
        for into in (name, None):
            call = lambda: engine.consume(name, lambda rows: rows, into=into, batches=1)  # noqa: E731, B023
            answered(call, f"consume({name[:80]}, into={into})")
    answered(lambda: engine.context.events.listen(None), "listen")  # type: ignore[arg-type]


def test_what_is_there_is_as_it_was(target: Lab) -> None:
    """After all of that."""
    target.sql("CREATE DYNAMIC TABLE after AS SELECT id FROM item")
    target.verified("after")
    target.reopen()
    target.verified("after")
