"""Rows at hand under the names by which statements read them: given to Spark only for a statement
that is run there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from dt_jupyter.evaluation import (
    Evaluator,
    LeftOut,
    LocalRows,
    arrow_value_kind,
    empty_rows,
    value_kind,
)
from dt_jupyter.lake import TableLog, fields_named, local_view, spark_schema
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.spark import arrow_frame, read_confs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_USUAL = {
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
}
"""What the evaluation takes for granted of a session: other decimals have other digits."""
_ZONE = "spark.sql.session.timeZone"
_UNUSUAL = "decimals have another meaning in its session"
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00"})
_WORD = re.compile(r"\w+")


@dataclass
class LocalViews:
    """Views of one stage's step; without an `evaluator` every statement is Spark's."""

    spark: SparkSession
    evaluator: Evaluator | None
    given_rows: int = 0
    """Rows that Spark was given."""
    _rows: dict[str, LocalRows] = field(default_factory=dict)
    _not_given: dict[str, Callable[[], object]] = field(default_factory=dict)

    def add(self, name: str, rows: pa.Table, schema: StructType | None = None) -> None:
        """Rows that a statement gave; those of one of Spark's with its schema."""
        shape = tuple((f.name, arrow_value_kind(f.type)) for f in rows.schema)

        def make() -> None:
            arrow_frame(self.spark, rows, schema).createOrReplaceTempView(name)

        self._add(name, LocalRows(rows, shape), make)

    def add_of_table(self, name: str, log: TableLog, version: int, rows: pa.Table) -> None:
        """Rows of a table or changes of it, with the table's own types."""
        known = [c for c in rows.column_names if c != WEIGHT]
        fields = spark_schema(fields_named(log.metadata(version), known))
        kinds = {f.name: value_kind(f.dataType.simpleString()) for f in fields}
        kinds[WEIGHT] = value_kind("bigint")
        shape = tuple((c, kinds[c]) for c in rows.column_names)

        def make() -> None:
            local_view(self.spark, log, version, rows, name)

        self._add(name, LocalRows(rows, shape), make)

    def _add(self, name: str, rows: LocalRows, make: Callable[[], object]) -> None:
        self._rows[name], self._not_given[name] = rows, make

    def evaluate(self, text: str) -> pa.Table | None:
        """The rows of a statement over views alone; None: it is Spark's."""
        if self.evaluator is None or not self._is_usual:
            return None
        read = {n: self._rows[n] for n in self._read_by(text)}
        return self.evaluator(text, read, is_utc=self._is_utc)

    def evaluate_whole(
        self, text: str, most_bytes: int, over: Callable[[], bool]
    ) -> pa.Table | None:
        """As `evaluate`, of however many rows, within bounds."""
        if self.evaluator is None or not self._is_usual:
            return None
        read = {n: self._rows[n] for n in self._read_by(text)}
        return self.evaluator.evaluate_whole(text, read, most_bytes, over, is_utc=self._is_utc)

    @cached_property
    def _confs(self) -> dict[str, str]:
        return read_confs(self.spark, (*_USUAL, _ZONE))

    @property
    def _is_usual(self) -> bool:
        return all(self._confs.get(name, value) == value for name, value in _USUAL.items())

    @property
    def _is_utc(self) -> bool:
        return self._confs[_ZONE] in _UTC

    def _read_by(self, text: str) -> list[str]:
        """The views that a statement names."""
        words = set(_WORD.findall(text))
        return [n for n in self._rows if n in words]

    def imagine(self, name: str, text: str) -> str | None:
        """Adds a view with the columns of a statement over others, and no rows; what of the
        statement is left to Spark, if anything is."""
        assert self.evaluator is not None
        read = {n: self._rows[n] for n in self._read_by(text)}
        if not self._is_usual:
            return _UNUSUAL
        found = self.evaluator.translated(text, read, is_utc=self._is_utc)
        if isinstance(found, LeftOut):
            return found.what
        if name:
            self.add(name, empty_rows(found.columns))
        return None

    def give(self, text: str) -> None:
        """Makes the views that a statement reads known to Spark."""
        for name in self._read_by(text):
            if make := self._not_given.pop(name, None):
                make()
                self.given_rows += self._rows[name].rows.num_rows
