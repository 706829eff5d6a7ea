"""The SQLite driver, against files."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sinks.site import Site, SqlSite, Talk
from tests.sinks.sql_conformance import Sql
from tests.unit.sinks.lab import I, refused, summed


class SqliteSite(SqlSite):
    schemas = False

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def url(self) -> str:
        return f"sqlite://{self.path}"

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Site]:
    numbers = itertools.count()
    return lambda: SqliteSite(tmp_path / f"{next(numbers)}.db")


@pytest.fixture
def site(fresh: Callable[[], Site]) -> Site:
    return fresh()


class TestSqlite(Sql):
    REFUSED = frozenset({"nan"})

    def test_a_file_that_cannot_be_is_unreachable(self, tmp_path: Path) -> None:
        nowhere = SqliteSite(tmp_path / "no" / "folder" / "a.db")
        with refused("DT-6110"):
            nowhere.deliver(summed(), [])

    def test_a_writer_that_does_not_end_delays_the_sink(self, site: SqliteSite) -> None:
        talk = Talk(site, summed())
        talk.close()
        other = sqlite3.connect(site.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        changes = [(I, {"k": 1, "v": 1, "name": "a"})]
        with refused("DT-6110"):
            site.deliver(summed(), changes, options={"timeout": "0.05"})
        other.execute("ROLLBACK")
        other.close()
        site.deliver(summed(), changes)
        assert len(site.rows(summed())) == 1
