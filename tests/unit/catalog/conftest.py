"""The tests of the catalog on both of its databases: a file in the lake, and PostgreSQL."""

from __future__ import annotations

import pytest

from tests.unit.catalog_lab import Lab

_OF_A_FILE = ("test_file", "test_lost", "test_quarantine", "test_roots")
"""What can happen to a file alone: deleted, replaced, copied, damaged, of an earlier release."""
_OF_A_SERVER = "test_postgres"
"""Its labs say where they are."""


@pytest.fixture(autouse=True)
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a lab has its catalog."""
    kind = str(getattr(request, "param", "sqlite"))
    if kind == "postgresql":
        monkeypatch.setattr(Lab, "server", request.getfixturevalue("postgres"))
    return kind


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    of_a_file = [*metafunc.definition.iter_markers("of_a_file")]
    kinds = ["sqlite"] if module in _OF_A_FILE or of_a_file else ["sqlite", "postgresql"]
    if module != _OF_A_SERVER:
        metafunc.parametrize("database", kinds, indirect=True)
