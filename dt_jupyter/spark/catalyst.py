"""Spark's analyser in a JVM of this machine, which shows the plans of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.model.hidden import unique_view
from dt_jupyter.spark.compiled_java import compile_java
from dt_jupyter.spark.thread_session import java_session_active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

SOURCE_MARK = "dt_source"
"""The key of a column's metadata that says which source the column is of."""


@dataclass(frozen=True)
class Catalyst:
    """`jvm` is Py4J's view of the JVM, `session` Java's session, whose confs hold."""

    jvm: Any
    session: Any

    @classmethod
    def of(cls, spark: SparkSession) -> Catalyst:
        """That of a classic session itself."""
        classic: Any = spark
        return cls(classic._jvm, classic._jsparkSession)

    def analyse(self, text: str) -> Any:
        """Java's analysed plan of a query. AnalysisException or ParseException of PySpark."""
        return self.session.sql(text).queryExecution().analyzed()

    @contextmanager
    def call(self, java_class: str) -> Iterator[Any]:
        """An object of one of this package's Java classes, called with this session active."""
        with java_session_active(self.jvm, self.session):
            yield compile_java(self.jvm, java_class)

    @contextmanager
    def empty_views(self, schemas: Mapping[str, StructType]) -> Iterator[Mapping[str, str]]:
        """Names of temporary views without rows, by the keys of their schemas, for as long as the
        block runs. Each column has its key as SOURCE_MARK."""
        views: dict[str, str] = {}
        try:
            for key, schema in schemas.items():
                views[key] = unique_view("standing")
                self._empty(_with_mark(schema, key)).createOrReplaceTempView(views[key])
            yield views
        finally:
            for view in views.values():
                self.session.catalog().dropTempView(view)

    def _empty(self, schema: StructType) -> Any:
        spark = self.jvm.org.apache.spark
        context = spark.api.java.JavaSparkContext.fromSparkContext(self.session.sparkContext())
        kind = spark.sql.types.DataType.fromJson(schema.json())
        return self.session.createDataFrame(context.emptyRDD(), kind)


def _with_mark(schema: StructType, key: str) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [
            StructField(f.name, f.dataType, f.nullable, {**f.metadata, SOURCE_MARK: key})
            for f in schema.fields
        ]
    )
