"""Another process on a lake: `python -m tests.faults.stream_worker LAKE ROUNDS FIRST`.

Consumes the stream `s` into `total` ROUNDS times, after a row of its own into `events` each time.
"""

from __future__ import annotations

import sys

from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError

RACED = {"DT-3203", "DT-5107"}
CONSUME = "INSERT INTO total SELECT n FROM s WHERE `$ACTION` = 'INSERT'"


def consume(engine: Engine, count: int, first: int) -> list[str]:
    """What each round came to: `done`, or the code of a lost race."""
    told = []
    for i in range(count):
        engine.sql(f"INSERT INTO events VALUES ({first + i})")
        try:
            engine.sql(CONSUME)
        except DTError as e:
            if e.code not in RACED:
                raise
            told.append(e.code)
        else:
            told.append("done")
    return told


def main() -> None:
    engine = Engine.connect(sys.argv[1], scheduler=False, memory="1g")
    print("ready", flush=True)
    sys.stdin.readline()
    print(" ".join(consume(engine, int(sys.argv[2]), int(sys.argv[3]))), flush=True)
    engine.close()
    engine.spark.stop()


if __name__ == "__main__":
    main()
