"""A start that failed: a few words and the fix, the log one click away."""

from __future__ import annotations

import pytest

from dt_jupyter.model import error
from dt_jupyter.spark.failures import explain_start
from dt_jupyter.spark.pools import Pool, allocation_xml

GONE = RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            ":: UNRESOLVED DEPENDENCIES ::\nunresolved dependency: io.delta#x",
            "could not be fetched",
        ),
        ("PKIX path building failed\nunresolved dependency: io.delta#x", "does not trust"),
        ("FindException: Module jdk.incubator.vector not found", "lacks the module"),
        ("UnsupportedClassVersionError: class file version 61", "too old"),
        ("Invalid maximum heap size: -Xmx9999t", "memory"),
        ("java.io.IOException: No space left on device", "disk is full"),
    ],
)
def test_known_causes(log: str, words: str) -> None:
    found = explain_start(GONE, f"first line\n{log}\n")
    assert found.code == "DT-5105"
    assert words in found.sentence
    assert found.hint
    assert log.splitlines()[0] in (found.details or "")
    assert "first line" not in str(found)


def test_an_unknown_cause_names_the_error_line() -> None:
    log = "noise\njava.lang.IllegalStateException: the moon is full\n\tat a.b(C.java:1)\n"
    found = explain_start(GONE, log)
    assert "the moon is full" in found.sentence
    assert "at a.b" not in str(found)
    assert "at a.b" in (found.details or "")


def test_an_empty_log_still_says_something() -> None:
    assert "JAVA_GATEWAY_EXITED" in explain_start(GONE, "").sentence


def test_an_error_of_the_catalogue_stays_as_it_is() -> None:
    ours = error("DT-5104")
    assert explain_start(ours, "anything") is ours


def test_allocation_file_escapes_names() -> None:
    text = allocation_xml([Pool('a"<b', 2)])
    assert "<pool name='a\"&lt;b'>" in text
    assert "<weight>2</weight>" in text


@pytest.mark.parametrize(("name", "weight"), [("", 1), ("w", 0)])
def test_a_pool_that_breaks_a_rule_cannot_be_built(name: str, weight: int) -> None:
    with pytest.raises(ValueError, match="not a pool"):
        Pool(name, weight)
