"""Statements that a JVM runs before a session is requested: the classes of the parser, the planner,
Delta and Parquet are loaded then, and compiled as far as they were used.

They run in a session whose catalog no other session sees, over files in a temporary folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.path_texts import text_of_path

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

_ROWS = "SELECT id, id % 5 AS k, concat('x', id) AS v FROM range(1000)"
_PROPERTIES = "'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'"
_STATEMENTS = (
    "SHOW NAMESPACES",
    "SHOW SYSTEM FUNCTIONS",
    f"CREATE TABLE first USING delta LOCATION '{{folder}}/first' AS {_ROWS}",
    f"SELECT k, count(*) AS n FROM ({_ROWS}) GROUP BY k",
    f"CREATE TABLE second USING delta LOCATION '{{folder}}/second'"
    f" TBLPROPERTIES ({_PROPERTIES}) AS {_ROWS}",
    "CREATE OR REPLACE VIEW shown (k, v) AS SELECT k, v FROM second",
    "SELECT a.k, b.v, count(*) AS n, sum(a.id) AS s FROM first a JOIN second b USING (id)"
    " WHERE a.id < 10 GROUP BY a.k, b.v",
    "SELECT * FROM shown WHERE k = 2 ORDER BY v LIMIT 51",
)


def warm_up(
    gateway: JavaGateway, context: Any, folder: Path, is_wanted: Callable[[], bool]
) -> None:
    """Runs one statement after the other until the JVM is wanted."""
    jvm: Any = gateway.jvm
    session = jvm.org.apache.spark.sql.classic.SparkSession(context.sc(), jvm.java.util.HashMap())
    for statement in _STATEMENTS:
        if is_wanted():
            return
        session.sql(statement.replace("{folder}", text_of_path(folder))).collect()
