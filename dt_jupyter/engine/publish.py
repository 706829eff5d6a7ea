"""The public face of dynamic tables in Spark's catalog: a view on the backing table."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from dt_jupyter.lake import NameTaken, is_delta, register
from dt_jupyter.lake.paths import sql_string, sql_table
from dt_jupyter.model import DynamicTable, Name, ViewSource, error, quote
from dt_jupyter.refresh.sources import Sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("dt_jupyter.engine")


@dataclass(frozen=True)
class Publisher:
    """Keeps the names of the lake known to a session: views of dynamic tables, tables, views."""

    spark: SparkSession
    sources: Sources

    def publish(self, table: DynamicTable) -> None:
        """The view by which any Spark code reads the table; it raises DT-2101 until there is
        something to read."""
        self.spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote(table.name.schema)}")
        columns = ", ".join(
            quote(n) + (f" COMMENT {sql_string(c)}" if c else "")
            for n, _, c in table.definition.columns
        )
        comment = f" COMMENT {sql_string(table.comment)}" if table.comment else ""
        text = self._contents(table) if table.frontier is not None else _nothing(table)
        self.spark.sql(f"CREATE OR REPLACE VIEW {table.name.sql} ({columns}){comment} AS {text}")

    def _contents(self, table: DynamicTable) -> str:
        path = self.sources.layout.public(table.id)
        stored = self.sources.logs[str(path)].metadata().columns
        visible = " WHERE __dt_visible" if "__dt_visible" in stored else ""
        names = ", ".join(quote(n) for n, _, _ in table.definition.columns)
        return f"SELECT {names} FROM {sql_table(path)}{visible}"

    def unpublish(self, name: Name) -> None:
        self.spark.sql(f"DROP VIEW IF EXISTS {name.sql}")

    def restore(self) -> None:
        """Everything of the lake known by name again, as before the session ended."""
        for name, path in self.known_tables().items():
            if not is_delta(path):
                continue
            try:
                register(self.spark, name, path)
            except NameTaken:
                told = f"In this session {name} is another table than in the lake. Drop its name"
                warnings.warn(f"{told}, or open the lake in a session of its own.", stacklevel=2)
        for table in self.sources.catalog.list():
            self.publish(table)
        self._restore_views()

    def _restore_views(self) -> None:
        """The user's views, whichever reads which; one whose table is gone waits for the next
        time, and keeps nobody out."""
        waiting = list(self.sources.catalog.views())
        while waiting:
            left = [v for v in waiting if not self._restored(v)]
            if len(left) == len(waiting):
                for view in left:
                    _log.warning("view %s is not restored: what it reads is gone", view.name)
                return
            waiting = left

    def _restored(self, view: ViewSource) -> bool:
        try:
            self.spark.sql(f"CREATE OR REPLACE VIEW {view.name.sql} AS {view.text}")
        except AnalysisException:
            return False
        return True

    def known_tables(self) -> dict[Name, str]:
        """Tables in the lake's folder, and those elsewhere that the catalog remembers."""
        root = self.sources.layout.tables
        found = {t.name: t.path for t in self.sources.catalog.tables()}
        for folder in sorted(root.iterdir()) if root.is_dir() else ():
            if folder.name.endswith(".db"):
                schema = folder.name.removesuffix(".db")
                found |= {Name(schema, f.name): str(f) for f in folder.iterdir() if is_delta(f)}
            elif is_delta(folder):
                found[Name("default", folder.name)] = str(folder)
        return found


def _nothing(table: DynamicTable) -> str:
    """No rows, and an error for whoever asks for them."""
    message = sql_string(str(error("DT-2101", name=table.name)))
    items = ", ".join(f"CAST(NULL AS {t}) AS {quote(n)}" for n, t, _ in table.definition.columns)
    return f"SELECT {items} WHERE assert_true(rand() > 2, {message}) IS NOT NULL"
