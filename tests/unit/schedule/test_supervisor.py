"""A thread that looks again and again, begins once, and ends when it is told."""

from __future__ import annotations

import threading

from dt_jupyter.schedule import Supervisor
from dt_jupyter.schedule.thread import Worker, spawn_thread

SOON = 20.0


class Looks:
    """Counts them; each asks for the next one in an hour."""

    def __init__(self) -> None:
        self.begun = 0
        self.looked = threading.Semaphore(0)

    def __call__(self) -> float:
        self.looked.release()
        return 3600.0

    def spawn(self, work: object, name: str) -> Worker:
        self.begun += 1
        assert name == "dt-x"
        return spawn_thread(work, name)  # type: ignore[arg-type]


def test_it_begins_once_looks_when_nudged_and_ends() -> None:
    looks = Looks()
    made = Supervisor(looks, "dt-x", looks.spawn)
    assert made.stop(SOON) is None, "it did not run"
    made.start()
    made.start()
    assert looks.begun == 1
    for _ in range(3):
        assert looks.looked.acquire(timeout=SOON)
        made.nudge()
    left = made.stop(SOON)
    assert left is not None
    assert 0 < left <= SOON
    assert made.stopped
    assert made.stop(SOON) is None
    made.start()
    assert not made.stopped
    assert looks.looked.acquire(timeout=SOON)
    assert looks.begun == 2
    made.stop(SOON)


def test_what_hangs_is_not_waited_for_longer_than_it_is_told() -> None:
    release, looked = threading.Event(), threading.Event()

    def hangs() -> float:
        looked.set()
        release.wait(SOON)
        return 0.0

    made = Supervisor(hangs, "dt-x", spawn_thread)
    made.start()
    assert looked.wait(SOON)
    assert made.stop(0.0) == 0.0
    release.set()
