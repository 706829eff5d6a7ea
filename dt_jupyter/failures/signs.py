"""Signs in a failure of what is outside of the statement: the disk, the memory, the JVM."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dt_jupyter.model import DTError, error, system_error

_CAUSES = 20
"""Causes of causes that are followed: an error may be its own."""
_LONGEST = 300
_FILES = r"(?:IOException|FSError|FileSystemException|FileNotFoundException|OSError|DeltaError)"


@dataclass(frozen=True)
class Sign:
    """A pattern in what a failure says, its causes' words included, and the code that it means;
    its first group is the problem."""

    pattern: str
    code: str


SIGNS = (
    Sign(
        rf"{_FILES}: ([^\n]*(?:No space left on device|Disk quota exceeded|File too large))",
        "DT-5121",
    ),
    Sign(rf"{_FILES}: ([^\n]*(?:Permission denied|Read-only file system))", "DT-5122"),
    Sign(r"(?:AccessDeniedException|AccessControlException): ([^\n]*)", "DT-5122"),
    Sign(rf"(?:SocketException|{_FILES}): ([^\n]*Too many open files)", "DT-5123"),
    Sign(r"OutOfMemoryError: ([^\n]*)", "DT-5125"),
    Sign(
        r"(Answer from Java side is empty|An error occurred while trying to connect to the Java "
        r"server|Cannot call methods on a stopped SparkContext|SparkContext (?:was shut down|has "
        r"been shutdown)|StatusCode\.UNAVAILABLE)",
        "DT-5124",
    ),
)
"""The classes of the exceptions are part of the patterns: a value of the user's may hold the
words."""


def environment_error(failure: BaseException) -> DTError | None:
    """DT-5121 to DT-5125 where the failure, or what caused it, has one of the signs."""
    for cause in causes(failure):
        if (found := system_error(cause)) is not None:
            return found
    if (why := session_gone()) is not None:
        return error("DT-5124", problem=why)
    told = everything(failure)
    for sign in SIGNS:
        if match := re.search(sign.pattern, told):
            problem = match[1].strip().rstrip(".")[:_LONGEST]
            return error(sign.code, problem=problem or sign.code)
    return None


def causes(failure: BaseException, *, handled: bool = False) -> Iterator[BaseException]:
    """The failure and what it came from, nearest first, each once; with `handled` also what was
    being handled when it came."""
    seen: set[int] = set()
    following: BaseException | None = failure
    while following is not None and id(following) not in seen and len(seen) < _CAUSES:
        seen.add(id(following))
        yield following
        context = following.__context__ if handled and not following.__suppress_context__ else None
        following = following.__cause__ or context


def everything(failure: BaseException) -> str:
    """A line for each cause with its class, those of the JVM too."""
    lines = []
    for cause in causes(failure):
        lines.append(f"{type(cause).__name__}: {text_of(cause)}")
        trace = getattr(cause, "_stackTrace", None) or getattr(cause, "_stacktrace", None)
        if isinstance(trace, str):
            lines.append(trace)
        java = getattr(cause, "java_exception", None)
        lines += [f"{kind}: {message}" for kind, message in java_causes(java)]
    return "\n".join(lines)


def java_causes(exception: Any) -> list[tuple[str, str]]:
    """The class and the message of an exception of the JVM and of its causes, outermost first; as
    far as a JVM is there to show it."""
    found: list[tuple[str, str]] = []
    try:
        while exception is not None and len(found) < _CAUSES:
            found.append((str(exception.getClass().getName()), str(exception.getMessage() or "")))
            exception = exception.getCause()
    except Exception:  # the JVM is gone: what was found so far is the result
        return found
    return found


def session_gone() -> str | None:
    """How the JVM, or the session, that this process started has ended; None where they
    are there, or never were. Spark Connect's server is not seen here."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    gateway = getattr(context, "_gateway", None)
    if gateway is None:
        return None
    process = getattr(gateway, "proc", None)
    if process is not None and process.poll() is not None:
        return f"its JVM ended with exit code {process.returncode}"
    if getattr(context, "_active_spark_context", None) is None:
        return "it was stopped"
    return None


def text_of(failure: BaseException) -> str:
    """Its `str`; "" where the JVM that words it is gone."""
    try:
        return str(failure)
    except Exception:  # py4j asks the JVM for the text, which may be gone
        return ""
