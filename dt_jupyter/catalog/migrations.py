"""How a catalog comes to the schema of this release: an ordered tuple, never edited, only extended.

Each migration is portable SQL text, frozen: `schema` may move on, what a release once ran may
not; a database's `dialect_text` translates it. What SQL cannot express, or what differs
between databases, is a function of the transaction. All that an opened catalog lacks run in
one transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from dt_jupyter.catalog.relative_paths import make_relative
from dt_jupyter.catalog.triggers import registry_triggers, without_triggers

_Step = str | Callable[[Connection], None]
Migration = tuple[_Step, ...]

_FIRST: Migration = (
    """CREATE TABLE dynamic_table (
        id TEXT PRIMARY KEY, schema_name TEXT NOT NULL, table_name TEXT NOT NULL,
        definition TEXT NOT NULL, target_lag_seconds DOUBLE PRECISION, warehouse TEXT NOT NULL,
        mode TEXT NOT NULL, effective_mode TEXT NOT NULL, mode_reason TEXT NOT NULL,
        initialize TEXT NOT NULL, created TEXT NOT NULL, scheduling TEXT NOT NULL,
        scheduling_reason TEXT, scheduler_enabled BOOLEAN NOT NULL, sequence BIGINT NOT NULL,
        version BIGINT, data_timestamp TEXT, frontier TEXT, error_count INTEGER NOT NULL,
        cluster_by TEXT NOT NULL, retention_days INTEGER, alter_sources BOOLEAN NOT NULL,
        comment TEXT, dropped TEXT, state_format INTEGER NOT NULL, needs_reinit TEXT,
        generation BIGINT NOT NULL, graph_valid_from TEXT NOT NULL, last_query_id TEXT,
        last_tick TEXT)""",
    """CREATE UNIQUE INDEX dynamic_table_live ON dynamic_table (schema_name, table_name)
        WHERE dropped IS NULL""",
    "CREATE INDEX dynamic_table_name ON dynamic_table (schema_name, table_name)",
    """CREATE TABLE stage (
        dt_id TEXT NOT NULL, ordinal INTEGER NOT NULL, id TEXT NOT NULL, sequence BIGINT NOT NULL,
        version BIGINT, frontier TEXT, path TEXT NOT NULL, PRIMARY KEY (dt_id, ordinal))""",
    """CREATE TABLE warehouse (
        name TEXT PRIMARY KEY, max_concurrency INTEGER NOT NULL, weight INTEGER NOT NULL,
        suspended BOOLEAN NOT NULL, created TEXT NOT NULL)""",
    """INSERT INTO warehouse (name, max_concurrency, weight, suspended, created)
        VALUES ('default', 2, 1, FALSE, '1970-01-01T00:00:00.000000Z#000000000')""",
    """CREATE TABLE base_table (
        schema_name TEXT NOT NULL, table_name TEXT NOT NULL, table_id TEXT NOT NULL,
        path TEXT NOT NULL, PRIMARY KEY (schema_name, table_name))""",
    """CREATE TABLE base_view (
        schema_name TEXT NOT NULL, table_name TEXT NOT NULL, ordinal BIGINT NOT NULL,
        text TEXT NOT NULL, PRIMARY KEY (schema_name, table_name))""",
    """CREATE TABLE resolved (
        data_timestamp TEXT NOT NULL, table_id TEXT NOT NULL, version BIGINT NOT NULL,
        PRIMARY KEY (data_timestamp, table_id))""",
    """CREATE TABLE dt_version (
        dt_id TEXT NOT NULL, data_timestamp TEXT NOT NULL, version BIGINT NOT NULL,
        PRIMARY KEY (dt_id, data_timestamp))""",
    """CREATE TABLE lease (
        dt_id TEXT PRIMARY KEY, epoch BIGINT NOT NULL, attempt TEXT, host TEXT, pid INTEGER,
        uid TEXT, started TEXT, expires TEXT, trigger_kind TEXT, data_timestamp TEXT)""",
    """CREATE TABLE pin (
        attempt TEXT NOT NULL, table_id TEXT NOT NULL, version BIGINT NOT NULL,
        PRIMARY KEY (attempt, table_id, version))""",
    """CREATE TABLE history (
        query_id TEXT PRIMARY KEY, ordinal BIGINT NOT NULL, dt_id TEXT NOT NULL,
        schema_name TEXT NOT NULL, table_name TEXT NOT NULL, state TEXT NOT NULL,
        trigger_kind TEXT NOT NULL, data_timestamp TEXT NOT NULL, action TEXT, reason TEXT,
        frontier TEXT, version BIGINT, statistics TEXT, start_time TEXT, end_time TEXT,
        completion_target TEXT, target_lag_seconds DOUBLE PRECISION, warehouse TEXT,
        changed_inputs TEXT, reinit_reason TEXT, error_code TEXT, error TEXT,
        last_completed_dependency TEXT, graph_valid_from TEXT, upstream TEXT)""",
    "CREATE UNIQUE INDEX history_ordinal ON history (ordinal)",
    "CREATE INDEX history_of ON history (dt_id, ordinal)",
    "CREATE INDEX history_at ON history (dt_id, data_timestamp)",
    """CREATE TABLE graph_history (
        dt_id TEXT NOT NULL, valid_from TEXT NOT NULL, valid_to TEXT, schema_name TEXT NOT NULL,
        table_name TEXT NOT NULL, query TEXT NOT NULL, inputs TEXT NOT NULL,
        target_lag_seconds DOUBLE PRECISION, warehouse TEXT NOT NULL, scheduling TEXT NOT NULL,
        trigger_kind TEXT NOT NULL, PRIMARY KEY (dt_id, valid_from))""",
)

_STREAMS: Migration = (
    """CREATE TABLE stream (
        id TEXT PRIMARY KEY, schema_name TEXT NOT NULL, stream_name TEXT NOT NULL,
        source_schema TEXT NOT NULL, source_name TEXT NOT NULL, source_kind TEXT NOT NULL,
        frontier TEXT NOT NULL, advanced TEXT NOT NULL, created TEXT NOT NULL,
        append_only BOOLEAN NOT NULL, initial BOOLEAN NOT NULL, number BIGINT NOT NULL,
        comment TEXT, intent TEXT)""",
    "CREATE UNIQUE INDEX stream_name ON stream (schema_name, stream_name)",
    """CREATE TABLE intent (
        id TEXT PRIMARY KEY, statement TEXT NOT NULL, path TEXT NOT NULL, version BIGINT,
        created TEXT NOT NULL, at TEXT NOT NULL, frontiers TEXT NOT NULL, host TEXT NOT NULL,
        pid INTEGER NOT NULL, uid TEXT NOT NULL, started TEXT NOT NULL)""",
)

_TRANSACTIONS: Migration = (
    "ALTER TABLE intent ADD COLUMN targets TEXT",
    "ALTER TABLE intent ADD COLUMN expires TEXT",
)

_TIME_TRAVEL: Migration = (
    """CREATE TABLE hold (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT, subject TEXT NOT NULL,
        point TEXT NOT NULL, created TEXT NOT NULL, expires TEXT, tables TEXT NOT NULL,
        host TEXT NOT NULL, pid INTEGER NOT NULL, uid TEXT NOT NULL, started TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX hold_name ON hold (name) WHERE name IS NOT NULL",
    """CREATE TABLE definition (
        dt_id TEXT NOT NULL, valid_from TEXT NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL,
        PRIMARY KEY (dt_id, valid_from))""",
    """INSERT INTO definition (dt_id, valid_from, digest, text)
        SELECT id, created, '', definition FROM dynamic_table""",
)

_RELATIVE_PATHS: Migration = (make_relative,)

_REGISTRY_CHANGES: Migration = tuple(
    registry_triggers(
        {
            "warehouse": (("name",), ("max_concurrency", "weight", "suspended")),
            "dynamic_table": (
                ("id",),
                (
                    "schema_name", "table_name", "definition", "target_lag_seconds", "warehouse",
                    "mode", "effective_mode", "mode_reason", "scheduling", "scheduling_reason",
                    "scheduler_enabled", "cluster_by", "retention_days", "alter_sources",
                    "comment", "dropped", "state_format", "needs_reinit",
                ),
            ),
            "base_table": (("schema_name", "table_name"), ("table_id", "path")),
            "base_view": (("schema_name", "table_name"), ("ordinal", "text")),
            "stream": (
                ("id",),
                (
                    "schema_name", "stream_name", "source_schema", "source_name", "frontier",
                    "advanced", "append_only", "initial", "number", "comment",
                ),
            ),
            "hold": (("id",), ("name", "tables", "expires")),
        },
        {"hold": "name"},
    )
)  # fmt: skip

_SCHEDULER_RUNS: Migration = (
    """CREATE TABLE scheduler_run (
        id TEXT PRIMARY KEY, began TEXT NOT NULL, seen TEXT NOT NULL, ended BOOLEAN NOT NULL)""",
)

_SINKS: Migration = (
    """CREATE TABLE sink_task (
        sink_id TEXT NOT NULL, range_begin BIGINT NOT NULL, range_end BIGINT NOT NULL,
        epoch BIGINT NOT NULL, checkpoints TEXT,
        PRIMARY KEY (sink_id, range_begin, range_end))""",
)

_SINK_OBJECTS: Migration = (
    """CREATE TABLE sink (
        id TEXT PRIMARY KEY, schema_name TEXT NOT NULL, sink_name TEXT NOT NULL,
        source_schema TEXT NOT NULL, source_name TEXT NOT NULL, source_kind TEXT NOT NULL,
        url TEXT NOT NULL, settings TEXT NOT NULL, target_lag_seconds DOUBLE PRECISION,
        warehouse TEXT NOT NULL, created TEXT NOT NULL, comment TEXT, state TEXT NOT NULL,
        code TEXT, problem TEXT, host TEXT, pid INTEGER, uid TEXT, started TEXT, expires TEXT)""",
    "CREATE UNIQUE INDEX sink_name ON sink (schema_name, sink_name)",
    """CREATE TABLE sink_history (
        id TEXT PRIMARY KEY, ordinal BIGINT NOT NULL, sink_id TEXT NOT NULL,
        schema_name TEXT NOT NULL, sink_name TEXT NOT NULL, state TEXT NOT NULL,
        trigger_kind TEXT NOT NULL, action TEXT, version BIGINT, start_time TEXT NOT NULL,
        end_time TEXT, counts TEXT NOT NULL, retries BIGINT NOT NULL, error_code TEXT,
        error TEXT)""",
    "CREATE INDEX sink_history_of ON sink_history (schema_name, sink_name, ordinal)",
    *registry_triggers(
        {
            "sink": (
                ("id",),
                (
                    "schema_name", "sink_name", "source_schema", "source_name", "url", "settings",
                    "target_lag_seconds", "warehouse", "comment", "state",
                ),
            )
        },
        {},
        make_log=False,
    ),
)  # fmt: skip

_SINK_TRIES: Migration = ("ALTER TABLE sink ADD COLUMN next_try TEXT",)

_IDLE_WAREHOUSES: Migration = (
    "ALTER TABLE warehouse ADD COLUMN auto_suspend INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE warehouse ADD COLUMN auto_resume BOOLEAN NOT NULL DEFAULT FALSE",
    "ALTER TABLE warehouse ADD COLUMN owner TEXT",
    "ALTER TABLE warehouse ADD COLUMN resumed TEXT",
    without_triggers("warehouse"),
    *registry_triggers(
        {
            "warehouse": (
                ("name",),
                ("max_concurrency", "weight", "suspended", "auto_suspend", "auto_resume", "owner"),
            )
        },
        {},
        make_log=False,
    ),
)

_TASKS: Migration = (
    """CREATE TABLE task (
        id TEXT PRIMARY KEY, schema_name TEXT NOT NULL, task_name TEXT NOT NULL,
        body TEXT NOT NULL, current_schema TEXT NOT NULL, settings TEXT NOT NULL, schedule TEXT,
        after TEXT NOT NULL, condition TEXT, warehouse TEXT NOT NULL, options TEXT NOT NULL,
        created TEXT NOT NULL, since TEXT NOT NULL, comment TEXT, state TEXT NOT NULL, reason TEXT,
        failures INTEGER NOT NULL DEFAULT 0, last_tick TEXT)""",
    "CREATE UNIQUE INDEX task_name ON task (schema_name, task_name)",
    """CREATE TABLE task_run (
        id TEXT PRIMARY KEY, ordinal BIGINT NOT NULL, task_id TEXT NOT NULL,
        schema_name TEXT NOT NULL, task_name TEXT NOT NULL, graph TEXT NOT NULL,
        root TEXT NOT NULL, number BIGINT NOT NULL, trigger_kind TEXT NOT NULL,
        scheduled TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL,
        parents TEXT NOT NULL, warehouse TEXT NOT NULL, body TEXT NOT NULL, condition TEXT,
        start_time TEXT, end_time TEXT, code TEXT, message TEXT, affected BIGINT,
        committed BOOLEAN NOT NULL, host TEXT, pid INTEGER, uid TEXT, started TEXT,
        expires TEXT)""",
    "CREATE UNIQUE INDEX task_run_ordinal ON task_run (ordinal)",
    "CREATE INDEX task_run_of ON task_run (task_id, number)",
    "CREATE INDEX task_run_graph ON task_run (graph)",
    "CREATE INDEX task_run_open ON task_run (state) WHERE state IN ('SCHEDULED', 'EXECUTING')",
    *registry_triggers(
        {
            "task": (
                ("id",),
                (
                    "schema_name", "task_name", "body", "current_schema", "settings", "schedule",
                    "after", "condition", "warehouse", "options", "since", "comment", "state",
                    "reason",
                ),
            )
        },
        {},
        make_log=False,
    ),
)  # fmt: skip

_DROPPED_STREAMS: Migration = (
    "ALTER TABLE stream ADD COLUMN extension_days INTEGER NOT NULL DEFAULT 14",
    """CREATE TABLE dropped_stream (
        id TEXT PRIMARY KEY, schema_name TEXT NOT NULL, stream_name TEXT NOT NULL,
        source_schema TEXT NOT NULL, source_name TEXT NOT NULL, source_kind TEXT NOT NULL,
        frontier TEXT NOT NULL, advanced TEXT NOT NULL, created TEXT NOT NULL,
        append_only BOOLEAN NOT NULL, initial BOOLEAN NOT NULL, number BIGINT NOT NULL,
        comment TEXT, intent TEXT, extension_days INTEGER NOT NULL, dropped TEXT NOT NULL)""",
    without_triggers("stream"),
    *registry_triggers(
        {
            "stream": (
                ("id",),
                (
                    "schema_name", "stream_name", "source_schema", "source_name", "frontier",
                    "advanced", "append_only", "initial", "number", "comment", "extension_days",
                ),
            )
        },
        {},
        make_log=False,
    ),
)  # fmt: skip

_RIGHTS: Migration = (
    "CREATE TABLE role (name TEXT PRIMARY KEY, created TEXT NOT NULL, comment TEXT)",
    """CREATE TABLE granted (
        role TEXT NOT NULL, right_name TEXT NOT NULL, kind TEXT NOT NULL, space TEXT NOT NULL,
        schema_name TEXT NOT NULL, object_name TEXT NOT NULL, dropped TEXT NOT NULL,
        granted_on TEXT NOT NULL, granted_by TEXT NOT NULL,
        PRIMARY KEY (role, right_name, space, schema_name, object_name, dropped))""",
    "CREATE INDEX granted_on_object ON granted (space, schema_name, object_name)",
    *registry_triggers(
        {
            "role": (("name",), ("comment",)),
            "granted": (
                ("role", "right_name", "space", "schema_name", "object_name", "dropped"),
                ("kind", "granted_by"),
            ),
        },
        {},
        make_log=False,
    ),
)

_FUNCTIONS: Migration = (
    """CREATE TABLE user_function (
        name TEXT PRIMARY KEY, kind TEXT NOT NULL, returns TEXT NOT NULL,
        immutable BOOLEAN NOT NULL, source TEXT NOT NULL, place TEXT NOT NULL,
        captured TEXT NOT NULL, packages TEXT NOT NULL, parameters TEXT NOT NULL, comment TEXT,
        created TEXT NOT NULL)""",
    *registry_triggers(
        {
            "user_function": (
                ("name",),
                (
                    "kind", "returns", "immutable", "source", "place", "captured", "packages",
                    "parameters", "comment",
                ),
            )
        },
        {},
        make_log=False,
    ),
)  # fmt: skip

_EVENTS: Migration = (
    """CREATE TABLE event (
        ordinal INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL,
        severity TEXT NOT NULL, state TEXT NOT NULL, schema_name TEXT NOT NULL,
        object_name TEXT NOT NULL, object_id TEXT NOT NULL, code TEXT, message TEXT,
        attributes TEXT NOT NULL)""",
    "CREATE INDEX event_of ON event (schema_name, object_name, ordinal)",
)

_ALERTS: Migration = (
    """CREATE TABLE alert (
        kind TEXT NOT NULL, object_id TEXT NOT NULL, object_kind TEXT NOT NULL,
        schema_name TEXT NOT NULL, object_name TEXT NOT NULL, raised TEXT NOT NULL, code TEXT,
        message TEXT, target_seconds DOUBLE PRECISION, calm TEXT, PRIMARY KEY (kind, object_id))""",
)

_VALUES_ON_CHANGE: Migration = (
    "ALTER TABLE user_function ADD COLUMN on_change BOOLEAN NOT NULL DEFAULT FALSE",
    without_triggers("user_function"),
    *registry_triggers(
        {
            "user_function": (
                ("name",),
                (
                    "kind", "returns", "immutable", "source", "place", "captured", "packages",
                    "parameters", "comment", "on_change",
                ),
            )
        },
        {},
        make_log=False,
    ),
)  # fmt: skip

_LEADING_SCHEDULER: Migration = (
    "ALTER TABLE scheduler_run ADD COLUMN leads BOOLEAN NOT NULL DEFAULT FALSE",
    *(
        f"ALTER TABLE scheduler_run ADD COLUMN {column}"
        for column in ("host TEXT", "pid INTEGER", "uid TEXT", "started TEXT", "expires TEXT")
    ),
)

_DEAD_LETTERS: Migration = ("ALTER TABLE sink ADD COLUMN dead_letters BIGINT NOT NULL DEFAULT 0",)
_STREAM_MEANINGS: Migration = (
    "ALTER TABLE stream ADD COLUMN meaning TEXT",
    "ALTER TABLE dropped_stream ADD COLUMN meaning TEXT",
)
_STATEMENTS: Migration = ("ALTER TABLE intent ADD COLUMN steps TEXT",)
_STORED_PLANS: Migration = (
    """CREATE TABLE stored_plan (
        dt_id TEXT PRIMARY KEY, query_key TEXT NOT NULL, session_key TEXT NOT NULL,
        digest TEXT NOT NULL, content TEXT NOT NULL, checksum TEXT NOT NULL)""",
)

MIGRATIONS: tuple[Migration, ...] = (
    _FIRST,
    _STREAMS,
    _TRANSACTIONS,
    _TIME_TRAVEL,
    _RELATIVE_PATHS,
    _REGISTRY_CHANGES,
    _SCHEDULER_RUNS,
    _SINKS,
    _SINK_OBJECTS,
    _SINK_TRIES,
    _IDLE_WAREHOUSES,
    _TASKS,
    _DROPPED_STREAMS,
    _RIGHTS,
    _FUNCTIONS,
    _EVENTS,
    _ALERTS,
    _VALUES_ON_CHANGE,
    _LEADING_SCHEDULER,
    _DEAD_LETTERS,
    _STREAM_MEANINGS,
    _STATEMENTS,
    _STORED_PLANS,
)
