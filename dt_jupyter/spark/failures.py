"""Why Spark did not start: the JVM's log becomes one sentence and its fix."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dt_jupyter.model import DTError

_JARS = "the JAR files of Delta Lake could not be fetched"


@dataclass(frozen=True)
class Cause:
    """A pattern in the log, what it means, and what to do about it."""

    pattern: str
    problem: str
    hint: str


CAUSES = (
    Cause(
        r"PKIX path building failed",
        f"{_JARS}: Java does not trust the certificate of the repository.",
        "Point Java at a trust store that has it: "
        "SPARK_SUBMIT_OPTS='-Djavax.net.ssl.trustStore=/path/to/cacerts'.",
    ),
    Cause(
        r"unresolved dependency|UNRESOLVED DEPENDENCIES|download failed",
        f"{_JARS}.",
        "The first start needs a Maven repository: check the network, or name a mirror in "
        "spark.jars.repositories or spark.jars.ivySettings. Later starts use the copy.",
    ),
    Cause(
        r"jdk\.incubator\.vector not found",
        "this Java lacks the module jdk.incubator.vector.",
        "Set JAVA_HOME to a complete JDK, version 17 or newer.",
    ),
    Cause(
        r"UnsupportedClassVersionError",
        "this Java is too old.",
        "Set JAVA_HOME to a JDK, version 17 or newer.",
    ),
    Cause(
        r"Invalid maximum heap size|Could not reserve enough space|Too small maximum heap"
        r"|must be at least \d+|Cannot allocate memory",
        "the memory asked for is not usable.",
        "Ask for another amount, as in memory='2g'.",
    ),
    Cause(
        r"No space left on device",
        "the disk is full.",
        "Free some space, or point TMPDIR and SPARK_LOCAL_DIRS elsewhere.",
    ),
)
_OTHERWISE = "The last lines of Spark's log are in the error's details."
_TAIL = 60


def explain_start(failure: Exception, log: str) -> DTError:
    """DT-5105 for a start that raised `failure` and left `log`; the log's end as details."""
    if isinstance(failure, DTError):
        return failure
    text = f"{log}\n{failure}"
    details = "\n".join(text.splitlines()[-_TAIL:])
    for cause in CAUSES:
        if re.search(cause.pattern, text):
            return DTError(
                "DT-5105", {"problem": cause.problem, "hint": cause.hint}, details=details
            )
    return DTError("DT-5105", {"problem": _sentence(text), "hint": _OTHERWISE}, details=details)


def _sentence(text: str) -> str:
    """The line that names the error, else the last line that says anything."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"(Exception|Error)\b.*: ", line)]
    return (named or lines or ["no reason was given."])[0 if named else -1][:300]
