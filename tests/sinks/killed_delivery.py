"""A process that delivers with the recovery log in a catalog, and kills itself.

    python -m tests.sinks.killed_delivery FOLDER EVENT [URL]

Without a URL it delivers to SQLite, in the folder. EVENT counts what the
runtime sends and receives, its commits, and what the driver does.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import Clock
from dt_jupyter.sinks import CatalogLog, DirectChannel, open_driver, parse_store_url
from tests.unit.sinks.lab import (
    Countdown,
    CrashingChannel,
    CrashingDriver,
    CrashingLog,
    ListSource,
    delivery,
    events,
    summed,
)


class Kill(Countdown):
    """Ends the process where the others raise: nothing of it runs on."""

    def tick(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def run(folder: Path, at: int, url: str = "") -> int:
    """Delivers everything; the number of events."""
    kill = Kill(at)
    path = folder / "_dt" / "catalog.sqlite"
    catalog = Catalog(path, Clock(), Owner("host", os.getpid(), str(os.getpid()), "1"))
    address = parse_store_url(url or f"sqlite://{folder}/store.db")
    binding = summed(delta=url.startswith("kafka"))
    made = delivery(
        binding,
        ListSource(binding, events(3, 9)),
        CrashingLog(CatalogLog(catalog), kill),
        lambda: CrashingDriver(open_driver(address), kill),
        channel=lambda d: CrashingChannel(DirectChannel(d), kill),
    )
    with catalog, made as each:
        list(each.deliver())
    return kill.seen


if __name__ == "__main__":
    print(run(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
