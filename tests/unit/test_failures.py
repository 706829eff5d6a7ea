"""Nothing but an error of the catalogue leaves what a user calls."""

from __future__ import annotations

import dataclasses
import errno
import functools
import inspect
import threading
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ArithmeticException, PythonException

from dt_jupyter import engine as package
from dt_jupyter.engine import Engine
from dt_jupyter.engine.consume import OpenTransaction
from dt_jupyter.engine.evaluate import Point
from dt_jupyter.engine.scheduling import EnginePort
from dt_jupyter.failures import FromUser, catalogued, coded, within
from dt_jupyter.failures.arguments import Arguments, kinds_of, shown
from dt_jupyter.failures.boundary import GUARDED
from dt_jupyter.failures.refresh_failures import as_error
from dt_jupyter.ivm import Refusal, Refused
from dt_jupyter.lake import LakeError, TableGone, TableLocked
from dt_jupyter.model import DTError, Name, error, zone_of
from dt_jupyter.notebook.magics import DynamicTableMagics
from dt_jupyter.replay.replay import Replay, Step
from dt_jupyter.reports.events import Events
from dt_jupyter.spark import Cancelled

GUARDED_CLASSES = (Engine, Events, OpenTransaction, Replay, Step, DynamicTableMagics)
DAILY = Name("default", "daily")


# -- the one place, and that nothing goes around it ------------------------------------------------


def public(kind: type) -> Iterator[tuple[str, Any]]:
    """The methods and properties that a class itself defines for its users, as functions."""
    for name, member in vars(kind).items():
        if name.startswith("_") and name not in ("__enter__", "__exit__", "__getitem__"):
            continue
        match member:
            case types.FunctionType():
                yield name, member
            case classmethod() | staticmethod():
                yield name, member.__func__
            case property():
                yield name, member.fget
            case functools.cached_property():
                yield name, member.func


@pytest.mark.parametrize("kind", GUARDED_CLASSES)
def test_every_public_method_is_guarded(kind: type) -> None:
    found = dict(public(kind))
    assert found
    assert [name for name, function in found.items() if not hasattr(function, GUARDED)] == []


def returned(kind: type) -> set[type]:
    """The classes of ours that the public methods and attributes of a class give back."""
    found: set[type] = set()
    for _, function in public(kind):
        names = inspect.unwrap(function).__globals__
        text = str(inspect.signature(function).return_annotation)
        words = set("".join(c if c.isidentifier() or c == "." else " " for c in text).split())
        found |= {names[w] for w in words if isinstance(names.get(w), type)}
    return {k for k in found if k.__module__.startswith("dt_jupyter.")}


def test_what_the_engine_gives_back_is_guarded_or_a_value() -> None:
    """A value is a frozen dataclass, an exception or an enum: it does nothing when it is asked."""
    seen: set[type] = set()
    pending: set[type] = {Engine}
    while pending:
        kind = pending.pop()
        seen.add(kind)
        pending |= returned(kind) - seen
    working = {k for k in seen if not _is_value(k)}
    assert working <= {*GUARDED_CLASSES, Events}, working
    assert {Replay, Step, OpenTransaction} <= seen


def _is_value(kind: type) -> bool:
    frozen = dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return kind not in GUARDED_CLASSES and (frozen or issubclass(kind, str | int | Exception))


# -- arguments -------------------------------------------------------------------------------------

WRONG: tuple[Any, ...] = (
    None, True, 3, -1, 2.5, float("nan"), 10**5000, "daily", "", b"", b"\xff", object(), [], ["t"],
    {}, {1: 2}, (), set(), datetime, datetime(2026, 1, 1), timedelta(1), Path("x"), Exception("x"),
    lambda: None, DAILY, type, NotImplemented, ..., 3j, range(3), memoryview(b"x"),
)  # fmt: skip


class Evil:
    """Nothing can be asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __bool__ = __eq__ = __hash__ = __len__ = __iter__ = __repr__  # type: ignore[assignment]


def cases() -> Iterator[tuple[str, Callable[..., Any], str, Any]]:
    for kind in (Engine, Events, OpenTransaction, Replay, Step):
        for name, function in public(kind):
            signature = inspect.signature(function)
            known = Arguments("x", inspect.unwrap(function))
            known._known()
            for parameter in list(signature.parameters.values())[1:]:
                for value in (*WRONG, Evil()):
                    kinds = (known._kinds or {}).get(parameter.name, ())
                    if kinds and not any(k.accepts(value) for k in kinds):
                        yield f"{kind.__name__}.{name}", function, parameter.name, value


def test_each_argument_of_a_wrong_type_is_named() -> None:
    count = 0
    for call, function, parameter, value in cases():
        count += 1
        signature = inspect.signature(function)
        given = {
            p.name: _fitting(p.name)
            for p in list(signature.parameters.values())[1:]
            if p.default is p.empty or p.name == parameter
        }
        with pytest.raises(DTError) as e:
            function(object(), **{**given, parameter: value})
        assert e.value.code in ("DT-1031", "DT-1032"), (call, parameter, str(e.value))
        if e.value.code == "DT-1031" and e.value.facts["parameter"] == parameter:
            assert "must be" in str(e.value)
    assert count > 1000


def _fitting(name: str) -> Any:
    """Something that `name` takes, if it is one of those before the wrong one."""
    known: dict[str, Any] = {"name": "daily", "stream": "s", "fn": print, "script": "SELECT 1"}
    return known.get(name)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda dt: dt.refresh(None), "name of dt.refresh must be a string or a Name, not None."),
        (lambda dt: dt.sql(b""), "script of dt.sql must be a string, not b'' (bytes)."),
        (lambda dt: dt.changes("t", at=object()), "at of dt.changes must be "),
        (lambda dt: dt.refresh(), "missing a required argument: 'name'"),
        (lambda dt: dt.lag("t", colour="red"), "unexpected keyword argument 'colour'"),
        (lambda dt: dt.sql("SELECT 1", {1: 2}), "must be a dict with strings as keys or None, not"),
        (lambda dt: dt.consume("s", "fn"), "fn of dt.consume must be a function, not 'fn' (str)."),
        (lambda dt: dt.vacuum("t", dry_run="yes"), "must be True or False, not"),
        (lambda dt: dt.records(limit=10**30), "limit = of type int is not valid"),
        (lambda dt: dt.pin("p", "t", days=float("nan")), "days = nan (float) is not valid"),
    ],
)
def test_what_is_said_of_a_wrong_argument(call: Callable[[Any], Any], told: str) -> None:
    with pytest.raises(DTError) as e:
        call(object.__new__(Engine))
    assert told in str(e.value)


def test_annotations_are_read_as_they_are_meant() -> None:
    accepted = kinds_of(Point | None)
    assert all(any(k.accepts(v) for k in accepted) for v in (None, "now", 3, timedelta(1)))
    assert not any(k.accepts(True) for k in accepted)
    assert kinds_of(float)[0].accepts(3)
    assert kinds_of(typing.Literal[True])[0].accepts(True)
    assert not kinds_of(typing.Literal[True])[0].accepts(1)
    assert kinds_of(Mapping[str, Any])[0].accepts({"a": 1})
    assert kinds_of(Callable[[int], int])[0].accepts(len)
    assert kinds_of(Any)[0].accepts(object())


def test_a_number_out_of_bounds() -> None:
    within("n", None, 1, 2)
    within("n", 2, 1, 2)
    for value in (0, 3, -1, 1e300):
        with pytest.raises(DTError, match=r"it must be from 1 to 2,000|DT-1003"):
            within("n", value, 1, 2)


def test_the_zones_of_a_session() -> None:
    for text, hours in {
        "UTC": 0,
        "Z": 0,
        "+02:00": 2,
        "GMT+2": 2,
        "UTC-0330": -3.5,
        "-08:00": -8,
        "+1": 1,
        "Asia/Tokyo": 9,
    }.items():
        away = datetime(2026, 1, 1, tzinfo=zone_of(text)).utcoffset()
        assert away == timedelta(hours=hours), text
    for text in ("Nowhere/Land", "", "../etc", "+99:00"):
        with pytest.raises(ValueError, match="no time zone"):
            zone_of(text)


def test_numbers_of_numpy_are_python_s() -> None:
    import numpy

    def f(version: int, seconds: float = 0.0) -> None: ...

    found = Arguments("f", f).bound((numpy.int64(3), numpy.float32(0.5)), {}).arguments
    assert [type(v) for v in found.values()] == [int, float]


def test_a_value_is_shown_whatever_its_repr_does() -> None:
    assert shown(Evil()) == "of type Evil"
    assert shown(10**5000) == "of type int"
    assert len(shown("x" * 10**6)) < 60


# -- what failed, in words -------------------------------------------------------------------------


class Java:
    """An exception of the JVM, as py4j shows it."""

    def __init__(self, kind: str, message: str, cause: Java | None = None) -> None:
        self._kind, self._message, self._cause = kind, message, cause

    def getClass(self) -> Any:
        return types.SimpleNamespace(getName=lambda: self._kind)

    def getMessage(self) -> str:
        return self._message

    def getCause(self) -> Java | None:
        return self._cause


FROM_WORKER = (
    "\n  An exception was thrown from the Python worker. Please see the stack trace below.\n"
)
TRACE = (
    'Traceback (most recent call last):\n  File "/x/worker.py", line 1, in process\n'
    "    serializer.dump_stream(rows)\n    ^^^^^^^^^^\n"
)


class FromJava(Exception):
    def __init__(self, *told: tuple[str, str]) -> None:
        super().__init__("An error occurred while calling o1.sql.")
        self.java_exception: Java | None = None
        for kind, message in reversed(told):
            self.java_exception = Java(kind, message, self.java_exception)


class Dead:
    """An exception of a JVM that is gone."""

    def __getattr__(self, name: str) -> Any:
        raise ConnectionRefusedError(111, "Connection refused")


SPARK = "org.apache.spark.SparkException"
WORDS = [
    (OSError(errno.ENOSPC, "No space left on device", "/lake/x"), "DT-5121", "/lake/x"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), "DT-5121", "quota"),
    (PermissionError(errno.EACCES, "Permission denied", "/lake"), "DT-5122", "/lake"),
    (OSError(errno.EROFS, "Read-only file system"), "DT-5122", "Read-only"),
    (OSError(errno.EMFILE, "Too many open files"), "DT-5123", "ulimit"),
    (FromJava((SPARK, "[TASK_WRITE_FAILED] Task failed while writing rows to x."),
              ("java.io.IOException", "No space left on device")), "DT-5121", "No space"),
    (FromJava((SPARK, "Job aborted due to stage failure: Task 0 in stage 1.0 failed: "
               "java.io.FileNotFoundException: /lake/a.parquet (Permission denied)")),
     "DT-5122", "/lake/a.parquet"),
    (FromJava(("java.nio.file.AccessDeniedException", "/lake/_delta_log")), "DT-5122", "_delta"),
    (FromJava(("java.io.FileNotFoundException", "/x (Too many open files)")), "DT-5123", "/x"),
    (FromJava(("java.lang.OutOfMemoryError", "Java heap space")), "DT-5125", "heap"),
    (FromJava(("java.lang.IllegalStateException", "Cannot call methods on a stopped SparkContext"
               ".\nThis stopped SparkContext was created at:")), "DT-5124", "stopped"),
    (Exception("io.delta.exceptions.ConcurrentAppendException: [DELTA_CONCURRENT_APPEND] x"),
     "DT-1121", "conflicts with a concurrent write"),
    (FromJava((SPARK, "[TASK_WRITE_FAILED] Task failed."),
              ("org.apache.spark.SparkArithmeticException", "[DIVIDE_BY_ZERO] Division by zero. "
               "SQLSTATE: 22012")), "DT-1033", "[DIVIDE_BY_ZERO] Division by zero. Use try_div"),
    (FromJava(("java.lang.NullPointerException", "boom")), "DT-5111", "report it"),
    (FromJava(("java.lang.RuntimeException", "x"), ("java.net.ConnectException", "refused")),
     "DT-5128", "ConnectException: refused"),
    (FromJava(("org.apache.hadoop.fs.UnsupportedFileSystemException", 'No FileSystem for "foo"')),
     "DT-5128", 'UnsupportedFileSystemException: No FileSystem for "foo"'),
    (FromJava((SPARK, "[INTERNAL_ERROR] No plan for x.")), "DT-5111", "report it"),
    (AnalysisException("[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION] No x. SQLSTATE: 1"), "DT-1112", "x"),
    (AnalysisException("[PARSE_SYNTAX_ERROR] Syntax error at 'x'."), "DT-1001", "Syntax"),
    (ArithmeticException("[DIVIDE_BY_ZERO] Division by zero."), "DT-1033", "NULLIF"),
    (PythonException(f"{FROM_WORKER}{TRACE}ValueError: first\n\nDuring handling of the above"
                     f" exception, another exception occurred:\n\n{TRACE}TypeError: no float\n"),
     "DT-1033", "failed: TypeError: no float."),
    (PythonException(f"{FROM_WORKER}{TRACE}pyarrow.lib.ArrowInvalid: Could not convert 'x'\n"),
     "DT-1033", "failed: pyarrow.lib.ArrowInvalid: Could not convert 'x'."),
    (TableLocked("held", path="/t", seconds=3), "DT-5107", "another writer"),
    (TableGone("There is no table at /t.", path="/t"), "DT-5128", "There is no table at /t. Cr"),
    (LakeError("It is broken."), "DT-5128", "[LAKE_ERROR] It is broken."),
    (Cancelled("statement:1"), "DT-5127", "dt.x was cancelled"),
    (Refused(Refusal.REQUESTED, ()), "DT-1107", "was requested"),
    (ZeroDivisionError("by zero"), "DT-5111", "dt.x failed unexpectedly: Zero"),
    (KeyError("a"), "DT-5111", "KeyError"),
    (RecursionError("maximum recursion depth exceeded"), "DT-5111", "RecursionError"),
]  # fmt: skip


@pytest.mark.parametrize(("failure", "code", "told"), WORDS)
def test_a_failure_is_an_error_of_the_catalogue(failure: Exception, code: str, told: str) -> None:
    made = catalogued(failure, "dt.x")
    assert (made.code, "\n" in str(made)) == (code, False)
    assert told in str(made)
    assert type(failure).__name__ in (made.details or "")
    try:
        raise ValueError("around it") from failure
    except ValueError as e:
        around = catalogued(e, "dt.x").code
    assert around == (code if code.startswith("DT-512") and code < "DT-5127" else "DT-5111") or (
        code in ("DT-1033", "DT-1112", "DT-1001", "DT-1121")
    )


def test_a_value_that_holds_the_words_of_a_sign_is_a_value() -> None:
    for words in ("No space left on device", "Permission denied", "Too many open files"):
        bad = f"[CAST_INVALID_INPUT] The value '{words}' of the type STRING cannot be cast to INT."
        assert catalogued(ArithmeticException(bad), "x").code == "DT-1033"


def test_a_jvm_that_is_gone_does_not_break_the_telling() -> None:
    failure = FromJava()
    failure.java_exception = typing.cast(Any, Dead())
    assert catalogued(failure, "dt.x").code == "DT-5111"


def test_a_refresh_s_failure_has_the_code_of_what_is_around_it() -> None:
    assert as_error(OSError(errno.ENOSPC, "No space left on device"), DAILY).code == "DT-5121"
    assert as_error(ZeroDivisionError("x"), DAILY).code == "DT-2105"
    made = as_error(ArithmeticException("[DIVIDE_BY_ZERO] Division by zero."), DAILY)
    assert (made.code, made.hint) == ("DT-2105", "Use try_divide, or NULLIF on the divisor.")
    assert as_error(made, DAILY) is made


def test_the_scheduler_s_problems_are_in_the_catalogue_s_words() -> None:
    port = object.__new__(EnginePort)
    port.problems = []
    port.report(OSError(errno.ENOSPC, "No space left on device"))
    assert port.problems[0].startswith("[DT-5121] The disk is full")


# -- the boundary ----------------------------------------------------------------------------------


@coded("box.")
class Box:
    """One method for each way to fail."""

    def now(self) -> None:
        raise ValueError("now")

    @property
    def held(self) -> int:
        raise ValueError("held")

    @functools.cached_property
    def kept(self) -> int:
        raise ValueError("kept")

    @classmethod
    def made(cls, size: int = 0) -> Box:
        raise ValueError("made")

    def each(self) -> Iterator[int]:
        yield 1
        raise ValueError("each")

    @contextmanager
    def block(self, *, before: bool = False, after: bool = False) -> Iterator[int]:
        if before:
            raise ValueError("before")
        yield 3
        if after:
            raise ValueError("after")

    def known(self) -> None:
        raise error("DT-5109")

    def interrupted(self) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise OSError("Answer from Java side is empty")  # noqa: B904

    def calls(self, fn: Callable[[], None]) -> None:
        try:
            fn()
        except Exception as e:
            raise FromUser(e) from e

    def _own(self) -> None:
        raise ValueError("own")


def enter(**given: bool) -> None:
    with Box().block(**given):
        pass


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: Box().now(), "box.now"),
        (lambda: Box().held, "box.held"),
        (lambda: Box().kept, "box.kept"),
        (Box.made, "box.made"),
        (lambda: list(Box().each()), "box.each"),
        (lambda: enter(before=True), "box.block"),
        (lambda: enter(after=True), "box.block"),
    ],
)
def test_whatever_is_raised_has_a_code(call: Callable[[], Any], what: str) -> None:
    with pytest.raises(DTError) as e:
        call()
    assert (e.value.code, e.value.facts["what"]) == ("DT-5111", what)
    assert isinstance(e.value.__cause__, ValueError)


def test_what_is_the_user_s_passes_as_it_is() -> None:
    failure = ZeroDivisionError("theirs")

    def fails() -> None:
        raise failure

    with pytest.raises(ZeroDivisionError) as e, Box().block():
        fails()
    assert e.value is failure
    with pytest.raises(ZeroDivisionError) as e:
        Box().calls(fails)
    assert e.value is failure


def test_what_is_ours_already_and_interrupts_pass() -> None:
    with pytest.raises(DTError) as e:
        Box().known()
    assert e.value.code == "DT-5109"
    with pytest.raises(KeyboardInterrupt):
        Box().interrupted()
    with pytest.raises(ValueError, match="own"):
        Box()._own()


def test_a_guarded_method_is_documented_as_before() -> None:
    assert "Refreshes a dynamic table" in (Engine.refresh.__doc__ or "")
    parameters = ["self", "name", "at", "full", "wait"]
    assert list(inspect.signature(Engine.refresh).parameters) == parameters
    assert package.Engine is Engine
    assert threading.current_thread() is threading.main_thread()
