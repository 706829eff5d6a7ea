"""Sinks against hand-written code that writes the same rows, and what pipelining is worth.

    python -m bench.sinks [KIND …] [--rows N] [--rounds N]

Kinds are sqlite, duckdb, postgresql, redis, kafka, delta, parquet and pipeline; all without one.
Each figure is a ratio of medians of one run, the two sides in turns. PostgreSQL and Redis are
Debian's, Kafka is Maven's, all started on loopback.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import redis
from confluent_kafka import Producer
from deltalake import DeltaTable, write_deltalake

from bench.__main__ import timed
from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import Clock
from dt_jupyter.sinks import (
    Binding,
    CatalogLog,
    ChangeInterval,
    Delivery,
    DirectChannel,
    SinkColumn,
    Task,
    ThreadChannel,
    open_driver,
    parse_store_url,
)
from tests.sinks.kafka_server import KafkaServer
from tests.sinks.servers import PostgresServer, RedisServer, Server
from tests.unit.sinks.lab import ListSource, MemoryLog, RemoteMemory, World, events, summed

COLUMNS = (
    SinkColumn("id", pa.int64()),
    SinkColumn("name", pa.string()),
    SinkColumn("amount", pa.decimal128(12, 2)),
    SinkColumn("seen", pa.timestamp("us", "UTC")),
    SinkColumn("score", pa.float64()),
)
BINDING = Binding("t", COLUMNS, ("id",))
NAMES = [c.name for c in COLUMNS]


def rows(count: int, seed: int) -> pa.Table:
    """Half of the ids are of the table before, half are new."""
    rng = np.random.default_rng(seed)
    ids = np.arange(count) + seed * count // 2
    cents = rng.integers(0, 10**9, count) / 100
    columns = [
        pa.array(rng.permutation(ids)),
        pa.array([f"name {n}" for n in ids]),
        pa.array(cents).cast(COLUMNS[2].type, safe=False),
        pa.array(rng.integers(0, 2 * 10**15, count)).cast(COLUMNS[3].type),
        pa.array(rng.random(count)),
    ]  # fmt: skip
    return pa.table(columns, names=NAMES)


class Intervals:
    """Tables, one an interval; those from `ready` on are not there yet."""

    def __init__(self, tables: list[pa.Table]) -> None:
        self.tables, self.ready = tables, 0

    def next(self, after: Any) -> ChangeInterval | None:
        at = 0 if after is None else after["at"]
        if at >= self.ready:
            return None
        return ChangeInterval({"at": at + 1}, self.tables[at].to_batches(20_000))


Write = Callable[[pa.Table], None]


def compare(
    name: str,
    url: str,
    by_hand: Write,
    folder: Path,
    tables: list[pa.Table],
    binding: Binding = BINDING,
) -> None:
    """The same tables by a sink and by hand, in turns; the first of them warms both up."""
    source = Intervals(tables)
    catalog = Catalog(folder / "_dt" / "catalog.sqlite", Clock(), Owner("bench", 1, "bench", "1"))
    sink: list[float] = []
    hand: list[float] = []
    with catalog, Delivery(
        binding, Task("s"), source, CatalogLog(catalog),
        lambda: ThreadChannel(open_driver(parse_store_url(url))),
    ) as delivery:  # fmt: skip
        delivery.open()
        for table in tables:
            source.ready += 1
            sink.append(timed(lambda: list(delivery.deliver())))
            hand.append(timed(lambda t=table: by_hand(t)))
    took, other = statistics.median(sink[1:]), statistics.median(hand[1:])
    print(f"{name:<12} {took:7.3f} s   by hand {other:7.3f} s   ratio {took / other:5.2f}")


def sqlite_by_hand(path: Path) -> Write:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name, amount, seen, score)")
    sql = "INSERT INTO t VALUES (?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET name=excluded.name, amount=excluded.amount, seen=excluded.seen, score=excluded.score"  # noqa: E501  # fmt: skip

    def write(table: pa.Table) -> None:
        parts = [table["id"], table["name"], table["amount"].cast(pa.string()),
                 table["seen"].cast(pa.string()), table["score"]]  # fmt: skip
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(sql, zip(*(p.to_pylist() for p in parts), strict=True))
        connection.execute("COMMIT")

    return write


def duckdb_by_hand(path: Path) -> Write:
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE t (id BIGINT, name VARCHAR, amount DECIMAL(12,2), seen TIMESTAMPTZ, score DOUBLE)")  # noqa: E501  # fmt: skip
    sql = "MERGE INTO t USING changed s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name=s.name, amount=s.amount, seen=s.seen, score=s.score WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, s.amount, s.seen, s.score)"  # noqa: E501  # fmt: skip

    def write(table: pa.Table) -> None:
        connection.register("changed", table)
        connection.execute(sql)

    return write


def postgres_by_hand(server: PostgresServer) -> Write:
    where = f"host=127.0.0.1 port={server.port} user=postgres dbname=byhand"
    server.run("CREATE DATABASE byhand")
    connection = psycopg.connect(where, autocommit=True)
    columns = "id bigint PRIMARY KEY, name text, amount numeric(12,2), seen timestamptz, score double precision"  # noqa: E501  # fmt: skip
    connection.execute(f"CREATE TABLE t ({columns})")
    connection.execute("CREATE TEMP TABLE s (LIKE t) ON COMMIT DELETE ROWS")
    merge = "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name=s.name, amount=s.amount, seen=s.seen, score=s.score WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, s.amount, s.seen, s.score)"  # noqa: E501  # fmt: skip

    def write(table: pa.Table) -> None:
        out = io.BytesIO()
        csv.write_csv(table, out, csv.WriteOptions(include_header=False))
        with connection.transaction(), connection.cursor() as cursor:
            with cursor.copy("COPY s FROM STDIN (FORMAT csv)") as copy:
                copy.write(out.getvalue())
            cursor.execute(merge)

    return write


def redis_by_hand(server: RedisServer) -> Write:
    client = redis.Redis(port=server.port, db=1)

    def write(table: pa.Table) -> None:
        names = [f"t:{key}" for key in table["id"].to_pylist()]
        texts = zip(*(table[n].cast(pa.string()).to_pylist() for n in NAMES), strict=True)
        with client.pipeline(transaction=False) as pipe:
            for number, (name, row) in enumerate(zip(names, texts, strict=True), 1):
                pipe.hset(name, mapping=dict(zip(NAMES, row, strict=True)))
                if number % 10_000 == 0:
                    pipe.execute()
            pipe.execute()

    return write


def kafka_by_hand(server: KafkaServer) -> Write:
    settings = {"bootstrap.servers": f"127.0.0.1:{server.port}", "transactional.id": "by-hand"}
    producer = Producer(
        {**settings, "linger.ms": 5, "log_level": 0, "queue.buffering.max.messages": 1_000_000}
    )
    producer.init_transactions()

    def write(table: pa.Table) -> None:
        producer.begin_transaction()
        for row in table.to_pylist():
            key, value = json.dumps({"id": row["id"]}), json.dumps(row, default=str)
            producer.produce("byhand", key=key, value=value)
            producer.poll(0)
        producer.commit_transaction()

    return write


def delta_by_hand(path: Path) -> Write:
    def write(table: pa.Table) -> None:
        if not path.exists():
            write_deltalake(path, table)
            return
        merge = DeltaTable(path).merge(table, "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    return write


def parquet_by_hand(path: Path) -> Write:
    """The whole table written again, beside the one before and moved over it."""

    def write(table: pa.Table) -> None:
        whole = table
        if path.exists():
            old = pq.read_table(path)
            kept = old.filter(pc.invert(pc.is_in(old["id"], value_set=table["id"])))
            whole = pa.concat_tables([kept, table])
        pq.write_table(whole, path.with_suffix(".new"))
        path.with_suffix(".new").rename(path)

    return write


def pipeline(transactions: int = 12, commit: float = 0.2, prepare: float = 0.2) -> None:
    """Transactions a second with and without the driver in a thread of its own, for a store whose
    commit takes as long as the source takes to give a transaction."""

    class Slow(RemoteMemory):
        def commit(self) -> None:
            time.sleep(commit)
            super().commit()

    class Reading(ListSource):
        def next(self, after: Any) -> Any:
            time.sleep(prepare)
            return super().next(after)

    took = {}
    for channel in (DirectChannel, ThreadChannel):
        source = Reading(summed(), events(1, 3 * transactions))
        connect = lambda c=channel: c(Slow(World()))  # noqa: E731
        with Delivery(summed(), Task("s"), source, MemoryLog(), connect) as each:
            took[channel] = timed(lambda d=each: list(d.deliver()))
    ratio = took[DirectChannel] / took[ThreadChannel]
    print(
        f"pipeline     commit {commit:g} s, source {prepare:g} s: {ratio:5.2f} times the throughput"
    )


S = TypeVar("S", bound=Server)


@contextmanager
def running(server: S) -> Iterator[S]:
    try:
        yield server
    finally:
        server.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = ("sqlite", "duckdb", "postgresql", "redis", "kafka", "delta", "parquet", "pipeline")
    parser.add_argument("kinds", nargs="*", choices=[*kinds, []], default=[])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    wanted = chosen.kinds or kinds
    tables = [rows(chosen.rows, seed) for seed in range(chosen.rounds + 1)]
    with tempfile.TemporaryDirectory() as name:
        numbers = itertools.count()

        def place() -> Path:
            found = Path(name) / str(next(numbers))
            found.mkdir()
            return found

        if "sqlite" in wanted:
            here = place()
            compare("sqlite", f"sqlite://{here}/a.db", sqlite_by_hand(here / "b.db"), here, tables)
        if "duckdb" in wanted:
            here = place()
            compare("duckdb", f"duckdb://{here}/a.db", duckdb_by_hand(here / "b.db"), here, tables)
        if "postgresql" in wanted:
            with running(PostgresServer()) as server:
                url = f"postgresql://postgres@127.0.0.1:{server.port}/postgres"
                compare("postgresql", url, postgres_by_hand(server), place(), tables)
        if "redis" in wanted:
            with running(RedisServer(place())) as kept:
                url = f"redis://127.0.0.1:{kept.port}/0"
                compare("redis", url, redis_by_hand(kept), place(), tables)
        if "kafka" in wanted:
            with running(KafkaServer()) as broker:
                url = f"kafka://127.0.0.1:{broker.port}/t"
                by_hand, binding = kafka_by_hand(broker), replace(BINDING, delta_updates=True)
                compare("kafka", url, by_hand, place(), tables, binding)
        if "delta" in wanted:
            here = place()
            compare("delta", f"delta://{here}/a", delta_by_hand(here / "b"), here, tables)
        if "parquet" in wanted:
            here, format_ = place(), "format=parquet"
            url = f"file://{here}/a?{format_}"
            compare("parquet", url, parquet_by_hand(here / "b.parquet"), here, tables)
        if "pipeline" in wanted:
            pipeline()


if __name__ == "__main__":
    main()
