"""Tasks over streams: each change is taken once, by the clock, by hand, and after other tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from dt_jupyter.engine.task_runner import _Running
from dt_jupyter.engine.task_workers import TaskWorkers
from dt_jupyter.model import Name, Reason, Task, TaskRun, TaskRunState, TaskTrigger, Timestamp
from tests.spark.engine_lab import Lab, refused

ANY = Name("default", "load")


class Clockwork:
    """The thread of the scheduler, one look at a time, at a moment that the test chooses."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.later = lab, 0.0
        self.workers: TaskWorkers = lab.context.scheduling.tasks
        self.workers.now = lambda: lab.context.clock.now().plus(self.later)

    def wait(self, seconds: float) -> list[tuple[str, str, str | None]]:
        """So much later: looks until nothing is left to do; what has ended since then."""
        before = {run.id for run in self.runs() if run.state.final}
        self.later += seconds
        while True:
            self.workers.look()
            going = list(self.workers._workers.values())
            if not going:
                break
            for worker in going:
                worker.join()
        ended = [r for r in self.runs() if r.state.final and r.id not in before]
        return [(r.name.table, r.state.value, r.code) for r in reversed(ended)]

    def runs(self, name: str | None = None) -> list[TaskRun]:
        known = None if name is None else Name("default", name)
        return self.lab.context.catalog.task_runs(known)


@pytest.fixture
def clockwork(lab: Lab) -> Iterator[Clockwork]:
    lab.sql("CREATE TABLE events (n BIGINT, kind STRING)")
    lab.sql("CREATE TABLE taken (n BIGINT, kind STRING)")
    lab.sql("CREATE STREAM s ON TABLE events")
    return Clockwork(lab)


def shown(lab: Lab, name: str, *columns: str) -> tuple[Any, ...]:
    (row,) = lab.engine.sql(f"DESCRIBE TASK {name}").select(*columns).collect()
    return tuple(row)


LOAD = (
    "CREATE TASK load SCHEDULE = '1 minute' WHEN SYSTEM$STREAM_HAS_DATA('s') "
    "AS INSERT INTO taken SELECT n, kind FROM s"
)


def test_a_task_takes_what_a_stream_holds_once_at_its_ticks(clockwork: Clockwork) -> None:
    lab = clockwork.lab
    ((told,),) = lab.sql(LOAD)
    assert "ALTER TASK load RESUME" in str(told)
    assert shown(lab, "load", "STATE", "SCHEDULE", "LAST_STATE") == ("SUSPENDED", "1 minute", None)
    lab.insert("events", "1, 'a'", "2, 'b'")
    assert clockwork.wait(600) == [], "it is made suspended"
    lab.sql("ALTER TASK load RESUME")
    clockwork.later = 0
    assert clockwork.wait(59) == []
    assert clockwork.wait(2) == [("load", "SUCCEEDED", None)]
    assert lab.rows("taken") == [(1, "a"), (2, "b")]
    assert clockwork.runs()[0].rows == 2
    assert clockwork.wait(60) == [("load", "SKIPPED", "CONDITION_FALSE")]
    lab.insert("events", "3, 'c'")
    assert clockwork.wait(600) == [("load", "SUCCEEDED", None)], "missed ticks are one"
    assert lab.rows("taken") == [(1, "a"), (2, "b"), (3, "c")]
    assert clockwork.wait(0) == []
    history = lab.engine.sql("SELECT STATE FROM TABLE(TASK_HISTORY(NAME => 'load'))").collect()
    assert [r[0] for r in history] == ["SUCCEEDED", "SKIPPED", "SUCCEEDED"]
    lab.sql("ALTER TASK load SUSPEND")
    lab.insert("events", "4, 'd'")
    assert clockwork.wait(600) == []
    ((told,),) = lab.sql("EXECUTE TASK load")
    assert told == "Task load succeeded, 1 row."
    assert clockwork.runs()[0].trigger is TaskTrigger.MANUAL
    assert len(lab.rows("taken")) == 4

    # the user's session is not the task's: an open transaction and temporary views are not seen
    lab.sql("CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT 1 AS n")
    lab.sql("CREATE TASK peeks SCHEDULE = '1 minute' AS INSERT INTO taken SELECT n, 'x' FROM mine")
    with refused("DT-3306") as found:
        lab.sql("EXECUTE TASK peeks")
    assert "mine" in str(found[0])
    lab.sql("DROP TASK peeks; ALTER TASK load RESUME; BEGIN")
    with refused("DT-3207"):
        lab.sql("EXECUTE TASK load")
    lab.sql("INSERT INTO taken VALUES (0, 'open')")
    lab.spark.sql("INSERT INTO events VALUES (5, 'e')")
    assert clockwork.wait(61) == [("load", "SUCCEEDED", None)]
    lab.sql("ROLLBACK")
    assert [n for n, _ in lab.rows("taken")] == [1, 2, 3, 4, 5]


@pytest.mark.nightly
def test_a_graph_of_tasks_runs_in_order_and_a_failure_ends_what_is_behind_it(
    clockwork: Clockwork,
) -> None:
    lab = clockwork.lab
    lab.sql("CREATE TABLE counted (n BIGINT)")
    lab.sql("CREATE TABLE log (what STRING)")
    lab.sql("CREATE STREAM t ON TABLE taken")
    lab.sql(LOAD)
    lab.sql("""
        CREATE TASK count_them AFTER load AS BEGIN
            INSERT INTO counted SELECT count(*) FROM t;
            INSERT INTO log SELECT kind FROM t;
        END;
        CREATE TASK beside AFTER load AS UPDATE counted SET n = n;
        CREATE TASK last AFTER count_them, beside AS INSERT INTO log VALUES ('done')
    """)
    with refused("DT-3302"):
        lab.sql("ALTER TASK load UNSET SCHEDULE; ALTER TASK load ADD AFTER last")
    with refused("DT-3301"):
        lab.sql("ALTER TASK last ADD AFTER nothing")
    lab.sql("ALTER TASK load SET SCHEDULE = '1 minute'")
    for name in ("count_them", "beside", "last", "load"):
        lab.sql(f"ALTER TASK {name} RESUME")
    lab.insert("events", "1, 'a'", "2, 'b'")
    ended = clockwork.wait(61)
    assert next(name for name, _, _ in ended) == "load"
    assert {(n, s) for n, s, _ in ended} == {
        (n, "SUCCEEDED") for n in ("load", "count_them", "beside", "last")
    }
    graph = {r.name.table: r for r in clockwork.runs()}
    for child, parent in (("count_them", "load"), ("last", "beside"), ("last", "count_them")):
        began, done = graph[child].start, graph[parent].end
        assert began is not None
        assert done is not None
        assert began >= done
    assert lab.rows("counted") == [(2,)]
    assert lab.rows("log") == [("a",), ("b",), ("done",)]

    # a block is all or nothing, and what failed is tried again as often as asked
    lab.sql("ALTER TASK load SET TASK_AUTO_RETRY_ATTEMPTS = 1 SUSPEND_TASK_AFTER_NUM_FAILURES = 1")
    lab.sql("DROP TABLE log")
    lab.insert("events", "3, 'c'")
    ended = clockwork.wait(60)
    assert sorted((n, s) for n, s, _ in ended if n in ("count_them", "last")) == [
        ("count_them", "FAILED"), ("count_them", "FAILED"), ("last", "SKIPPED"),
    ]  # fmt: skip
    assert clockwork.runs("last")[0].code == "PREDECESSOR_FAILED"
    assert [r.attempt for r in clockwork.runs("count_them")] == [2, 1, 1]
    assert lab.rows("counted") == [(2,)], "nothing of the block"
    state, why = shown(lab, "load", "STATE", "STATE_REASON")
    assert (state, str(why).split(":")[0]) == ("SUSPENDED", "TOO_MANY_FAILURES")
    lab.sql("CREATE TABLE log (what STRING)")
    ((told,),) = lab.sql("EXECUTE TASK count_them")
    assert "Task count_them succeeded" in str(told)
    assert "Task last succeeded" in str(told), "and what comes after it"
    assert sorted(lab.rows("counted")) == [(1,), (2,)]

    # one that is suspended is as if it were not there; one that is dropped too, for good
    lab.sql("ALTER TASK beside SUSPEND; ALTER TASK load RESUME")
    lab.insert("events", "4, 'd'")
    assert "beside" not in [n for n, _, _ in clockwork.wait(61)]
    assert lab.rows("log").count(("done",)) == 2
    ((told,),) = lab.sql("DROP TASK beside")
    assert "Task last comes after it no more." in str(told)
    assert shown(lab, "last", "PREDECESSORS") == ("spark_catalog.default.count_them",)


def test_what_keeps_a_task_from_running_is_told(clockwork: Clockwork) -> None:
    lab = clockwork.lab
    lab.sql("CREATE WAREHOUSE dozes")
    lab.sql(LOAD.replace("SCHEDULE", "WAREHOUSE = dozes SCHEDULE"))
    with refused("DT-1115") as found:
        lab.sql("DROP WAREHOUSE dozes")
    assert "task load" in str(found[0])
    lab.sql("ALTER TASK load RESUME; ALTER WAREHOUSE dozes SUSPEND")
    lab.insert("events", "1, 'a'")
    with refused("DT-2112"):
        lab.sql("EXECUTE TASK load")
    assert clockwork.wait(61) == []
    assert "Warehouse dozes is suspended" in str(shown(lab, "load", "STATE_REASON")[0])
    assert clockwork.wait(60) == [("load", "SKIPPED", "BUSY")], "one waits"
    lab.sql("ALTER WAREHOUSE dozes SET AUTO_RESUME = TRUE")
    assert clockwork.wait(0) == [("load", "SUCCEEDED", None)]
    assert lab.sql("SHOW WAREHOUSES LIKE 'dozes'")[0][1] == "STARTED"

    # a run that takes too long is cancelled, and what it read stays in the stream
    lab.insert("events", "2, 'b'")
    slow = (
        "INSERT INTO taken SELECT n, CAST(sum(id) AS STRING) FROM s, range(20000000000) GROUP BY n"
    )
    lab.sql(f"ALTER TASK load SET USER_TASK_TIMEOUT_MS = 300; ALTER TASK load MODIFY AS {slow}")
    assert clockwork.wait(60) == [("load", "FAILED", "DT-3308")]
    assert lab.rows("taken") == [(1, "a")]
    lab.sql("ALTER TASK load UNSET USER_TASK_TIMEOUT_MS")
    lab.sql("ALTER TASK load MODIFY AS INSERT INTO taken SELECT n, kind FROM s")
    assert clockwork.wait(60) == [("load", "SUCCEEDED", None)]
    lab.sql("DROP STREAM s")
    assert clockwork.wait(60) == [("load", "FAILED", "DT-3201")]
    lab.reopen()
    assert [t.name for t in lab.context.catalog.tasks()] == [ANY]
    assert clockwork.runs()[0].code == "DT-3201"


def test_a_task_without_schedule_runs_when_its_stream_holds_something(clockwork: Clockwork) -> None:
    lab = clockwork.lab
    lab.sql(LOAD.replace("SCHEDULE = '1 minute' ", "") + "; ALTER TASK load RESUME")
    assert clockwork.wait(60) == [], "and its history has no row for each look"
    lab.insert("events", "1, 'a'")
    assert clockwork.wait(0) == [("load", "SUCCEEDED", None)]
    lab.insert("events", "2, 'b'")
    assert clockwork.wait(10) == [], "30 seconds lie between two runs"
    assert clockwork.wait(20) == [("load", "SUCCEEDED", None)]
    assert lab.rows("taken") == [(1, "a"), (2, "b")]
    longer = "USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS = 1000"
    lab.sql(f"ALTER TASK load SET {longer}")
    lab.insert("events", "3, 'c'")
    assert clockwork.wait(60) == []
    lab.reopen()
    assert longer in lab.engine.export()
    with refused("DT-1003"):
        lab.sql("ALTER TASK load SET USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS = 9")
    lab.sql("ALTER TASK load REMOVE WHEN; ALTER TASK load SUSPEND")
    with refused("DT-3309"):
        lab.sql("ALTER TASK load RESUME")


def test_a_run_by_hand_waits_for_a_place_in_its_warehouse(clockwork: Clockwork) -> None:
    lab = clockwork.lab
    catalog, tasks = lab.context.catalog, lab.context.tasks
    lab.sql("CREATE WAREHOUSE small MAX_CONCURRENCY_LEVEL = 1")
    lab.sql("CREATE TASK first WAREHOUSE = small AS INSERT INTO taken VALUES (1, 'a')")
    lab.sql("CREATE TASK load WAREHOUSE = small AS INSERT INTO taken VALUES (2, 'b')")
    first = catalog.task(Name("default", "first"))
    (other,) = catalog.begin_task_graph(
        first, [(first, ())], TaskTrigger.MANUAL, lab.context.clock.now()
    )
    tasks.runner._running[other.id] = _Running()
    assert catalog.claim_task_run(other, 60_000)
    told: list[object] = []

    def pause(_: float) -> None:
        told.append(shown(lab, "load", "STATE_REASON")[0])
        catalog.finish_task_run(other, TaskRunState.SUCCEEDED)
        tasks.runner._running.pop(other.id)

    waiting = replace(tasks, pause=pause)
    assert waiting.execute(ANY) == ["Task load succeeded, 1 row."]
    assert told == ["Warehouse small already runs 1 statement."]
    assert lab.rows("taken") == [(2, "b")]


def lost(lab: Lab, task: Task, **changes: Any) -> TaskRun:
    """A run that a process began which is gone."""
    catalog = lab.context.catalog
    (run,) = catalog.begin_task_graph(
        task, [(task, ())], TaskTrigger.SCHEDULE, lab.context.clock.now()
    )
    assert catalog.claim_task_run(run, 0)
    return run


def test_a_run_whose_process_ended_is_done_once(clockwork: Clockwork) -> None:
    """Of this process's own too, where nobody does it: as after a failure to record its end."""
    lab = clockwork.lab
    catalog = lab.context.catalog
    lab.sql("CREATE TASK load SCHEDULE = '1 hour' AS INSERT INTO taken VALUES (7, 'plain')")
    lab.sql("ALTER TASK load RESUME")
    task = catalog.task(ANY)
    run = lost(lab, task)
    with lab.context.tasks.runner.sessions.lent(task, run.id) as context:
        from dt_jupyter.engine.task_bodies import read_body
        from dt_jupyter.engine.task_runner import _run_body

        _run_body(context, run, read_body(task.body, "default"))
    assert lab.rows("taken") == [(7, "plain")], "it had written, and nobody knows"
    assert clockwork.wait(0) == [("load", "CANCELLED", "DT-3307"), ("load", "SUCCEEDED", None)]
    assert lab.rows("taken") == [(7, "plain")], "the second attempt wrote nothing"
    run = lost(lab, task)
    assert clockwork.wait(0) == [("load", "CANCELLED", "DT-3307"), ("load", "SUCCEEDED", None)]
    assert lab.rows("taken") == [(7, "plain")] * 2, "it had not written"

    lab.sql("ALTER TASK load MODIFY AS INSERT INTO taken SELECT n, kind FROM s")
    lab.insert("events", "1, 'a'")
    task = catalog.task(ANY)
    run = lost(lab, task)
    with lab.context.tasks.runner.sessions.lent(task, run.id) as context:
        _run_body(context, run, read_body(task.body, "default"))
    assert clockwork.wait(0) == [("load", "SUCCEEDED", None)], "the stream says that it had"
    assert (1, "a") in lab.rows("taken")


@pytest.mark.parametrize(
    ("statement", "code", "shows"),
    [
        ("CREATE TASK load SCHEDULE = '1 minute' AS SELECT 1", "DT-3304", "SELECT 1"),
        ("CREATE TASK load SCHEDULE = '1 minute' AS INSERT INTO taken SELEC 1", "DT-1001", "1"),
        ("CREATE TASK load AS BEGIN INSERT INTO taken VALUES (1, ''); OPTIMIZE taken; END",
         "DT-3304", "OPTIMIZE taken"),
        ("CREATE TASK load WAREHOUSE = nope AS DELETE FROM taken", "DT-1108", "nope"),
        ("CREATE TASK load AFTER nope AS DELETE FROM taken", "DT-3301", "nope"),
        ("CREATE TASK load AFTER load AS DELETE FROM taken", "DT-3302", None),
        ("CREATE TASK load AS EXECUTE TASK load", "DT-3304", "EXECUTE TASK load"),
        ("ALTER TASK lod SUSPEND", "DT-3301", "lod"),
        ("CREATE TASK load AS INSERT INTO taken VALUES (:n, '')", "DT-3304", ":n"),
    ],
)  # fmt: skip
def test_what_no_task_can_be_is_refused_at_its_place(
    shared_lab: Lab, statement: str, code: str, shows: str | None
) -> None:
    shared_lab.sql("CREATE TABLE IF NOT EXISTS taken (n BIGINT, kind STRING)")
    with refused(code) as found:
        shared_lab.engine.sql(f"SELECT 1; {statement}", args={"n": 1})
    if shows is not None:
        span = found[0].span
        assert span is not None
        assert found[0].query is not None
        assert found[0].query[span.start : span.end] == shows
    assert not shared_lab.context.catalog.tasks()


def test_a_task_without_a_tick_is_run_by_hand_alone_and_names_are_of_its_schema(
    shared_lab: Lab,
) -> None:
    lab = shared_lab
    lab.sql("CREATE SCHEMA IF NOT EXISTS deep; USE deep; CREATE TABLE kept (n INT)")
    ((told,),) = lab.sql("CREATE TASK by_hand AS INSERT INTO kept VALUES (1)")
    assert "EXECUTE TASK" in str(told)
    lab.sql("USE default")
    with refused("DT-3309"):
        lab.sql("ALTER TASK deep.by_hand RESUME")
    lab.sql("ALTER TASK deep.by_hand EXECUTE")
    assert lab.spark.table("deep.kept").collect() == [(1,)]
    task = lab.context.catalog.task(Name("deep", "by_hand"))
    assert Timestamp(0) < task.created
    catalog = lab.context.catalog
    run = catalog.task_runs(task.name)[0]
    assert (run.state, run.attempt) == (TaskRunState.SUCCEEDED, 1)
    catalog.note_task_wait(run, Reason("X", "nothing, since it is over."))
    assert catalog.task_runs(task.name)[0] == run
    lab.sql("DROP SCHEMA deep CASCADE")
    assert not catalog.tasks()
