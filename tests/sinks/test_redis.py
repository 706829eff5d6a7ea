"""The Redis driver, against a server of its own."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
import redis

from dt_jupyter.sinks import Binding, messages as m
from dt_jupyter.sinks.json_values import from_json_values
from tests.sinks.conformance import Protocol
from tests.sinks.servers import RedisServer, free_port
from tests.sinks.site import Site, Talk, deliver_while_disturbed, row
from tests.unit.sinks.lab import (
    Change,
    D,
    I,
    Row,
    binding,
    refused,
    summed,
)

NUMBERS = itertools.count(1)


class RedisSite(Site):
    """The server's first database, emptied."""

    def __init__(self, server: RedisServer) -> None:
        super().__init__()
        self.server, self.port = server, server.port
        self.client().flushall()

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.server.port)

    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def rows(self, made: Binding) -> dict[Any, Row]:
        found: dict[Any, Row] = {}
        client = self.client()
        names = [n for n in client.scan_iter() if not n.startswith(b"dt:sink:")]
        for name in names:
            assert name.decode().startswith(made.target + ":")
            stored = {k.decode(): v.decode() for k, v in client.hgetall(name).items()}
            plain: Row = {}
            for column in made.columns:
                text = stored.get(column.name)
                value = text if str(column.type) == "string" or text is None else json.loads(text)
                plain[column.name] = from_json_values([value], column.type)[0].as_py()
            found[tuple(plain[k] for k in made.key)] = plain
        return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    found = RedisServer(tmp_path_factory.mktemp("redis"))
    yield found
    found.stop()


@pytest.fixture
def fresh(server: RedisServer) -> Callable[[], Site]:
    return lambda: RedisSite(server)


@pytest.fixture
def site(fresh: Callable[[], Site]) -> Site:
    return fresh()


class TestRedis(Protocol):
    STRIDE = 11

    def test_keys_that_are_there_are_not_ours(self, site: RedisSite) -> None:
        site.client().hset("t:7", mapping={"k": "7"})
        with refused("DT-6140"):
            site.deliver(summed(), [(I, row(1, 1))])
        site.deliver(summed(), [(I, row(1, 1))], options={"adopt": "true"})
        assert site.client().exists("t:1")

    def test_two_sinks_into_one_prefix_are_refused(self, site: RedisSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        with refused("DT-6141"):
            site.deliver(summed(), [], sink="other")

    def test_a_key_of_another_kind_is_told(self, site: RedisSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        site.client().delete("t:1")
        site.client().set("t:1", "text")
        with refused("DT-6143"):
            site.deliver(summed(), [(I, row(1, 1)), (I, row(1, 1))], size=1)

    def test_keys_that_look_alike_are_two(self, site: RedisSite) -> None:
        made = binding(("a", pa.string()), ("b", pa.string()), key=("a", "b"))
        changes: list[Change] = [(I, {"a": "x:y", "b": "z"}), (I, {"a": "x", "b": "y:z"})]
        site.deliver(made, changes)
        assert len(site.rows(made)) == 2

    def test_a_reset_that_was_not_finished_is_told_and_can_be(self, site: RedisSite) -> None:
        site.deliver(summed(), [(I, row(k, 1)) for k in range(3)])
        site.client().set("dt:sink:target:t", "reset s")
        site.client().delete("dt:sink:checkpoint:s")
        with refused("DT-6143"):
            site.deliver(summed(), [])
        self.forget(site, empty=True)
        site.deliver(summed(), [(I, row(1, 1))])
        assert site.rows(summed()) == {(1,): row(1, 1)}

    def test_staged_rows_that_the_server_evicted_are_missed(self, site: RedisSite) -> None:
        talk = Talk(site, summed())
        talk.flush()
        talk.store(row(1, 5))
        talk.start(1)
        (staged,) = site.client().scan_iter("dt:sink:staged:*")
        site.client().delete(staged)
        talk.send(m.Acknowledge())
        with refused("DT-6112"):
            talk.hear(m.Acknowledged)
        talk.close()
        site.deliver(summed(), [(I, row(1, 5))])
        assert site.rows(summed()) == {(1,): row(1, 5)}

    def test_nothing_staged_stays(self, site: RedisSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        assert list(site.client().scan_iter("dt:sink:staged:*")) == []

    def test_delta_updates_are_a_stream(self, site: RedisSite) -> None:
        made = summed(delta=True)
        changes: list[Change] = [(I, row(1, v)) for v in (-1, 3, 2, 6, -7, -1)]
        site.deliver(made, [*changes, (D, {"k": 1})], size=3)
        entries: Any = site.client().xrange("t")
        found = [(fields.get(b"v"), fields[b"dt_deleted"]) for _, fields in entries]
        assert found == [(b"4", b"false"), (b"-2", b"false"), (None, b"true")]

    def test_nobody_listens(self, site: RedisSite) -> None:
        site.port = free_port()
        with refused("DT-6110"):
            site.deliver(summed(), [])

    def test_the_server_is_killed_in_the_middle_of_commits(self, site: RedisSite) -> None:
        def disturb() -> None:
            for pause in (0.05, 0.09, 0.13):
                time.sleep(pause)
                site.server.stop()
                time.sleep(0.1)
                site.server.start()

        assert deliver_while_disturbed(site, disturb) >= 1

    def test_a_wrong_password_is_never_repeated(
        self, site: RedisSite, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SINK_PASSWORD", "wrong-pa55word")
        site.client().config_set("requirepass", "right")
        try:
            for options in ({"password": "secret://env/SINK_PASSWORD"}, {}):
                with refused("DT-6111") as problem:
                    site.deliver(summed(), [], options=options)
                assert "pa55word" not in str(problem[0])
        finally:
            redis.Redis(port=site.port, password="right").config_set("requirepass", "")
