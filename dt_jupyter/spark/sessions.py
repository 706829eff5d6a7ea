"""Private sessions for refreshes: what one refresh sets, no other refresh and no user sees."""

from __future__ import annotations

import json
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from pyspark.errors import PySparkException

from dt_jupyter.model import error
from dt_jupyter.spark.compiled_java import session_calls
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.pools import in_pool
from dt_jupyter.spark.session_confs import FIXED_TEXT, HELD, WHOLE_ROWS, read_confs
from dt_jupyter.spark.thread_session import bind_catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DROPS_QUOTES = "spark.sql.legacy.consecutiveStringLiterals.enabled"
"""Spark 4.0 does so, and does not know the conf."""
KEEPS_BACKSLASHES = "spark.sql.parser.escapedStringLiterals"

MEANING: tuple[str, ...] = (
    "spark.sql.ansi.enabled",
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.ansi.enforceReservedKeywords",
    "spark.sql.caseSensitive",
    "spark.sql.crossJoin.enabled",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.groupByAliases",
    "spark.sql.groupByOrdinal",
    DROPS_QUOTES,
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orderByOrdinal",
    KEEPS_BACKSLASHES,
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.session.timeZone",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.timestampType",
)
"""Session confs that change what a query means: stored with a definition, set for its refreshes."""

REFRESH_CONFS: Mapping[str, str] = {
    # Re-planning between stages costs more than a small refresh does.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # A file that is gone is an error, and no rows less, whatever the cluster's conf says.
    **WHOLE_ROWS,
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    **HELD,
    **FIXED_TEXT,
}


_CLOSED = "INVALID_HANDLE.SESSION_"


def meaning(spark: SparkSession) -> dict[str, str]:
    """The confs `MEANING` of `spark` as they are now, those at their default included."""
    found = {DROPS_QUOTES: "true", **read_confs(spark, MEANING)}
    return {key: found[key] for key in MEANING}


class RefreshSessions:
    """A bounded number of sessions for each warehouse, lent one refresh at a time.

    A lent session has the confs of the cluster, then `REFRESH_CONFS`, then the lease's settings:
    whatever an earlier lease set, and its temporary views, are gone. Views and tables of the
    catalog are shared; temporary views and functions of the user's session are not.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        slots: int = 2,
        confs: Mapping[str, str] = REFRESH_CONFS,
        prepare: Callable[[SparkSession], None] = lambda session: None,
    ) -> None:
        """`slots` sessions for each warehouse at most; `confs` are set for every lease, and
        `prepare` is called with its session."""
        if slots < 1:
            raise ValueError(f"not a number of slots: {slots}")
        self._spark = spark
        self._slots = slots
        self._confs = dict(confs)
        self._prepare = prepare
        self._idle: dict[str, list[SparkSession]] = defaultdict(list)
        self._made: dict[str, int] = defaultdict(int)
        self._limits: dict[str, int] = {}
        self._changed = threading.Condition()
        self._closed = False

    def limit(self, warehouse: str, slots: int) -> None:
        """At most `slots` sessions for this warehouse from now on; none that is lent is taken."""
        if slots < 1:
            raise ValueError(f"not a number of slots: {slots}")
        with self._changed:
            self._limits[warehouse] = slots
            self._changed.notify_all()

    def warm(self, warehouse: str) -> None:
        """Have a session ready whose planner and Delta classes are loaded; starts no Spark job."""
        with self.lease(warehouse) as spark:
            spark.sql("SELECT 1 AS one").schema  # noqa: B018  (analysis is the point)
            spark.sql("SHOW NAMESPACES")

    @contextmanager
    def lease(
        self, warehouse: str, settings: Mapping[str, str] | None = None
    ) -> Iterator[SparkSession]:
        """A session of `warehouse`, alone in it, with `settings` (full conf names) on top.

        Waits while all sessions of the warehouse are lent. The jobs of this thread run in the
        FAIR pool of the warehouse until the end. After `close`: DT-5108.
        """
        session = self._take(warehouse)
        try:
            session = self._reset(session, {**self._confs, **(settings or {})})
            self._prepare(session)
            with in_pool(session, warehouse):
                yield session
        finally:
            self._give_back(warehouse, session)

    def close(self) -> None:
        """Lend no more; sessions that are lent end with their lease."""
        with self._changed:
            self._closed = True
            self._idle.clear()
            self._changed.notify_all()

    @property
    def made(self) -> int:
        """How many sessions there are, lent and idle."""
        with self._changed:
            return sum(self._made.values())

    def _take(self, warehouse: str) -> SparkSession:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._available(warehouse))
            if self._closed:
                raise error("DT-5108", path=warehouse)
            if idle := self._idle[warehouse]:
                return idle.pop()
            self._made[warehouse] += 1
        try:
            return private_session(self._spark)
        except BaseException:
            self._drop(warehouse)
            raise

    def _reset(self, session: SparkSession, confs: Mapping[str, str]) -> SparkSession:
        """The session, or another one in its place."""
        try:
            reset_session(session, confs)
        except PySparkException as e:
            if not is_session_closed(session, e):
                raise
            session = private_session(self._spark)
            reset_session(session, confs)
        return session

    def _available(self, warehouse: str) -> bool:
        limit = self._limits.get(warehouse, self._slots)
        return bool(self._idle[warehouse]) or self._made[warehouse] < limit

    def _give_back(self, warehouse: str, session: SparkSession) -> None:
        with self._changed:
            surplus = self._made[warehouse] > self._limits.get(warehouse, self._slots)
            if not (self._closed or surplus):
                self._idle[warehouse].append(session)
                self._changed.notify_all()
                return
        self._drop(warehouse)

    def _drop(self, warehouse: str) -> None:
        with self._changed:
            self._made[warehouse] -= 1
            self._changed.notify_all()


def is_session_closed(session: SparkSession, failure: PySparkException) -> bool:
    """Whether a server of Connect has closed the session, as it does with what is idle for an
    hour."""
    return is_connect(session) and _CLOSED in str(failure)


def private_session(spark: Any) -> SparkSession:
    """Another session than `spark`: same catalog, own confs and temporary views."""
    if not is_connect(spark):
        made: SparkSession = spark.newSession()
        bind_catalog(made)
        return made
    clone = spark.cloneSession()
    # Left to `__del__` of a process that ends, its channel waits for a thread that never runs.
    weakref.finalize(clone, clone.client.close)
    return cast("SparkSession", clone)


def reset_session(session: SparkSession, confs: Mapping[str, str]) -> None:
    """Back to the cluster's confs and no temporary views, then `confs`."""
    if not is_connect(session):
        _reset_classic(session, confs)
        return
    session.sql("RESET")
    for table in session.catalog.listTables():
        if table.isTemporary:
            session.catalog.dropTempView(table.name)
    for key, value in confs.items():
        session.conf.set(key, value)


_CLUSTER: weakref.WeakKeyDictionary[SparkSession, Any] = weakref.WeakKeyDictionary()
"""The confs of classic sessions after their first RESET, as Java's properties."""


_BUILT_IN: weakref.WeakKeyDictionary[SparkSession, list[Any]] = weakref.WeakKeyDictionary()
"""The functions of classic sessions at their first reset, as Java's lists, in the order of their
registries."""


def _reset_classic(session: SparkSession, confs: Mapping[str, str]) -> None:
    known: Any = session
    state = known._jsparkSession.sessionState()
    if session not in _CLUSTER:
        session.sql("RESET")
        cluster = known._jvm.java.util.Properties()
        cluster.putAll(state.conf().settings())
        _CLUSTER[session] = cluster
        registries = (state.functionRegistry(), state.tableFunctionRegistry())
        _BUILT_IN[session] = [registry.listFunction() for registry in registries]
    session_calls(known).reset(state, _CLUSTER[session], json.dumps(confs), *_BUILT_IN[session])
