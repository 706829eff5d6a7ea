"""What the SQL stores share: tables of checkpoints and targets, made, fenced and evolved the same.

The store's transaction is authoritative. A dialect fills in how it connects, stages and merges.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from dt_jupyter.model import error
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import Binding, HashRange, SinkColumn, Task
from dt_jupyter.sinks.fence import FencePlan, FenceRow, new_nonce, plan_fence
from dt_jupyter.sinks.patterns import TOMBSTONE, RemoteAuthoritative
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import TypeTable, is_wider
from dt_jupyter.sinks.type_texts import from_type_text, to_type_text

if TYPE_CHECKING:
    import pyarrow as pa

CHECKPOINTS = "dt_sink_checkpoint"
TARGETS = "dt_sink_target"
StoredRows = Sequence[Sequence[Any]]
_READ_ROWS = 50_000


def quoted(name: str) -> str:
    """As all of the SQL stores quote."""
    return '"' + name.replace('"', '""') + '"'


class SqlStore(RemoteAuthoritative):
    """`types` and `names` are the dialect's rules; its methods run SQL in one connection."""

    types: ClassVar[TypeTable]
    names: ClassVar[NameRules]

    def __init__(self, address: StoreAddress) -> None:
        self.address = address
        self.store = self.types.store
        self._binding: Binding
        self._task: Task
        self._nonce = 0

    # -- what a dialect does -----------------------------------------------------------------------

    @abstractmethod
    def connect(self) -> None: ...

    @abstractmethod
    def run(self, sql: str, values: Sequence[Any] = ()) -> StoredRows:
        """One statement with `?` for its values; its rows."""

    @abstractmethod
    def begin(self, *, fencing: bool = False) -> None:
        """A transaction; of those that fence, one at a time."""

    def end(self, *, commit: bool) -> None:
        self.run("COMMIT" if commit else "ROLLBACK")

    @abstractmethod
    def columns_of(self, target: str) -> Mapping[str, str]:
        """The columns of a table that is there and their types; none where it is not."""

    @abstractmethod
    def apply(self) -> None:
        """What was staged is in the target, within the open transaction."""

    def widen(self, column: SinkColumn) -> str:
        """SQL that makes a column wider, "" where the store needs no statement."""
        return f"ALTER COLUMN {quoted(column.name)} TYPE {self.stored_type(column)}"

    # -- opening -----------------------------------------------------------------------------------

    def fence(self, message: m.Open) -> m.Checkpoint | None:
        self._binding, self._task = message.binding, message.task
        self._require_storable()
        self.connect()
        self.begin(fencing=True)
        try:
            self._make_own_tables()
            plan = plan_fence(self._fence_rows(), self._task.range, new_nonce())
            self._own_target(fresh=plan.own.checkpoint is None)
            self._write_fence(plan)
        except BaseException:
            self.end(commit=False)
            raise
        self.end(commit=True)
        self._nonce = plan.own.nonce
        self.opened()
        return plan.own.checkpoint

    def opened(self) -> None:
        """What a dialect prepares once the target is there."""

    def _require_storable(self) -> None:
        binding = self._binding
        for part in self.target_parts:
            self.names.require(part)
        extra = (TOMBSTONE,) if binding.delta_updates else ()
        self.names.require_columns([*(c.name for c in binding.columns), *extra])
        for column in binding.columns:
            self.stored_type(column)

    @property
    def target_parts(self) -> tuple[str, ...]:
        return (self._binding.target,)

    @property
    def target(self) -> str:
        """Quoted, for SQL."""
        return ".".join(quoted(part) for part in self.target_parts)

    def _make_own_tables(self) -> None:
        self.run(
            f"CREATE TABLE IF NOT EXISTS {CHECKPOINTS} (sink VARCHAR(200) NOT NULL, "
            "range_begin BIGINT NOT NULL, range_end BIGINT NOT NULL, nonce BIGINT NOT NULL, "
            "checkpoint TEXT, PRIMARY KEY (sink, range_begin, range_end))"
        )
        self.run(
            f"CREATE TABLE IF NOT EXISTS {TARGETS} (target VARCHAR(500) NOT NULL PRIMARY KEY, "
            "sink VARCHAR(200) NOT NULL, columns TEXT NOT NULL)"
        )

    def _fence_rows(self) -> list[FenceRow]:
        found = self.run(
            f"SELECT range_begin, range_end, nonce, checkpoint FROM {CHECKPOINTS} WHERE sink = ?",
            (self._task.sink,),
        )
        return [
            FenceRow(HashRange(begin, end), nonce, None if text is None else json.loads(text))
            for begin, end, nonce, text in found
        ]

    def _write_fence(self, plan: FencePlan) -> None:
        for gone in (*plan.removed, plan.own.range):
            self.run(
                f"DELETE FROM {CHECKPOINTS} WHERE sink = ? AND range_begin = ? AND range_end = ?",
                (self._task.sink, gone.begin, gone.end),
            )
        for row in (*plan.rest, plan.own):
            text = None if row.checkpoint is None else json.dumps(dict(row.checkpoint))
            self.run(
                f"INSERT INTO {CHECKPOINTS} VALUES (?, ?, ?, ?, ?)",
                (self._task.sink, row.range.begin, row.range.end, row.nonce, text),
            )

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool = False) -> None:
        self._binding, self._task = binding, Task(sink)
        name = ".".join(self.target_parts)
        self.connect()
        self.begin(fencing=True)
        try:
            self._make_own_tables()
            found = self.run(f"SELECT sink, columns FROM {TARGETS} WHERE target = ?", (name,))
            if found and found[0][0] == sink:
                self._let_go(name, json.loads(found[0][1]), empty=empty, unmake=unmake)
            self.run(f"DELETE FROM {CHECKPOINTS} WHERE sink = ?", (sink,))
        except BaseException:
            self.end(commit=False)
            raise
        self.end(commit=True)

    def _let_go(self, name: str, known: Mapping[str, Any], *, empty: bool, unmake: bool) -> None:
        """An emptied target stays for its readers, and is recreated when the sink opens it."""
        if unmake and not known["adopted"]:
            self.run(f"DROP TABLE IF EXISTS {self.target}")
        if unmake or not empty:
            self.run(f"DELETE FROM {TARGETS} WHERE target = ?", (name,))
            return
        if self.columns_of(name):
            self.run(f"DELETE FROM {self.target}")
        text = json.dumps({**known, "emptied": True})
        self.run(f"UPDATE {TARGETS} SET columns = ? WHERE target = ?", (text, name))

    # -- the target's schema -----------------------------------------------------------------------

    def _own_target(self, *, fresh: bool) -> None:
        """The target is there, is this sink's and has the binding's columns: DT-6140 to DT-6143
        where it cannot be so."""
        name = ".".join(self.target_parts)
        found = self.run(f"SELECT sink, columns FROM {TARGETS} WHERE target = ?", (name,))
        columns = self.columns_of(name)
        if found and found[0][0] != self._task.sink:
            raise error("DT-6141", target=name, store=self.store, owner=found[0][0])
        known = json.loads(found[0][1]) if found else {"adopted": bool(columns)}
        if known.get("emptied") and not known["adopted"]:
            self.run(f"DROP TABLE IF EXISTS {self.target}")
            self._create()
        elif found and not known.get("emptied"):
            self._follow(name, known, columns, fresh=fresh)
        elif columns:
            self._adopt(name, columns, ours=bool(found))
        else:
            self._create()
        self.run(f"DELETE FROM {TARGETS} WHERE target = ?", (name,))
        described: dict[str, Any]
        described = {c.name: to_type_text(c.type) for c in self._binding.columns}
        described = {"columns": described, "key": self._binding.key, "adopted": known["adopted"]}
        text = json.dumps(described)
        self.run(f"INSERT INTO {TARGETS} VALUES (?, ?, ?)", (name, self._task.sink, text))

    def _create(self) -> None:
        binding = self._binding
        parts = [self._definition(c) for c in binding.columns]
        if binding.delta_updates:
            parts.append(f"{quoted(TOMBSTONE)} BOOLEAN NOT NULL")
        elif constraint := self.key_constraint():
            parts.append(constraint)
        self.run(f"CREATE TABLE {self.target} ({', '.join(parts)})")

    def key_constraint(self) -> str:
        return f"PRIMARY KEY ({', '.join(map(quoted, self._binding.key))})"

    def stored_type(self, column: SinkColumn) -> str:
        """The store's type of a column; DT-6132 where it has none."""
        return self.types.stored(column)

    def _definition(self, column: SinkColumn) -> str:
        null = " NOT NULL" if column.name in self._binding.key else ""
        return f"{quoted(column.name)} {self.stored_type(column)}{null}"

    def _adopt(self, name: str, columns: Mapping[str, str], *, ours: bool) -> None:
        if not (ours or self.address.flag("adopt")):
            raise error("DT-6140", target=name, store=self.store)
        missing = [c.name for c in self._binding.columns if c.name not in columns]
        if missing:
            problem = f"it has no column {', '.join(missing)}"
            raise error("DT-6142", target=name, store=self.store, problem=problem)

    def _follow(
        self, name: str, known: Mapping[str, Any], columns: Mapping[str, str], *, fresh: bool
    ) -> None:
        """Added columns and wider types; DT-6143 where someone else changed the table, DT-6142
        where the source changed otherwise."""
        if not columns and fresh:
            self._create()
            return
        before = {n: from_type_text(text) for n, text in known["columns"].items()}
        problem = "it is gone" if not columns else ""
        lost = [n for n in before if n not in columns] if columns else []
        if lost:
            problem = f"column {', '.join(lost)} is gone"
        if problem:
            raise error("DT-6143", target=name, store=self.store, problem=problem)
        if list(known["key"]) != list(self._binding.key):
            raise error("DT-6142", target=name, store=self.store, problem="it has another key")
        for column in self._binding.columns:
            if change := self._change_of(name, column, before.get(column.name)):
                self.run(f"ALTER TABLE {self.target} {change}")
        now = {c.name for c in self._binding.columns}
        if gone := [n for n in before if n not in now]:
            problem = f"the source has no column {', '.join(gone)} any more"
            raise error("DT-6142", target=name, store=self.store, problem=problem)

    def _change_of(self, name: str, column: SinkColumn, before: pa.DataType | None) -> str:
        if before is None:
            return f"ADD COLUMN {quoted(column.name)} {self.stored_type(column)}"
        if before == column.type:
            return ""
        if not is_wider(before, column.type):
            problem = f"column {column.name} was {before} and is {column.type}"
            raise error("DT-6142", target=name, store=self.store, problem=problem)
        return self.widen(column)

    # -- committing --------------------------------------------------------------------------------

    def prepare(self, runtime_checkpoint: m.Checkpoint) -> None:
        self.apply()
        mine = self._task.range
        found = self.run(
            f"UPDATE {CHECKPOINTS} SET checkpoint = ? WHERE sink = ? AND range_begin = ? "
            "AND range_end = ? AND nonce = ? RETURNING nonce",
            (json.dumps(dict(runtime_checkpoint)), self._task.sink, mine.begin, mine.end,
             self._nonce),
        )  # fmt: skip
        if len(found) != 1:
            self.end(commit=False)
            raise error("DT-6122", task=self._task.sink)

    def commit(self) -> None:
        self.end(commit=True)


class FileDatabase(SqlStore):
    """A store of one file in this process: keys and rows are staged in memory."""

    def __init__(self, address: StoreAddress) -> None:
        super().__init__(address)
        self._keys: list[pa.Table] = []
        self._staged: list[tuple[pa.Table, bool]] = []

    @abstractmethod
    def apply_rows(self, rows: pa.Table, delete: bool) -> None:
        """Some rows, or keys to delete, go into the target."""

    def stage_keys(self, keys: pa.Table) -> None:
        self._keys.append(keys)

    def take_keys(self) -> list[pa.Table]:
        """The keys that were staged since it was called last."""
        keys, self._keys = self._keys, []
        return keys

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        self._staged.append((rows, delete))

    def apply(self) -> None:
        staged, self._staged = self._staged, []
        self.begin()
        try:
            for rows, delete in staged:
                self.apply_rows(rows, delete)
        except BaseException:
            self.end(commit=False)
            raise


def tables_of(
    rows: StoredRows, schema: pa.Schema, read: Callable[[list[Any], pa.DataType], pa.Array]
) -> Iterator[pa.Table]:
    """The rows in Arrow, some at a time; `read` makes a column of Python's values."""
    import pyarrow as pa

    for start in range(0, len(rows), _READ_ROWS):
        columns = zip(*rows[start : start + _READ_ROWS], strict=True)
        arrays = [read(list(v), f.type) for v, f in zip(columns, schema, strict=True)]
        yield pa.Table.from_arrays(arrays, schema=schema)


def insert_into(target: str, columns: Sequence[str], key: Sequence[str], source: str) -> str:
    """INSERT that overwrites rows of the same key; `source` is VALUES or a SELECT."""
    others = [c for c in columns if c not in key]
    changes = ", ".join(f"{quoted(c)} = excluded.{quoted(c)}" for c in others)
    action = f"DO UPDATE SET {changes}" if others else "DO NOTHING"
    names, keys = (", ".join(map(quoted, part)) for part in (columns, key))
    return f"INSERT INTO {target} ({names}) {source} ON CONFLICT ({keys}) {action}"


def same_key(left: str, right: str, key: Sequence[str]) -> str:
    return " AND ".join(f"{left}.{quoted(k)} = {right}.{quoted(k)}" for k in key)


def staging(name: str) -> str:
    """The name of a temporary table of ours."""
    return quoted(hidden(name))
