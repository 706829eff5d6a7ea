"""Functions of Python in a plan, as an exported script has them in its comments."""

from __future__ import annotations

from dataclasses import replace

from dt_jupyter.engine.planned_functions import (
    PYTHON_FUNCTION,
    python_changes,
    registered_by,
    require_registered,
)
from dt_jupyter.model import FunctionKind, Timestamp, UserFunction
from dt_jupyter.reports import PlannedAction, PlannedChange, ScriptPlan
from dt_jupyter.reports.export_functions import python_functions
from tests.unit.catalog_lab import refused

_SOURCE = "def {0}(x):\n\n    # dt.register_udf is not called here\n    return x + {1}\n"


def function(name: str, more: int = 1) -> UserFunction:
    return UserFunction(
        name, FunctionKind.PYTHON, "int", True, _SOURCE.format(name, more), created=Timestamp(0)
    )


def changes(script: str, *functions: UserFunction) -> dict[str, PlannedChange]:
    return {
        c.name: c for c in python_changes(script, functions, lambda n: ("d",) if n == "two" else ())
    }


def test_an_exported_script_tells_its_functions() -> None:
    made = [function("one"), function("two")]
    (text,) = python_functions(made)
    assert list(registered_by(f"-- head\n\n{text}\n\nCREATE ROLE r;\n")) == ["one", "two"]
    assert registered_by("-- dt.register_udf('a b\n-- dt.register_udf(f)\nSELECT 1") == {}


def test_they_are_added_changed_left_or_as_they_were() -> None:
    (text,) = python_functions([function("one"), function("two"), function("four")])
    found = changes(text, function("one"), function("two", 2), function("three"))
    assert {n: c.action for n, c in found.items()} == {
        "one": PlannedAction.NONE,
        "two": PlannedAction.CHANGE,
        "three": PlannedAction.LEAVE,
        "four": PlannedAction.ADD,
    }
    assert found["two"].affects == ("d",)
    assert "recomputed" in found["two"].rows
    assert found["one"].kind == PYTHON_FUNCTION
    other = replace(function("one"), immutable=False)
    assert changes(text, other)["one"].action is PlannedAction.CHANGE
    sql = replace(function("sql"), kind=FunctionKind.SQL)
    assert "sql" not in changes(text, sql)


def test_a_plan_is_applied_once_they_are_registered() -> None:
    done = PlannedChange(PYTHON_FUNCTION, "one", PlannedAction.NONE)
    require_registered(ScriptPlan((done,), (), ""))
    with refused("DT-1153"):
        require_registered(ScriptPlan((done, replace(done, action=PlannedAction.ADD)), (), ""))
