"""Drivers that other packages bring, found by their entry points, and programs that are drivers."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sinks import (
    ProcessChannel,
    connector,
    is_transient,
    open_driver,
    parse_store_url,
)
from tests.sinks.site import Site, row
from tests.unit.sinks.lab import (
    Countdown,
    Crash,
    CrashingDriver,
    DirectChannel,
    I,
    ListSource,
    MemoryLog,
    binding,
    deliver,
    delivery,
    events,
    oracle,
    refused,
    summed,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
ENTRY = "[dt_jupyter.sinks]\n{scheme} = {value}\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Puts a module and the metadata of its package where the interpreter finds them."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def install(name: str, scheme: str, value: str, source: str) -> Path:
        module = value.partition(":")[0]
        (site / f"{module}.py").write_text(source)
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(ENTRY.format(scheme=scheme, value=value))
        importlib.invalidate_caches()
        return site

    yield install
    for module in ("folder_sink", "broken_sink", "half_sink"):
        sys.modules.pop(module, None)


@pytest.fixture
def folder(installed: Callable[..., Path], tmp_path: Path) -> Path:
    source = (EXAMPLES / "folder_sink" / "folder_sink.py").read_text()
    installed("folder-sink", "folder", "folder_sink:FolderStore", source)
    return tmp_path / "rows"


def files(folder: Path) -> dict[int, Any]:
    rows = (json.loads(f.read_text()) for f in (folder / "t").glob("*.json"))
    return {each["k"]: each["v"] for each in rows}


def test_an_installed_driver_delivers(folder: Path) -> None:
    made = binding(("k", summed().columns[0].type), ("v", summed().columns[1].type))
    changes = [*((I, {"k": k, "v": 1}) for k in range(5)), *events(3, 9)]
    changes = [(kind, {n: r[n] for n in ("k", "v") if n in r}) for kind, r in changes]
    url = f"folder://{folder}"
    for at in range(1, 300, 9):
        shutil.rmtree(folder, ignore_errors=True)
        log, countdown = MemoryLog(), Countdown(at)
        source = ListSource(made, changes, 3)
        driver = open_driver(parse_store_url(url))
        crashing = lambda d=driver, c=countdown: CrashingDriver(d, c)  # noqa: E731
        dying = delivery(made, source, log, crashing, channel=DirectChannel)
        crashed = False
        try:
            list(dying.deliver())
        except Crash:
            crashed = True
        deliver(made, source, log, lambda: open_driver(parse_store_url(url)))
        assert files(folder) == {k: r["v"] for (k,), r in oracle(made, changes).items()}, at
        if not crashed:
            return
    raise AssertionError("the run never ended")


def test_a_store_without_transactions_refuses_to_add_up(folder: Path) -> None:
    url = f"folder://{folder}"
    with refused("DT-6144"):
        deliver(summed(), ListSource(summed(), []), MemoryLog(), lambda: driver_of(url))
    accepted = {"at_least_once": "true"}
    source = ListSource(summed(), [(I, row(1, 2)), (I, row(1, 3))], 1)
    deliver(summed(), source, MemoryLog(), lambda: driver_of(url, accepted))
    assert files(folder) == {1: 5}


def driver_of(url: str, options: dict[str, str] | None = None) -> Any:
    return open_driver(parse_store_url(url, options))


def test_a_driver_that_cannot_be_used_is_told(installed: Callable[..., Path]) -> None:
    with refused("DT-6101") as found:
        connector(parse_store_url("foldr:///x"))
    assert "sqlite" in str(found[0])
    installed("broken-sink", "broken", "broken_sink:Store", "raise OSError('no disk')")
    installed("half-sink", "half", "half_sink:Store", "class Store:\n    def handle(self): ...")
    installed("other-sink", "half2", "half_sink:Nobody", "class Store: ...")
    installed("own-sqlite", "sqlite", "half_sink:Store", "class Store: ...")
    for scheme, word in (("broken", "no disk"), ("half2", "Nobody")):
        with refused("DT-6146") as found:
            connector(parse_store_url(f"{scheme}:///x"))
        assert word in found[0].sentence
    assert type(open_driver(parse_store_url("sqlite:///x.db"))).__name__ == "SqliteStore"


# -- programs --------------------------------------------------------------------------------------


class ProgramSite(Site):
    """The example's folder, by a URL."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.log = folder, MemoryLog(joins=False)

    def url(self) -> str:
        return f"process://{sys.executable}"

    @property
    def options(self) -> dict[str, str]:
        return {"args": f"-S '{EXAMPLES}/sink_driver.py' '{self.folder}'", "secret": "x"}

    def driver(self, **options: str) -> Any:
        raise AssertionError("a program is reached by its channel")

    def rows(self, made: Any) -> dict[Any, Any]:
        (path,) = self.folder.glob("*.json")
        return {r["k"]: r["v"] for r in json.loads(path.read_text())["rows"].values()}


def test_a_program_is_named_by_a_url(tmp_path: Path) -> None:
    """Delivers, goes on after a kill at any message, and forgets what it had."""
    changes = events(3, 9)
    expected = {k: r["v"] for (k,), r in oracle(summed(), changes).items()}
    numbers = itertools.count()
    for at in range(2, 60, 9):
        site = ProgramSite(tmp_path / f"a folder {next(numbers)}")
        connect = connector(parse_store_url(site.url(), site.options))
        source, left = ListSource(summed(), changes), [at]

        def killing(connect: Any = connect, left: list[int] = left) -> Any:
            channel = connect()
            assert isinstance(channel, ProcessChannel)
            known = channel.receive

            def receive() -> Any:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(channel.pid, signal.SIGKILL)
                return known()

            channel.receive = receive
            return channel

        dying = delivery(summed(), source, site.log, lambda: None, channel=lambda _, k=killing: k())
        failed = False
        try:
            list(dying.deliver())
        except DTError as e:
            if not is_transient(e):
                raise
            failed = True
        dying.close()
        again = delivery(summed(), source, site.log, lambda: None, channel=lambda _, c=connect: c())
        list(again.deliver())
        again.close()
        assert site.rows(summed()) == expected, at
        if not failed:
            break
    driver = open_driver(parse_store_url(site.url(), site.options))
    driver.forget(summed(), "s", empty=True)
    assert list(site.folder.glob("*.json")) == []


def test_options_and_secrets_are_in_the_programs_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_PASSWORD", "s3cret")
    program = tmp_path / "driver.py"
    program.write_text(
        "import json, os, sys\nsys.stdin.readline()\n"
        "told = [os.environ[n] for n in ('DT_SINK_REGION', 'DT_SINK_PASSWORD')] + sys.argv[1:]\n"
        "print(json.dumps({'error': {'message': ' '.join(told)}}))\n"
    )
    options = {
        "args": f"{program} 'a b' $HOME;ls", "region": "eu", "password": "secret://env/OWN_PASSWORD"
    }  # fmt: skip
    address = parse_store_url(f"process://{sys.executable}", options)
    with refused("DT-6112") as found:
        open_driver(address).forget(summed(), "s", empty=True)
    assert "eu s3cret a b $HOME;ls" in found[0].sentence, "no shell has read it"
    assert "s3cret" not in str(address)


@pytest.mark.parametrize("url", ["process://python3", "process:///no/such/program", "process://"])
def test_a_program_is_named_by_its_whole_path(url: str) -> None:
    with refused("DT-6101"):
        open_driver(parse_store_url(url))


def test_arguments_without_an_end_are_refused() -> None:
    with refused("DT-1003"):
        open_driver(parse_store_url(f"process://{sys.executable}", {"args": "'a"}))
