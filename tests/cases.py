"""Which cases of a test run at each change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some(count: int, cases: Iterable[Any]) -> list[Any]:
    """The cases, of which those after the first `count` run nightly. A tuple is a value for each of
    several parameters."""
    every = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*v) if i < count else nightly(*v) for i, v in enumerate(every)]


def nightly(*values: Any) -> Any:
    """A case, a value for each parameter, that runs nightly."""
    return pytest.param(*values, marks=pytest.mark.nightly)
