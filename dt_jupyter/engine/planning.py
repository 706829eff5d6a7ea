"""A script of definitions compared with the lake, and applied where the lake is still the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.applied_definitions import applying, describe_applied
from dt_jupyter.engine.definition_changes import find_differences
from dt_jupyter.engine.dependents import names_downstream
from dt_jupyter.engine.planned_differences import (
    fields_differ,
    is_view_of,
    names_upstream_first,
    query_of_view,
    text_differs,
)
from dt_jupyter.engine.planned_functions import (
    ROWS_OF_CALLERS,
    calls,
    python_changes,
    require_registered,
)
from dt_jupyter.engine.script import definitions_of, run_script
from dt_jupyter.functions import kept_sql_function
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    FunctionKind,
    Name,
    SchedulingState,
    UserFunction,
    error,
    plain,
    quote,
)
from dt_jupyter.reports import AppliedPlan, PlannedAction, PlannedChange, ScriptPlan, export_script
from dt_jupyter.sources import name_of
from dt_jupyter.spark import RelationKind, lookup, meaning, qualified_text
from dt_jupyter.sql import SparkKind, relations_in, statement_values as S

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context

_CREATE = re.compile(
    r"CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?DYNAMIC\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?",
    re.IGNORECASE,
)
_CREATE_TASK = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?TASK\s+(?:IF\s+NOT\s+EXISTS\s+)?", re.IGNORECASE
)
_VIEW = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?VIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?", re.IGNORECASE)
_AS = re.compile(r"\bAS\b", re.IGNORECASE)
_WAREHOUSE = {
    "MAX_CONCURRENCY_LEVEL": "max_concurrency",
    "WEIGHT": "weight",
    "AUTO_SUSPEND": "auto_suspend",
    "AUTO_RESUME": "auto_resume",
}
_TASK = {
    "body": "body",
    "SCHEDULE": "schedule",
    "AFTER": "after",
    "WHEN": "condition",
    "WAREHOUSE": "warehouse",
    "ALLOW_OVERLAPPING_EXECUTION": "overlaps",
    "SUSPEND_TASK_AFTER_NUM_FAILURES": "suspend_after",
    "TASK_AUTO_RETRY_ATTEMPTS": "retries",
    "USER_TASK_TIMEOUT_MS": "timeout_ms",
    "USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS": "trigger_seconds",
    "COMMENT": "comment",
}


def plan_script(context: Context, script: str, *, remove: bool) -> ScriptPlan:
    """What a script would change; with `remove`, what the lake has in addition is dropped.
    DT-1137."""
    state = state_of(context)
    return _Planner(context, script, remove).plan(state)


def apply_plan(context: Context, plan: ScriptPlan) -> AppliedPlan:
    """Runs the steps of a plan, all or none; what each said. DT-1138 where the definitions of the
    lake have changed, DT-1153 where a function of Python is not the script's."""
    if state_of(context) != plan.state:
        raise error("DT-1138")
    require_registered(plan)
    before = context.schema()
    try:
        with context.log.begin("dt.apply", applying(context, plan)):
            done = list(run_script(context, "\n;\n".join(plan.steps)))
    finally:
        context.spark.catalog.setCurrentDatabase(before)
    return describe_applied(plan, done)


def state_of(context: Context) -> str:
    """A digest of the definitions of a lake, whatever its rows are."""
    catalog = context.catalog
    text = export_script(catalog, meaning(context.spark))
    ids = sorted(t.id for t in catalog.list())
    return hashlib.blake2b("\n".join([text, *ids]).encode(), digest_size=16).hexdigest()


@dataclass
class _Planner:
    context: Context
    script: str
    remove: bool
    changes: list[PlannedChange] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    told: set[Name] = field(default_factory=set)
    new: set[Name] = field(default_factory=set)
    replaced: set[Name] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    around: dict[int, SparkKind] = field(default_factory=dict)
    """The steps that are USE or SET, by their places."""

    def plan(self, state: str) -> ScriptPlan:
        functions = self.context.catalog.functions()
        self.changes += python_changes(self.script, functions, self._calling)
        for statement, schema in definitions_of(self.context, self.script):
            self._statement(statement, schema)
        self._others()
        return ScriptPlan(tuple(self.changes), self._needed(), state)

    def _needed(self) -> tuple[str, ...]:
        """The steps: a USE only where a definition comes after it, and SET only with one."""
        if len(self.around) == len(self.steps):
            return ()
        found: list[str] = []
        schema: list[str] = []
        for i, step in enumerate(self.steps):
            kind = self.around.get(i)
            if kind is SparkKind.USE:
                schema = [step]
                continue
            if kind is None:
                found += schema
                schema = []
            found.append(step)
        return tuple(found)

    def _statement(self, statement: S.Statement, schema: str) -> None:
        """DT-1137 for one that is not a definition."""
        planned = _PLANNED.get(type(statement))
        if planned is None:
            raise self._refused(statement)
        planned(self, statement, schema)

    def _refused(self, statement: S.Statement) -> DTError:
        words = " ".join(statement.text.split()[:3])
        made = error("DT-1137", statement=words)
        place = statement.places.get("name")
        return made.at(self.script, place) if place is not None else made

    def _add(self, kind: str, name: object, step: str, rows: str = "") -> None:
        self.changes.append(PlannedChange(kind, str(name), PlannedAction.ADD, rows=rows))
        self.steps.append(step)

    def _same(self, kind: str, name: object) -> None:
        self.changes.append(PlannedChange(kind, str(name), PlannedAction.NONE))

    # -- dynamic tables ---------------------------------------------------------------------------

    def dynamic_table(self, statement: S.CreateDynamicTable, schema: str) -> None:
        name = statement.name
        self.told.add(name)
        existing = self.context.catalog.get(name)
        step = _CREATE.sub("CREATE OR ALTER DYNAMIC TABLE ", statement.text, count=1)
        if existing is None:
            self.new.add(name)
            later = statement.initialize == "ON_SCHEDULE"
            rows = "computed at its first scheduled refresh" if later else "computed"
            self._add("dynamic table", name, statement.text, rows)
            return
        change = self._altered(existing, replace(statement, action=S.CreateAction.ALTER), schema)
        self.changes.append(change)
        if change:
            self.steps.append(step)

    def _altered(
        self, existing: DynamicTable, statement: S.CreateDynamicTable, schema: str
    ) -> PlannedChange:
        """What CREATE OR ALTER does."""
        creator, name = self.context.creator, str(existing.name)
        differs = find_differences(existing, statement, schema)
        if not differs.definition:
            return creator.compare(existing, statement, None, schema)
        reads = {name_of(parts, schema) for parts, _ in relations_in(statement.query)}
        if not reads & self.new:
            return creator.compare(existing, statement, creator.define(statement, schema), schema)
        rows = f"recomputed: it reads {', '.join(sorted(map(str, reads & self.new)))}"
        text = text_differs(existing.definition.query, statement.query)
        below = self._below({existing.name})
        return PlannedChange(
            "dynamic table", name, PlannedAction.CHANGE, differs.all, rows, below, text
        )

    def _below(self, changed: set[Name]) -> tuple[str, ...]:
        """The dynamic tables downstream, through views too."""
        below = names_downstream(self.context.catalog.list(), changed)
        return tuple(sorted(map(str, below)))

    def _calling(self, function: str) -> tuple[str, ...]:
        """The dynamic tables that call a function, and those downstream."""
        found = {t.name for t in self.context.catalog.list() if calls(t, function)}
        return tuple(sorted({*map(str, found), *self._below(found)}))

    # -- rights and functions ---------------------------------------------------------------------

    def role(self, statement: S.CreateRole, schema: str) -> None:
        if statement.name in self.context.access.book.roles:
            self._same("role", statement.name)
        else:
            self._add("role", statement.name, statement.text)

    def grant(self, statement: S.GrantRights, schema: str) -> None:
        """What is granted already exists; other grants stay."""
        on, book = statement.on, self.context.access.book
        known = {g.right for g in book.grants if g.role == statement.role and g.on.key == on.key}
        what = f"{', '.join(statement.rights)} on {on} to role {statement.role}"
        if known >= set(statement.rights):
            self._same("grant", what)
        else:
            self._add("grant", what, statement.text)

    def function(self, statement: S.SparkStatement, made: UserFunction) -> None:
        self.functions.add(made.name)
        found = {f.name: f for f in self.context.catalog.functions()}.get(made.name)
        if found is None:
            self._add("function", made.name, statement.text)
        elif found.digest == made.digest:
            self._same("function", made.name)
        else:
            tables = self._calling(made.name)
            rows, action = ROWS_OF_CALLERS if tables else "", PlannedAction.CHANGE
            self.changes.append(
                PlannedChange(
                    "function", made.name, action, ("text",), rows, tables,
                    text_differs(found.source, made.source),
                )
            )  # fmt: skip
            self.steps.append(statement.text)

    # -- the others -------------------------------------------------------------------------------

    def spark(self, statement: S.SparkStatement, schema: str) -> None:
        kind, name = statement.kind, statement.target
        if (function := kept_sql_function(statement.text, schema)) is not None:
            self.function(statement, function)
        elif kind in (SparkKind.USE, SparkKind.SET):
            self.around[len(self.steps)] = kind
            self.steps.append(statement.text)
        elif kind is SparkKind.CREATE_SCHEMA and statement.target_parts:
            made = statement.target_parts[-1]
            if self.context.spark.catalog.databaseExists(f"`{made}`"):
                self._same("schema", made)
            else:
                self._add("schema", made, statement.text)
        elif kind is SparkKind.CREATE_VIEW and name is not None and not statement.temporary:
            self._view(statement, name, schema)
        elif kind is SparkKind.CREATE_TABLE and name is not None and not statement.temporary:
            if lookup(self.context.spark, name) is None:
                self.new.add(name)
                self._add("table", name, statement.text)
            else:
                self._same("table", name)
        else:
            raise self._refused(statement)

    def _view(self, statement: S.SparkStatement, name: Name, schema: str) -> None:
        self.told.add(name)
        known = lookup(self.context.spark, name)
        if known is None:
            self.new.add(name)
            self._add("view", name, statement.text)
            return
        query = qualified_text(_AS.split(statement.text, maxsplit=1)[-1], schema)
        if known.kind is RelationKind.VIEW and is_view_of(known.text or "", query):
            self._same("view", name)
            return
        below, text = self._below({name}), text_differs(query_of_view(known.text or ""), query)
        self.changes.append(
            PlannedChange("view", str(name), PlannedAction.CHANGE, ("query",), "", below, text)
        )
        self.steps.append(_VIEW.sub("CREATE OR REPLACE VIEW ", statement.text, count=1))

    def warehouse(self, statement: S.CreateWarehouse, schema: str) -> None:
        known = {w.name: w for w in self.context.catalog.warehouses()}
        found = known.get(statement.name)
        if found is None:
            self._add("warehouse", statement.name, statement.text)
            return
        differs = tuple(fields_differ(_WAREHOUSE, found, statement))
        if not differs:
            self._same("warehouse", statement.name)
            return
        change = PlannedChange("warehouse", statement.name, PlannedAction.CHANGE, differs)
        self.changes.append(change)
        options = " ".join(
            f"{option} = {str(getattr(statement, f)).upper()}" for option, f in _WAREHOUSE.items()
        )
        self.steps.append(f"ALTER WAREHOUSE {plain(statement.name)} SET {options}")

    def task(self, statement: S.CreateTask, schema: str) -> None:
        """One that is replaced is suspended, until the script resumes it."""
        self.told.add(statement.name)
        found = self.context.catalog.find_task(statement.name)
        if found is None:
            self.replaced.add(statement.name)
            self._add("task", statement.name, statement.text)
            return
        differs = tuple(fields_differ(_TASK, found, statement))
        if not differs:
            self._same("task", statement.name)
            return
        self.replaced.add(statement.name)
        text = text_differs(found.body, statement.body)
        change = PlannedChange(
            "task", str(statement.name), PlannedAction.CHANGE, differs, text=text
        )
        self.changes.append(change)
        self.steps.append(_CREATE_TASK.sub("CREATE OR REPLACE TASK ", statement.text, count=1))

    def alter_task(self, statement: S.AlterTask, schema: str) -> None:
        """What an export says of tasks that are started."""
        if not isinstance(statement.change, S.Suspend | S.Resume):
            raise self._refused(statement)
        found = self.context.catalog.find_task(statement.name)
        started = found is not None and found.started and statement.name not in self.replaced
        resume = isinstance(statement.change, S.Resume)
        if started != resume:
            self._state("task", statement.name, statement.text, suspend=not resume)

    def stream(self, statement: S.CreateStream, schema: str) -> None:
        self.told.add(statement.name)
        if self.context.catalog.find_stream(statement.name) is None:
            self._add("stream", statement.name, statement.text)
        else:
            self._same("stream", statement.name)

    def sink(self, statement: S.CreateSink, schema: str) -> None:
        self.told.add(statement.name)
        if self.context.catalog.find_sink(statement.name) is None:
            self._add("sink", statement.name, statement.text, "delivered to its store")
        else:
            self._same("sink", statement.name)

    def alter(self, statement: S.AlterDynamicTable, schema: str) -> None:
        """What an export says of tables that are suspended."""
        if not isinstance(statement.change, S.Suspend | S.Resume):
            raise self._refused(statement)
        suspend = isinstance(statement.change, S.Suspend)
        found = self.context.catalog.get(statement.name)
        state = found.scheduling if found is not None else SchedulingState.ACTIVE
        if suspend == (state is SchedulingState.SUSPENDED):
            return
        self._state("dynamic table", statement.name, statement.text, suspend=suspend)

    def alter_warehouse(self, statement: S.AlterWarehouse, schema: str) -> None:
        found = {w.name: w for w in self.context.catalog.warehouses()}.get(statement.name)
        if isinstance(statement.change, S.SetWarehouse):
            given = {f: getattr(statement.change, f) for f in _WAREHOUSE.values()}
            if found is None or any(
                v is not None and v != getattr(found, f) for f, v in given.items()
            ):
                self._state("warehouse", statement.name, statement.text, suspend=None)
            return
        suspend = isinstance(statement.change, S.Suspend)
        if found is None or found.suspended != suspend:
            self._state("warehouse", statement.name, statement.text, suspend=suspend)

    def _state(self, kind: str, name: object, step: str, *, suspend: bool | None) -> None:
        said = "options" if suspend is None else "suspended" if suspend else "resumed"
        self.changes.append(PlannedChange(kind, str(name), PlannedAction.CHANGE, (said,)))
        self.steps.append(step)

    def _others(self) -> None:
        """What the lake has in addition to the script, those downstream first."""
        catalog = self.context.catalog
        found = [("task", t.name) for t in catalog.tasks()]
        found += [("sink", s.name) for s in catalog.sinks()]
        found += [("stream", s.name) for s in catalog.streams()]
        tables = {t.name: t for t in catalog.list()}
        views = {v.name for v in catalog.views()}
        found += [
            ("dynamic table", n) for n in reversed(list(names_upstream_first(tables.values())))
        ]
        found += [("view", n) for n in sorted(views, key=str)]
        for kind, name in found:
            if name in self.told:
                continue
            below = self._below({name}) if kind in ("view", "dynamic table") else ()
            action = PlannedAction.REMOVE if self.remove else PlannedAction.LEAVE
            self.changes.append(PlannedChange(kind, str(name), action, affects=below))
            if self.remove:
                self.steps.append(f"DROP {kind.upper()} {name}")
        self._other_functions()

    def _other_functions(self) -> None:
        """Those of SQL; one that a dynamic table calls can go after that."""
        for function in self.context.catalog.functions():
            if function.kind is not FunctionKind.SQL or function.name in self.functions:
                continue
            action = PlannedAction.REMOVE if self.remove else PlannedAction.LEAVE
            calling = self._calling(function.name)
            self.changes.append(PlannedChange("function", function.name, action, affects=calling))
            if self.remove:
                self.steps.append(f"DROP FUNCTION default.{quote(function.name)}")


_PLANNED: Mapping[type[S.Statement], Callable[[_Planner, Any, str], None]] = {
    S.CreateDynamicTable: _Planner.dynamic_table,
    S.CreateWarehouse: _Planner.warehouse,
    S.CreateStream: _Planner.stream,
    S.CreateTask: _Planner.task,
    S.AlterTask: _Planner.alter_task,
    S.CreateSink: _Planner.sink,
    S.AlterDynamicTable: _Planner.alter,
    S.AlterWarehouse: _Planner.alter_warehouse,
    S.CreateRole: _Planner.role,
    S.GrantRights: _Planner.grant,
    S.SparkStatement: _Planner.spark,
}

__all__ = ["apply_plan", "plan_script", "state_of"]
