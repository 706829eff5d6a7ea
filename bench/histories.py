"""How long the check of a history takes, by its transactions.

    python -m bench.histories [--transactions N …]

Each transaction reads two of a hundred objects or a table derived from ten of them, and writes
one; every tenth is a refresh. `serial` ones run one after another, `skewed` ones eight at a time.
"""

from __future__ import annotations

import argparse
import random
from collections import deque

from bench.__main__ import timed
from dt_jupyter.histories import (
    BeginEvent,
    CommitEvent,
    DeriveEvent,
    HistoryEvent,
    HistoryReport,
    ReadEvent,
    Version,
    WriteEvent,
    check_history,
)


def make_history(transactions: int, at_once: int) -> list[HistoryEvent]:
    rng = random.Random(7)
    newest = {f"x{n}": Version(f"x{n}", "0") for n in range(100)}
    tables = {f"d{n}": Version(f"d{n}", "0") for n in range(10)}
    reads = {name: rng.sample([*newest], 10) for name in tables}
    events: list[HistoryEvent] = []
    running: deque[str] = deque()
    for number in range(transactions):
        me = str(number)
        events.append(BeginEvent(me))
        if number % 10 == 0:
            name = rng.choice([*tables])
            tables[name] = Version(name, me)
            events.append(DeriveEvent(me, tables[name], tuple(newest[s] for s in reads[name])))
        else:
            events += [ReadEvent(me, newest[s]) for s in rng.sample([*newest], 2)]
            events.append(ReadEvent(me, tables[rng.choice([*tables])]))
            name = rng.choice([*newest])
            newest[name] = Version(name, me)
            events.append(WriteEvent(me, newest[name]))
        running.append(me)
        if len(running) >= at_once:
            events.append(CommitEvent(running.popleft()))
    return [*events, *map(CommitEvent, running)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, nargs="*", default=[1_000, 10_000])
    for count in parser.parse_args().transactions:
        for name, at_once in (("serial", 1), ("skewed", 8)):
            events = make_history(count, at_once)
            found: list[HistoryReport] = []
            seconds = timed(lambda e=events, f=found: f.append(check_history(e)))
            kinds = ", ".join(sorted(found[0].kinds)) or "none"
            print(f"{count:>7,} {name:<7} {seconds:6.2f} s   {kinds}")


if __name__ == "__main__":
    main()
