"""Every crash point of every driver, for many histories."""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sinks.conformance import Conformance
from tests.sinks.kafka_server import KafkaServer
from tests.sinks.servers import PostgresServer, RedisServer
from tests.sinks.site import Site, deliver_while_disturbed
from tests.sinks.test_delta import DeltaSite
from tests.sinks.test_duckdb import DuckdbSite
from tests.sinks.test_files import FilesSite
from tests.sinks.test_kafka import KafkaSite
from tests.sinks.test_postgres import PostgresSite
from tests.sinks.test_process import ProcessSite
from tests.sinks.test_redis import RedisSite
from tests.sinks.test_sqlite import SqliteSite
from tests.unit.sinks.lab import (
    Countdown,
    Crash,
    CrashingChannel,
    CrashingDriver,
    CrashingLog,
    DirectChannel,
    ListSource,
    delivery,
    events,
    oracle,
    summed,
)

FILES = ("sqlite", "duckdb", "parquet", "csv", "jsonl", "delta", "process")
KINDS = (*FILES, "postgres", "redis", "kafka")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    postgres = PostgresServer()
    redis = RedisServer(tmp_path_factory.mktemp("redis"))
    yield {"postgres": postgres, "redis": redis}
    postgres.end()
    redis.stop()


@pytest.fixture
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Site]:
    kind: str = request.param
    numbers = itertools.count()
    if kind == "kafka":
        broker: KafkaServer = request.getfixturevalue("kafka")
        return lambda: KafkaSite(broker)
    if kind in ("postgres", "redis"):
        server = request.getfixturevalue("servers")[kind]
        return lambda: (PostgresSite if kind == "postgres" else RedisSite)(server)
    makes: dict[str, Callable[[Path], Site]] = {
        "sqlite": SqliteSite,
        "duckdb": DuckdbSite,
        "delta": DeltaSite,
        "process": ProcessSite,
    }
    make = makes.get(kind, lambda path: FilesSite(path, kind))
    return lambda: make(tmp_path / str(next(numbers)))


@pytest.mark.parametrize("fresh", KINDS, indirect=True)
@pytest.mark.parametrize("where", ["channel", "driver"])
def test_every_point_of_a_crash(fresh: Callable[[], Site], where: str) -> None:
    class EveryPoint(Conformance):
        STRIDE = 1
        DELTA = fresh().delta

    EveryPoint().test_a_crash_at_any_message_leaves_every_sum_exact(fresh, where)


@pytest.mark.parametrize("fresh", KINDS, indirect=True)
@pytest.mark.parametrize("seed", range(12))
def test_many_crashes_one_after_another(fresh: Callable[[], Site], seed: int) -> None:
    """Of either side, at random points, until one delivery comes through."""
    rng = random.Random(seed)
    changes = events(seed, rng.randrange(10, 60), keys=rng.randrange(2, 12))
    site = fresh()
    made = summed(delta=site.delta)
    source = ListSource(made, changes, rng.randrange(1, 9), rng.randrange(1, 5))
    for _ in range(8):
        countdown = Countdown(rng.randrange(1, 150))
        both = delivery(
            made, source, CrashingLog(site.log, countdown),
            lambda c=countdown: CrashingDriver(site.driver(), c),
            channel=lambda d, c=countdown: CrashingChannel(DirectChannel(d), c),
        )  # fmt: skip
        with contextlib.suppress(Crash):
            list(both.deliver())
        both.close()
    site.deliver(made, changes)
    assert site.rows(made) == oracle(made, changes)


def test_a_broker_is_killed_again_and_again(kafka: KafkaServer) -> None:
    rng = random.Random(5)

    def disturb() -> None:
        for _ in range(12):
            time.sleep(rng.uniform(0.2, 1.5))
            kafka.stop()
            kafka.start()

    assert deliver_while_disturbed(KafkaSite(kafka), disturb, 300) >= 6
