"""What two writers of a table raise, told as one error whatever its form."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.spark.conflicts import conflict_error, find_conflict

APPEND = (
    "[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] Transaction conflict detected. a concurrent UPDATE "
    "added data to table spark_catalog.default.cf committed at version 2. Please retry."
)
PY4J = (
    "An error occurred while calling o1.sql.\n: io.delta.exceptions.{}: [{}] Transaction conflict "
    "detected.\n\tat org.apache.spark.sql.delta.ConflictChecker.check(ConflictChecker.scala:1)"
)


class ConcurrentAppendException(Exception):
    """As Delta's Python package has it."""


class Py4JJavaError(Exception):
    """As it comes past that."""


class CommitFailedError(Exception):
    """delta-rs."""


def test_who_won_is_told_with_its_version() -> None:
    made = conflict_error(ConcurrentAppendException(APPEND), "UPDATE")
    assert isinstance(made, DTError)
    assert made.code == "DT-1121"
    assert made.sqlstate == "40001"
    assert made.details == APPEND
    assert "UPDATE on spark_catalog.default.cf conflicts" in made.sentence
    assert "rows were added that it should have read in version 2" in made.sentence
    assert "Run it again" in made.hint


@pytest.mark.parametrize(
    ("java", "code", "kind"),
    [
        ("ConcurrentAppendException", "DELTA_CONCURRENT_APPEND", "CONCURRENT_APPEND"),
        ("ConcurrentDeleteReadException", "DELTA_CONCURRENT_DELETE_READ", "CONCURRENT_DELETE_READ"),
        ("ConcurrentDeleteDeleteException", "x", "CONCURRENT_DELETE_DELETE"),
        ("ConcurrentTransactionException", "x", "CONCURRENT_TRANSACTION"),
        ("ConcurrentWriteException", "DELTA_CONCURRENT_WRITE", "CONCURRENT_WRITE"),
        ("MetadataChangedException", "DELTA_METADATA_CHANGED", "METADATA_CHANGED"),
        ("ProtocolChangedException", "x", "PROTOCOL_CHANGED"),
    ],
)
def test_the_exceptions_of_the_jvm(java: str, code: str, kind: str) -> None:
    found = find_conflict(Py4JJavaError(PY4J.format(java, code)))
    assert found is not None
    assert (found.kind, found.table, found.version) == (kind, None, None)


def test_a_cause_counts_too() -> None:
    outer = RuntimeError("the statement failed")
    outer.__cause__ = Py4JJavaError(PY4J.format("MetadataChangedException", "x"))
    found = find_conflict(outer)
    assert found is not None
    assert found.kind == "METADATA_CHANGED"


def test_delta_rs_and_a_typed_one_without_a_text() -> None:
    lost = CommitFailedError("Transaction failed: Version 3 already exists")
    for e in (ConcurrentAppendException(""), lost):
        assert find_conflict(e) is not None


@pytest.mark.parametrize(
    "e",
    [
        ValueError("no"),
        Py4JJavaError("java.lang.OutOfMemoryError"),
        CommitFailedError("disk full"),
        Py4JJavaError("[DELTA_TABLE_NOT_FOUND] …"),
        Py4JJavaError(": java.util.ConcurrentModificationException at java.util.HashMap"),
        Py4JJavaError(": io.delta.exceptions.DeltaFileNotFoundException"),
        Exception("CONCURRENT_APPEND of a poem"),
    ],
)
def test_all_else_is_something_else(e: Exception) -> None:
    assert find_conflict(e) is None
    assert conflict_error(e, "UPDATE") is None


def test_causes_that_go_round_end() -> None:
    a, b = ValueError("a"), ValueError("b")
    a.__cause__, b.__cause__ = b, a
    assert find_conflict(a) is None
