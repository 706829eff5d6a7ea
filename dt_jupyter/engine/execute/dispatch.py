"""Which handler runs which statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.execute import (
    dynamic_table_statements,
    spark_statements,
    stream_statements,
    transaction_statements,
    warehouse_statements,
)
from dt_jupyter.engine.execute.origin import Origin
from dt_jupyter.engine.naming import require_names
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context
    from dt_jupyter.engine.create import Created

Handler = Callable[["Context", Any, Origin], "DataFrame | Created"]


def execute(context: Context, statement: S.Statement, origin: Origin) -> DataFrame | Created:
    """The statement's result: rows, or what was created."""
    context.transactions.require_allowed(statement)
    require_names(statement, origin.script)
    return HANDLERS[type(statement)](context, statement, origin)


def _refuse(context: Context, statement: S.Unsupported, origin: Origin) -> DataFrame:
    raise statement.error(origin.script)


HANDLERS: Mapping[type[S.Statement], Handler] = {
    S.CreateDynamicTable: dynamic_table_statements.create,
    S.CloneDynamicTable: dynamic_table_statements.clone,
    S.AlterDynamicTable: dynamic_table_statements.alter,
    S.DropDynamicTable: dynamic_table_statements.drop,
    S.UndropDynamicTable: dynamic_table_statements.undrop,
    S.DescribeDynamicTable: dynamic_table_statements.describe,
    S.ShowDynamicTables: dynamic_table_statements.show,
    S.ExplainDynamicTable: dynamic_table_statements.explain,
    S.CreateWarehouse: warehouse_statements.create,
    S.AlterWarehouse: warehouse_statements.alter,
    S.DropWarehouse: warehouse_statements.drop,
    S.ShowWarehouses: warehouse_statements.show,
    S.CreateStream: stream_statements.create,
    S.DropStream: stream_statements.drop,
    S.DescribeStream: stream_statements.describe,
    S.ShowStreams: stream_statements.show,
    S.Begin: transaction_statements.begin,
    S.Commit: transaction_statements.commit,
    S.Rollback: transaction_statements.rollback,
    S.SparkStatement: spark_statements.run,
    S.UndropTable: spark_statements.undrop_table,
    S.Unsupported: _refuse,
}
