"""A spare is handed over once, to a process of the same user that asks for the same; it ends with
whoever owns it. The JVM is a `cat` here: it too ends when its standard input does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.spark import spare, spare_keeper
from dt_jupyter.spark.launch import JavaStart, Launch
from dt_jupyter.spark.pools import Pool
from dt_jupyter.spark.spare import SpareOrder, has_spare, order_spare, spare_seconds
from dt_jupyter.spark.spare_keeper import Offer, answer_takers, has_room, serve_spare

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets")
ORDER = SpareOrder(Launch({"spark.master": "local[1]"}, (Pool("a"),)), {"LANG": "C"}, "/", 60.0)
TAKER = """
import sys
from dt_jupyter.spark import spare, spare_keeper
spare._adopt = lambda process, told: process
taken = spare.take_spare(spare.SpareOrder.of_text(sys.argv[1]))
print(taken.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path: the name of a socket has some hundred bytes."""
    with tempfile.TemporaryDirectory(prefix="dt", dir="/tmp") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", made)
        yield Path(made)


@pytest.fixture
def java() -> Iterator[subprocess.Popen[bytes]]:
    made = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    yield made
    made.kill()
    made.wait()
    made.stdin.close()  # type: ignore[union-attr]


@contextmanager
def offered(java: subprocess.Popen[bytes], log: Path, seconds: float = 60.0) -> Iterator[None]:
    """The spare of `ORDER`, offered until somebody has it."""
    parameters = SimpleNamespace(port=1, auth_token="secret")
    gateway: Any = SimpleNamespace(proc=java, gateway_parameters=parameters)
    conf: Any = SimpleNamespace(getAll=lambda: [("spark.app.name", "x")])
    offer = Offer(gateway, JavaStart(conf, {}, log), ORDER.key)
    keeper = threading.Thread(target=answer_takers, args=(offer, seconds))
    keeper.start()
    while not spare.socket_path().exists() and keeper.is_alive():
        time.sleep(0.01)
    try:
        yield
    finally:
        spare.dismiss_spare()
        keeper.join()


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    monkeypatch.setattr(spare, "_adopt", lambda process, told: (process, told))
    return lambda: spare.take_spare(ORDER)


def test_one_process_gets_it_and_no_other(
    java: subprocess.Popen[bytes], tmp_path: Path, take: Callable[[], Any]
) -> None:
    with offered(java, tmp_path / "log"):
        assert has_spare(ORDER)
        found = [None, None, None]

        def ask(place: int) -> None:
            found[place] = take()

        askers = [threading.Thread(target=ask, args=(place,)) for place in range(3)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        ((process, told),) = (one for one in found if one is not None)
        assert (process.pid, told["secret"], told["conf"]) == (
            java.pid, "secret", [["spark.app.name", "x"]],
        )  # fmt: skip
        assert not has_spare(ORDER)
    assert java.stdin is not None
    assert java.stdin.closed
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(60) == -1


def test_one_that_was_passed_on_is_not_offered_again(
    java: subprocess.Popen[bytes], tmp_path: Path, take: Callable[[], Any]
) -> None:
    with offered(java, tmp_path / "log"):
        with socket.socket(socket.AF_UNIX) as line:  # it ends before it confirms
            line.connect(str(spare.socket_path()))
            line.sendall(f"take {ORDER.key}\n".encode())
            _, ends, _, _ = socket.recv_fds(line, 1, 1)
        assert take() is None
    assert java.stdin is not None
    assert not java.stdin.closed, "the keeper ends it"
    os.close(ends[0])


def test_a_new_order_replaces_the_one_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take: Callable[[], Any]
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def launch(start: object) -> Any:
        started.append(subprocess.Popen(["cat"], stdin=subprocess.PIPE))
        parameters = SimpleNamespace(port=1, auth_token="secret")
        jvm = SimpleNamespace(System=SimpleNamespace(gc=lambda: None))
        return SimpleNamespace(
            proc=started[-1], gateway_parameters=parameters, jvm=jvm, shutdown=lambda: None
        )

    def plan(launch: Launch) -> JavaStart:
        (folder := tmp_path / f"scratch {len(started)}").mkdir()
        conf: Any = SimpleNamespace(getAll=list)
        return JavaStart(conf, {}, folder / "log")

    monkeypatch.setattr(spare_keeper, "launch_java", launch)
    monkeypatch.setattr(spare_keeper, "plan_start", plan)
    monkeypatch.setattr(spare_keeper, "make_context", lambda gateway, start: None)
    monkeypatch.setattr(spare_keeper, "has_room", lambda heap: True)
    keepers = []
    for key in ("of another", ORDER.key):
        given = (ORDER, key, 0.0, lambda gateway: None)
        keepers.append(threading.Thread(target=serve_spare, args=given))
        keepers[-1].start()
        while len(started) < len(keepers) or not spare.socket_path().exists():
            time.sleep(0.01)
    keepers[0].join()
    assert started[0].wait(60) == 0
    assert not (tmp_path / "scratch 0").exists()
    process, _ = take()
    keepers[1].join()
    assert process.poll() is None
    assert (tmp_path / "scratch 1").exists(), "it is its taker's now"
    process.stdin.close()
    assert started[1].wait(60) == 0


def test_another_order_gets_none(
    java: subprocess.Popen[bytes], tmp_path: Path, take: Callable[[], Any]
) -> None:
    others = [
        SpareOrder(Launch({}, ORDER.launch.pools), ORDER.variables, "/", 60.0),
        SpareOrder(Launch(ORDER.launch.settings, ()), ORDER.variables, "/", 60.0),
        SpareOrder(ORDER.launch, {"LANG": "de"}, "/", 60.0),
        SpareOrder(ORDER.launch, ORDER.variables, "/tmp", 60.0),
    ]
    with offered(java, tmp_path / "log"):
        for other in others:
            assert not has_spare(other)
            assert spare.take_spare(other) is None
        assert take() is not None


def test_it_ends_with_a_taker_that_is_killed(java: subprocess.Popen[bytes], tmp_path: Path) -> None:
    with offered(java, tmp_path / "log"):
        taker = subprocess.Popen(
            [sys.executable, "-c", TAKER, ORDER.as_text()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with taker:
            assert taker.stdout is not None
            assert int(taker.stdout.readline()) == java.pid
            assert java.poll() is None
            taker.send_signal(signal.SIGKILL)
            assert java.wait(60) == 0


def test_one_that_ended_or_waited_in_vain_is_offered_no_more(
    java: subprocess.Popen[bytes], tmp_path: Path, take: Callable[[], Any]
) -> None:
    with offered(java, tmp_path / "log", seconds=0.0):
        assert take() is None
    java.kill()
    with offered(java, tmp_path / "log"):
        while spare.socket_path().exists():
            time.sleep(0.01)
        assert take() is None


def test_a_socket_that_a_killed_keeper_left_is_replaced(
    java: subprocess.Popen[bytes], tmp_path: Path, take: Callable[[], Any]
) -> None:
    killed = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"
    subprocess.run([sys.executable, "-c", killed, str(spare.socket_path())], check=True)
    assert not has_spare(ORDER)
    assert take() is None
    with offered(java, tmp_path / "log"):
        while not has_spare(ORDER):  # the file of the old one is there before
            time.sleep(0.01)
        assert take() is not None


def test_a_keeper_that_waits_offers_nothing_and_gives_way(take: Callable[[], Any]) -> None:
    over: list[bool] = []
    keeper = threading.Thread(target=lambda: over.append(answer_takers(None, 60.0)))
    keeper.start()
    while not spare.socket_path().exists():
        time.sleep(0.01)
    assert not has_spare(ORDER)
    assert take() is None
    spare.dismiss_spare()
    keeper.join()
    assert over == [True]
    assert answer_takers(None, 0.0) is False


def test_a_folder_that_others_can_open_is_not_used(folder: Path) -> None:
    own = spare.spare_folder()
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o750)
    with pytest.raises(PermissionError):
        spare.spare_folder()
    assert not has_spare(ORDER)
    own.rmdir()
    (folder / "elsewhere").mkdir(mode=0o700)
    own.symlink_to(folder / "elsewhere")
    with pytest.raises(PermissionError):
        spare.spare_folder()


@pytest.mark.parametrize(("value", "seconds"), [
    ("spare", 1800.0), ("spare:90", 90.0), ("spare:soon", 1800.0), ("0", None), ("1", None),
    ("", None),
])  # fmt: skip
def test_it_is_asked_for_by_the_environment(value: str, seconds: float | None) -> None:
    assert spare_seconds({spare.SWITCH: value}) == seconds


def test_an_order_has_what_java_takes_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert order_spare(ORDER.launch) is None, "nobody asked for one"
    monkeypatch.setenv(spare.SWITCH, "spare")
    first = order_spare(ORDER.launch)
    assert first is not None
    monkeypatch.setenv("JPY_SESSION_NAME", "another notebook.ipynb")
    monkeypatch.setenv("SPARK_BUFFER_SIZE", "65536")
    again = order_spare(ORDER.launch)
    assert again is not None
    assert again.key == first.key
    assert SpareOrder.of_text(again.as_text()).key == first.key
    monkeypatch.setenv("AWS_PROFILE", "another")
    other = order_spare(ORDER.launch)
    assert other is not None
    assert other.key != first.key
    (folder / "conf").mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(folder / "conf"))
    configured = order_spare(ORDER.launch)
    assert configured is not None
    before = configured.key
    (folder / "conf" / "spark-defaults.conf").write_text("spark.sql.ansi.enabled false")
    assert configured.key != before
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert order_spare(ORDER.launch) is None, "Java has started this process"


def test_none_is_started_where_memory_is_short(tmp_path: Path) -> None:
    facts = tmp_path / "meminfo"
    facts.write_text("MemTotal: 8000000 kB\nMemAvailable:    3145728 kB\n")
    assert has_room("1g", facts)
    assert has_room("2047m", facts)
    assert not has_room("2g", facts)
    assert not has_room("2GB", facts)
    assert not has_room("2048", facts), "Spark's unit is MiB"
    assert has_room("64g", tmp_path / "missing")


def test_a_process_that_is_gone_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for opener in (getattr(os, "pidfd_open", None), None):
        monkeypatch.setattr(os, "pidfd_open", opener, raising=False)
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        assert child.stdin is not None
        handed = spare.HandedProcess(child.pid, os.dup(child.stdin.fileno()))
        with pytest.raises(subprocess.TimeoutExpired):
            handed.wait(0)
        child.stdin.close()
        handed.stdin.close()
        child.wait(60)
        assert handed.poll() == -1
