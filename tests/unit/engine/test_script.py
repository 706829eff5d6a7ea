"""The loop over the statements of a script: what is parsed when, run in which order, and shown."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dt_jupyter import cli
from dt_jupyter.dispatch.outcome import outcome_message
from dt_jupyter.engine import rows, script as loop
from dt_jupyter.engine.context import Context, EngineState
from dt_jupyter.engine.execute import StatementOrigin
from dt_jupyter.engine.rows import ResultRows
from dt_jupyter.engine.script import Done, StatementOutcome, read_outcome, run_last, run_script
from dt_jupyter.model import DTError, Leftovers, Name
from dt_jupyter.notebook.errors import Interrupted
from dt_jupyter.notebook.magics import DynamicTableMagics
from dt_jupyter.sources import Layout
from dt_jupyter.sql.grammar import parse
from dt_jupyter.sql.grammar.statement_values import SparkKind, SparkStatement
from dt_jupyter.streams import StatementLog
from tests.unit.living_spark import living_spark

CELL = """
-- a cell as people write it
CREATE TABLE item (id INT);
INSERT INTO item VALUES (1); -- one row
SHOW DYNAMIC TABLES;
SELECT id FROM item
"""


class Bench:
    """An engine whose statements do nothing but a USE: the texts of those that ran, and the words
    of each that was parsed, as often as it was."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.schema, self.follows, self.patched = "default", True, patched
        self.ran: list[str] = []
        self.parsed: list[str] = []
        catalog = SimpleNamespace(currentDatabase=lambda: self.schema)
        services = {
            "spark": living_spark(catalog=catalog),
            "state": EngineState(),
            "travel": SimpleNamespace(isolation_of=lambda frame: None),
            "tables": SimpleNamespace(status=lambda text: f"status {text}"),
            "layout": Layout(Path("lake")),
            "refresher": None,
            "access": SimpleNamespace(guarded=False),
            "catalog": SimpleNamespace(leftovers=Leftovers()),
            "log": StatementLog(cast("Any", SimpleNamespace(unfinished=tuple))),
        }
        fields = {f.name: services.get(f.name) for f in dataclasses.fields(Context)}
        self.context = Context(**fields)  # type: ignore[arg-type]
        ours = parse.ours

        def spy(cursor: Any) -> Any:
            self.parsed.append(" ".join(word.text for word in cursor.words))
            return ours(cursor)

        patched.setattr(parse, "ours", spy)
        patched.setattr(loop, "execute", self._execute)
        patched.setattr(rows, "run_cancellable", _at_once)
        patched.setattr(
            loop, "read_query_rows", lambda *asked: ResultRows((("id", "int"),), (("1",),))
        )

    def _execute(self, context: Context, statement: Any, origin: StatementOrigin) -> Any:
        self.ran.append(statement.text)
        if getattr(statement, "kind", None) is SparkKind.USE and self.follows:
            self.schema = statement.target_parts[-1]
        return SimpleNamespace(columns=["id"])


def _at_once(spark: Any, group: str, what: str, fn: Callable[[], Any], flag: Any) -> Any:
    return fn()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_each_statement_of_a_cell_is_parsed_once(bench: Bench) -> None:
    shown = [
        outcome_message(done, read_outcome(bench.context, done))
        for done in run_script(bench.context, CELL)
    ]
    assert len(shown) == len(bench.ran) == 4
    assert len(bench.parsed) == 4


def test_the_last_result_is_asked_for_with_one_parse_too(bench: Bench) -> None:
    run_last(bench.context, CELL)
    assert (len(bench.ran), len(bench.parsed)) == (4, 4)


def test_a_magic_and_the_command_line_run_the_same_loop(
    bench: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = ResultRows(
        (("num_affected_rows", "bigint"), ("num_inserted_rows", "bigint")), (("4", "4"),)
    )
    monkeypatch.setattr(loop, "read_query_rows", lambda *asked: counts)
    engine: Any = SimpleNamespace(context=bench.context)
    variables: dict[str, Any] = {}
    magics: Any = object.__new__(DynamicTableMagics)
    magics.notebook = SimpleNamespace(
        require=lambda: engine, shell=SimpleNamespace(user_ns=variables)
    )
    script = "INSERT INTO item VALUES (:n); INSERT INTO item VALUES (2)"
    variables["n"] = 1
    magics.dt("--out found", script)
    assert capsys.readouterr().out == "INSERT item: 4 rows inserted\n" * 2
    assert variables["found"].columns == ["id"]
    assert len(bench.parsed) == len(bench.ran) == 2
    cli._sql(engine, argparse.Namespace(script=script))
    assert capsys.readouterr().out == "INSERT item: 4 rows inserted\n" * 2
    assert len(bench.parsed) == len(bench.ran) == 4


def test_an_interrupt_says_how_far_a_cell_came(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(context: Context, statement: Any, origin: StatementOrigin) -> Any:
        if statement.kind is SparkKind.INSERT:
            raise KeyboardInterrupt
        return SimpleNamespace(columns=[])

    monkeypatch.setattr(loop, "execute", execute)
    magics: Any = object.__new__(DynamicTableMagics)
    engine = SimpleNamespace(context=bench.context)
    magics.notebook = SimpleNamespace(require=lambda: engine, shell=SimpleNamespace(user_ns={}))
    with pytest.raises(Interrupted, match="1 statement done"):
        magics.dt("", CELL)


def test_a_use_decides_what_later_names_mean_without_another_parse(bench: Bench) -> None:
    done = list(
        run_script(bench.context, "CREATE TABLE a (i INT); USE other; CREATE TABLE b (i INT)")
    )
    assert [_target(d) for d in done] == [Name("default", "a"), None, Name("other", "b")]
    assert len(bench.parsed) == 3


def test_a_use_that_chose_another_schema_is_believed_as_it_came_out(bench: Bench) -> None:
    bench.follows = False
    done = list(
        run_script(bench.context, "USE other; CREATE TABLE b (i INT); USE default; SELECT 1")
    )
    assert _target(done[1]) == Name("default", "b")
    assert len(bench.parsed) == 4 + 2  # the CREATE, and the USE after it


def test_definitions_run_after_what_they_read(bench: Bench) -> None:
    a, b = "CREATE DYNAMIC TABLE a AS SELECT * FROM b", "CREATE DYNAMIC TABLE b AS SELECT 1 AS x"
    done = list(run_script(bench.context, f"SELECT 1; {a}; {b}; SELECT 2"))
    assert bench.ran == ["SELECT 1", b, a, "SELECT 2"]
    assert [d.statement.offset for d in done] != sorted(d.statement.offset for d in done)
    assert len(bench.parsed) == 4


def test_the_last_result_is_that_of_what_stands_last(bench: Bench) -> None:
    a, b = "CREATE DYNAMIC TABLE a AS SELECT * FROM b", "CREATE DYNAMIC TABLE b AS SELECT 1 AS x"
    results: dict[str, Any] = {}

    def execute(context: Context, statement: Any, origin: StatementOrigin) -> Any:
        results[statement.text] = SimpleNamespace(columns=[])
        return results[statement.text]

    bench.patched.setattr(loop, "execute", execute)
    assert run_last(bench.context, f"{a}; {b}") is results[b]
    assert list(results) == [b, a]


def test_nothing_runs_of_definitions_that_read_each_other(bench: Bench) -> None:
    script = """SELECT 1;
        CREATE DYNAMIC TABLE a AS SELECT * FROM b;
        CREATE DYNAMIC TABLE b AS SELECT * FROM a"""
    with pytest.raises(DTError) as e:
        list(run_script(bench.context, script))
    assert e.value.code == "DT-1106"
    assert "a → b → a" in str(e.value)
    assert e.value.span is not None
    assert script[e.value.span.start : e.value.span.end] == "a"
    assert bench.ran == []


def test_nothing_runs_of_a_script_that_cannot_be_parsed(bench: Bench) -> None:
    for bad, code in (
        ("SELECT 'open", "DT-1001"),
        ("CREATE TRANSIENT DYNAMIC TABLE t AS SELECT 1", "DT-1005"),
    ):
        with pytest.raises(DTError) as e:
            list(run_script(bench.context, f"CREATE TABLE a (i INT); {bad}"))
        assert e.value.code == code
        assert e.value.span is not None
        assert e.value.span.start >= len("CREATE TABLE a (i INT); ")
    assert bench.ran == []


def test_a_statement_runs_when_it_is_asked_for(bench: Bench) -> None:
    statements = run_script(bench.context, CELL)
    assert bench.ran == []
    next(statements)
    assert bench.ran == ["CREATE TABLE item (id INT)"]
    next(statements)
    assert len(bench.ran) == 2


def test_a_closed_engine_runs_nothing(bench: Bench) -> None:
    bench.context.state.closed = True
    with pytest.raises(DTError) as e:
        list(run_script(bench.context, "SELECT 1"))
    assert e.value.code == "DT-5108"


def test_what_is_no_error_of_ours_leaves_the_loop_as_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*asked: Any) -> Any:
        raise RuntimeError("nobody foresaw it")

    monkeypatch.setattr(loop, "execute", fails)
    with pytest.raises(DTError) as e:
        list(run_script(bench.context, "SELECT 1"))
    assert e.value.code == "DT-5111"


def test_an_empty_script_says_so(bench: Bench) -> None:
    assert run_last(bench.context, "-- nothing") == "status Nothing to do."  # type: ignore[comparison-overlap]


def test_a_statement_is_shown_as_rows_a_count_or_a_line() -> None:
    def shown(kind: SparkKind, rows: ResultRows | None) -> Any:
        statement = SparkStatement(kind, (Name("default", "item"),))
        return outcome_message(Done(statement, SimpleNamespace(), ""), StatementOutcome(rows))  # type: ignore[arg-type]

    counts = ResultRows(
        (("num_affected_rows", "bigint"), ("num_inserted_rows", "bigint")), (("4", "4"),)
    )
    assert shown(SparkKind.INSERT, counts) == "INSERT item: 4 rows inserted"
    assert shown(SparkKind.CREATE_TABLE, None) == "CREATE TABLE item: done"
    assert shown(SparkKind.QUERY, ResultRows((("status", "string"),), (("Ready.",),))) == "Ready."
    found = shown(SparkKind.QUERY, ResultRows((("id", "int"),), (("1",), ("2",)), truncated=True))
    assert (found.rows, found.truncated, found.columns[0].type) == ((("1",), ("2",)), True, "int")


def _target(done: Done) -> Name | None:
    assert isinstance(done.statement, SparkStatement)
    return done.statement.target
