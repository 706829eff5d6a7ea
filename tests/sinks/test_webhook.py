"""The webhook driver, against a receiver on loopback that misbehaves."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.sinks import (
    Task,
    hash_ranges,
    is_transient,
    messages as m,
    open_driver,
    parse_store_url,
)
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
        status = self.answers.pop(0) if self.answers else 200
        if status in (200, "cut"):
            assert self.taken.setdefault(key, json.loads(body)) == json.loads(body)
        return status

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


def outbox(tmp_path: Path) -> set[str]:
    return {p.name for p in (tmp_path / "outbox").iterdir()}


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
    assert outbox(tmp_path) == set()


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


@pytest.mark.parametrize("status", [302, 400, 401, 404, 422])
def test_what_is_refused_for_good_is_a_dead_letter(
    receiver: Receiver, connect: Any, tmp_path: Path, status: int
) -> None:
    receiver.answers = [status]
    changes: list[Change] = [(I, row(1, 1)), (I, row(2, 2))]
    deliver(MADE, ListSource(MADE, changes, 1), MemoryLog(), connect)
    (line,) = (tmp_path / "outbox" / "dead_letters.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert (told["status"], told["body"]["rows"]) == (status, [row(1, 1)])
    assert receiver.total == 2


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
    assert outbox(tmp_path) == set()


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
    assert marker.stat().st_size == 2
    os.truncate(marker, left)
    deliver(MADE, ListSource(MADE, changes, 999), log, connect)
    keys = [key for key, _, _ in receiver.seen]
    assert len(keys) - len(set(keys)) == 3 - left, "that it is short of is sent again, by its key"
    assert receiver.total == 997
    assert outbox(tmp_path) == set()


def test_a_kill_may_leave_a_dead_letter_torn(
    receiver: Receiver, connect: Any, tmp_path: Path
) -> None:
    letters = tmp_path / "outbox" / "dead_letters.jsonl"
    changes: list[Change] = [(I, row(1, 1))]
    receiver.answers = [404]
    deliver(MADE, ListSource(MADE, changes, 1), MemoryLog(), connect)
    whole = letters.read_bytes()
    for size in (0, 1, len(whole) - 1, len(whole), len(whole) + 5):
        letters.write_bytes((whole * 2)[:size])
        receiver.answers = [404]
        deliver(MADE, ListSource(MADE, changes, 1), MemoryLog(), connect)
        told = [json.loads(line)["body"]["rows"] for line in letters.read_text().splitlines()]
        assert told == [[row(1, 1)]] * (1 + (size >= len(whole)))


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
    connect().forget(MADE, "s", empty=True)
    deliver(MADE, ListSource(MADE, [(I, row(1, 1))]), log, connect)
    assert receiver.total == 0
    assert outbox(tmp_path) == set()


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
