"""A transactional producer of Kafka, by its transactional id."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dt_jupyter.sinks.drivers.kafka_cluster import LARGEST, KafkaCluster

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

_LEAVE_SECONDS = 2.0
_VAGUE = frozenset(("_FATAL", "_STATE"))


class MessageTooLarge(Exception):
    """More bytes than the topic takes."""


class KafkaWriter:
    """Once made it has fenced all others of its id, and what they left is committed or aborted.

    A transaction begins with its first message. Raises `Fenced` where another has the id, or the
    cluster ended a transaction that lasted too long; else what `KafkaCluster` says.
    """

    def __init__(self, cluster: KafkaCluster, name: str, largest: int = LARGEST) -> None:
        from confluent_kafka import Producer

        self._cluster = cluster
        self._begun = False
        self._lost: KafkaError | None = None
        self._producer: Producer = Producer(
            {
                **cluster.settings(),
                "transactional.id": name,
                "transaction.timeout.ms": int(cluster.seconds * 1000),
                "partitioner": "murmur2",  # as Java's clients: streams of other writers join
                "message.max.bytes": largest,
                "batch.size": min(largest, LARGEST),
                "delivery.report.only.error": True,
                "on_delivery": self._hear,
            }
        )
        cluster.patiently(self._producer, self._producer.init_transactions)

    def _hear(self, problem: KafkaError | None, message: Any) -> None:
        """The outcome of a message; of several the first says why."""
        self._lost = self._lost or problem

    def put(self, topic: str, key: bytes, value: bytes | None) -> None:
        with self._cluster.told():
            if not self._begun:
                self._producer.begin_transaction()
                self._begun = True
            while not self._queued(topic, key, value):
                self.flush()

    def _queued(self, topic: str, key: bytes, value: bytes | None) -> bool:
        from confluent_kafka import KafkaException

        try:
            self._producer.produce(topic, key=key, value=value)
        except BufferError:
            return False
        except KafkaException as e:
            if e.args[0].name() == "MSG_SIZE_TOO_LARGE":
                raise MessageTooLarge from None
            if e.args[0].name() in _VAGUE:
                self._producer.commit_transaction(0)  # says why it cannot continue
            raise
        return True

    def flush(self) -> None:
        """All messages of the transaction are in their topics."""
        self._cluster.flush(self._producer)
        if self._lost is not None:
            raise self._cluster.failure(self._lost)

    def commit(self) -> None:
        """Of one without messages there is nothing to commit."""
        if self._begun:
            self._cluster.patiently(self._producer, self._producer.commit_transaction)
            self._begun = False

    def close(self) -> None:
        """A transaction that is open is aborted; else the cluster does it when its time is out."""
        if self._begun:
            with suppress(Exception):
                self._producer.abort_transaction(_LEAVE_SECONDS)
        self._producer.purge()
        del self._producer
