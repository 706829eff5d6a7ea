"""Which driver a URL means, and which failures pass by themselves."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dt_jupyter.model import DTError, did_you_mean, error
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.channel import Channel, StoreDriver, ThreadChannel


@dataclass(frozen=True)
class StoreEntry:
    """A driver by its module and class; `package` is the client that it imports."""

    module: str
    name: str
    package: str = ""


STORES: Mapping[str, StoreEntry] = {
    "sqlite": StoreEntry("sqlite", "SqliteStore"),
    "duckdb": StoreEntry("duckdb", "DuckdbStore", "duckdb"),
    "file": StoreEntry("files", "FilesStore"),
    "delta": StoreEntry("delta", "DeltaStore"),
    "http": StoreEntry("webhook", "WebhookStore"),
    "https": StoreEntry("webhook", "WebhookStore"),
    "postgresql": StoreEntry("postgres", "PostgresStore", "psycopg"),
    "redis": StoreEntry("redis", "RedisStore", "redis"),
    "rediss": StoreEntry("redis", "RedisStore", "redis"),
    "kafka": StoreEntry("kafka", "KafkaStore", "confluent_kafka"),
    "kafkas": StoreEntry("kafka", "KafkaStore", "confluent_kafka"),
}
"""By the scheme of a URL."""
TRANSIENT = frozenset({"DT-6110", "DT-6112", "DT-6113", "DT-6121"})


def connector(address: StoreAddress) -> Callable[[], Channel]:
    """What begins a channel to a new driver of the store. DT-6101 for a scheme that none has,
    DT-6102 where its package is not installed."""
    make = _driver_class(address)
    return lambda: ThreadChannel(make(address))


def open_driver(address: StoreAddress) -> StoreDriver:
    """A new driver of the store, not connected yet. As `connector`."""
    return _driver_class(address)(address)


def is_transient(failure: BaseException) -> bool:
    """Whether delivering again later may succeed with nothing changed by anybody."""
    return isinstance(failure, DTError) and failure.code in TRANSIENT


def _driver_class(address: StoreAddress) -> Callable[[StoreAddress], StoreDriver]:
    entry = STORES.get(address.scheme)
    if entry is None:
        problem = f"no driver has the scheme {address.scheme}"
        hint = did_you_mean(address.scheme, list(STORES), f"Known: {', '.join(STORES)}.")
        raise error("DT-6101", url=f"{address.scheme}://…", problem=problem, hint=hint)
    if entry.package and importlib.util.find_spec(entry.package) is None:
        raise error("DT-6102", store=entry.name.removesuffix("Store"), package=entry.package)
    module: Any = importlib.import_module(f"dt_jupyter.sinks.drivers.{entry.module}")
    found: Callable[[StoreAddress], StoreDriver] = getattr(module, entry.name)
    return found
