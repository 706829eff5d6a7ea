"""Each method of the engine is an activity, whatever it is."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.engine.rights.methods import METHODS
from dt_jupyter.engine.shown_methods import UNSEEN, shows_calls, title_of
from dt_jupyter.model import Name
from dt_jupyter.spark import current_activity
from dt_jupyter.sql import CreateDynamicTable


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_method_is_seen_while_it_runs(method: str) -> None:
    """By the call that it is wrapped in; the statements of those that are not are."""
    call: Any = inspect.getattr_static(Engine, method)
    names = set()
    while call is not None:
        names.add(call.__code__.co_name)
        call = getattr(call, "__wrapped__", None)
    assert ("seen" in names) is (method not in UNSEEN)


@pytest.mark.parametrize(
    ("method", "subject", "title"),
    [
        ("verify", "daily", "Verifying daily"),
        ("refresh", Name("sales", "daily"), "Refreshing sales.daily"),
        ("create", CreateDynamicTable(name=Name("default", "d"), query="SELECT 1"), "Creating d"),
        ("load", None, "Loading"),
        ("vacuum", None, "Vacuuming"),
        ("storage", None, "dt.storage()"),
        ("lineage", "daily", "dt.lineage(daily)"),
        ("explain", object(), "Explaining"),
        ("replay", object(), "Reading the snapshots"),
    ],
)
def test_what_is_said_of_it(method: str, subject: object, title: str) -> None:
    assert title_of(method, subject) == title


def test_what_it_calls_is_a_step() -> None:
    @shows_calls
    class Calls:
        context = SimpleNamespace()

        def verify(self, name: str) -> list[str]:
            return [*titles(), *self.storage()]

        def storage(self) -> list[str]:
            return titles()

        def sql(self) -> object:
            return current_activity()

    def titles() -> list[str]:
        made = current_activity()
        assert made is not None
        return [made.text, (made.root or made).text]

    both = ["Verifying d", "Verifying d", "dt.storage()", "Verifying d"]
    assert Calls().verify(name="d") == both
    assert Calls().sql() is None
