"""Alerts of a catalog: the same for all processes, told once to each function, whatever it does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dt_jupyter.catalog import FAILURES_ALLOWED, Catalog, Owner
from dt_jupyter.model import (
    Alert,
    AlertKind,
    DTError,
    LakeEvent,
    Name,
    SchedulingState,
    Sink,
    SinkState,
    Stream,
    TargetLag,
    Task,
    TaskRunState,
    TaskState,
    TaskTrigger,
    Timestamp,
)
from dt_jupyter.schedule import awake_since
from dt_jupyter.watching import AlertHandler, AlertWatch, Webhook
from tests.unit.catalog_lab import Lab, at, definition, name

OTHER = Owner("host-a", 200, "uid-other", "1")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.make("a", "b")
    return made


class Heard:
    """A function, and what it was told, waited for."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._more = threading.Condition()

    def __call__(self, alert: Alert) -> None:
        with self._more:
            self.texts.append(f"{alert.kind} {alert.name} {alert.event}")
            self._more.notify_all()

    def has(self, *texts: str) -> None:
        with self._more:
            assert self._more.wait_for(lambda: len(self.texts) >= len(texts), 20), self.texts
        assert self.texts == list(texts)


def watch(
    catalog: Catalog,
    problem: Callable[[Stream], str | None] = lambda stream: None,
    seen: Callable[[LakeEvent], LakeEvent | None] = lambda event: event,
) -> AlertWatch:
    return AlertWatch(catalog, problem, seen)


def test_each_episode_is_told_once_in_each_process(lab: Lab) -> None:
    other = lab.open(OTHER)
    here, there = watch(lab.catalog), watch(other)
    heard, also = Heard(), Heard()
    here.tell(heard)
    there.tell(also)
    lab.fail(1)
    for looked in (here, there, here, there):
        looked.check()
    lab.fail(2)
    here.check()
    lab.refresh(3)
    there.check()
    here.check()
    both = ("FAILED a RAISED", "FAILED a CLEARED")
    heard.has(*both)
    also.has(*both)
    here.close()
    there.close()
    other.close()


def test_suspended_by_failures_and_dropped(lab: Lab) -> None:
    looked = watch(lab.catalog)
    for i in range(FAILURES_ALLOWED):
        lab.fail(1 + i)
    looked.check()
    assert {a.kind for a in looked.standing()} == {AlertKind.FAILED, AlertKind.SUSPENDED}
    lab.catalog.drop(name("a"))
    looked.check()
    assert looked.standing() == ()


def test_late_while_a_scheduler_runs(lab: Lab) -> None:
    looked = watch(lab.catalog)
    lab.refresh(0.5)
    lab.wall.forward(100)
    looked.check()
    assert looked.standing() == (), "no scheduler"
    lab.catalog.record_scheduler("run")
    for _ in range(10):
        lab.wall.forward(10)
        lab.catalog.record_scheduler("run")
    looked.check()
    (late,) = looked.standing()
    assert (late.kind, late.name) == (AlertKind.LATE, name("a"))
    lab.refresh(200)
    looked.check()
    assert looked.standing() == (late,), "not yet"
    lab.wall.forward(60)
    looked.check()
    assert looked.standing() == ()


def run_for(lab: Lab, seconds: int) -> None:
    """A scheduler, all that time."""
    lab.catalog.record_scheduler("run")
    for _ in range(seconds // 10):
        lab.wall.forward(10)
        lab.catalog.record_scheduler("run")


def test_downstream_is_late_by_what_its_readers_ask_for(lab: Lab) -> None:
    """The names stand against the order of reading."""
    lab.make("z", "lonely", target_lag=TargetLag(None))
    lab.make("above", target_lag=TargetLag(None), definition=definition("SELECT 1", "id-z"))
    reader = {"definition": definition("SELECT 1", "id-above"), "target_lag": TargetLag(150.0)}
    lab.make("reader", **reader)
    lab.make("slow", **reader | {"target_lag": TargetLag(9000.0)})
    for dt in ("z", "lonely", "above", "reader", "slow"):
        lab.refresh(0.5, dt=dt)
    looked = watch(lab.catalog)
    run_for(lab, 140)
    looked.check()
    assert looked.standing() == ()
    run_for(lab, 30)
    looked.check()
    late = {str(a.name): a.message for a in looked.standing()}
    assert set(late) == {"z", "above", "reader"}
    assert late["z"] == "Its lag is 170 s, its readers ask for 150 s."
    lab.catalog.update("id-reader", scheduling=SchedulingState.SUSPENDED)
    lab.wall.forward(400)
    run_for(lab, 100)
    looked.check()  # calm from now on
    run_for(lab, 200)
    looked.check()
    assert looked.standing() == ()


def test_a_sink_is_late_by_what_its_store_lacks(lab: Lab) -> None:
    catalog = lab.catalog
    made = Sink("id-k", name("k"), name("a"), "TABLE", "file:///k", at(0), ("a",))
    catalog.create_sink(replace(made, target_lag=TargetLag(60.0)))
    catalog.create_sink(replace(made, id="id-d", name=name("d")))
    behind: dict[str, Timestamp] = {}
    asked: list[str] = []

    def behind_since(sink: Sink, now: Timestamp) -> Timestamp | None:
        asked.append(sink.id)
        return behind.get(sink.id)

    looked = AlertWatch(catalog, lambda s: None, lambda e: e, behind_since)
    looked.check()
    assert asked == [], "nobody delivers"
    run_for(lab, 100)
    for each in ("id-k", "id-d"):
        behind[each] = at(50)
    looked.check()
    looked.check()
    assert (asked, looked.standing()) == (["id-k"], ()), "not late yet; looked at once"
    run_for(lab, 20)
    looked.check()
    (late,) = looked.standing()
    assert (str(late.name), late.of, late.kind) == ("k", "SINK", AlertKind.LATE)
    assert late.message == "Its lag is 70 s, its target lag 60 s."
    catalog.set_sink_state("id-k", SinkState.RETRYING, "DT-6130", "down")
    looked.check()
    assert looked.standing() == (late,)
    catalog.set_sink_state("id-k", SinkState.PAUSED, "DT-6130", "no")
    looked.check()
    run_for(lab, 60)
    looked.check()
    assert [a.kind for a in looked.standing()] == [AlertKind.FAILED]
    catalog.set_sink_state("id-k", SinkState.ACTIVE)
    behind.clear()
    run_for(lab, 20)
    looked.check()
    assert looked.standing() == ()


def test_since_when_a_scheduler_has_run(lab: Lab) -> None:
    catalog = lab.catalog

    def awake() -> Timestamp | None:
        return awake_since(catalog.scheduler_runs(), catalog.clock.now())

    assert awake() is None
    catalog.record_scheduler("one")
    began = catalog.scheduler_runs()[0].began
    assert awake() == began
    catalog.record_scheduler("two")
    catalog.record_scheduler("one", ended=True)
    lab.wall.forward(20)
    assert awake() == began, "the other one goes on"
    lab.wall.forward(1000)
    assert awake() is None
    catalog.record_scheduler("three")
    assert awake() == catalog.scheduler_runs()[-1].began


def test_sinks_tasks_and_streams(lab: Lab) -> None:
    catalog = lab.catalog
    catalog.create_sink(Sink("id-k", name("k"), name("a"), "TABLE", "file:///k", at(0), ("a",)))
    catalog.set_sink_state("id-k", SinkState.PAUSED, "DT-6130", "no")
    task = Task("id-j", name("j"), "DELETE FROM t", "default", at(0), at(0), suspend_after=2)
    catalog.create_task(replace(task, state=TaskState.STARTED))
    stream = Stream("id-s", name("s"), name("t"), "TABLE", {"table-t": 1}, at(1), at(0))
    catalog.create_stream(stream)
    problems: dict[Name, str] = {name("s"): "t was vacuumed"}
    looked = watch(catalog, lambda s: problems.get(s.name))

    def run(end: TaskRunState) -> None:
        (made,) = catalog.begin_task_graph(task, [(task, ())], TaskTrigger.MANUAL, at(1))
        catalog.claim_task_run(made, 0)
        catalog.finish_task_run(made, end)

    def standing() -> set[str]:
        looked.look_at_logs()
        looked.check()
        return {f"{a.kind} {a.name}" for a in looked.standing()}

    run(TaskRunState.FAILED)
    assert standing() == {"FAILED k", "FAILED j", "STALE s"}
    run(TaskRunState.FAILED)
    assert standing() == {"FAILED k", "FAILED j", "SUSPENDED j", "STALE s"}
    catalog.alter_task(replace(task, state=TaskState.STARTED))
    run(TaskRunState.SUCCEEDED)
    catalog.set_sink_state("id-k", SinkState.ACTIVE)
    del problems[name("s")]
    assert standing() == set()
    events = [str(e).split(":")[0] for e in catalog.lake_events() if e.kind == "ALERT"]
    assert sorted(events) == sorted(2 * ["alert j"] + 2 * ["alert j"] + 2 * ["alert k", "alert s"])


def test_a_function_that_hangs_or_raises_harms_no_other(lab: Lab) -> None:
    looked, heard, release = watch(lab.catalog), Heard(), threading.Event()
    begun = threading.Event()

    def hangs(_: Alert) -> None:
        begun.set()
        release.wait(60)

    def raises(_: Alert) -> None:
        raise RuntimeError

    for fn in (hangs, raises):
        looked.tell(fn)
    stop = looked.tell(heard)
    lab.fail(1)
    looked.check()
    assert begun.wait(20)
    lab.fail(1, dt="b")
    looked.check()
    heard.has("FAILED a RAISED", "FAILED b RAISED")
    stop()
    lab.refresh(2)
    looked.check()
    looked.close()  # though one of them hangs
    release.set()
    assert len(heard.texts) == 2


def test_of_many_that_wait_the_newest_are_told() -> None:
    release, begun, heard = threading.Event(), threading.Event(), []
    done = threading.Event()

    def slow(alert: Alert) -> None:
        begun.set()
        assert release.wait(60)
        heard.append(alert.object_id)
        if alert.object_id == "499":
            done.set()

    handler = AlertHandler(slow)
    made = Alert(AlertKind.LATE, "DYNAMIC_TABLE", name("a"), "first", at(0))
    handler.tell([made])
    assert begun.wait(20)
    handler.tell(replace(made, object_id=str(i)) for i in range(500))
    release.set()
    assert done.wait(20)
    assert heard == ["first", *map(str, range(400, 500))]


def test_what_a_role_may_not_see_it_is_not_told(lab: Lab) -> None:
    looked = watch(lab.catalog, seen=lambda e: e if e.name == "b" else None)
    heard = Heard()
    looked.tell(heard)
    lab.fail(1)
    lab.fail(1, dt="b")
    looked.check()
    heard.has("FAILED b RAISED")
    looked.close()


def test_a_thousand_tables_are_read_by_one_statement(lab: Lab) -> None:
    with lab.catalog._write() as connection:
        connection.exec_driver_sql(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
            "INSERT INTO dynamic_table SELECT "
            + ", ".join(
                {"id": "'x' || i", "table_name": "'x' || i"}.get(column, f"t.{column}")
                for (_, column, *_) in connection.exec_driver_sql(
                    "PRAGMA table_info(dynamic_table)"
                ).fetchall()
            )
            + " FROM n, dynamic_table t WHERE t.id = 'id-a'"
        )
    seen: list[str] = []
    looked = watch(lab.catalog)
    from sqlalchemy import event

    event.listen(lab.catalog._engine, "before_cursor_execute", lambda *a: seen.append(str(a[2])))
    looked.check()
    assert len(lab.catalog.table_standings()) == 1002
    assert 0 < len([s for s in seen if "FROM dynamic_table" in s]) <= 2


class Receiver(BaseHTTPRequestHandler):
    answers: ClassVar[list[int]] = []
    taken: ClassVar[list[tuple[str | None, Any]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.answers.pop(0)
        self.taken.append((self.headers["Idempotency-Key"], json.loads(body)))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Receiver.taken.clear()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook?key=secret"
    server.shutdown()


@pytest.mark.parametrize(
    ("answers", "times", "told"),
    [([200], 1, True), ([503, 429, 204], 3, True), ([404], 1, False), ([500] * 5, 5, False)],
)
def test_a_webhook(
    receiver: str, answers: list[int], times: int, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    Receiver.answers[:] = answers
    waits: list[float] = []
    alert = Alert(AlertKind.FAILED, "DYNAMIC_TABLE", name("a"), "id-a", at(0), "DT-2105", "no")
    Webhook(receiver, waits.append)(alert)
    assert len(Receiver.taken) == times
    assert len({key for key, _ in Receiver.taken}) == 1
    assert waits == [1.0, 2.0, 4.0, 8.0][: times - 1]
    body = Receiver.taken[0][1]
    assert (body["alert"], body["event"], body["name"]) == ("FAILED", "RAISED", "a")
    assert bool(caplog.records) != told
    assert "secret" not in caplog.text


def test_a_webhook_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    alert = Alert(AlertKind.FAILED, "DYNAMIC_TABLE", name("a"), "id-a", at(0))
    Webhook("http://127.0.0.1:1/secret", lambda _: None)(alert)
    assert "did not receive an alert" in caplog.text
    assert "secret" not in caplog.text + repr(Webhook("http://127.0.0.1:1/secret"))


@pytest.mark.parametrize("url", ["", "x", "ftp://h/x", "http://", "https:///p", "http://h:99999/"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(DTError) as raised:
        Webhook(url)
    assert raised.value.code == "DT-5130"
