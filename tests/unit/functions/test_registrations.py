"""Each session knows the functions of the lake as they are: what it is sent for that."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import AnalysisException

import dt_jupyter.functions.registrations as registrations
from dt_jupyter.failures.function_errors import function_error
from dt_jupyter.functions import (
    Functions,
    called_by,
    make_function,
    telling_arguments,
    why_replaced,
)
from dt_jupyter.model import (
    Captured,
    CapturedKind,
    FunctionInfo,
    FunctionKind,
    FunctionUse,
    UserFunction,
)
from dt_jupyter.reports.export_functions import registration

PLUS = UserFunction("plus", FunctionKind.PYTHON, "int", True, "plus = lambda x: x + 1")
TWICE = UserFunction("twice", FunctionKind.SQL, "INT", True, "a + a", parameters=(("a", "INT"),))
MUCH = UserFunction("much", FunctionKind.SQL, "INT", True, "twice(b)", parameters=(("b", "INT"),))


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A UDF of PySpark asks a JVM for its type."""

    def register(session: Session, function: UserFunction, made: Any) -> None:
        session.register(function.name, made)

    monkeypatch.setattr(registrations, "register_in", register)


@dataclass(eq=False)
class Session:
    """A session that knows the names that it was given, and refuses bodies that call others."""

    sent: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    wrapped: dict[str, Any] = field(default_factory=dict)

    def register(self, name: str, wrapped: Any) -> None:
        self.sent.append(name)
        self.wrapped[name] = wrapped

    def sql(self, text: str) -> None:
        if "RETURN twice" in text and "twice" not in self.known:
            raise AnalysisException("twice is not there")
        self.known |= {n for n in ("twice", "much") if f"`{n}`(" in text}
        self.sent.append(text)

    def take(self) -> list[str]:
        found, self.sent = self.sent, []
        return found


@dataclass
class Known:
    """What the catalog has."""

    kept: tuple[UserFunction, ...]

    def functions(self) -> tuple[UserFunction, ...]:
        return self.kept


def test_a_session_is_sent_what_it_does_not_know() -> None:
    user, other = Session(), Session()
    catalog = Known((MUCH, PLUS, TWICE))
    functions = Functions(catalog, user)  # type: ignore[arg-type]
    for session in (user, other):
        functions.install(session)  # type: ignore[arg-type]
    home = "FUNCTION spark_catalog.default."
    made = "CREATE OR REPLACE {}`twice`(`a` INT) RETURNS INT RETURN a + a"
    calls = "CREATE OR REPLACE {}`much`(`b` INT) RETURNS INT RETURN twice(b)"
    assert user.take() == ["plus", made.format(home), calls.format(home)]
    assert other.take() == [
        "plus", made.format("TEMPORARY FUNCTION "), calls.format("TEMPORARY FUNCTION "),
    ]  # fmt: skip
    functions.install(user)  # type: ignore[arg-type]
    assert user.take() == []
    catalog.kept = (PLUS, replace(TWICE, source="a * 2"))
    functions.install(user)  # type: ignore[arg-type]
    assert user.take() == [
        "DROP TEMPORARY FUNCTION IF EXISTS `much`",
        "DROP FUNCTION IF EXISTS spark_catalog.default.`much`",
        made.format(home).replace("a + a", "a * 2"),
    ]
    catalog.kept = ()
    functions.install(other)  # type: ignore[arg-type]
    assert sorted(other.take()) == [
        f"DROP TEMPORARY FUNCTION IF EXISTS `{n}`" for n in ("much", "plus", "twice")
    ]


def test_one_that_cannot_be_made_says_why_when_it_is_called() -> None:
    gone = replace(PLUS, captured=(Captured("m", CapturedKind.MODULE, "no_such_module"),))
    user = Session()
    functions = Functions(Known((gone,)), user)  # type: ignore[arg-type]
    functions.install(user)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"plus cannot be called here.*no_such_module"):
        user.wrapped["plus"](1)


def test_what_a_text_calls_and_what_became_of_it() -> None:
    catalog: Any = Known((MUCH, PLUS, TWICE))
    used = called_by(catalog, "SELECT MUCH(1), upper(x) FROM twice_as")
    assert used == (MUCH.use, TWICE.use)
    assert called_by(catalog, "SELECT much FROM plus") == ()
    assert why_replaced(used, used) is None
    changed = why_replaced(used, (MUCH.use, FunctionUse("twice", "x")))
    assert str(changed) == "FUNCTION_REPLACED: the function twice was replaced"
    assert str(why_replaced(used, (MUCH.use,))) == "FUNCTION_REPLACED: the function twice is gone"


INVERSE = UserFunction(
    "inverse", FunctionKind.PYTHON, "double", True, "def inverse(x, *more):\n    return 1 / x\n"
)


def test_what_it_raises_is_told_with_its_arguments_cut_short() -> None:
    called = telling_arguments(INVERSE, make_function(INVERSE))
    assert called(2) == called(x=2) == 0.5
    with pytest.raises(ZeroDivisionError) as raised:
        called(0, "a" * 10_000)
    told = "".join(traceback.format_exception(raised.value))
    found = function_error(RuntimeError(told))
    assert found is not None
    assert found.code == "DT-1134"
    assert found.sentence == "The function inverse raised ZeroDivisionError: division by zero."
    assert found.hint.startswith("It was called with (0, 'aaaaa")
    assert found.hint.endswith("aaa'). Line 2 of it: return 1 / x")
    assert len(found.hint) < 400
    sent = cloudpickle.dumps(called)
    assert b"dt_jupyter" not in sent, "an executor may have no package of ours"
    assert cloudpickle.loads(sent)(4) == 0.25


def test_a_function_on_change_is_another_than_one_that_is_not() -> None:
    on_change = replace(INVERSE, immutable=False, on_change=True)
    others = {INVERSE.digest, replace(INVERSE, immutable=False).digest, on_change.digest}
    assert len(others) == 3
    assert str(FunctionInfo(on_change, ())) == "inverse → double (python, on change)"
    assert registration(on_change).endswith(
        "dt.register_udf('inverse', inverse, 'double', on_change=True)"
    )
