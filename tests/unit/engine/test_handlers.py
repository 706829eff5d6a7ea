"""Handlers on a real catalog, without Spark: what each statement does, and what it says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.engine.context import Context, EngineState
from dt_jupyter.engine.create import Created
from dt_jupyter.engine.execute import (
    StatementOrigin,
    dynamic_table_statements as dynamic_tables,
    execute,
)
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import DTError, DynamicTable, SchedulingState, TargetLag
from dt_jupyter.sql.grammar.parse import parse_statement
from tests.unit.catalog_lab import Lab, definition, name, table

CLONED = Created(table("c", target_lag=TargetLag(None)), None, None, "Made.")


class Bench:
    """A context on a catalog; `calls` are what its other services were asked for, in order."""

    def __init__(self, catalog: Any) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.catalog = catalog
        services: dict[str, Any] = {f.name: None for f in dataclasses.fields(Context)}
        self.context = Context(
            **{
                **services,
                "catalog": catalog,
                "state": EngineState(),
                "access": Access(None, catalog, EngineState()),  # type: ignore[arg-type]
                "spark": SimpleNamespace(
                    catalog=SimpleNamespace(currentDatabase=lambda: "default")
                ),
                "sessions": SimpleNamespace(limit=self._call("limit")),
                "tables": SimpleNamespace(
                    status=lambda text: text, warehouses=lambda like, queued: ("w", like)
                ),
                "scheduling": SimpleNamespace(nudge=self._call("nudge"), queued=dict),
                "refresher": SimpleNamespace(cancel=self._call("cancel")),
                "names": SimpleNamespace(
                    rename=self._call("rename"),
                    swap=self._call("swap"),
                    unpublish=self._call("unpublish"),
                    undrop=self._call("undrop"),
                    followed=lambda statement, *names: nullcontext(),
                ),
                "creator": SimpleNamespace(set_options=self._set_options),
                "cloner": SimpleNamespace(clone=self._call("clone", CLONED)),
                "transactions": SimpleNamespace(
                    require_allowed=lambda statement: None,
                    begin=self._call("begin"),
                    commit=lambda: {"a": 1, "b": 2},
                    rollback=self._call("rollback"),
                ),
            }
        )

    def _call(self, what: str, answer: Any = None) -> Any:
        def called(*given: Any) -> Any:
            self.calls.append((what, given))
            return answer

        return called

    def _set_options(self, table: DynamicTable, options: Mapping[str, object]) -> None:
        self.calls.append(("set_options", table.name))
        self.catalog.update(table.id, **options)

    def run(self, text: str) -> Any:
        self.calls.clear()
        return execute(self.context, parse_statement(text), StatementOrigin(text))

    @property
    def asked(self) -> list[str]:
        return [what for what, _ in self.calls]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr("dt_jupyter.engine.context.declare_pool", lambda spark, pool: None)
    monkeypatch.setattr("dt_jupyter.engine.context.lookup", lambda spark, known: None)
    monkeypatch.setattr(dynamic_tables, "require_free", lambda *given: None)
    monkeypatch.setattr(dynamic_tables, "holder", lambda *given: None)
    monkeypatch.setattr("dt_jupyter.engine.rights.access.holder", lambda *given, **_: None)
    return Bench(Lab(tmp_path).catalog)


def test_warehouses(bench: Bench) -> None:
    assert bench.run("CREATE WAREHOUSE w MAX_CONCURRENCY_LEVEL = 3") == "Warehouse w ready."
    assert bench.calls == [("limit", ("w", 3))]
    assert bench.run("ALTER WAREHOUSE w SET MAX_CONCURRENCY_LEVEL = 5") == "Warehouse w altered."
    assert bench.asked == ["limit", "nudge"]
    assert bench.catalog.warehouse("w").max_concurrency == 5
    bench.run("ALTER WAREHOUSE w SUSPEND")
    assert (bench.asked, bench.catalog.warehouse("w").suspended) == (["nudge"], True)
    bench.run("CREATE OR REPLACE WAREHOUSE w")
    found = bench.catalog.warehouse("w")
    assert (found.max_concurrency, found.suspended) == (2, False)
    assert bench.run("SHOW WAREHOUSES LIKE 'a%'") == ("w", "a%")
    assert bench.run("DROP WAREHOUSE w") == "Warehouse w dropped."
    assert bench.run("DROP WAREHOUSE IF EXISTS w") == "w does not exist, nothing done."
    with pytest.raises(DTError) as e:
        bench.run("DROP WAREHOUSE w")
    assert e.value.code == "DT-1108"


def test_transactions(bench: Bench) -> None:
    assert bench.run("BEGIN TRANSACTION") == "Transaction started."
    assert bench.run("COMMIT") == "Transaction committed, 2 tables written."
    assert bench.asked == ["nudge"]
    assert bench.run("ROLLBACK") == "Transaction rolled back."
    assert bench.asked == ["rollback"]


def test_a_suspended_table_is_resumed_without_its_errors(bench: Bench) -> None:
    bench.catalog.create(table("a"))
    assert bench.run("ALTER DYNAMIC TABLE a SUSPEND") == "Dynamic table a suspended."
    bench.catalog.update("id-a", error_count=4)
    suspended = bench.catalog.require(name("a"))
    assert suspended.scheduling is SchedulingState.SUSPENDED
    assert suspended.scheduling_reason.code == "USER_SUSPENDED"
    bench.run("ALTER DYNAMIC TABLE a RESUME")
    resumed = bench.catalog.require(name("a"))
    assert (resumed.scheduling, resumed.scheduling_reason) == (SchedulingState.ACTIVE, None)
    assert (resumed.error_count, bench.asked) == (0, ["nudge"])


def test_options_are_set_and_unset(bench: Bench) -> None:
    bench.catalog.create(table("a"))
    bench.run("ALTER DYNAMIC TABLE a SET COMMENT = 'daily', SCHEDULER = DISABLE")
    changed = bench.catalog.require(name("a"))
    assert (changed.comment, changed.scheduler_enabled) == ("daily", False)
    assert bench.asked == ["set_options", "nudge"]
    bench.run("ALTER DYNAMIC TABLE a UNSET COMMENT, SCHEDULER, TARGET_LAG")
    back = bench.catalog.require(name("a"))
    assert (back.comment, back.scheduler_enabled, back.target_lag.seconds) == (None, True, None)
    with pytest.raises(DTError) as e:
        bench.run("ALTER DYNAMIC TABLE a SET WAREHOUSE = nowhere")
    assert e.value.code == "DT-1108"
    assert bench.catalog.require(name("a")) == back


def test_names_change_through_one_service(bench: Bench) -> None:
    for one in ("a", "b"):
        bench.catalog.create(table(one))
    assert bench.run("ALTER DYNAMIC TABLE a RENAME TO c") == "Dynamic table a renamed to c."
    assert bench.calls[0] == ("rename", (name("a"), name("c")))
    assert bench.run("ALTER DYNAMIC TABLE a SWAP WITH b") == "Dynamic table a swapped with b."
    assert bench.calls[0] == ("swap", (name("a"), name("b")))
    with pytest.raises(DTError) as e:
        bench.run("ALTER DYNAMIC TABLE a SWAP WITH nowhere")
    assert (e.value.code, bench.calls) == ("DT-1101", [])


def test_a_dropped_table_is_cancelled_first_and_has_no_view(bench: Bench) -> None:
    bench.catalog.create(table("a"))
    assert bench.run("DROP DYNAMIC TABLE a").startswith("Dynamic table a dropped")
    assert bench.calls == [("cancel", ("id-a",)), ("unpublish", (name("a"),))]
    assert bench.catalog.get(name("a")) is None
    for text in ("DROP DYNAMIC TABLE IF EXISTS a", "ALTER DYNAMIC TABLE IF EXISTS a SUSPEND"):
        assert bench.run(text) == "a does not exist, nothing done."
    assert bench.run("UNDROP DYNAMIC TABLE a") == "Dynamic table a restored."


def test_a_clone_is_of_a_table_as_it_is_or_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run("CREATE DYNAMIC TABLE c CLONE a")
    ((what, (statement, at)),) = bench.calls
    assert (what, statement.name, statement.source) == ("clone", name("c"), name("a"))
    assert at is None
    bench.catalog.create(CLONED.table)
    why = "Not refreshed: no target lag, and nothing reads it."
    assert bench.run("CREATE DYNAMIC TABLE c CLONE a").held_back == why
    monkeypatch.setattr(
        dynamic_tables, "points", lambda *given: SimpleNamespace(moment=lambda point: point.value)
    )
    bench.run("CREATE DYNAMIC TABLE c CLONE a AT (VERSION => 3)")
    assert bench.calls[0][1][1] == "3"


def test_what_waits_for_a_suspended_table_is_told(bench: Bench) -> None:
    for one, upstream in (("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ())):
        made = table(one)
        made = dataclasses.replace(made, definition=definition("SELECT 1", *upstream))
        bench.catalog.create(made)
    said = "Dynamic table a suspended; b, c downstream of it wait."
    assert bench.run("ALTER DYNAMIC TABLE a SUSPEND") == said
    bench.run("ALTER DYNAMIC TABLE c SUSPEND")
    said = bench.run("ALTER DYNAMIC TABLE a RESUME")
    assert said.endswith("resumed; b downstream of it continue.")
