"""The catalog's tables as SQLAlchemy Core sees them; `migrations` makes them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

from dt_jupyter.model import Timestamp

_MOST = 999_999_999
NO_ORDINAL = 1 << 62
"""Every ordinal is below; what is not a number is not, as SQLite compares."""


class StoredTimestamp(TypeDecorator[Timestamp]):
    """A `Timestamp` as text that sorts as time does: `2026-01-31T09:00:00.000000Z#000000000`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Timestamp | None, dialect: Dialect) -> str | None:
        return None if value is None else stored_moment(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Timestamp | None:
        return None if value is None else _parse(value)


_parse = lru_cache(maxsize=16_384)(Timestamp.parse)
"""A scheduler reads the same ones again and again."""


def stored_moment(value: Timestamp) -> str:
    """The stored form; a counter of more than nine digits would not sort, and cannot happen
    unless the wall clock did not advance for a thousand million readings."""
    if value.logical > _MOST:
        raise ValueError(f"the logical counter {value.logical} is out of range")
    iso = value.datetime.replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"{iso}Z#{value.logical:09d}"


class StoredBytes(FunctionElement[bytes]):
    """A column's value as it is stored, whether it can be read or not."""

    type = LargeBinary()
    inherit_cache = True


@compiles(StoredBytes)
def _cast_to_bytes(element: StoredBytes, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS BLOB)"


@compiles(StoredBytes, "postgresql")
def _encode_text(element: StoredBytes, compiler: SQLCompiler, **options: Any) -> str:
    return f"convert_to(CAST({compiler.process(element.clauses, **options)} AS TEXT), 'UTF8')"


METADATA = MetaData()


def _table(name: str, *columns: Column[Any]) -> Table:
    return Table(name, METADATA, *columns)


meta = _table("dt_meta", Column("key", Text, primary_key=True), Column("value", Text))

dynamic_table = _table(
    "dynamic_table",
    Column("id", Text, primary_key=True),
    Column("schema_name", Text),
    Column("table_name", Text),
    Column("definition", Text),
    Column("target_lag_seconds", Float),
    Column("warehouse", Text),
    Column("mode", Text),
    Column("effective_mode", Text),
    Column("mode_reason", Text),
    Column("initialize", Text),
    Column("created", StoredTimestamp),
    Column("scheduling", Text),
    Column("scheduling_reason", Text),
    Column("scheduler_enabled", Boolean),
    Column("sequence", BigInteger),
    Column("version", BigInteger),
    Column("data_timestamp", StoredTimestamp),
    Column("frontier", Text),
    Column("error_count", Integer),
    Column("cluster_by", Text),
    Column("retention_days", Integer),
    Column("alter_sources", Boolean),
    Column("comment", Text),
    Column("dropped", StoredTimestamp),
    Column("state_format", Integer),
    Column("needs_reinit", Text),
    # what the catalog stores in addition to the model's fields
    Column("generation", BigInteger),  # rises when the definition or needs_reinit is set again
    Column("graph_valid_from", StoredTimestamp),  # since when the row of graph_history in force is
    Column("last_query_id", Text),  # the newest refresh in a final state
    Column("last_tick", StoredTimestamp),  # the newest tick that the scheduler is done with
)
stage = _table(
    "stage",
    Column("dt_id", Text, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("id", Text),
    Column("sequence", BigInteger),
    Column("version", BigInteger),
    Column("frontier", Text),
    Column("path", Text),
)
warehouse = _table(
    "warehouse",
    Column("name", Text, primary_key=True),
    Column("max_concurrency", Integer),
    Column("weight", Integer),
    Column("suspended", Boolean),
    Column("created", StoredTimestamp),
    Column("auto_suspend", Integer),
    Column("auto_resume", Boolean),
    Column("owner", Text),  # not used: what is granted says who owns it
    Column("resumed", StoredTimestamp),  # null: never suspended
)
base_table = _table(
    "base_table",
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("table_id", Text),
    Column("path", Text),
)
base_view = _table(
    "base_view",
    Column("schema_name", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("ordinal", BigInteger),
    Column("text", Text),
)
resolved = _table(
    "resolved",
    Column("data_timestamp", StoredTimestamp, primary_key=True),
    Column("table_id", Text, primary_key=True),
    Column("version", BigInteger),
)
dt_version = _table(
    "dt_version",
    Column("dt_id", Text, primary_key=True),
    Column("data_timestamp", StoredTimestamp, primary_key=True),
    Column("version", BigInteger),
)
lease = _table(
    "lease",
    Column("dt_id", Text, primary_key=True),
    Column("epoch", BigInteger),
    Column("attempt", Text),  # null: free
    Column("host", Text),
    Column("pid", Integer),
    Column("uid", Text),
    Column("started", Text),
    Column("expires", StoredTimestamp),
    Column("trigger_kind", Text),
    Column("data_timestamp", StoredTimestamp),
)
pin = _table(
    "pin",
    Column("attempt", Text, primary_key=True),
    Column("table_id", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
)
history = _table(
    "history",
    Column("query_id", Text, primary_key=True),
    Column("ordinal", BigInteger),
    Column("dt_id", Text),
    Column("schema_name", Text),
    Column("table_name", Text),
    Column("state", Text),
    Column("trigger_kind", Text),
    Column("data_timestamp", StoredTimestamp),
    Column("action", Text),
    Column("reason", Text),
    Column("frontier", Text),
    Column("version", BigInteger),
    Column("statistics", Text),
    Column("start_time", StoredTimestamp),
    Column("end_time", StoredTimestamp),
    Column("completion_target", StoredTimestamp),
    Column("target_lag_seconds", Float),
    Column("warehouse", Text),
    Column("changed_inputs", Text),
    Column("reinit_reason", Text),
    Column("error_code", Text),
    Column("error", Text),
    Column("last_completed_dependency", Text),
    Column("graph_valid_from", StoredTimestamp),
    Column("upstream", Text),
)
graph_history = _table(
    "graph_history",
    Column("dt_id", Text, primary_key=True),
    Column("valid_from", StoredTimestamp, primary_key=True),
    Column("valid_to", StoredTimestamp),
    Column("schema_name", Text),
    Column("table_name", Text),
    Column("query", Text),
    Column("inputs", Text),
    Column("target_lag_seconds", Float),
    Column("warehouse", Text),
    Column("scheduling", Text),
    Column("trigger_kind", Text),
)
stream = _table(
    "stream",
    Column("id", Text, primary_key=True),
    Column("schema_name", Text),
    Column("stream_name", Text),
    Column("source_schema", Text),
    Column("source_name", Text),
    Column("source_kind", Text),
    Column("frontier", Text),  # JSON: table id → version
    Column("advanced", StoredTimestamp),
    Column("created", StoredTimestamp),
    Column("append_only", Boolean),
    Column("initial", Boolean),
    Column("number", BigInteger),
    Column("comment", Text),
    Column("intent", Text),  # null: free
    Column("extension_days", Integer),
    Column("meaning", Text),  # JSON; null: not known yet
)
dropped_stream = _table(
    "dropped_stream",
    *(column._copy() for column in stream.columns if column.name != "meaning"),
    Column("dropped", StoredTimestamp),
    Column("meaning", Text),
)
intent = _table(
    "intent",
    Column("id", Text, primary_key=True),
    Column("statement", Text),
    Column("path", Text),
    Column("version", BigInteger),
    Column("created", StoredTimestamp),
    Column("at", StoredTimestamp),
    Column("frontiers", Text),  # JSON: stream id → (table id → version)
    Column("host", Text),
    Column("pid", Integer),
    Column("uid", Text),
    Column("started", Text),
    Column("targets", Text),  # JSON: files that say what is published; null: not decided
    Column("expires", StoredTimestamp),  # from when another host may settle it
    Column("steps", Text),  # JSON of a statement over several objects; null: it consumes streams
)
hold = _table(
    "hold",
    Column("id", Text, primary_key=True),
    Column("kind", Text),
    Column("name", Text),  # null: it has none
    Column("subject", Text),
    Column("point", Text),
    Column("created", StoredTimestamp),
    Column("expires", StoredTimestamp),  # null: with its process, a named one never
    Column("tables", Text),  # JSON: what is held of each table
    Column("host", Text),
    Column("pid", Integer),
    Column("uid", Text),
    Column("started", Text),
)
scheduler_run = _table(
    "scheduler_run",
    Column("id", Text, primary_key=True),
    Column("began", StoredTimestamp),
    Column("seen", StoredTimestamp),
    Column("ended", Boolean),
    Column("leads", Boolean),
    Column("host", Text),
    Column("pid", Integer),
    Column("uid", Text),
    Column("started", Text),
    Column("expires", StoredTimestamp),  # from when another host may lead
)
registry_change = _table(
    "registry_change",
    Column("stamp", Integer, primary_key=True),
    Column("kind", Text),
    Column("key", Text),  # JSON: the values of its key
)
definition = _table(
    "definition",
    Column("dt_id", Text, primary_key=True),
    Column("valid_from", StoredTimestamp, primary_key=True),
    Column("digest", Text),
    Column("text", Text),
)
stored_plan = _table(
    "stored_plan",
    Column("dt_id", Text, primary_key=True),
    Column("query_key", Text),
    Column("session_key", Text),
    Column("digest", Text),  # of the query's plan
    Column("content", Text),  # base64 of compressed JSON
    Column("checksum", Text),  # SHA-256 of all that is above
)
user_function = _table(
    "user_function",
    Column("name", Text, primary_key=True),
    Column("kind", Text),
    Column("returns", Text),
    Column("immutable", Boolean),
    Column("source", Text),
    Column("place", Text),
    Column("captured", Text),  # JSON
    Column("packages", Text),  # JSON
    Column("parameters", Text),  # JSON
    Column("comment", Text),
    Column("created", StoredTimestamp),
    Column("on_change", Boolean),
)
sink_task = _table(
    "sink_task",
    Column("sink_id", Text, primary_key=True),
    Column("range_begin", BigInteger, primary_key=True),
    Column("range_end", BigInteger, primary_key=True),
    Column("epoch", BigInteger),
    Column("checkpoints", Text),  # JSON; null before the first commit
)
sink = _table(
    "sink",
    Column("id", Text, primary_key=True),
    Column("schema_name", Text),
    Column("sink_name", Text),
    Column("source_schema", Text),
    Column("source_name", Text),
    Column("source_kind", Text),
    Column("url", Text),  # with references to secrets alone
    Column("settings", Text),  # JSON: key, reductions, partitions, options of the store
    Column("target_lag_seconds", Float),  # null: DOWNSTREAM
    Column("warehouse", Text),
    Column("created", StoredTimestamp),
    Column("comment", Text),
    Column("state", Text),
    Column("code", Text),
    Column("problem", Text),
    Column("host", Text),  # null: no process delivers it
    Column("pid", Integer),
    Column("uid", Text),
    Column("started", Text),
    Column("expires", StoredTimestamp),
    Column("next_try", StoredTimestamp),  # null: nothing waits
    Column("dead_letters", BigInteger),
)
task = _table(
    "task",
    Column("id", Text, primary_key=True),
    Column("schema_name", Text),
    Column("task_name", Text),
    Column("body", Text),
    Column("current_schema", Text),
    Column("settings", Text),  # JSON: session confs
    Column("schedule", Text),  # null: none
    Column("after", Text),  # JSON: names
    Column("condition", Text),
    Column("warehouse", Text),
    Column("options", Text),  # JSON
    Column("created", StoredTimestamp),
    Column("since", StoredTimestamp),
    Column("comment", Text),
    Column("state", Text),
    Column("reason", Text),
    Column("failures", Integer),
    Column("last_tick", StoredTimestamp),
)
task_run = _table(
    "task_run",
    Column("id", Text, primary_key=True),
    Column("ordinal", BigInteger),
    Column("task_id", Text),
    Column("schema_name", Text),
    Column("task_name", Text),
    Column("graph", Text),
    Column("root", Text),
    Column("number", BigInteger),
    Column("trigger_kind", Text),
    Column("scheduled", StoredTimestamp),
    Column("state", Text),
    Column("attempt", Integer),
    Column("parents", Text),  # JSON: ids of tasks
    Column("warehouse", Text),
    Column("body", Text),
    Column("condition", Text),
    Column("start_time", StoredTimestamp),
    Column("end_time", StoredTimestamp),
    Column("code", Text),
    Column("message", Text),
    Column("affected", BigInteger),
    Column("committed", Boolean),  # by a stream's or a transaction's intent
    Column("host", Text),  # null: no process has it
    Column("pid", Integer),
    Column("uid", Text),
    Column("started", Text),
    Column("expires", StoredTimestamp),
)
sink_history = _table(
    "sink_history",
    Column("id", Text, primary_key=True),
    Column("ordinal", BigInteger),
    Column("sink_id", Text),
    Column("schema_name", Text),
    Column("sink_name", Text),
    Column("state", Text),
    Column("trigger_kind", Text),
    Column("action", Text),
    Column("version", BigInteger),
    Column("start_time", StoredTimestamp),
    Column("end_time", StoredTimestamp),  # null: it is running
    Column("counts", Text),  # JSON
    Column("retries", BigInteger),
    Column("error_code", Text),
    Column("error", Text),
)
event = _table(
    "event",
    Column("ordinal", Integer, primary_key=True),
    Column("time", StoredTimestamp),
    Column("kind", Text),
    Column("severity", Text),
    Column("state", Text),
    Column("schema_name", Text),  # "" where it is in none
    Column("object_name", Text),
    Column("object_id", Text),
    Column("code", Text),
    Column("message", Text),
    Column("attributes", Text),  # JSON
)
alert = _table(
    "alert",
    Column("kind", Text, primary_key=True),
    Column("object_id", Text, primary_key=True),
    Column("object_kind", Text),
    Column("schema_name", Text),
    Column("object_name", Text),
    Column("raised", StoredTimestamp),
    Column("code", Text),
    Column("message", Text),
    Column("target_seconds", Float),
    Column("calm", StoredTimestamp),  # null: its cause is there
)
role = _table(
    "role",
    Column("name", Text, primary_key=True),
    Column("created", StoredTimestamp),
    Column("comment", Text),
)
granted = _table(
    "granted",
    Column("role", Text, primary_key=True),
    Column("right_name", Text, primary_key=True),
    Column("kind", Text),
    Column("space", Text, primary_key=True),  # relation, schema, warehouse, role
    Column("schema_name", Text, primary_key=True),  # "" where it has none
    Column("object_name", Text, primary_key=True),  # "" of a schema
    Column("dropped", Text, primary_key=True),  # "": in force; else since when the object is gone
    Column("granted_on", StoredTimestamp),
    Column("granted_by", Text),
)
