"""The classes of this package that are Java, compiled where they are needed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=16)
def compile_java(jvm: Any, name: str) -> Any:
    """An object of the class in `name.java`, by Janino, which Spark compiles its queries with:
    some 30 ms, once for each JVM."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    # That of the thread knows the JARs which the session was given, as Delta's, and Spark's.
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(java_source(name))
    return compiler.getClassLoader().loadClass(name).newInstance()


def java_source(name: str) -> str:
    """The text of the class in `name.java`."""
    return Path(__file__).with_name(f"{name}.java").read_text("utf-8")


def session_calls(session: Any) -> Any:
    """`SessionCalls` for a classic session."""
    return compile_java(session._jvm, "SessionCalls")


__all__ = ["compile_java", "java_source", "session_calls"]
