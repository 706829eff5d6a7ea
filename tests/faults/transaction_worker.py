"""Another process on a lake: `python -m tests.faults.transaction_worker LAKE`.

Runs TRANSACTION once, after a line of standard input; in the tests' own JVM where it is told one.
"""

from __future__ import annotations

import os
import sys

from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError
from tests.faults.attached import PORT, session

RACED = {"DT-2122", "DT-3203", "DT-3208"}
TRANSACTION = (
    "BEGIN; "
    "UPDATE added SET n = n + (SELECT coalesce(sum(n), 0) FROM orders_s); "
    "INSERT INTO listed SELECT n FROM payments_s; "
    "COMMIT"
)
"""Two streams into two tables, one of which adds up: twice is not once."""


def run(engine: Engine) -> str:
    """What the transaction came to: `done`, or the code of a lost race, rolled back."""
    try:
        engine.sql(TRANSACTION)
    except DTError as e:
        if e.code not in RACED:
            raise
        if engine.context.transactions.current is not None:
            engine.sql("ROLLBACK")
        return e.code
    return "done"


def main() -> None:
    attached = PORT in os.environ
    engine = Engine.connect(
        sys.argv[1], scheduler=False, memory="1g", spark=session() if attached else None
    )
    print("ready", flush=True)
    sys.stdin.readline()
    print(run(engine), flush=True)
    engine.close()
    if not attached:
        engine.spark.stop()


if __name__ == "__main__":
    main()
