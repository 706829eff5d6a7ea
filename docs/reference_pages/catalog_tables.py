"""Errors, reasons, and the columns of what the engine reports about itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dt_jupyter
from docs.reference_pages.markdown import code, paragraphs, plain, table
from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.engine.context import EngineState
from dt_jupyter.engine.event_tables import EVENTS_SCHEMA
from dt_jupyter.engine.information_schema import CatalogTables
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.sink_tables import HISTORY_SCHEMA, SINKS_SCHEMA
from dt_jupyter.engine.task_tables import TASK_HISTORY_SCHEMA, TASKS_SCHEMA
from dt_jupyter.model import (
    FAMILIES,
    Clock,
    EventKind,
    RefreshAction,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    SchedulingState,
    Severity,
)
from dt_jupyter.model.errors import CATALOGUE


def errors_page() -> str:
    parts = []
    for digit, title in FAMILIES.items():
        rows = [
            (
                f'<a id="{e.code.lower()}"></a>{code(e.code)}',
                code(e.sqlstate),
                plain(e.message),
                plain(e.hint),
            )
            for e in CATALOGUE.values()
            if e.code[3] == digit
        ]
        parts += [f"## {digit}xxx: {title}", table(("code", "SQLSTATE", "says", "hint"), rows)]
    return paragraphs(
        "# Errors",
        "One catalogue: a code that stays, an SQLSTATE, a sentence and what helps. `{name}` and "
        "other names in braces are facts that an error carries as fields (`error.facts`); where it "
        "knows the place in your text, it underlines it. A trace of the JVM is in `error.details`. "
        "`%dt help DT-1101` shows the page of a code in a cell, and "
        "`python -m dt_jupyter help DT-1101` in a terminal.",
        *parts,
    )


def history_page() -> str:
    return paragraphs(
        "# History and catalog",
        "`SELECT * FROM TABLE(…)` in `dt.sql` or `%%dt`, with Spark SQL around it as you like.",
        *(
            part
            for name, title, told in _RELATIONS
            for part in (f"## {title}", told, _columns(_schemas()[name]))
        ),
        "## STATISTICS",
        "The keys of that JSON text; times in milliseconds, sizes in bytes.",
        ", ".join(map(code, RefreshStatistics().to_json())) + ".",
        "## States and actions",
        table(("of", "values"), ((name, ", ".join(map(code, kind))) for name, kind in _STATES)),
        "## Reason codes",
        "Why a refresh did what it did (`STATE_CODE`), a dynamic table waits "
        "(`SCHEDULING_STATE_REASON`), or has its mode (`REFRESH_MODE_REASON`; the codes of what is "
        "not incremental are under [operators](operators.md#refusals)). `…` are facts.",
        table(("code", "says"), ((code(c), plain(t)) for c, t in sorted(_reasons().items()))),
    )


_RELATIONS = (
    (
        "history",
        "DYNAMIC_TABLE_REFRESH_HISTORY",
        "One row for each refresh, newest first. `dt.history(name)` gives the same.",
    ),
    (
        "dynamic_tables",
        "DYNAMIC_TABLES",
        "Also `SHOW DYNAMIC TABLES`; lags in seconds. The ratio leaves out times without a "
        "scheduler.",
    ),
    (
        "graph_history",
        "DYNAMIC_TABLE_GRAPH_HISTORY",
        "What each dynamic table was, and read, from when to when.",
    ),
    ("streams", "SHOW STREAMS", ""),
    ("sinks", "SHOW SINKS", "Also `DESCRIBE SINK` and `dt.sinks()`."),
    (
        "sink_history",
        "SINK_HISTORY",
        "One row for each delivery that stored something or failed, newest first.",
    ),
    (
        "tasks",
        "SHOW TASKS",
        "Also `DESCRIBE TASK` and `dt.tasks()`.",
    ),
    (
        "task_history",
        "TASK_HISTORY",
        "One row for each attempt of a run, and for each tick that was skipped, newest first.",
    ),
    (
        "events",
        "DT_EVENTS",
        "What happened in the lake, newest first, in any process; `dt.events(name)` "
        "gives the same. Refreshes without data and skipped ticks are only in the history. "
        "`ATTRIBUTES` is a JSON text: seconds, counts of rows, the trigger. The newest 50,000 "
        "events of the last 14 days are kept.",
    ),
    ("warehouses", "SHOW WAREHOUSES", ""),
    ("replay", "Steps of a replay", "What `%replay NAME --to … -o VAR` keeps."),
)
_STATES = (
    ("`STATE`", RefreshState),
    ("`REFRESH_ACTION`", RefreshAction),
    ("`REFRESH_TRIGGER`", RefreshTrigger),
    ("`SCHEDULING_STATE`", SchedulingState),
    ("`KIND` of events", EventKind),
    ("`SEVERITY` of events", tuple(s for s in Severity if s is not Severity.DEBUG)),
)


def _columns(schema: str) -> str:
    pairs = [field.strip().rpartition(" ") for field in _fields(schema)]
    return table(("column", "type"), ((code(name), type_) for name, _, type_ in pairs))


def _fields(schema: str) -> Iterator[str]:
    """The fields of a schema's text: commas within `map<…>` part nothing."""
    field = ""
    for piece in schema.split(","):
        field += piece
        if field.count("<") == field.count(">"):
            yield field.replace("map<string bigint>", "map<string,bigint>")
            field = ""


def _schemas() -> dict[str, str]:
    """What the engine's own methods give as schema, of a catalog with nothing in it."""
    made: list[str] = []

    class Recorder(CatalogTables):
        def frame(self, rows: Any, schema: str) -> Any:
            made.append(schema)

    found: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        catalog = Catalog(Path(folder, "c.sqlite"), Clock(), Owner.here("docs"), lake=Path(folder))
        spark: Any = None
        tables = Recorder(spark, catalog, Clock(), Access(spark, catalog, EngineState()), str)
        found |= {"sinks": SINKS_SCHEMA, "sink_history": HISTORY_SCHEMA}
        found |= {"tasks": TASKS_SCHEMA, "task_history": TASK_HISTORY_SCHEMA}
        found["events"] = EVENTS_SCHEMA
        for name in [name for name, _, _ in _RELATIONS if name not in found]:
            arguments = {"streams": ([], None), "replay": ([],)}.get(name, ())
            getattr(tables, name)(*arguments)
            found[name] = made[-1]
        catalog.close()
    return found


def _reasons() -> dict[str, str]:
    """Every `Reason("CODE", sentence)` in the program, with … where a sentence has facts."""
    found: dict[str, str] = {}
    for path in sorted(Path(dt_jupyter.__file__).parent.rglob("*.py")):
        text = path.read_text("utf-8")
        if "Reason(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Reason":
                code_, sentence = (*node.args, None, None)[:2]
                if isinstance(code_, ast.Constant):
                    found.setdefault(str(code_.value), _sentence(sentence))
    return found


def _sentence(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_sentence(v) for v in values)
        case ast.BinOp(left=left, right=right):
            return _sentence(left) + _sentence(right)
    return "…"
