"""Rows in memory under the names by which statements read them: given to Spark only for a statement
that is run there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from dt_jupyter.evaluation import Evaluator, LocalRows, ViewShape, arrow_value_kind, value_kind
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.read.arrow_snapshot import local_view
from dt_jupyter.lake.types import fields_named, spark_schema
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.spark import EvaluationSession, arrow_frame, read_evaluation_session
from dt_jupyter.sql import Query, tables_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_WORD = re.compile(r"\w+")


def table_shape(log: TableLog, version: int, columns: Sequence[str]) -> ViewShape:
    """The columns of a table at a version, or of its changes, with their types."""
    known = [c for c in columns if c != WEIGHT]
    schema = spark_schema(fields_named(log.metadata(version), known))
    kinds = dict(_shape_of(schema))
    kinds[WEIGHT] = value_kind("bigint")
    return tuple((c, kinds[c]) for c in columns)


def _shape_of(schema: StructType) -> ViewShape:
    """The columns of a schema with their types."""
    return tuple((f.name, value_kind(f.dataType.simpleString())) for f in schema)


@dataclass
class LocalViews:
    """Views of one stage's step, or of small tables."""

    spark: SparkSession
    evaluator: Evaluator
    given_rows: int = 0
    """Rows that Spark was given."""
    _rows: dict[str, LocalRows] = field(default_factory=dict)
    _not_given: dict[str, Callable[[], object]] = field(default_factory=dict)

    def add(self, name: str, rows: pa.Table, schema: StructType | None = None) -> None:
        """Rows that a statement gave; those of one of Spark's with its schema."""

        def make() -> None:
            arrow_frame(self.spark, rows, schema).createOrReplaceTempView(name)

        self.add_rows(name, rows, schema, make)

    def add_of_table(self, name: str, log: TableLog, version: int, rows: pa.Table) -> None:
        """Rows of a table or changes of it, with the table's own types."""
        shape = table_shape(log, version, rows.column_names)

        def make() -> None:
            local_view(self.spark, log, version, rows, name)

        self._add(name, LocalRows(rows, shape), make)

    def add_rows(
        self, name: str, rows: pa.Table, schema: StructType | None, make: Callable[[], object]
    ) -> None:
        """Rows, of Spark's schema if they have one, that `make` gives to Spark under the name."""
        arrow = ((f.name, arrow_value_kind(f.type)) for f in rows.schema)
        shape = tuple(arrow) if schema is None else _shape_of(schema)
        self._add(name, LocalRows(rows, shape), make)

    def _add(self, name: str, rows: LocalRows, make: Callable[[], object]) -> None:
        self._rows[name], self._not_given[name] = rows, make

    def evaluate(self, query: Query) -> pa.Table | None:
        """The rows of a statement over views alone; None: it is Spark's."""
        if self._session.left_out:
            return None
        return self.evaluator(query, self._read_by(query), is_utc=self._session.is_utc)

    def evaluate_whole(
        self, query: Query, most_bytes: int, over: Callable[[], bool]
    ) -> pa.Table | None:
        """As `evaluate`, of any number of rows, within bounds."""
        if self._session.left_out:
            return None
        return self.evaluator.evaluate_whole(
            query, self._read_by(query), most_bytes, over, is_utc=self._session.is_utc
        )

    @cached_property
    def _session(self) -> EvaluationSession:
        return read_evaluation_session(self.spark)

    def _read_by(self, query: Query) -> dict[str, LocalRows]:
        """The rows that a statement reads, by the names of their views."""
        named = dict.fromkeys(table.view for table in tables_in(query))
        return {n: self._rows[n] for n in named if n in self._rows}

    def give(self, text: str) -> None:
        """Makes the views that a statement of Spark's names known to it: it may have text that
        others wrote."""
        words = set(_WORD.findall(text))
        for name in words & self._rows.keys():
            if make := self._not_given.pop(name, None):
                make()
                self.given_rows += self._rows[name].rows.num_rows

    def drop(self) -> None:
        """Spark forgets the views that it was given, and so does this."""
        for name in self._rows.keys() - self._not_given.keys():
            self.spark.catalog.dropTempView(name)
        self._rows.clear()
        self._not_given.clear()
