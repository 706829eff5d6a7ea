"""Which handler runs which statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.execute import (
    dynamic_table_statements,
    rights_statements,
    schema_statements,
    sink_statements,
    spark_statements,
    stream_statements,
    task_statements,
    transaction_statements,
    warehouse_statements,
)
from dt_jupyter.engine.execute.named_places import place_at_name
from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.engine.naming import require_names
from dt_jupyter.engine.rights.concealment import concealed, has_values, hidden_by
from dt_jupyter.engine.rights.lives import followed
from dt_jupyter.engine.rights.needs import require_statement
from dt_jupyter.model import DTError
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context
    from dt_jupyter.engine.created import Created

Handler = Callable[["Context", Any, StatementOrigin], "DataFrame | Created"]


def execute(
    context: Context, statement: S.Statement, origin: StatementOrigin
) -> DataFrame | Created:
    """The statement's result: rows, or what was created."""
    access = context.access
    context.transactions.require_allowed(statement)
    require_names(statement, origin.script)
    try:
        require_statement(access, statement)
        with followed(access, context.log, statement):
            return HANDLERS[type(statement)](context, statement, origin)
    except DTError as e:
        placed = access.discreet(place_at_name(e, statement, origin.script))
        need = hidden_by(access, statement, context.schema()) if has_values(placed) else None
        told = concealed(access, placed, need)
        if told is e:
            raise
        if told is placed:
            raise placed from e
    raise told  # outside: an error that hides values has no context


def _refuse(context: Context, statement: S.Unsupported, origin: StatementOrigin) -> DataFrame:
    raise statement.error(origin.script)


HANDLERS: Mapping[type[S.Statement], Handler] = {
    S.CreateDynamicTable: dynamic_table_statements.create_dynamic_table,
    S.CloneDynamicTable: dynamic_table_statements.clone,
    S.CloneSchema: schema_statements.clone_schema,
    S.UndropSchema: schema_statements.bring_schema_back,
    S.RenameSchema: schema_statements.run_rename_schema,
    S.SwapSchemas: schema_statements.run_swap_schemas,
    S.AlterDynamicTable: dynamic_table_statements.alter_dynamic_table,
    S.DropDynamicTable: dynamic_table_statements.drop_dynamic_table,
    S.UndropDynamicTable: dynamic_table_statements.undrop,
    S.DescribeDynamicTable: dynamic_table_statements.describe_dynamic_table,
    S.ShowDynamicTables: dynamic_table_statements.show_dynamic_tables,
    S.ExplainDynamicTable: dynamic_table_statements.explain,
    S.CreateWarehouse: warehouse_statements.create_warehouse,
    S.AlterWarehouse: warehouse_statements.alter_warehouse,
    S.DropWarehouse: warehouse_statements.drop_warehouse,
    S.ShowWarehouses: warehouse_statements.show_warehouses,
    S.CreateStream: stream_statements.run_create_stream,
    S.CloneStream: stream_statements.clone_stream,
    S.AlterStream: stream_statements.alter_stream,
    S.UndropStream: stream_statements.undrop_stream,
    S.DropStream: stream_statements.drop_stream,
    S.DescribeStream: stream_statements.describe_stream,
    S.ShowStreams: stream_statements.show_streams,
    S.CreateSink: sink_statements.run_create_sink,
    S.AlterSink: sink_statements.alter_sink,
    S.DropSink: sink_statements.drop_sink,
    S.DescribeSink: sink_statements.describe_sink,
    S.ShowSinks: sink_statements.show_sinks,
    S.CreateTask: task_statements.run_create_task,
    S.AlterTask: task_statements.alter_task,
    S.ExecuteTask: task_statements.execute_task,
    S.DropTask: task_statements.drop_task,
    S.DescribeTask: task_statements.describe_task,
    S.ShowTasks: task_statements.show_tasks,
    S.CreateRole: rights_statements.create_role,
    S.DropRole: rights_statements.drop_role,
    S.ShowRoles: rights_statements.show_roles,
    S.UseRole: rights_statements.use_role,
    S.GrantRights: rights_statements.grant,
    S.RevokeRights: rights_statements.revoke,
    S.ShowGrants: rights_statements.show_grants,
    S.Begin: transaction_statements.begin,
    S.Commit: transaction_statements.commit_transaction,
    S.Rollback: transaction_statements.rollback,
    S.SparkStatement: spark_statements.run_by_spark,
    S.UndropTable: spark_statements.undrop_table,
    S.Unsupported: _refuse,
}
