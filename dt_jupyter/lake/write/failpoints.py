"""Named points of commits, for tests that stop, race or kill it there.

In production nothing is hooked and `reach` returns at once. DT_JUPYTER_FAILPOINT=name:n makes
the process kill itself (SIGKILL) when it reaches the point for the n-th time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

POINTS = (
    "lock_taken",
    "before_write",
    "after_write",
    "after_readback",
    "before_fsync",
    "after_fsync",
)
FILE_POINTS = ("files_written",)
"""Between the two: Spark has written the files of a commit."""
INTENT_POINTS = ("intent_recorded", "intent_written")
"""Those of a statement that consumes a stream."""
TRANSACTIONS = (
    "tx_intent_recorded",
    "tx_statement_staged",
    "tx_prepared",
    "tx_target_published",
    "tx_streams_moved",
)
"""Those of a transaction of several statements."""
LIST_POINTS = ("files_copied", "files_listed")
"""Those of a list of files: what it is based on is there, its version is there."""
READS = ("awaits_publication", "waits_for_lease")
"""Those of a process that reads, or waits for what another one holds."""
SCHEMAS = ("schemas_checked", "schemas_renamed", "schemas_known", "label_moved")
"""Those of schemas that take other names."""
STATEMENT_POINTS = ("catalog_written", "folder_moved")
"""Those of a statement over several objects: what it did so far is there for good."""
FAILPOINT = "DT_JUPYTER_FAILPOINT"

_hooks: dict[str, Callable[[], None]] = {}
_passed: dict[str, int] = {}


def reach(name: str) -> None:
    """Say that the point was reached: runs its hook, or dies there if the environment says so."""
    hook = _hooks.get(name)
    if hook is not None:
        hook()
    wanted = os.environ.get(FAILPOINT)
    if wanted:
        _passed[name] = _passed.get(name, 0) + 1
        if wanted == f"{name}:{_passed[name]}":
            os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def hooked(name: str, hook: Callable[[], None]) -> Iterator[None]:
    """Run `hook` whenever the point is reached inside the block."""
    known = (
        *POINTS,
        *FILE_POINTS,
        *INTENT_POINTS,
        *TRANSACTIONS,
        *LIST_POINTS,
        *READS,
        *SCHEMAS,
        *STATEMENT_POINTS,
    )
    if name not in known:
        raise ValueError(f"no such point: {name}")
    _hooks[name] = hook
    try:
        yield
    finally:
        del _hooks[name]
