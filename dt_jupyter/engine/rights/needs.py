"""The right that each class of statements needs. The table is closed: a statement that is not in it
is open to admin alone, and a test fails until it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import DTError, Name, Named, Right, Securable, error
from dt_jupyter.sinks import scheme_of
from dt_jupyter.sql import SinkSource, statement_values as S

Need = Callable[[Access, Any], None]


def require_statement(access: Access, statement: S.Statement) -> None:
    """DT-5201 and DT-5207 for what the session's role may not do; DT-5211 for what no role may do
    in a shared engine. Spark's statements are checked when they are analysed."""
    if access.shared is not None:
        _require_shared(statement)
    if not access.bound:
        return
    need = STATEMENT_NEEDS.get(type(statement))
    if need is None:
        raise access.refusal(_words(statement), "what it does is not known")
    try:
        need(access, statement)
    except DTError as e:
        raise (e if e.span is not None else _placed(e, statement)) from None


def _placed(e: DTError, statement: S.Statement) -> DTError:
    place = statement.place("source" if _is(e, statement, "source") else "name")
    return DTError(e.code, e.facts, e.query, place, e.details) if place is not None else e


def _is(e: DTError, statement: S.Statement, field: str) -> bool:
    return str(e.facts.get("name")) == str(getattr(statement, field, None))


def _words(statement: S.Statement) -> str:
    return " ".join(statement.text.split()[:3]).upper() or "It"


def _nothing(access: Access, statement: S.Statement) -> None:
    """The result shows only what the role sees, or what it does is checked where it is done."""


def _named(right: Right) -> Need:
    return lambda access, statement: access.require(right, statement.name)


def _admin(access: Access, statement: S.Statement) -> None:
    access.require_admin(_words(statement))


def _seen(access: Access, statement: Any) -> None:
    access.require_sees(statement.name)


def _made(access: Access, kind: Named, action: S.CreateAction, name: Name) -> None:
    """The right to make it, and that to replace what has its name."""
    access.require_create(kind, name, replaces=action is S.CreateAction.REPLACE)
    if action in (S.CreateAction.REPLACE, S.CreateAction.ALTER):
        own = access.require_task if kind is Named.TASK else access.require
        own(Right.OWNERSHIP, name)


def _create_table(access: Access, statement: S.CreateDynamicTable) -> None:
    """What the query reads is required before it is analysed: see `Creator.define`."""
    _made(access, Named.DYNAMIC_TABLE, statement.action, statement.name)
    access.require_warehouse(Right.USAGE, statement.warehouse)


def _clone(access: Access, statement: S.CloneDynamicTable) -> None:
    """What the clone's definition reads is required where it is known: see `Cloner.clone`."""
    _made(access, Named.DYNAMIC_TABLE, statement.action, statement.name)
    access.require(Right.SELECT, statement.source)
    if statement.warehouse is not None:
        access.require_warehouse(Right.USAGE, statement.warehouse)


def _alter_table(access: Access, statement: S.AlterDynamicTable) -> None:
    change = statement.change
    whole = isinstance(change, S.RenameTo | S.SwapWith)
    access.require(Right.OWNERSHIP if whole else Right.OPERATE, statement.name)
    if isinstance(change, S.RenameTo) and change.new_name.schema != statement.name.schema:
        access.require_create(Named.DYNAMIC_TABLE, change.new_name)
    if isinstance(change, S.SwapWith):
        access.require(Right.OWNERSHIP, change.other)
    if isinstance(change, S.SetOptions) and change.warehouse is not None:
        access.require_warehouse(Right.USAGE, change.warehouse)


def _rename_schema(access: Access, statement: S.RenameSchema) -> None:
    access.require_owner(Securable.of(Named.SCHEMA, statement.name))


def _swap_schemas(access: Access, statement: S.SwapSchemas) -> None:
    for name in (statement.name, statement.other):
        access.require_owner(Securable.of(Named.SCHEMA, name))


def _undrop_dynamic_table(access: Access, statement: S.UndropDynamicTable) -> None:
    access.require_last_owner(statement.name, access.catalog.dropped_id(statement.name))


def _undrop_stream(access: Access, statement: S.UndropStream) -> None:
    found = access.catalog.dropped_stream(statement.name)
    access.require_last_owner(statement.name, found.id if found is not None else None)


def _explain(access: Access, statement: S.ExplainDynamicTable) -> None:
    if isinstance(statement.subject, Name):
        access.require(Right.SELECT, statement.subject)


def _create_warehouse(access: Access, statement: S.CreateWarehouse) -> None:
    known = {w.name for w in access.catalog.warehouses()}
    if statement.action is S.CreateAction.REPLACE and statement.name in known:
        access.require_warehouse(Right.OWNERSHIP, statement.name)


def _alter_warehouse(access: Access, statement: S.AlterWarehouse) -> None:
    settings = isinstance(statement.change, S.SetWarehouse)
    right = Right.OWNERSHIP if settings else Right.OPERATE
    access.require_warehouse(right, statement.name)


def _drop_warehouse(access: Access, statement: S.DropWarehouse) -> None:
    access.require_warehouse(Right.OWNERSHIP, statement.name)


def _create_stream(access: Access, statement: S.CreateStream) -> None:
    _made(access, Named.STREAM, statement.action, statement.name)
    access.require_read(statement.source)


def _clone_stream(access: Access, statement: S.CloneStream) -> None:
    _made(access, Named.STREAM, statement.action, statement.name)
    access.require_stream(statement.source)


def _create_sink(access: Access, statement: S.CreateSink) -> None:
    _made(access, Named.SINK, statement.action, statement.name)
    if scheme_of(statement.url) == "process":
        access.require_admin("CREATE SINK … INTO 'process://…'")
    access.require_warehouse(Right.USAGE, statement.warehouse)
    if statement.source_kind is SinkSource.STREAM:
        access.require_stream(statement.source)
    access.require_read(statement.source)


def _alter_sink(access: Access, statement: S.AlterSink) -> None:
    runs = isinstance(statement.change, S.Suspend | S.Resume | S.Refresh | S.RetryDeadLetters)
    access.require(Right.OPERATE if runs else Right.OWNERSHIP, statement.name)


def _create_task(access: Access, statement: S.CreateTask) -> None:
    """What its statement may do is asked where it is read, and again when it runs, with the role
    of the task's owner."""
    _made(access, Named.TASK, statement.action, statement.name)
    access.require_warehouse(Right.USAGE, statement.warehouse)


def _alter_task(access: Access, statement: S.AlterTask) -> None:
    runs = isinstance(statement.change, S.Suspend | S.Resume)
    access.require_task(Right.OPERATE if runs else Right.OWNERSHIP, statement.name)


def _task(right: Right) -> Need:
    return lambda access, statement: access.require_task(right, statement.name)


def _use_role(access: Access, statement: S.UseRole) -> None:
    """Which roles a session may use is asked whatever its role is: see `Access.use`."""


def _grant(access: Access, statement: S.GrantRights | S.RevokeRights) -> None:
    access.require_owner(statement.on)


def _undrop_table(access: Access, statement: S.UndropTable) -> None:
    """Which dropped table it brings back is known where its folder is found: see `undrop_table`."""


def _spark(access: Access, statement: S.SparkStatement) -> None:
    """What the engine does itself before Spark's plan is judged: it drops tables, and it records
    the owner of what is made. See `SparkRights` for all else."""
    kind = statement.kind
    if kind is S.SparkKind.DROP_SCHEMA and statement.target_parts:
        access.require_owner(Securable.of(Named.SCHEMA, statement.target_parts[-1]))
    if kind in _MAKES and not (statement.targets or statement.temporary):
        raise access.refusal(_words(statement), "what it makes has no name", "Write its name.")
    rights = SPARK_NEEDS[kind] if kind in _OWNED else ()
    for target in statement.targets if not _is_temporary(access, statement) else ():
        for right in rights:
            access.require(right, target)


def _is_temporary(access: Access, statement: S.SparkStatement) -> bool:
    name = statement.target
    return name is not None and len(statement.target_parts) == 1 and access.is_temporary(name)


_MAKES = frozenset({S.SparkKind.CREATE_TABLE, S.SparkKind.CREATE_VIEW})
_OWNED = frozenset({
    S.SparkKind.DROP_TABLE, S.SparkKind.DROP_VIEW, S.SparkKind.ALTER_TABLE,
    S.SparkKind.ALTER_VIEW, S.SparkKind.RESTORE,
})  # fmt: skip
SPARK_NEEDS: Mapping[S.SparkKind, tuple[Right, ...]] = {
    S.SparkKind.QUERY: (),
    S.SparkKind.CREATE_TABLE: (),
    S.SparkKind.CREATE_VIEW: (),
    S.SparkKind.CREATE_SCHEMA: (),
    S.SparkKind.DROP_SCHEMA: (),
    S.SparkKind.INSERT: (Right.INSERT,),
    S.SparkKind.UPDATE: (Right.UPDATE, Right.SELECT),
    S.SparkKind.DELETE: (Right.DELETE, Right.SELECT),
    S.SparkKind.MERGE: (Right.INSERT, Right.UPDATE, Right.DELETE, Right.SELECT),
    S.SparkKind.TRUNCATE: (Right.DELETE,),
    S.SparkKind.OPTIMIZE: (Right.OWNERSHIP,),
    S.SparkKind.VACUUM: (Right.OWNERSHIP,),
    S.SparkKind.USE: (),
    S.SparkKind.SET: (),
    S.SparkKind.SCRIPT: (),
    S.SparkKind.OTHER: (),
} | dict.fromkeys(_OWNED, (Right.OWNERSHIP,))
"""The rights on its targets that each kind needs, as far as names show."""


STATEMENT_NEEDS: Mapping[type[S.Statement], Need] = {
    S.CreateDynamicTable: _create_table,
    S.CloneDynamicTable: _clone,
    S.CloneSchema: _admin,
    S.UndropSchema: _admin,
    S.RenameSchema: _rename_schema,
    S.SwapSchemas: _swap_schemas,
    S.AlterDynamicTable: _alter_table,
    S.DropDynamicTable: _named(Right.OWNERSHIP),
    S.UndropDynamicTable: _undrop_dynamic_table,
    S.DescribeDynamicTable: _seen,
    S.ShowDynamicTables: _nothing,
    S.ExplainDynamicTable: _explain,
    S.CreateWarehouse: _create_warehouse,
    S.AlterWarehouse: _alter_warehouse,
    S.DropWarehouse: _drop_warehouse,
    S.ShowWarehouses: _nothing,
    S.CreateStream: _create_stream,
    S.DropStream: _named(Right.OWNERSHIP),
    S.CloneStream: _clone_stream,
    S.AlterStream: _named(Right.OWNERSHIP),
    S.UndropStream: _undrop_stream,
    S.DescribeStream: _seen,
    S.ShowStreams: _nothing,
    S.CreateSink: _create_sink,
    S.AlterSink: _alter_sink,
    S.DropSink: _named(Right.OWNERSHIP),
    S.DescribeSink: _seen,
    S.ShowSinks: _nothing,
    S.CreateTask: _create_task,
    S.AlterTask: _alter_task,
    S.ExecuteTask: _task(Right.OPERATE),
    S.DropTask: _task(Right.OWNERSHIP),
    S.DescribeTask: _task(Right.MONITOR),
    S.ShowTasks: _nothing,
    S.CreateRole: _admin,
    S.DropRole: _admin,
    S.ShowRoles: _nothing,
    S.UseRole: _use_role,
    S.GrantRights: _grant,
    S.RevokeRights: _grant,
    S.ShowGrants: _nothing,
    S.Begin: _nothing,
    S.Commit: _nothing,
    S.Rollback: _nothing,
    S.SparkStatement: _spark,
    S.UndropTable: _undrop_table,
    S.Unsupported: _nothing,
}


def _require_shared(statement: S.Statement) -> None:
    if isinstance(statement, S.CreateSink):
        problem = "a sink writes outside of the lake"
        raise error("DT-5211", what="CREATE SINK", problem=problem)


__all__ = ["SPARK_NEEDS", "STATEMENT_NEEDS", "require_statement"]
