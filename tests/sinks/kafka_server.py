"""A Kafka broker for the tests: one node on loopback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from dt_jupyter.spark.java import find_java
from tests.maven_jars import Jars
from tests.sinks.servers import SECONDS, Server, find_program, free_port

VERSION = "4.3.0"
JARS = Jars(
    f"kafka-{VERSION}-tools",
    [f"org.apache.kafka:{part}:{VERSION}" for part in ("kafka_2.13", "kafka-tools")],
    ["kafka.tools.StorageTool", "random-uuid"],
)
MEMORY = ("-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


def read_committed(port: int, topic: str, ends: dict[int, int]) -> list[tuple[Any, Any]]:
    """Up to some offsets; waits for transactions before them that are not decided."""
    settings = {"bootstrap.servers": f"127.0.0.1:{port}", "group.id": "reader", "log_level": 0}
    settings |= {"isolation.level": "read_committed", "enable.partition.eof": True}
    settings |= {"auto.offset.reset": "earliest"}
    reader = Consumer({**settings, "fetch.wait.max.ms": 20, "enable.auto.commit": False})
    reader.assign([TopicPartition(topic, n, 0) for n in ends])
    found: list[tuple[Any, Any]] = []
    left, late = {n for n, end in ends.items() if end}, time.monotonic() + 30
    while left:
        assert time.monotonic() < late, "a transaction that nobody ends"
        message = reader.poll(0.2)
        if message is None:
            continue
        if message.error() is None:
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            found.append((json.loads(key), None if value is None else json.loads(value)))
        elif (message.offset() or 0) >= ends[message.partition() or 0]:
            left.discard(message.partition() or 0)
    reader.close()
    return found


def make_certificate(folder: Path) -> Path:
    """For 127.0.0.1, signed by itself, in `certificate.pem`; the file that has its key too."""
    openssl = find_program("openssl", "openssl")
    key, certificate, both = (folder / f"{n}.pem" for n in ("key", "certificate", "both"))
    words = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = [openssl, "req", "-x509", *words, "-keyout", key, "-out", certificate]
    subprocess.run(command, capture_output=True, check=True)
    both.write_text(key.read_text() + certificate.read_text())
    return both


def class_path(jars: Path) -> str:
    """With the library of Scala, which is Spark's own and never fetched."""
    (scala,) = (Path(pyspark.__file__).parent / "jars").glob("scala-library-2.13.*.jar")
    return f"{jars}/*:{scala}"


class KafkaServer(Server):
    """`port` is open to all; `login_port` takes a login by SCRAM, over TLS with a certificate that
    only `certificate` vouches for."""

    def __init__(self) -> None:
        jars = JARS.find()
        self.folder = folder = Path(tempfile.mkdtemp(prefix="dt-kafka-"))
        port, self.login_port, controller = free_port(), free_port(), free_port()
        self.certificate = folder / "certificate.pem"
        (folder / "data").mkdir()
        (folder / "data" / "meta.properties").write_text(
            "version=1\ncluster.id=ZHQtanVweXRlci10ZXN0cw\nnode.id=1\n"
            "directory.id=ZHQtanVweXRlci1kaXJzMQ\n"
        )
        properties = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"OPEN://127.0.0.1:{port},LOGIN://127.0.0.1:{self.login_port},"
            f"CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": "OPEN:PLAINTEXT,LOGIN:SASL_SSL,CONTROLLER:PLAINTEXT",
            "listener.name.login.ssl.keystore.type": "PEM",
            "listener.name.login.ssl.keystore.location": make_certificate(folder),
            "inter.broker.listener.name": "OPEN",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.login.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "log.dirs": folder / "data",
            "broker.session.timeout.ms": 1000,  # how long one that is killed is waited for
            "broker.heartbeat.interval.ms": 200,
            "auto.create.topics.enable": "true",
            "offsets.topic.num.partitions": 1,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
            "group.initial.rebalance.delay.ms": 0,
            "num.network.threads": 2,
            "num.io.threads": 2,
            "background.threads": 2,
            "log.cleaner.enable": "true",
            "log.cleaner.dedupe.buffer.size": 2 << 20,
        }
        (folder / "server.properties").write_text(
            "".join(f"{name}={value}\n" for name, value in properties.items())
        )
        java = find_java(os.environ).program
        command = [
            str(java), *MEMORY, "-cp", class_path(jars), "kafka.Kafka",
            str(folder / "server.properties"),
        ]  # fmt: skip
        super().__init__(command, port, folder / "log", None)
        self.admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
        self.start()

    def start(self) -> None:
        super().start()
        end = time.monotonic() + SECONDS
        while True:
            try:
                self.admin.list_topics(timeout=2)
                return
            except KafkaException:
                if time.monotonic() > end:
                    raise

    def messages(self, topic: str) -> list[tuple[Any, Any]]:
        """All that is committed, key and value, in the order of each partition."""
        found = self.admin.list_topics(timeout=10).topics.get(topic)
        parts = found.partitions if found is not None else ()
        asked = {TopicPartition(topic, n): OffsetSpec.latest() for n in parts}
        if not asked:
            return []
        every = self.admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        ends = {part.partition: future.result().offset for part, future in every.items()}
        return read_committed(self.port, topic, ends)

    def end_hanging(self) -> list[tuple[str, str, str]]:
        """Aborts the transactions that nobody ends, as an operator does: topic, partition and first
        offset of each."""
        tool = [
            str(find_java(os.environ).program), "-cp", class_path(JARS.find()),
            "org.apache.kafka.tools.TransactionsCommand",
            "--bootstrap-server", f"127.0.0.1:{self.port}",
        ]  # fmt: skip
        asked = [*tool, "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "1"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        listed = ([part.strip() for part in line.split("\t")] for line in said.splitlines())
        found = [(row[0], row[1], row[5]) for row in listed if len(row) > 5 and row[1].isdigit()]
        for topic, partition, offset in found:
            one = ["--topic", topic, "--partition", partition, "--start-offset", offset]
            subprocess.run([*tool, "abort", *one], capture_output=True, check=True)
        return found

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It takes connections and says nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
