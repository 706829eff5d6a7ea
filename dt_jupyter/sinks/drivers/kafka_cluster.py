"""A Kafka cluster as a sink's URL names it: its topics, their records, its errors by our codes.

Every call ends within the option timeout, and at once where no broker of the cluster answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dt_jupyter.model import DTError, error
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.secret_references import hide

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer

_log = logging.getLogger("dt_jupyter.sinks")
_log.addHandler(logging.NullHandler())
_R = TypeVar("_R")
_SECONDS, _CONNECT_SECONDS = 60.0, 10.0
_SLICE, _CALL = 0.1, 1.0
"""Seconds of one wait, and of one call that is made again where its time was out: what the cluster
said in that time is heard after it. On a busy machine a commit that is left after a tenth of a
second may not be taken up again."""
LARGEST = 1_000_000
"""Bytes of a message where the topic does not say."""
_OVERHEAD = 512
"""Bytes that a batch has besides its one message, and more."""
_TLS = {
    "ca_file": "ssl.ca.location",
    "cert_file": "ssl.certificate.location",
    "key_file": "ssl.key.location",
}
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OPTIONS = ("timeout", "connect_timeout", "servers", "password", "mechanism")
_LOGIN = frozenset(("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED"))
_UNREACHABLE = frozenset(("_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_SSL"))
_LATE = frozenset(("_TIMED_OUT", "_MSG_TIMED_OUT", "_TIMED_OUT_QUEUE", "REQUEST_TIMED_OUT"))
_FENCED = frozenset(("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"))
_GONE = frozenset(("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"))
_MOVING = frozenset(
    (
        "NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_LEADER_EPOCH",
        "FENCED_LEADER_EPOCH",
    )
)  # fmt: skip
_REFUSED = frozenset(
    (
        "INVALID_PARTITIONS", "INVALID_REPLICATION_FACTOR", "INVALID_CONFIG", "POLICY_VIOLATION",
        "INVALID_TRANSACTION_TIMEOUT", "_INVALID_ARG",
    )
)  # fmt: skip


def cluster_options(address: StoreAddress) -> tuple[str, ...]:
    """Those that a URL may have for its cluster: of TLS where it is spoken."""
    return (*_OPTIONS, *(_TLS if address.scheme == "kafkas" else ()))


class Fenced(Exception):
    """Another producer has the transactional id, or a transaction lasted too long."""


class Topic(NamedTuple):
    """A topic that is there: its id, which no later one of the name has, and its partitions."""

    id: str
    partitions: int


class TopicSettings(NamedTuple):
    """`largest`: bytes of a message; `deletes`: whether records can be deleted that are the last
    of their key; `compacts`: whether all of a key but its last may be."""

    largest: int = LARGEST
    deletes: bool = True
    compacts: bool = False


class KafkaCluster:
    """`target` is the topic that its errors are about. DT-1003 for an option."""

    def __init__(self, address: StoreAddress, target: str = "") -> None:
        self._address, self._target = address, target
        self.seconds = address.number("timeout", _SECONDS, 1, 900)
        self._connect_seconds = address.number("connect_timeout", _CONNECT_SECONDS, 0.1, 900)
        self._mechanism = address.options.get("mechanism", _MECHANISMS[-1]).upper()
        if self._mechanism not in _MECHANISMS:
            problem = f"it must be one of {', '.join(_MECHANISMS)}"
            given = address.options["mechanism"]
            raise error("DT-1003", option="mechanism", value=given, problem=problem, hint="")
        self._secret = ""
        self._heard: KafkaError | None = None
        self._all_down = False
        self._limit = self.seconds
        self._admin: Any = None

    def __str__(self) -> str:
        return f"Kafka at {self._address}"

    def connect(self) -> None:
        """DT-6110 or DT-6111 where the cluster does not answer."""
        from confluent_kafka.admin import AdminClient

        self._secret = self._address.secret("password")
        if bool(self._secret) != bool(self._address.user):
            raise error("DT-6111", store=self)
        with self.told():
            self._admin = AdminClient(self.settings())
        self._done(self._admin.describe_cluster(), self._connect_seconds)

    def close(self) -> None:
        """The client's threads end; it and this know each other, so it would stay for a while."""
        self._admin = None

    def settings(self) -> dict[str, Any]:
        """What all clients have."""
        address = self._address
        host = f"[{address.host}]" if ":" in address.host else address.host or "127.0.0.1"
        servers = [f"{host}:{address.port or 9092}", *address.options.get("servers", "").split(",")]
        secured = "SSL" if address.scheme == "kafkas" else "PLAINTEXT"
        found = {
            "bootstrap.servers": ",".join(filter(None, servers)),
            "security.protocol": f"SASL_{secured}" if self._secret else secured,
            "client.id": "dt_jupyter",
            "error_cb": self._hear,
            "reconnect.backoff.max.ms": 1000,
            "log_level": 0,
            "logger": _log,
        }
        if self._secret:
            found |= {"sasl.mechanism": self._mechanism, "sasl.username": address.user}
            found["sasl.password"] = self._secret
        return found | {_TLS[n]: v for n, v in address.options.items() if n in _TLS}

    # -- topics ------------------------------------------------------------------------------------

    def find_topic(self, name: str) -> Topic | None:
        """None where there is none; nothing is made by asking."""
        from confluent_kafka import KafkaException, TopicCollection

        future = self._admin.describe_topics(TopicCollection([name]))[name]
        try:
            found = self._result(future)
        except KafkaException as e:
            if e.args[0].name() in _GONE:
                return None
            raise self.failure(e.args[0]) from None
        return Topic(str(found.topic_id), len(found.partitions))

    def make_topic(
        self, name: str, partitions: int, replication: int, config: Mapping[str, str]
    ) -> None:
        """Where there is none; -1: as many as the cluster says. DT-6134 for a name that differs
        from another's only by `.` and `_`."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import NewTopic

        if self.find_topic(name) is not None:
            return
        asked = NewTopic(name, partitions, replication, config=dict(config))
        try:
            self._result(self._admin.create_topics([asked])[name])
        except KafkaException as e:
            problem: KafkaError = e.args[0]
            if problem.name() == "TOPIC_EXCEPTION":
                said = problem.str()[:300]
                raise error("DT-6134", name=name, store="Kafka", problem=said) from None
            if problem.name() != "TOPIC_ALREADY_EXISTS":
                raise self.failure(problem) from None
        self._until(lambda: self.find_topic(name) is not None)

    def remove_topic(self, name: str) -> None:
        self._done(self._admin.delete_topics([name])[name])
        self._until(lambda: self.find_topic(name) is None)

    def settings_of(self, name: str) -> TopicSettings:
        """What is usual where the user may not know."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType

        asked = ConfigResource(ResourceType.TOPIC, name)
        try:
            found = self._result(self._admin.describe_configs([asked])[asked])
        except KafkaException as e:
            if e.args[0].name().endswith("AUTHORIZATION_FAILED"):
                return TopicSettings()
            raise self.failure(e.args[0]) from None
        largest = int(found["max.message.bytes"].value) - _OVERHEAD
        policy = found["cleanup.policy"].value
        return TopicSettings(max(largest, 1000), "delete" in policy, "compact" in policy)

    def empty_topic(self, name: str, partitions: int) -> None:
        """Every record that is in it now is gone."""
        from confluent_kafka import TopicPartition

        ends = self._ends(name, partitions)
        asked = [TopicPartition(name, n, end) for n, end in enumerate(ends)]
        for future in self._admin.delete_records(asked).values():
            self._done(future)

    def _ends(self, name: str, partitions: int) -> list[int]:
        """The offsets after the last records, those of transactions that are not decided too."""
        ends: list[int] = []

        def ask() -> bool:
            ends.extend(self._known_ends(name, partitions))
            return bool(ends)

        self._until(ask)
        return ends

    def _known_ends(self, name: str, partitions: int) -> list[int]:
        """None while a partition gets another leader."""
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        asked = {TopicPartition(name, n): OffsetSpec.latest() for n in range(partitions)}
        found = self._admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        try:
            ends = {part.partition: self._result(future).offset for part, future in found.items()}
        except KafkaException as e:
            if e.args[0].name() in _MOVING:
                return []
            raise self.failure(e.args[0]) from None
        return [ends[n] for n in range(partitions)]

    def read_records(self, name: str, *, decided: bool) -> list[tuple[str, str | None]]:
        """Keys and values of a topic of one partition. With `decided` those that are committed,
        once every transaction is that has written to it: one that is not hides what came after it,
        and is reported by DT-6112. Without it also those that were aborted or are not decided
        yet."""
        from confluent_kafka import TopicPartition

        (end,), found = self._ends(name, 1), list[tuple[str, str | None]]()
        reader = self._reader("read_committed" if decided else "read_uncommitted")
        try:
            reader.assign([TopicPartition(name, 0, 0)])
            late, read = self._begin(self._admin), -1
            while (read := max(read, self._read_next(reader, found))) < end:
                if read >= 0 and monotonic() > late and self._heard is None:
                    raise _undecided(name, read)
                self._require_in_time(late)
        finally:
            reader.close()
        return found

    def _reader(self, isolation: str) -> Consumer:
        """Of no group: `group.id` is what the client wants all the same."""
        from confluent_kafka import Consumer

        return Consumer(
            {
                **self.settings(),
                "group.id": "dt-sink",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 20,
            }
        )

    def _read_next(self, reader: Consumer, found: list[tuple[str, str | None]]) -> int:
        """The offset up to which all is read, where that is the end of what can be; else -1."""
        message = reader.poll(_SLICE)
        if message is None:
            return -1
        problem = message.error()
        if problem is None:
            key, value = message.key() or b"", message.value()
            found.append((_decoded(key), None if value is None else _decoded(value)))
            return -1
        if problem.name() != "_PARTITION_EOF":
            raise self.failure(problem)
        return message.offset() or 0

    def _until(self, reached: Callable[[], bool]) -> None:
        """What one broker has done all see soon after."""
        end = monotonic() + self.seconds
        while not reached():
            self._require_in_time(end)

    # -- waiting -----------------------------------------------------------------------------------

    def patiently(self, producer: Producer, act: Callable[[float], Any]) -> None:
        """A call that continues where it was left when its time was out."""
        from confluent_kafka import KafkaException

        with self.told():
            end = self._begin(producer)
            while True:
                try:
                    act(_CALL)
                    return
                except KafkaException as e:
                    if not e.args[0].retriable():
                        raise
                producer.poll(0)
                self._require_in_time(end)

    def flush(self, producer: Producer) -> None:
        """All messages have arrived, or failed."""
        with self.told():
            end = self._begin(producer)
            while producer.flush(_SLICE):
                self._require_in_time(end)

    def _done(self, future: Future[_R], seconds: float | None = None) -> _R:
        with self.told():
            return self._result(future, seconds)

    def _result(self, future: Future[_R], seconds: float | None = None) -> _R:
        end = self._begin(self._admin, seconds)
        while not wait([future], _SLICE / 4).done:
            self._admin.poll(0)
            self._require_in_time(end)
        return future.result()

    def _begin(self, client: Any, seconds: float | None = None) -> float:
        """When an operation has to be over; what was said before it is forgotten."""
        client.poll(0)
        self._heard, self._all_down = None, False
        self._limit = seconds or self.seconds
        return monotonic() + self._limit

    def _require_in_time(self, end: float) -> None:
        """Of several brokers one may be away: that all are is a separate message."""
        refused = self._heard is not None and self._heard.name() in _LOGIN
        if self._heard is not None and (refused or self._all_down):
            raise self.failure(self._heard)
        if monotonic() > end:
            raise self._late()

    # -- errors ------------------------------------------------------------------------------------

    @contextmanager
    def told(self) -> Iterator[None]:
        """The client's errors by our codes."""
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as e:
            raise self.failure(e.args[0]) from None

    def _hear(self, problem: KafkaError) -> None:
        """What says most is kept: a refused login, then why a broker cannot be reached."""
        down = problem.name() == "_ALL_BROKERS_DOWN"
        self._all_down |= down
        if self._heard is None or not (down or self._heard.name() in _LOGIN):
            self._heard = problem

    def _late(self) -> DTError:
        if self._heard is not None and self._heard.name() in _UNREACHABLE:
            return error("DT-6110", store=self, problem=self._said(self._heard))
        return error("DT-6113", seconds=f"{self._limit:g}")

    def _said(self, problem: KafkaError) -> str:
        return hide(problem.str(), self._secret)[:300]

    def failure(self, problem: KafkaError) -> DTError | Fenced:
        name, said = problem.name(), self._said(problem)
        if name in _FENCED:
            return Fenced(said)
        if name in _LOGIN:
            return error("DT-6111", store=self)
        if name in _LATE:
            return self._late()
        if name in _UNREACHABLE:
            return error("DT-6110", store=self, problem=said)
        if name in _GONE:
            return error("DT-6143", target=self._target, store="Kafka", problem="it is gone")
        if name.endswith("AUTHORIZATION_FAILED"):
            return error("DT-6144", store=self, problem=said, hint="Its user needs more rights.")
        if name in _REFUSED:
            return error("DT-6144", store=self, problem=said, hint="Change its options.")
        return error("DT-6112", store=self, problem=said, hint="")


def _undecided(topic: str, offset: int) -> DTError:
    """A broker that is killed may forget the end of a transaction (KIP-664): of one whose commit
    was on record, 4.3 was seen to do so at its start, before it knew who leads the partitions."""
    problem = f"its records from offset {offset} on are neither committed nor aborted"
    hint = (
        "Delivery continues once they are. If they are not, kafka-transactions.sh "
        "find-hanging shows the transaction, and abort ends it: what was in it is delivered again."
    )
    return error("DT-6112", store=f"The topic {topic}", problem=problem, hint=hint)


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode()
