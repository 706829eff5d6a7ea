"""Which driver a URL means, and which failures are transient."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from dt_jupyter.model import DTError, did_you_mean, error
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.channel import Channel, StoreDriver, ThreadChannel
from dt_jupyter.sinks.drivers.command import CommandStore


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
    "process": StoreEntry("command", "CommandStore"),
}
"""By the scheme of a URL."""
GROUP = "dt_jupyter.sinks"
"""Entry points of installed packages, by the scheme of a URL. A scheme above is not theirs."""
_PARTS = ("handle", "forget", "close")
TRANSIENT = frozenset({"DT-6110", "DT-6112", "DT-6113", "DT-6121"})


def connector(address: StoreAddress) -> Callable[[], Channel]:
    """What begins a channel to a new driver of the store. DT-6101 for a scheme that none has,
    DT-6102 where its package is not installed."""
    make = _driver_class(address)
    if make is CommandStore:
        return CommandStore(address).channel
    return lambda: ThreadChannel(make(address))


def open_driver(address: StoreAddress) -> StoreDriver:
    """A new driver of the store, not connected yet. As `connector`."""
    return _driver_class(address)(address)


def is_transient(failure: BaseException) -> bool:
    """Whether delivering again later may succeed with nothing changed by a user."""
    return isinstance(failure, DTError) and failure.code in TRANSIENT


def _driver_class(address: StoreAddress) -> Callable[[StoreAddress], StoreDriver]:
    entry = STORES.get(address.scheme)
    if entry is None:
        return _installed_class(address.scheme)
    if entry.package and importlib.util.find_spec(entry.package) is None:
        raise error("DT-6102", store=entry.name.removesuffix("Store"), package=entry.package)
    module: Any = importlib.import_module(f"dt_jupyter.sinks.drivers.{entry.module}")
    found: Callable[[StoreAddress], StoreDriver] = getattr(module, entry.name)
    return found


def _installed_class(scheme: str) -> Callable[[StoreAddress], StoreDriver]:
    """A driver of another package. DT-6101 where none has the scheme, DT-6146 where it cannot be
    used."""
    found = list(entry_points(group=GROUP, name=scheme))
    if not found:
        known = sorted({*STORES, *(e.name for e in entry_points(group=GROUP))})
        hint = did_you_mean(scheme, known, f"Known: {', '.join(known)}.")
        problem = f"no driver has the scheme {scheme}"
        raise error("DT-6101", url=f"{scheme}://…", problem=problem, hint=hint)
    if len({e.value for e in found}) > 1:
        raise _bad_driver(scheme, f"several packages name it: {', '.join(e.value for e in found)}")
    try:
        made: Any = found[0].load()
    except Exception as e:
        raise _bad_driver(scheme, f"{found[0].value}: {type(e).__name__}: {e}") from e
    if missing := [part for part in _PARTS if not callable(getattr(made, part, None))]:
        raise _bad_driver(scheme, f"{found[0].value} has no method {missing[0]}")
    driver: Callable[[StoreAddress], StoreDriver] = made
    return driver


def _bad_driver(scheme: str, problem: str) -> DTError:
    return error("DT-6146", scheme=scheme, problem=problem)
