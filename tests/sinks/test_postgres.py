"""The PostgreSQL driver, against a server of its own."""

from __future__ import annotations

import copy
import itertools
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from dt_jupyter.sinks import is_transient, messages as m, open_driver, parse_store_url
from tests.sinks.servers import PostgresServer, free_port
from tests.sinks.site import Site, SqlSite, Talk, deliver_while_disturbed, row
from tests.sinks.sql_conformance import Sql
from tests.unit.sinks.lab import (
    I,
    ListSource,
    MemoryLog,
    binding,
    deliver,
    events,
    oracle,
    refused,
    summed,
)

NUMBERS = itertools.count()


class PostgresSite(SqlSite):
    """A database of its own in the module's server."""

    def __init__(self, server: PostgresServer, options: str = "") -> None:
        super().__init__()
        self.server, self.name, self.options = server, f"db{next(NUMBERS)}", options
        server.run(f"CREATE DATABASE {self.name} STRATEGY wal_log")

    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.server.port}/{self.name}{self.options}"

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        where = f"host=127.0.0.1 port={self.server.port} user=postgres dbname={self.name}"
        with psycopg.connect(where, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    found = PostgresServer()
    yield found
    found.end()


@pytest.fixture
def fresh(server: PostgresServer) -> Callable[[], Site]:
    return lambda: PostgresSite(server)


@pytest.fixture
def site(fresh: Callable[[], Site]) -> Site:
    return fresh()


class TestPostgres(Sql):
    REFUSED = frozenset({"nul", "nested nul"})
    STRIDE = 17

    def test_a_target_in_a_schema(self, site: PostgresSite) -> None:
        site.run('CREATE SCHEMA "other one"')
        made = binding(("k", pa.int64()), ("v", pa.int64()), target="other one.a table")
        site.deliver(made, [(I, {"k": 1, "v": 2})])
        assert site.rows(made) == {(1,): {"k": 1, "v": 2}}

    def test_a_schema_that_is_not_there_is_told(self, site: PostgresSite) -> None:
        with refused("DT-6142") as problem:
            site.deliver(binding(("k", pa.int64()), target="nowhere.t"), [])
        assert "nowhere" in str(problem[0])

    def test_a_key_that_is_stored_twice_in_a_transaction_is_refused(self, site: Site) -> None:
        talk = Talk(site, summed())
        talk.flush()
        talk.store(row(1, 5), row(1, 6))
        talk.send(m.StartCommit({"at": 1}))
        with refused("DT-6120"):
            talk.hear(m.StartedCommit)
        talk.close()

    def test_nobody_listens(self, site: PostgresSite) -> None:
        gone = PostgresSite(site.server)
        gone.server = copy.copy(site.server)
        gone.server.port = free_port()
        with refused("DT-6110") as problem:
            gone.deliver(summed(), [])
        assert is_transient(problem[0])

    @pytest.mark.parametrize("value", ["wrong-pa55word", ""])
    def test_a_wrong_password_is_never_repeated(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        if not server.run("SELECT 1 FROM pg_roles WHERE rolname = 'locked'"):
            server.run("CREATE ROLE locked LOGIN PASSWORD 'right'")
        monkeypatch.setenv("SINK_PASSWORD", value or "x")
        url = f"postgresql://locked@127.0.0.1:{server.port}/postgres"
        options = {"password": "secret://env/SINK_PASSWORD"} if value else {}
        driver = open_driver(parse_store_url(url, options))
        with refused("DT-6111") as problem:
            deliver(summed(), ListSource(summed(), []), MemoryLog(), lambda: driver)
        told = "".join(traceback.format_exception(problem[0])) + repr(vars(driver))
        assert "pa55word" not in told
        assert not is_transient(problem[0])

    def test_the_right_password_comes_from_its_reference(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.run("CREATE ROLE locked2 LOGIN PASSWORD 'se cret%1'")
        server.run("CREATE DATABASE locked2 OWNER locked2")
        monkeypatch.setenv("SINK_PASSWORD", "se cret%1")
        where = f"postgresql://locked2@127.0.0.1:{server.port}/locked2"
        address = parse_store_url(f"{where}?password=secret://env/SINK_PASSWORD")
        source = ListSource(summed(), events(1))
        assert deliver(summed(), source, MemoryLog(), lambda: open_driver(address))

    def test_a_server_without_tls_is_refused_where_tls_is_asked_for(self, site: Site) -> None:
        with refused("DT-6110"):
            site.deliver(summed(), [], options={"sslmode": "require"})

    def test_a_lock_that_does_not_end_delays_the_sink_alone(self, site: PostgresSite) -> None:
        site.deliver(summed(), events(1, 3))
        where = f"host=127.0.0.1 port={site.server.port} user=postgres dbname={site.name}"
        with psycopg.connect(where) as other:
            other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
            with refused("DT-6113") as problem:
                site.deliver(summed(), events(1, 6), options={"timeout": "0.2"})
            assert is_transient(problem[0])
        site.deliver(summed(), events(1, 6))
        assert site.rows(summed()) == oracle(summed(), events(1, 6))

    def test_the_server_is_stopped_in_the_middle_of_commits(self, site: PostgresSite) -> None:
        """At once, over and over, at any moment; what became of a commit is found out by the
        next who opens."""

        def disturb() -> None:
            for pause in (0.1, 0.17, 0.23):
                time.sleep(pause)
                site.server.restart()

        assert deliver_while_disturbed(site, disturb) >= 1
