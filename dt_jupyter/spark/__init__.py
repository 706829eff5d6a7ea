"""Spark: a session that knows Delta, private sessions for refreshes, pools, cancellable jobs.

Runs on classic Spark and on Spark Connect. Nothing here is imported, and no JVM is started,
before a session is asked for.
"""

from dt_jupyter.spark.java import Java, find_java
from dt_jupyter.spark.jobs import (
    CancelFlag,
    Cancelled,
    cancel,
    check_cancelled,
    count_jobs,
    job_group,
    run_cancellable,
)
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.pools import Pool, declare_pool, in_pool
from dt_jupyter.spark.session import active_session, local_session, require_delta
from dt_jupyter.spark.sessions import MEANING, REFRESH_CONFS, RefreshSessions, meaning

__all__ = [
    "MEANING", "REFRESH_CONFS", "CancelFlag", "Cancelled", "Java", "Pool", "RefreshSessions",
    "active_session", "cancel", "check_cancelled", "count_jobs", "declare_pool", "find_java",
    "in_pool", "is_connect", "job_group", "local_session", "meaning", "require_delta",
    "run_cancellable",
]  # fmt: skip
