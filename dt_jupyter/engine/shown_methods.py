"""Each public method of the engine is an activity: one that takes long is seen while it runs."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dt_jupyter.engine.rows import interruptible
from dt_jupyter.model import Name
from dt_jupyter.spark import activity
from dt_jupyter.sql import CreateDynamicTable

T = TypeVar("T")
_Call = Callable[..., Any]
_VERBS: Mapping[str, str] = {
    "apply": "Applying the plan",
    "archive": "Archiving",
    "change_rows": "Reading the changes of",
    "changes": "Reading the changes of",
    "consume": "Consuming",
    "create": "Creating",
    "create_sink": "Creating sink",
    "create_stream": "Creating stream",
    "compare": "Comparing",
    "diff": "Comparing versions of",
    "explain": "Explaining",
    "graph": "Reading the graph",
    "load": "Loading",
    "plan": "Comparing the script with the lake",
    "profile": "Profiling",
    "refresh": "Refreshing",
    "rows": "Reading",
    "replay": "Reading the snapshots of",
    "replay_refresh": "Running a past refresh again of",
    "vacuum": "Vacuuming",
    "verify": "Verifying",
}
"""What is said of a method; of another one, its call."""
_WITH_JOBS = frozenset({
    "attach_archive", "create_sink", "create_stream", "diff", "load", "vacuum",
})  # fmt: skip
"""Whose Spark jobs no statement of theirs runs: they are known, and end, by the method's group."""
UNSEEN = frozenset({"run", "sql", "transaction"})
"""Whose statements are activities, each with its text."""


def shows_calls(cls: type[T]) -> type[T]:
    """Makes an activity of each public method of a class with a `context`, except for UNSEEN
    ones."""
    for name, member in list(vars(cls).items()):
        seen = isinstance(member, types.FunctionType) and name not in UNSEEN
        if seen and not name.startswith("_"):
            setattr(cls, name, _shown(name, member))
    return cls


def _shown(method: str, function: _Call) -> _Call:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def seen(self: Any, *args: Any, **kwargs: Any) -> Any:
        def title() -> str:
            given = signature.bind(self, *args, **kwargs).arguments
            subject = given.get("name", given.get("stream", given.get("subject")))
            return title_of(method, subject)

        if method not in _WITH_JOBS:
            with activity(title):
                return function(self, *args, **kwargs)
        self.context.require_open()
        return interruptible(
            self.context, title(), functools.partial(function, self, *args, **kwargs)
        )

    return seen


def title_of(method: str, subject: object) -> str:
    """`Refreshing daily`; `dt.storage()` of a method without its own words."""
    if isinstance(subject, CreateDynamicTable):
        subject = subject.name
    named = str(subject) if isinstance(subject, str | Name) else ""
    verb = _VERBS.get(method)
    return f"{verb} {named}".removesuffix(" of ").strip() if verb else f"dt.{method}({named})"
