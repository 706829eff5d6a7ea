"""The DuckDB driver, against files."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.sinks.site import Site, SqlSite, row
from tests.sinks.sql_conformance import Sql
from tests.unit.sinks.lab import I, refused, summed


class DuckdbSite(SqlSite):
    schemas = False

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def url(self) -> str:
        return f"duckdb://{self.path}"

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.path)) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Site]:
    numbers = itertools.count()
    return lambda: DuckdbSite(tmp_path / f"{next(numbers)}.db")


@pytest.fixture
def site(fresh: Callable[[], Site]) -> Site:
    return fresh()


class TestDuckdb(Sql):
    def test_a_table_whose_key_is_not_unique_is_told(self, site: SqlSite) -> None:
        """MERGE needs no index, and refuses to change two rows by one."""
        site.run("CREATE TABLE t (k BIGINT, v BIGINT, name TEXT)")
        site.deliver(summed(), [(I, row(1, 1))], options={"adopt": "true"})
        assert site.rows(summed()) == {(1,): row(1, 1)}

    def test_a_file_that_another_process_has_delays_the_sink(self, site: DuckdbSite) -> None:
        lines = ("import duckdb, sys", f"c = duckdb.connect({str(site.path)!r})",
                 "print(1, flush=True)", "sys.stdin.read()")  # fmt: skip
        command = [sys.executable, "-c", "; ".join(lines)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            with refused("DT-6110"):
                site.deliver(summed(), [])
            other.communicate(b"", timeout=30)
        site.deliver(summed(), [])
