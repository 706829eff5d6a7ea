"""Tests that a class has from another, and that others hold at each change, run by night."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`BY_NIGHT` of a class has their names."""
    for item in items:
        if isinstance(item, pytest.Function) and item.originalname in _by_night(item):
            item.add_marker(pytest.mark.nightly)


def _by_night(item: pytest.Function) -> frozenset[str]:
    found: frozenset[str] = getattr(item.cls, "BY_NIGHT", frozenset())
    return found
