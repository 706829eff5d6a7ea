"""A replay in another process: `python -m tests.faults.replay_worker LAKE NAME`. Prints the digests
of the walk and a digest of all rows in their order; with KILLED dies instead, its replay open."""

from __future__ import annotations

import hashlib
import os
import signal
import sys

from dt_jupyter.engine import Engine
from tests.faults.attached import session


def ordered(engine: Engine, name: str) -> list[str]:
    """What the walk over a name's versions finds."""
    found = []
    with engine.replay(name, at=1, to=engine.context.clock.now()) as replay:
        for step in replay:
            rows = "".join(repr(r) for b in step.batches() for r in b.to_pylist())
            found.append(f"{step.digest}:{hashlib.sha256(rows.encode()).hexdigest()}")
    return found


def main() -> None:
    engine = Engine.connect(sys.argv[1], spark=session(), scheduler=False)
    if sys.argv[3:] == ["KILLED"]:
        replay = engine.replay(sys.argv[2], at=1)
        print(replay.hold, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    print("\n".join(ordered(engine, sys.argv[2])), flush=True)
    engine.close()


if __name__ == "__main__":
    main()
