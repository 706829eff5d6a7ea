"""Spark's analyser for a session of Spark Connect: a JVM on this machine reads texts as the server
does, by a session with the server's settings.

It is started when the first definition is read, once for each process, and has no data: tables are
empty views with the server's schemas.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dt_jupyter.ivm import Refusal, refuse
from dt_jupyter.model import DTError, FunctionKind, UserFunction
from dt_jupyter.spark.analyser_process import AnalyserProcess, start_process
from dt_jupyter.spark.compiled_java import compile_java
from dt_jupyter.spark.session_confs import FIXED_TEXT, read_confs
from dt_jupyter.spark.sessions import MEANING

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

_MOST_SESSIONS = 8
_AGAIN_SECONDS = 600.0
"""For which a JVM that did not start is not tried again."""
_SQL, _CATALOGS = "spark.sql.", ("spark.sql.catalog.", "spark.sql.defaultCatalog")
_KINDS = {FunctionKind.PYTHON: 100, FunctionKind.PANDAS: 200, FunctionKind.ARROW: 250}
"""PySpark's numbers of functions from columns to a column."""


@dataclass(frozen=True)
class LocalSession:
    """A session of the analyser's JVM, `java`, whose settings and functions never change: threads
    share it. Methods raise PySpark's exceptions of Spark Connect, and Refused where the JVM has
    ended."""

    analyser: LocalAnalyser
    java: Any
    settings: Mapping[str, str]

    @property
    def jvm(self) -> Any:
        return self.analyser.process.gateway.jvm

    def analyse(self, text: str) -> Any:
        """Java's analysed plan of a query."""
        return self.analyser.call("analyse", self.java, text)

    def rule(self, java_class: str) -> PlanRule:
        """One of this package's Java classes."""
        with self.analyser.running():
            return PlanRule(self, compile_java(self.jvm, java_class))

    def make_views(self, schemas: Mapping[str, Any]) -> None:
        """Temporary views without rows, by name, of schemas in Spark's JSON."""
        self.analyser.set_up("makeViews", self.java, json.dumps(schemas))

    def drop_views(self, names: Iterable[str]) -> None:
        self.analyser.call("dropViews", self.java, json.dumps([*names]))

    def with_functions(self, functions: Collection[UserFunction]) -> LocalSession:
        """One with the same settings that knows functions of Python, by name, type and whether
        they are deterministic."""
        return self.analyser.session(self.settings, functions)


@dataclass(frozen=True)
class PlanRule:
    """A compiled class whose `of` takes a plan."""

    session: LocalSession
    compiled: Any

    def of(self, plan: Any) -> Any:
        return self.session.analyser.call("apply", self.session.java, self.compiled, plan)


@dataclass(frozen=True, eq=False)
class LocalAnalyser:
    """The JVM and its sessions, by their settings and functions, the last used ones last."""

    process: AnalyserProcess
    _sessions: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, method: str, *arguments: Any) -> Any:
        """What one of `AnalyserCalls` returns; raises as `LocalSession`."""
        with self.running():
            found = getattr(self.process.calls, method)(*arguments)
        if isinstance(found, str):
            raise _exception(found)
        return found

    def set_up(self, method: str, *arguments: Any) -> Any:
        """A call that fails only where this Spark does not take what the server's has."""
        from pyspark.errors import PySparkException

        try:
            return self.call(method, *arguments)
        except PySparkException as e:
            first = next(iter(str(e).strip().splitlines()), type(e).__name__)
            raise refuse(Refusal.NO_ANALYSER, what=f"as the server is set up: {first}") from e

    @contextmanager
    def running(self) -> Iterator[None]:
        """Calls of Java; Refused where it has ended."""
        from py4j.protocol import Py4JError

        try:
            yield
        except (Py4JError, OSError) as e:
            if not self.process.has_ended():
                raise
            raise refuse(Refusal.NO_ANALYSER, what="its Java has ended") from e

    def session(
        self, settings: Mapping[str, str], functions: Collection[UserFunction] = ()
    ) -> LocalSession:
        """A session with these settings and functions."""
        confs = json.dumps(settings, sort_keys=True)
        declared = json.dumps([_declaration(f) for f in functions if f.kind in _KINDS])
        with self._lock:
            key = f"{confs} {declared}"
            found = self._sessions.pop(key, None)
            if found is None:
                found = self.set_up("makeSession", self.process.first, confs, declared)
            self._sessions[key] = found
            if len(self._sessions) > _MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        return LocalSession(self, found, settings)


def _declaration(function: UserFunction) -> Mapping[str, Any]:
    return {
        "name": function.name,
        "kind": _KINDS[function.kind],
        "returns": function.returns,
        "deterministic": function.immutable,
    }


@dataclass
class OneAnalyser:
    """The analyser of this process, started where there is none: `start` makes its JVM. A process
    that is forked has none of it."""

    start: Callable[[], AnalyserProcess] = start_process
    _made: LocalAnalyser | None = None
    _problem: str = ""
    _again: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self) -> LocalAnalyser:
        """Refused where there is no Java, or Spark does not start."""
        with self._lock:
            made = self._made
            if made is not None and made.process.owner == os.getpid():
                if not made.process.has_ended(0):
                    return made
                made.process.end()
            if time.monotonic() < self._again:
                raise refuse(Refusal.NO_ANALYSER, what=self._problem)
            self._made = self._started()
            return self._made

    def _started(self) -> LocalAnalyser:
        try:
            return LocalAnalyser(self.start())
        except DTError as e:
            self._problem = e.sentence.rstrip(".")
            if e.code != "DT-5104":  # which is seen at once
                self._again = time.monotonic() + _AGAIN_SECONDS
            raise refuse(Refusal.NO_ANALYSER, what=self._problem) from e


of_process = OneAnalyser()


def session_like(spark: SparkSession) -> LocalSession:
    """A session of the analyser that reads texts as a session of Spark Connect does now. Refused
    where there is none, or the server has another release of Spark."""
    analyser = of_process.get()
    here, there = str(analyser.process.first.version()), server_version(spark)
    if _release(here) != _release(there):
        problem = f"it is of Spark {here}, and the server of Spark {there}"
        raise refuse(Refusal.NO_ANALYSER, what=problem)
    return analyser.session(read_settings(spark))


def read_settings(spark: SparkSession) -> dict[str, str]:
    """The confs of SQL that are set in a session of Connect, and those of MEANING; but none of its
    catalogs, which have no part in plans over views. Variables are not put into texts again."""
    remote: Any = spark
    found = {**remote.conf.getAll, **read_confs(spark, MEANING), **FIXED_TEXT}
    return {k: v for k, v in found.items() if k.startswith(_SQL) and not k.startswith(_CATALOGS)}


_VERSIONS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def server_version(spark: SparkSession) -> str:
    """Spark's release, asked of the session once."""
    if spark not in _VERSIONS:
        _VERSIONS[spark] = spark.version
    return _VERSIONS[spark]


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def _exception(told: str) -> PySparkException:
    """The exception of PySpark for a failure that `AnalyserCalls` describes."""
    import pyspark.sql.connect.proto as proto
    from pyspark.errors.exceptions.connect import (
        EXCEPTION_CLASS_MAPPING,
        SQLQueryContext,
        UnknownException,
    )

    facts = json.loads(told)
    known = (EXCEPTION_CLASS_MAPPING.get(name) for name in facts["classes"])
    places = (proto.FetchErrorDetailsResponse.QueryContext(**place) for place in facts["places"])
    made: PySparkException = next(filter(None, known), UnknownException)(
        facts["message"],
        errorClass=facts["condition"],
        messageParameters=facts["parameters"],
        sql_state=facts["sql_state"],
    )
    made._contexts = [SQLQueryContext(place) for place in places]  # with them PySpark prints it
    return made
