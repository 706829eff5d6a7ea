"""The functions of a lake, made in this process, and known to each session that runs a query."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dt_jupyter.catalog import Catalog, CatalogWarning
from dt_jupyter.functions.make import changed_packages, make_function, telling_arguments
from dt_jupyter.functions.sql_functions import definition_text
from dt_jupyter.model import (
    DTError,
    FunctionInfo,
    FunctionKind,
    FunctionUse,
    Reason,
    UserFunction,
)
from dt_jupyter.spark import WHOLE_ROWS, is_connect, remove_function
from dt_jupyter.sql import called_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, eq=False)
class Functions:
    """Threads share it; `spark` is the user's session. What another process registered is known
    from the next query on."""

    catalog: Catalog
    spark: SparkSession
    _made: dict[str, Callable[..., Any] | DTError] = field(default_factory=dict)
    _known: WeakKeyDictionary[Any, dict[str, str]] = field(default_factory=WeakKeyDictionary)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def all(self) -> Mapping[str, UserFunction]:
        """By name, as the catalog has them now."""
        return {f.name: f for f in self.catalog.functions()}

    def infos(self) -> tuple[FunctionInfo, ...]:
        users, found = self.catalog.function_users(), []
        for function in self.catalog.functions():
            made = self._found(function)
            problem = made.sentence if isinstance(made, DTError) else None
            found.append(FunctionInfo(function, tuple(users.get(function.name, ())), problem))
        return tuple(found)

    def install(self, session: SparkSession) -> None:
        """The session knows the functions of the lake as they are now, and none that is gone. One
        that cannot be made raises the reason when it is called.

        Those of SQL are in Spark's catalog for the user's session; each session keeps what it
        once found there, so that the others have temporary ones.
        """
        functions = self.all()
        with self._lock:
            known = self._known.setdefault(session, {})
            for name in known.keys() - functions.keys():
                remove_function(session, name, kept=session is self.spark)
                del known[name]
            waiting = [f for f in functions.values() if known.get(f.name) != f.digest]
            for _ in range(len(waiting)):  # one of SQL may call another, whatever their names
                waiting = [f for f in waiting if not self._installed(session, f)]

    def renew(self, session: SparkSession) -> frozenset[str]:
        """The functions of Python, by the names under which the session has them from now on: also
        where a program has registered another one under such a name."""
        names = frozenset(n for n, f in self.all().items() if f.kind is not FunctionKind.SQL)
        with self._lock:
            known = self._known.setdefault(session, {})
            for name in names:
                known.pop(name, None)
        self.install(session)
        return names

    def _installed(self, session: SparkSession, function: UserFunction) -> bool:
        """Whether the session knows it from now on."""
        from pyspark.errors import AnalysisException

        made = self._found(function)
        if made is None:
            try:
                session.sql(definition_text(function, temporary=session is not self.spark))
            except AnalysisException as e:
                _log.info("the function %s is not made yet: %s", function.name, e)
                return False
        else:
            register_in(session, function, _telling(made) if isinstance(made, DTError) else made)
        self._known[session][function.name] = function.digest
        return True

    def tell_changes(self) -> None:
        """Warns of functions whose packages have another version here, and of those that cannot be
        made; of one that is itself in such a package the definitions notice."""
        for function in self.catalog.functions():
            made = self._found(function)
            if isinstance(made, DTError):
                warnings.warn(f"{made.sentence} {made.hint}", CatalogWarning, stacklevel=3)
            for change in changed_packages(function):
                told = f"The function {function.name} was registered with others: {change}."
                warnings.warn(told, CatalogWarning, stacklevel=3)

    def _found(self, function: UserFunction) -> Callable[..., Any] | DTError | None:
        """None of one that Spark has itself."""
        if function.kind is FunctionKind.SQL:
            return None
        if function.digest not in self._made:
            try:
                self._made[function.digest] = make_function(function)
            except DTError as e:
                self._made[function.digest] = e
        return self._made[function.digest]


def called_by(catalog: Catalog, *texts: str) -> tuple[FunctionUse, ...]:
    """The user's functions that these texts call, by name, as they are now."""
    known = {f.name: f for f in catalog.functions()}
    found: dict[str, FunctionUse] = {}
    waiting = [n for text in texts for n in called_functions(text)] if known else []
    while waiting:
        function = known.get(waiting.pop())
        if function is not None and function.name not in found:
            found[function.name] = function.use
            if function.kind is FunctionKind.SQL:
                waiting += called_functions(function.source)
    return tuple(found[n] for n in sorted(found))


def functions_now(catalog: Catalog, used: tuple[FunctionUse, ...]) -> tuple[FunctionUse, ...]:
    """The same functions as they are now; without those that are gone."""
    if not used:
        return ()
    names = {f.name for f in used}
    return tuple(f.use for f in catalog.functions() if f.name in names)


def why_replaced(before: tuple[FunctionUse, ...], now: tuple[FunctionUse, ...]) -> Reason | None:
    """Why rows that were computed by these functions may be wrong now."""
    gone = {f.name for f in before} - {f.name for f in now}
    changed = sorted(f.name for f in before if f not in now and f.name not in gone)
    if gone:
        return Reason("FUNCTION_REPLACED", f"the function {min(gone)} is gone")
    if changed:
        return Reason("FUNCTION_REPLACED", f"the function {changed[0]} was replaced")
    return None


def register_in(session: SparkSession, function: UserFunction, made: Callable[..., Any]) -> None:
    """The function under its name in one session; executors are sent it by Spark's own means."""
    if is_connect(session):
        from pyspark.sql.connect import functions as spark_functions
    else:
        from pyspark.sql import functions as spark_functions  # type: ignore[no-redef]
    name = {
        FunctionKind.PYTHON: "udf",
        FunctionKind.PANDAS: "pandas_udf",
        FunctionKind.ARROW: "arrow_udf",
    }[function.kind]
    wrap = getattr(spark_functions, name)
    if function.kind is FunctionKind.PYTHON:
        made = telling_arguments(function, made)
    kind = () if function.kind is FunctionKind.PYTHON else (_SCALAR[function.kind],)
    with warnings.catch_warnings(action="ignore"):  # that type hints say the kind as well
        wrapped = wrap(made, function.returns, *kind)
    if not function.immutable:
        wrapped = wrapped.asNondeterministic()
    for conf, value in WHOLE_ROWS.items():
        session.conf.set(conf, value)
    session.udf.register(function.name, wrapped)


_log = logging.getLogger("dt_jupyter.functions")
_SCALAR = {FunctionKind.PANDAS: 200, FunctionKind.ARROW: 250}
"""PySpark's numbers of functions from columns to a column."""


def _telling(problem: DTError) -> Callable[..., Any]:
    """A function that cannot be called, and says so."""
    text = f"{problem.sentence} {problem.hint}"

    def tell(*arguments: object) -> Any:
        raise RuntimeError(text)

    return tell
