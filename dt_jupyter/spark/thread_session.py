"""Whose confs a thread of Java reads: those of its active session, which PySpark changes with every
DataFrame that is made of rows, for this thread and, in its own words, for all of them."""

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
    with keep_active(spark) as sessions:
        sessions.setActiveSession(session._jsparkSession)
        yield


@contextmanager
def keep_active(spark: SparkSession) -> Iterator[Any]:
    """Java's class of classic sessions, whose active one, and PySpark's, is in the end what it was:
    pandas on Spark, and whoever asks for the active session, would else be given one of ours."""
    from pyspark.sql import SparkSession

    session: Any = spark
    sessions = getattr(session._jvm, "org.apache.spark.sql.classic.SparkSession")
    java, python = sessions.getActiveSession(), SparkSession._activeSession
    try:
        yield sessions
    finally:
        SparkSession._activeSession = python
        if java.isDefined():
            sessions.setActiveSession(java.get())
        else:
            sessions.clearActiveSession()
