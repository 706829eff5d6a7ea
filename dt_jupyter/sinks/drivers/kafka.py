"""Kafka 2.8 or newer: `kafka://user@host:9092/topic` (`kafkas://` for TLS), delta updates only.

A row is a message: its key a JSON object of the key columns, its value one of all columns. A
message without a value, a tombstone, takes its key away. What a transaction has is one transaction
of Kafka, the checkpoint with it: a reader with `isolation.level=read_committed` sees it once.

Checkpoints are records of `<topic>.dt-checkpoints`, compacted, by range of keys; offsets of a
consumer group would expire while no process delivers. Each task has a transactional id: who opens
it fences, by the epoch of its producer, the process that has it, and those with an overlapping
range. Tasks of one topic are opened one at a time, under a transactional id of the topic.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import DTError, error
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import Binding, HashRange, Task
from dt_jupyter.sinks.drivers.kafka_cluster import (
    Fenced,
    KafkaCluster,
    Topic,
    cluster_options,
)
from dt_jupyter.sinks.drivers.kafka_writer import KafkaWriter, MessageTooLarge
from dt_jupyter.sinks.fence import FencePlan, FenceRow, new_nonce, plan_fence
from dt_jupyter.sinks.json_values import to_json_values
from dt_jupyter.sinks.patterns import RemoteAuthoritative, require_delta_updates
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import TypeKind as T, TypeTable

if TYPE_CHECKING:
    import pyarrow as pa

_SUFFIX = ".dt-checkpoints"
_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_MOST = 249 - len(_SUFFIX)
_RESERVED = frozenset((".", "..", "__consumer_offsets", "__transaction_state"))
_OWNER = "owner"
_OPENINGS = 3
"""A restarted broker fences as another opener does: if no other process has written, who is
fenced tries again."""
_NUMBERS = (T.BYTE, T.SHORT, T.INT, T.LONG)
_FLOATS = "number, or string NaN, Infinity, -Infinity"
_KEPT = {"cleanup.policy": "compact,delete", "retention.ms": "-1", "retention.bytes": "-1"}
"""Of a topic of rows: the last of each key stays, and RESET can delete."""
_LOG = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}
"""Of checkpoints: only the newest segments have more of a key than its last."""


class KafkaStore(RemoteAuthoritative):
    store = "Kafka"
    types = TypeTable(
        "Kafka",
        {
            T.BOOLEAN: "boolean",
            **dict.fromkeys(_NUMBERS, "number"),
            **dict.fromkeys((T.FLOAT, T.DOUBLE), _FLOATS),
            T.DECIMAL: "string of digits",
            T.STRING: "string",
            T.BINARY: "string, base64",
            **dict.fromkeys((T.DATE, T.TIMESTAMP, T.TIMESTAMP_NTZ), "string, ISO 8601"),
            T.ARRAY: "array",
            T.MAP: "array of [key, value]",
            T.STRUCT: "object",
        },
        {},
    )
    names = NameRules("JSON", 1000)

    def __init__(self, address: StoreAddress) -> None:
        own = (
            "adopt",
            "partitions",
            "replication",
            *(() if address.path.strip("/") else ("table",)),
        )
        address.require_options(*cluster_options(address), *own)
        self._address = address
        self._partitions, self._replication = (
            _count(address, "partitions"),
            _count(address, "replication"),
        )
        self._adopt = address.flag("adopt")
        self._cluster = KafkaCluster(address)
        self._binding: Binding
        self._task: Task
        self._writer: KafkaWriter | None = None
        self._gone: dict[bytes, None] = {}
        self._seen: Mapping[str, Any] | None = None

    # -- opening -----------------------------------------------------------------------------------

    def fence(self, message: m.Open) -> m.Checkpoint | None:
        self._binding, self._task = message.binding, message.task
        require_delta_updates(self._binding, self.store)
        self.names.require_columns([c.name for c in self._binding.columns])
        for column in self._binding.columns:
            self.types.stored(column)
        self._connect()
        for _ in range(_OPENINGS - 1):
            self._seen = None
            with suppress(Fenced):
                return self._opened_by(message)
            self._leave()
            if self._seen is not None and self._known() != self._seen:
                raise error("DT-6122", task=self._task.sink)
        with self._telling_fenced():
            return self._opened_by(message)

    def _opened_by(self, message: m.Open) -> m.Checkpoint | None:
        with self._opening() as opener:
            return self._opened(opener, delivered=bool(message.driver_checkpoint))

    def _connect(self) -> None:
        self._topic = self._address.target(self._binding.target)
        _require_topic_name(self._topic)
        self._checkpoints = self._topic + _SUFFIX
        self._cluster = KafkaCluster(self._address, self._topic)
        self._cluster.connect()

    @contextmanager
    def _telling_fenced(self) -> Iterator[None]:
        try:
            yield
        except Fenced:
            raise error("DT-6122", task=self._task.sink) from None

    @contextmanager
    def _opening(self) -> Iterator[KafkaWriter]:
        """Until another opens the topic: what this writes after that is refused by `Fenced`."""
        opener = KafkaWriter(self._cluster, f"dt-sink-topic-{self._topic}")
        try:
            yield opener
        finally:
            opener.close()

    def _opened(self, opener: KafkaWriter, *, delivered: bool) -> m.Checkpoint | None:
        topic, mine = self._cluster.find_topic(self._topic), self._task.range
        others = [r for r in self._ranges() if r.overlaps(mine) and (r != mine or topic is None)]
        self._fence_all(others)
        if topic is not None:
            self._writer = self._own_writer()
        known = self._seen = self._known()
        owner = self._owner(known, topic)
        if topic is None:
            topic = self._made_topic(opener, known)
        self._require_fitting(owner, topic)
        self._make_checkpoints()
        self._writer = self._writer or self._own_writer()
        plan = plan_fence(_rows(known), mine, new_nonce())
        if delivered and not any(row.range.overlaps(mine) for row in _rows(known)):
            raise self._changed(f"what was delivered is no longer in {self._checkpoints}")
        self._write_plan(opener, plan, topic)
        self._row, self._found = plan.own, topic
        return plan.own.checkpoint

    def _own_writer(self) -> KafkaWriter:
        """No other process commits for exactly this range from here on."""
        name = _transactional_id(self._task.sink, self._task.range)
        return KafkaWriter(self._cluster, name, self._cluster.settings_of(self._topic).largest)

    def _fence_all(self, ranges: Iterable[HashRange]) -> None:
        for range_ in ranges:
            KafkaWriter(self._cluster, _transactional_id(self._task.sink, range_)).close()

    def _ranges(self) -> set[HashRange]:
        """All that may have a transaction: to wait for its end would be to wait for the dead."""
        records = self._records(decided=False)
        return {HashRange.parse(key) for key, _ in records if key != _OWNER}

    def _known(self) -> dict[str, Any]:
        """The last of each key; of ranges that are fenced there is none after it."""
        found: dict[str, Any] = {}
        for key, text in self._records(decided=True):
            found.pop(key, None)
            if text is not None:
                found[key] = json.loads(text)
        return found

    def _records(self, *, decided: bool) -> list[tuple[str, str | None]]:
        if self._cluster.find_topic(self._checkpoints) is None:
            return []
        return self._cluster.read_records(self._checkpoints, decided=decided)

    def _owner(self, known: Mapping[str, Any], topic: Topic | None) -> Mapping[str, Any]:
        """What is known of the target. DT-6140, DT-6141, and DT-6143 for a RESET that was not
        finished."""
        owner: Mapping[str, Any] | None = known.get(_OWNER)
        if owner is None:
            if topic is not None and not self._adopt:
                raise error("DT-6140", target=self._topic, store=self.store)
            return {}
        if owner["sink"] != self._task.sink:
            raise error("DT-6141", target=self._topic, store=self.store, owner=owner["sink"])
        if owner.get("reset"):
            raise self._changed("a RESET of it was not finished")
        return owner

    def _made_topic(self, opener: KafkaWriter, known: Mapping[str, Any]) -> Topic:
        """Whose it will be is written first: without that it would not be ours."""
        if any(row.checkpoint is not None for row in _rows(known)):
            raise self._changed("it is gone")
        self._make_checkpoints()
        self._write(opener, {_OWNER: {"sink": self._task.sink}})
        config = _KEPT if self._binding.mirrors else {}
        self._cluster.make_topic(self._topic, self._partitions, self._replication, config)
        topic = self._cluster.find_topic(self._topic)
        assert topic is not None
        return topic

    def _make_checkpoints(self) -> None:
        self._cluster.make_topic(self._checkpoints, 1, self._replication, _LOG)

    def _require_fitting(self, owner: Mapping[str, Any], topic: Topic) -> None:
        """DT-6142, DT-6143."""
        key, problem = list(self._binding.key), ""
        if owner.get("id", topic.id) != topic.id:
            raise self._changed("it was deleted and recreated")
        if (before := owner.get("partitions", topic.partitions)) != topic.partitions:
            now = topic.partitions
            raise self._changed(f"the number of its partitions was {before} and is {now}")
        if owner.get("key", key) != key:
            problem = "it has another key"
        elif not self._binding.mirrors and self._cluster.settings_of(self._topic).compacts:
            problem = "it is compacted, which would keep the last update of a key alone"
        if problem:
            raise error("DT-6142", target=self._topic, store=self.store, problem=problem)

    def _write_plan(self, opener: KafkaWriter, plan: FencePlan, topic: Topic) -> None:
        owner = {"sink": self._task.sink, **topic._asdict(), "key": self._binding.key}
        removed = {str(range_): None for range_ in plan.removed}
        rows = {str(row.range): _row_values(row) for row in (*plan.rest, plan.own)}
        self._write(opener, {_OWNER: owner, **removed, **rows})

    def _write(self, writer: KafkaWriter, records: Mapping[str, Any]) -> None:
        """Checkpoints, all or none; None takes one away."""
        for key, values in records.items():
            text = None if values is None else _text(values)
            writer.put(self._checkpoints, key.encode(), text)
        writer.commit()

    def _changed(self, problem: str) -> DTError:
        return error("DT-6143", target=self._topic, store=self.store, problem=problem)

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool = False) -> None:
        self._binding, self._task = binding, Task(sink)
        self._connect()
        with self._telling_fenced(), self._opening() as opener:
            self._fence_all(self._ranges())
            known = self._known()
            if (known.get(_OWNER) or {}).get("sink") == sink:
                self._let_go(opener, known, empty=empty, unmake=unmake)

    def _let_go(
        self, opener: KafkaWriter, known: Mapping[str, Any], *, empty: bool, unmake: bool
    ) -> None:
        """Until all is gone the owner says that it is not."""
        topic = self._cluster.find_topic(self._topic)
        if unmake and not self._adopt:
            if topic is not None:
                self._cluster.remove_topic(self._topic)
            self._cluster.remove_topic(self._checkpoints)
            return
        if empty and topic is not None and not self._cluster.settings_of(self._topic).deletes:
            problem, hint = "its records cannot be deleted", "Set cleanup.policy=compact,delete."
            raise error("DT-6144", store=f"The topic {self._topic}", problem=problem, hint=hint)
        if not empty:
            self._cluster.remove_topic(self._checkpoints)
            return
        owner = {"sink": self._task.sink}
        gone = {str(row.range): None for row in _rows(known)}
        self._write(opener, {_OWNER: {**owner, "reset": True}, **gone})
        if topic is not None:
            self._cluster.empty_topic(self._topic, topic.partitions)
        self._write(opener, {_OWNER: owner})

    # -- rows --------------------------------------------------------------------------------------

    def stage_keys(self, keys: pa.Table) -> None:
        raise AssertionError("a binding with delta updates gets no Load")

    def load_rows(self) -> Iterator[pa.Table]:
        yield from ()

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        """A row that replaces another is one message; where rows are reduced, a tombstone before
        it says that what came earlier no longer counts."""
        keys = [_text(key) for key in _documents(rows.select(self._binding.key))]
        if delete and self._binding.mirrors:
            self._gone |= dict.fromkeys(keys)
            return
        with self._working() as writer:
            if delete:
                self._put_tombstones(writer, keys)
                return
            for key, document in zip(keys, _documents(rows), strict=True):
                self._gone.pop(key, None)
                self._put(writer, key, document)

    def _put(self, writer: KafkaWriter, key: bytes, document: Mapping[str, Any]) -> None:
        text = _text(document)
        try:
            writer.put(self._topic, key, text)
        except MessageTooLarge:
            longest = max(document, key=lambda name: len(_text(document[name])))
            problem = f"the message has {len(key) + len(text)} bytes, more than the topic takes"
            raise error("DT-6133", column=longest, problem=problem) from None

    def _put_tombstones(self, writer: KafkaWriter, keys: Iterable[bytes]) -> None:
        for key in keys:
            writer.put(self._topic, key, None)

    # -- committing --------------------------------------------------------------------------------

    def prepare(self, runtime_checkpoint: m.Checkpoint) -> None:
        """The checkpoint comes last: up to the commit it hides those that other tasks write."""
        gone, self._gone = self._gone, {}
        row = FenceRow(self._row.range, self._row.nonce, runtime_checkpoint)
        with self._working() as writer:
            self._put_tombstones(writer, gone)
            writer.flush()
            if self._cluster.find_topic(self._topic) != self._found:
                raise self._changed("it is gone, or another")
            writer.put(self._checkpoints, str(row.range).encode(), _text(_row_values(row)))
            writer.flush()

    def commit(self) -> None:
        with self._working() as writer:
            writer.commit()

    def _commit(self, runtime_checkpoint: m.Checkpoint) -> Iterator[m.FromDriver]:
        """The recovery log has that something was delivered: without their checkpoints all rows
        would be delivered again, and added up twice."""
        for answer in super()._commit(runtime_checkpoint):
            started = isinstance(answer, m.StartedCommit)
            yield m.StartedCommit({"delivered": True}, merge_patch=True) if started else answer

    @contextmanager
    def _working(self) -> Iterator[KafkaWriter]:
        """DT-6122 where another has the task. The cluster fences a transaction that lasts too long
        as well, and no other process has opened the task then: DT-6113."""
        assert self._writer is not None
        try:
            yield self._writer
        except Fenced:
            row = self._known().get(str(self._row.range))
            if row is not None and row["nonce"] == self._row.nonce:
                raise error("DT-6113", seconds=f"{self._cluster.seconds:g}") from None
            raise error("DT-6122", task=self._task.sink) from None

    def close(self) -> None:
        self._leave()
        self._cluster.close()

    def _leave(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()


def _count(address: StoreAddress, name: str) -> int:
    """-1, which is as many as the cluster says, where it is not given."""
    return int(address.number(name, 1, 1, 100_000)) if name in address.options else -1


def _require_topic_name(name: str) -> None:
    """DT-6134."""
    problem = ""
    if not _NAME.fullmatch(name):
        problem = "it may have ASCII letters, digits, '.', '_' and '-', and is not empty"
    elif len(name) > _MOST:
        problem = f"it has {len(name)} characters; {_MOST} are allowed"
    elif name in _RESERVED or name.endswith(_SUFFIX):
        problem = "it has another use there"
    if problem:
        shown = name.encode("ascii", "backslashreplace").decode()
        raise error("DT-6134", name=f"{shown:.80}", store="Kafka", problem=problem)


def _transactional_id(sink: str, range_: HashRange) -> str:
    return f"dt-sink-{sink}-{range_}"


def _rows(known: Mapping[str, Any]) -> list[FenceRow]:
    return [
        FenceRow(HashRange.parse(key), row["nonce"], row["checkpoint"])
        for key, row in known.items()
        if key != _OWNER
    ]


def _row_values(row: FenceRow) -> dict[str, Any]:
    checkpoint = None if row.checkpoint is None else dict(row.checkpoint)
    return {"nonce": row.nonce, "checkpoint": checkpoint}


def _documents(rows: pa.Table) -> list[dict[str, Any]]:
    names = rows.column_names
    values = zip(*(to_json_values(column) for column in rows.columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def _text(values: Any) -> bytes:
    """JSON without blanks: equal keys are equal bytes."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
