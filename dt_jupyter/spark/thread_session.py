"""Whose confs a thread of Java reads: those of its active session, which PySpark changes with every
DataFrame that is made of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def as_active(spark: SparkSession) -> Iterator[None]:
    """A classic session is the active one of this thread, for what Java does without a word of
    which it is for: its optimizer, Delta's readers."""
    session: Any = spark
    with java_session_active(session._jvm, session._jsparkSession):
        yield


@contextmanager
def java_session_active(jvm: Any, session: Any) -> Iterator[None]:
    """The same for Java's own session."""
    sessions = jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(session)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def bind_catalog(spark: SparkSession) -> None:
    """Delta's catalog of a classic session has the names of the session that is active in the
    thread that first asks for it: now, of the session itself."""
    session: Any = spark
    with as_active(spark):
        session._jsparkSession.sessionState().catalogManager().v2SessionCatalog()
