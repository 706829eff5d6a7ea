"""The webhook driver, against a receiver on loopback that misbehaves."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dt_jupyter.sinks import (
    Task,
    hash_ranges,
    is_transient,
    messages as m,
    open_driver,
    parse_store_url,
)
from dt_jupyter.sinks.dead_letters import JOURNAL, DeadLetters
from dt_jupyter.sinks.drivers.http_answers import AnswerVerdict, judge_status
from dt_jupyter.sinks.drivers.outbox import StagedFile
from dt_jupyter.sinks.drivers.webhook import WebhookStore
from tests.sinks.servers import free_port
from tests.sinks.site import die_after_log, row
from tests.unit.sinks.lab import (
    Change,
    Countdown,
    Crash,
    CrashingChannel,
    CrashingDriver,
    CrashingLog,
    D,
    DirectChannel,
    I,
    ListSource,
    MemoryLog,
    binding,
    deliver,
    delivery,
    events,
    refused,
    summed,
)

MADE = summed(delta=True)


class Receiver:
    """Keeps what it takes by Idempotency-Key; `answers` are what it says first: a status, or
    "cut" for a connection that ends after the request was taken."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes, dict[str, str]]] = []
        self.taken: dict[str, Any] = {}
        self.answers: list[Any] = []
        self.paths: list[str] = []
        self.row_key = "k"
        self.refuses: dict[int, int] = {}
        """By the key of a row, the status of each request that has it."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.paths.append(self.path)
                status = receiver.take(body, dict(self.headers))
                if status == "cut":
                    self.close_connection = True
                    return
                self.send_response(status)
                if status == 429:
                    self.send_header("Retry-After", "3")
                if status == 302:
                    self.send_header("Location", "http://127.0.0.1:1/")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def take(self, body: bytes, headers: dict[str, str]) -> Any:
        key = headers["Idempotency-Key"]
        self.seen.append((key, body, headers))
        status = self.answers.pop(0) if self.answers else self.judge(json.loads(body))
        if status in (200, "cut"):
            assert self.taken.setdefault(key, json.loads(body)) == json.loads(body)
        return status

    def judge(self, body: dict[str, Any]) -> int:
        rows = [*body.get("rows", []), *body.get("deleted", [])]
        refused = (self.refuses.get(each[self.row_key]) for each in rows)
        return next(filter(None, refused), 200)

    @property
    def total(self) -> int:
        return sum(r["v"] for body in self.taken.values() for r in body.get("rows", []))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def connect(receiver: Receiver, waits: list[float], tmp_path: Path) -> Any:
    def made(**options: str) -> WebhookStore:
        outbox = {"outbox": str(tmp_path / "outbox"), "timeout": "5"}
        address = parse_store_url(receiver.url, {**outbox, **options})
        return WebhookStore(address, sleep=waits.append, clock=lambda: 1000.0, jitter=lambda: 0.5)

    return made


FENCE, SENT = {"s-00000000-ffffffff.fence"}, {"s-00000000-ffffffff.fence", "*.sent"}


def outbox(tmp_path: Path) -> set[str]:
    """The names of its files, without those of transactions."""
    names = [p.name for p in (tmp_path / "outbox").iterdir()]
    return {"*.sent" if name.endswith(".sent") else name for name in names}


def test_a_path_that_is_a_secret_is_read_when_the_store_opens(
    receiver: Receiver, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_PATH", "services/s3cret")
    secret = {"path": "secret://env/HOOK_PATH"}
    deliver(MADE, ListSource(MADE, [(I, row(1, 1))], 3), MemoryLog(), lambda: connect(**secret))
    assert receiver.paths == ["/services/s3cret"]
    receiver.answers += [500, 500]
    with refused("DT-6110") as found:
        changes = [(I, row(1, 1)), (I, row(2, 1))]
        source = ListSource(MADE, changes, 3)
        deliver(MADE, source, MemoryLog(), lambda: connect(attempts="1", **secret))
    assert "s3cret" not in str(found[0])
    assert "hook" not in str(found[0]).partition("webhook")[2]


def test_deltas_and_tombstones_arrive_in_order(
    receiver: Receiver, connect: Any, tmp_path: Path
) -> None:
    changes: list[Change] = [(I, row(1, v)) for v in (-1, 3, 2, 6, -7, -1)]
    changes += [(D, {"k": 1}), (I, row(1, 5))]
    deliver(MADE, ListSource(MADE, changes, 3), MemoryLog(), connect)
    found = [json.loads(body) for _, body, _ in receiver.seen]
    assert [b.get("rows") or b.get("deleted") for b in found] == [
        [row(1, 4)], [row(1, -2)], [{"k": 1}], [row(1, 5)]
    ]  # fmt: skip
    assert [b["part"] for b in found] == [0, 0, 0, 1]
    assert outbox(tmp_path) == SENT


def test_each_request_is_signed(
    receiver: Receiver, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_KEY", "k3y")
    monkeypatch.setenv("HOOK_TOKEN", "t0ken")
    options = {"hmac_key": "secret://env/HOOK_KEY", "token": "secret://env/HOOK_TOKEN"}
    deliver(MADE, ListSource(MADE, [(I, row(1, 1))]), MemoryLog(), lambda: connect(**options))
    ((_, body, headers),) = receiver.seen
    expected = hmac.new(b"k3y", b"1000." + body, hashlib.sha256).hexdigest()
    assert headers["X-Dt-Signature"] == f"t=1000,v1={expected}"
    assert headers["Authorization"] == "Bearer t0ken"


def test_what_fails_is_sent_again_the_same_later_each_time(
    receiver: Receiver, connect: Any, waits: list[float]
) -> None:
    receiver.answers = [500, 503, "cut", 429, 200]
    deliver(MADE, ListSource(MADE, [(I, row(1, 1))]), MemoryLog(), connect)
    assert len({(key, body) for key, body, _ in receiver.seen}) == 1
    assert len(receiver.seen) == 5
    assert waits == [0.2 * 2**n * 0.75 for n in (1, 2, 3)] + [3.0]
    assert receiver.total == 1


def test_tasks_that_are_joined_send_what_each_had_staged_under_its_own_keys(
    receiver: Receiver, connect: Any
) -> None:
    changes: list[Change] = [(I, row(k, 1)) for k in range(20)]
    log = MemoryLog()
    for part in hash_ranges(2):
        die_after_log(log, MADE, ListSource(MADE, changes, 20), connect, part)
    assert receiver.seen == []
    deliver(MADE, ListSource(MADE, changes, 20), log, connect)
    assert receiver.total == 20
    parts = {key.split("/")[1] for key in receiver.taken}
    assert parts == {str(part) for part in hash_ranges(2)}


def sent_rows(receiver: Receiver) -> dict[int, Any]:
    """The values that a receiver has, which adds rows up and lets a tombstone take them away."""
    found: dict[int, Any] = {}
    for body in receiver.taken.values():
        for gone in body.get("deleted", []):
            found.pop(gone["k"], None)
        for each in body.get("rows", []):
            found[each["k"]] = found.get(each["k"], 0) + each["v"]
    return found


VERDICTS = {
    AnswerVerdict.DELIVERED: {*range(200, 300)},
    AnswerVerdict.RETRY: {0, 408, 409, 421, 423, 425, 429, *range(500, 600)}
    - {501, 505, 506, 508, 510, 511},
    AnswerVerdict.ROW_REFUSED: {400, 413, 422},
}


def test_each_status_has_one_verdict_and_an_unknown_one_stops_the_sink() -> None:
    known = {status: verdict for verdict, all_ in VERDICTS.items() for status in all_}
    for status in range(1000):
        assert judge_status(status) is known.get(status, AnswerVerdict.ENDPOINT_REFUSES), status


def test_parts_of_a_task_go_on_after_what_it_had_staged(receiver: Receiver, connect: Any) -> None:
    """One part is far ahead when the other opens: what both had staged is known as sent."""
    changes: list[Change] = [(I, row(k, 1)) for k in range(20)]
    log, source = MemoryLog(), ListSource(MADE, changes, 20)
    die_after_log(log, MADE, source, connect, hash_ranges(1)[0])
    changes += [(I, row(k, 10)) for k in range(20)]
    left, right = hash_ranges(2)
    for part in (left, left, right):
        deliver(MADE, ListSource(MADE, changes, 10), log, connect, task=Task("s", part))
    assert sent_rows(receiver) == dict.fromkeys(range(20), 11)


@pytest.mark.parametrize("status", [301, 302, 401, 403, 404, 405, 407, 410, 411, 415, 501, 600])
def test_an_endpoint_that_refuses_all_stops_the_sink_and_gets_all_later(
    receiver: Receiver, connect: Any, tmp_path: Path, status: int
) -> None:
    receiver.answers = [200, status]
    changes: list[Change] = [(I, row(1, 1)), (I, row(2, 2))]
    source, log = ListSource(MADE, changes, 1), MemoryLog()
    with refused("DT-6145") as found:
        deliver(MADE, source, log, connect)
    assert str(status) in found[0].sentence
    assert not is_transient(found[0])
    assert connect().dead_letters("s") == 0
    receiver.answers = [status]
    with refused("DT-6145"):
        deliver(MADE, source, log, connect)
    deliver(MADE, source, log, connect)
    assert (receiver.total, len(receiver.taken)) == (3, 2)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_is_divided_until_the_refused_row_is_alone(
    receiver: Receiver, connect: Any, tmp_path: Path, status: int
) -> None:
    receiver.refuses = {3: status, 7: status}
    changes: list[Change] = [(I, row(k, k)) for k in range(10)]
    deliver(MADE, ListSource(MADE, changes, 10), MemoryLog(), connect)
    assert sent_rows(receiver) == {k: k for k in range(10) if k not in (3, 7)}
    letters = DeadLetters(tmp_path / "outbox", "s").standing()
    assert [(x.status, x.body["rows"]) for x in letters] == [(status, [row(k, k)]) for k in (3, 7)]
    assert connect().dead_letters("s") == 2
    assert connect().dead_letters("another") == 0
    receiver.refuses = {7: status}
    assert connect().retry_dead_letters(MADE, "s") == 1
    receiver.refuses = {}
    assert connect().retry_dead_letters(MADE, "s") == 1
    assert sent_rows(receiver) == {k: k for k in range(10)}
    assert not (tmp_path / "outbox" / JOURNAL).exists()


def test_what_is_refused_is_counted_and_not_as_stored(receiver: Receiver, connect: Any) -> None:
    receiver.refuses = {1: 422, 2: 422}
    changes: list[Change] = [(I, row(1, 1)), (I, row(3, 1)), (D, {"k": 2})]
    dying = delivery(MADE, ListSource(MADE, changes, 3), MemoryLog(), connect)
    (done,) = dying.deliver()
    assert (done.stored, done.deleted, dying.refused) == (1, 0, 2)


def test_a_newer_row_replaces_a_dead_letter(receiver: Receiver, connect: Any) -> None:
    """Where rows are not reduced the last one of a key is its row."""
    made = binding(("k", pa.int64()), ("v", pa.int64()), delta=True)
    log, changes = MemoryLog(), [(I, {"k": k, "v": 1}) for k in range(3)]
    receiver.refuses = {0: 422, 1: 422}
    source = ListSource(made, changes, 3)
    deliver(made, source, log, connect)
    receiver.refuses = {}
    changes += [(D, {"k": 0}), (I, {"k": 0, "v": 5}), (D, {"k": 1})]
    deliver(made, source, log, connect)
    assert connect().dead_letters("s") == 0
    assert connect().retry_dead_letters(made, "s") == 0
    assert sent_rows(receiver) == {0: 5, 2: 1}


def test_a_row_that_is_added_up_waits_behind_a_dead_letter(
    receiver: Receiver, connect: Any
) -> None:
    log, changes = MemoryLog(), [(I, row(k, 1)) for k in range(3)]
    receiver.refuses = {0: 422, 1: 422}
    source = ListSource(MADE, changes, 3)
    deliver(MADE, source, log, connect)
    receiver.refuses = {0: 422}
    changes += [(I, row(k, 10)) for k in range(3)]
    deliver(MADE, source, log, connect)
    assert sent_rows(receiver) == {2: 11}
    assert connect().dead_letters("s") == 4
    assert connect().retry_dead_letters(MADE, "s") == 2
    assert sent_rows(receiver) == {1: 11, 2: 11}
    sent = [each for body in receiver.taken.values() for each in body["rows"]]
    assert [each["v"] for each in sent if each["k"] == 1] == [1, 10], "in their order"
    changes += [(D, {"k": 0})]
    receiver.refuses = {}
    deliver(MADE, source, log, connect)
    assert connect().dead_letters("s") == 0, "what was before a tombstone no longer counts"


def test_an_outbox_that_lost_what_was_staged_stops_the_sink(
    receiver: Receiver, connect: Any, tmp_path: Path
) -> None:
    receiver.answers = [503]
    source, log = ListSource(MADE, [(I, row(1, 1))]), MemoryLog()
    with refused("DT-6110"):
        deliver(MADE, source, log, lambda: connect(attempts="1"))
    shutil.rmtree(tmp_path / "outbox")
    with refused("DT-6143"):
        deliver(MADE, source, log, connect)


def test_who_was_replaced_neither_sends_nor_refuses(
    receiver: Receiver, connect: Any, tmp_path: Path
) -> None:
    """An older process meets a refusal when a newer one has the task: it changes nothing."""
    source, log = ListSource(MADE, [(I, row(k, 1)) for k in range(4)], 4), MemoryLog()
    old = connect()
    post, calls = old._post, []

    def late(key: str, body: bytes) -> Any:
        answer = post(key, body)
        if not calls:
            calls.append(key)
            receiver.refuses = {}
            deliver(MADE, source, log, connect)
        return answer

    old._post = late
    receiver.refuses = {2: 422}
    with refused("DT-6122"):
        deliver(MADE, source, log, lambda: old)
    assert sent_rows(receiver) == dict.fromkeys(range(4), 1)
    assert connect().dead_letters("s") == 0


def test_what_was_staged_and_never_committed_goes_when_the_task_opens_again(
    receiver: Receiver, connect: Any, tmp_path: Path
) -> None:
    log = MemoryLog()

    class Dying(MemoryLog):
        rows = log.rows

        def commit(self, task: Task, state: Any) -> None:
            raise Crash

    dying = delivery(MADE, ListSource(MADE, [(I, row(1, 1))]), Dying(), connect)
    with pytest.raises(Crash):
        list(dying.deliver())
    assert any(name.endswith(".jsonl") for name in outbox(tmp_path))
    deliver(MADE, ListSource(MADE, []), log, connect)
    assert outbox(tmp_path) == FENCE
    assert receiver.total == 0


def test_a_receiver_that_is_down_is_tried_when_the_sink_opens_again(
    receiver: Receiver, connect: Any, tmp_path: Path
) -> None:
    receiver.answers = [200, 503, 503]
    changes: list[Change] = [(I, row(1, 1)), (D, {"k": 2}), (I, row(3, 5))]
    log = MemoryLog()
    with refused("DT-6110") as problem:
        deliver(MADE, ListSource(MADE, changes, 3), log, lambda: connect(attempts="2"))
    assert is_transient(problem[0])
    deliver(MADE, ListSource(MADE, changes, 3), log, connect)
    keys = [key for key, _, _ in receiver.seen]
    assert len(keys) == 4
    assert len(set(keys)) == 2, "what was taken is not sent again"
    assert receiver.total == 6
    assert outbox(tmp_path) == SENT


@pytest.mark.parametrize("left", range(3))
def test_a_kill_may_leave_the_marker_of_what_was_sent_short(
    receiver: Receiver, connect: Any, tmp_path: Path, left: int
) -> None:
    receiver.answers = [200, 200, 503]
    changes: list[Change] = [
        (D, {"k": 2}),
        (I, row(1, 1)),
        *((I, row(k, 1)) for k in range(3, 999)),
    ]
    log = MemoryLog()
    with refused("DT-6110"):
        deliver(MADE, ListSource(MADE, changes, 999), log, lambda: connect(attempts="1"))
    (marker,) = (tmp_path / "outbox").glob("*.sent")
    assert len(marker.read_text().splitlines()) == 2
    lines = marker.read_text().splitlines(keepends=True)
    os.truncate(marker, len("".join(lines[:left])) + (2 if left < 2 else 0))
    deliver(MADE, ListSource(MADE, changes, 999), log, connect)
    keys = [key for key, _, _ in receiver.seen]
    assert len(keys) - len(set(keys)) == 3 - left, "that it is short of is sent again, by its key"
    assert receiver.total == 997
    assert outbox(tmp_path) == SENT


def test_a_kill_may_leave_a_dead_letter_torn(
    receiver: Receiver, connect: Any, tmp_path: Path
) -> None:
    journal = tmp_path / "outbox" / JOURNAL
    changes: list[Change] = [(I, row(1, 1))]
    receiver.refuses = {1: 422}
    deliver(MADE, ListSource(MADE, changes, 1), MemoryLog(), connect)
    whole = journal.read_bytes()
    for size in (0, 1, len(whole) - 1, len(whole), len(whole) + 5):
        journal.write_bytes((whole * 2)[:size])
        deliver(MADE, ListSource(MADE, changes, 1), MemoryLog(), connect)
        letters = DeadLetters(tmp_path / "outbox", "s").standing()
        expected = [[row(1, 1)]] * (1 + (size >= len(whole)))
        assert [x.body["rows"] for x in letters] == expected


@pytest.mark.parametrize("rules", [True, False])
def test_a_kill_at_any_write_keeps_rows_and_dead_letters_exact(
    connect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: bool
) -> None:
    """Dies before and after each write of the journal and the marker, in deliveries and a retry,
    while some rows are refused; then all is accepted and tried again."""
    made = MADE if rules else binding(("k", pa.int64()), ("v", pa.int64()), delta=True)
    first: list[Change] = [(I, made_row(made, k, 1)) for k in range(6)]
    second: list[Change] = [(I, made_row(made, k, 10)) for k in range(4)]
    if not rules:
        second = [change for k in range(4) for change in ((D, {"k": k}), second[k])]
    expected = {k: (11 if rules else 10) if k < 4 else 1 for k in range(6)}
    writes = [(StagedFile, "note"), (StagedFile, "finish"), (DeadLetters, "_append")]
    for at in range(1 + rules, 200, 3):
        receiver, log, countdown = Receiver(), MemoryLog(), Countdown(at)
        receiver.refuses = {1: 422, 3: 413, 5: 400}
        address = parse_store_url(receiver.url, {"outbox": str(tmp_path / f"{rules}{at}")})
        source = ListSource(made, [*first, *second], 6)
        crashed = False
        with monkeypatch.context() as patched:
            for owner, name in writes:
                patched.setattr(owner, name, countdown_around(getattr(owner, name), countdown))
            try:
                deliver(made, ListSource(made, first, 6), log, lambda a=address: open_driver(a))
                receiver.refuses = {3: 413}
                deliver(made, source, log, lambda a=address: open_driver(a))
                receiver.refuses = {}
                open_driver(address).retry_dead_letters(made, "s")
            except Crash:
                crashed = True
        deliver(made, source, log, lambda a=address: open_driver(a))
        receiver.refuses = {}
        open_driver(address).retry_dead_letters(made, "s")
        deliver(made, source, log, lambda a=address: open_driver(a))
        assert sent_rows(receiver) == expected, at
        assert open_driver(address).dead_letters("s") == 0, at
        receiver.server.shutdown()
        receiver.server.server_close()
        if not crashed:
            assert at > 30
            return
    raise AssertionError("the run never ended")


def made_row(made: Any, k: int, v: int) -> dict[str, Any]:
    return row(k, v) if "name" in made.schema.names else {"k": k, "v": v}


def countdown_around(known: Any, countdown: Countdown) -> Any:
    def dying(*args: Any) -> Any:
        countdown.tick()
        found = known(*args)
        countdown.tick()
        return found

    return dying


def test_nobody_listens(connect: Any, tmp_path: Path) -> None:
    address = parse_store_url(
        f"http://127.0.0.1:{free_port()}/", {"outbox": str(tmp_path), "attempts": "1"}
    )
    with refused("DT-6110"):
        deliver(MADE, ListSource(MADE, [(I, row(1, 1))]), MemoryLog(), lambda: open_driver(address))


@pytest.mark.parametrize("where", ["channel", "driver"])
def test_a_crash_at_any_message_loses_nothing_and_repeats_by_key_alone(
    where: str, tmp_path: Path
) -> None:
    changes = events(3, 9)
    expected = None
    for at in range(1, 100, 5):
        receiver, log, countdown = Receiver(), MemoryLog(), Countdown(at)
        options = {"outbox": str(tmp_path / str(at))}
        address = parse_store_url(receiver.url, options)
        source = ListSource(MADE, changes, 3)
        if where == "channel":
            dying = delivery(
                MADE, source, CrashingLog(log, countdown), lambda a=address: open_driver(a),
                channel=lambda d, c=countdown: CrashingChannel(DirectChannel(d), c),
            )  # fmt: skip
        else:
            dying = delivery(
                MADE, source, log, lambda a=address, c=countdown: CrashingDriver(open_driver(a), c)
            )
        crashed = False
        try:
            list(dying.deliver())
        except Crash:
            crashed = True
        dying.close()
        deliver(MADE, source, log, lambda a=address: open_driver(a))
        expected = receiver.total if expected is None else expected
        assert receiver.total == expected, at
        receiver.server.shutdown()
        receiver.server.server_close()
        if not crashed:
            return
    raise AssertionError("the run never ended")


def test_what_waits_is_not_sent_after_a_reset(
    receiver: Receiver, connect: Any, tmp_path: Path
) -> None:
    receiver.answers = [503]
    log = MemoryLog()
    with refused("DT-6110"):
        deliver(MADE, ListSource(MADE, [(I, row(1, 1))]), log, lambda: connect(attempts="1"))
    receiver.refuses = {2: 422}
    deliver(MADE, ListSource(MADE, [(I, row(2, 1))]), MemoryLog(), connect)
    connect().forget(MADE, "s", empty=True)
    assert connect().dead_letters("s") == 0
    with refused("DT-6143"):
        deliver(MADE, ListSource(MADE, [(I, row(1, 1))]), log, connect)
    log.rows.clear()
    deliver(MADE, ListSource(MADE, [(I, row(1, 1))]), log, connect)
    assert receiver.total == 1
    assert outbox(tmp_path) == SENT | {"dead_letters.lock"}


def test_full_mode_and_a_missing_outbox_are_refused(receiver: Receiver) -> None:
    address = parse_store_url(receiver.url)
    for made in (summed(), MADE):
        with refused("DT-6144"):
            deliver(made, ListSource(made, []), MemoryLog(), lambda: open_driver(address))


def test_a_secret_that_is_not_set_is_told_by_its_name(receiver: Receiver, tmp_path: Path) -> None:
    options = {"outbox": str(tmp_path), "token": "secret://env/NOT_SET_ANYWHERE"}
    driver = open_driver(parse_store_url(receiver.url, options))
    with refused("DT-6103") as problem:
        list(driver.handle(m.Open(MADE, Task("s"))))
    assert "NOT_SET_ANYWHERE" in "".join(traceback.format_exception(problem[0]))
