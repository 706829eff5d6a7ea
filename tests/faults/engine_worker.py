"""Another process on a lake: `python -m tests.faults.engine_worker LAKE NAME ROUNDS [TABLE]`.

Refreshes a dynamic table ROUNDS times, after an insert of its own into TABLE each time.
"""

from __future__ import annotations

import sys

from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError, RefreshRecord

RACED = {"DT-2104", "DT-2108", "DT-2109", "DT-5107"}


def rounds(engine: Engine, name: str, count: int, table: str | None, first: int) -> list[str]:
    """What each round came to: an action, or the code of a lost race."""
    told = []
    for i in range(count):
        if table is not None:
            engine.spark.sql(f"INSERT INTO {table} VALUES ({first + i}, 'w')")
        try:
            record = engine.refresh(name)
        except DTError as e:
            if e.code not in RACED:
                raise
            told.append(e.code)
            continue
        code = failure_code(record)
        assert code is None or code in RACED, record.error
        told.append(code or str(record.action))
    return told


def failure_code(record: RefreshRecord) -> str | None:
    """Its own, or that of what failed upstream."""
    upstream = record.upstream[-1:] if record.error_code == "DT-2110" else ()
    return failure_code(upstream[0]) if upstream else record.error_code


def main() -> None:
    lake, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    engine = Engine.connect(lake, scheduler=False, memory="1g")
    print("ready", flush=True)
    sys.stdin.readline()
    table = sys.argv[4] if len(sys.argv) > 4 else None
    print(" ".join(rounds(engine, name, count, table, 1000)), flush=True)
    engine.close()
    engine.spark.stop()


if __name__ == "__main__":
    main()
