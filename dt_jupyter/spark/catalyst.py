"""Spark's analyser in a JVM of this machine, which shows the plans of texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import UserFunction
from dt_jupyter.model.hidden import unique_view
from dt_jupyter.spark.compiled_java import compile_java
from dt_jupyter.spark.local_analyser import LocalSession, session_like
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.thread_session import java_session_active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

SOURCE_MARK = "dt_source"
"""The key of a column's metadata that says which source the column is of."""


@dataclass(frozen=True)
class Catalyst:
    """`jvm` is Py4J's view of the JVM, `session` Java's session, whose confs hold; `local` the same
    of an analyser next to a client of Spark Connect."""

    jvm: Any
    session: Any
    local: LocalSession | None = None

    @classmethod
    def of(cls, spark: SparkSession) -> Catalyst:
        """That of a classic session itself; for Spark Connect one that is on this machine, with the
        confs that the server's session has now. Refused where there is none."""
        if is_connect(spark):
            return cls._of_local(session_like(spark))
        classic: Any = spark
        return cls(classic._jvm, classic._jsparkSession)

    @classmethod
    def _of_local(cls, local: LocalSession) -> Catalyst:
        return cls(local.jvm, local.java, local)

    def declare_functions(self, functions: Collection[UserFunction]) -> Catalyst:
        """One that knows these functions, but those of SQL, which are put into texts before. A
        classic session has them."""
        if self.local is None:
            return self
        return self._of_local(self.local.with_functions(functions))

    def analyse(self, text: str) -> Any:
        """Java's analysed plan of a query. AnalysisException or ParseException of PySpark."""
        if self.local is not None:
            return self.local.analyse(text)
        return self.session.sql(text).queryExecution().analyzed()

    @contextmanager
    def call(self, java_class: str) -> Iterator[Any]:
        """An object of one of this package's Java classes, called with this session active; of an
        analyser next to Spark Connect only its `of`."""
        if self.local is not None:
            yield self.local.rule(java_class)
            return
        with java_session_active(self.jvm, self.session):
            yield compile_java(self.jvm, java_class)

    @contextmanager
    def empty_views(self, schemas: Mapping[str, StructType]) -> Iterator[Mapping[str, str]]:
        """Names of temporary views without rows, by the keys of their schemas, for as long as the
        block runs. Each column has its key as SOURCE_MARK."""
        views = {key: unique_view("standing") for key in schemas}
        try:
            self._make({views[key]: _with_mark(schema, key) for key, schema in schemas.items()})
            yield views
        finally:
            self._drop(views.values())

    def _make(self, views: Mapping[str, StructType]) -> None:
        if self.local is not None:
            self.local.make_views({name: v.jsonValue() for name, v in views.items()})
            return
        spark = self.jvm.org.apache.spark
        context = spark.api.java.JavaSparkContext.fromSparkContext(self.session.sparkContext())
        for name, schema in views.items():
            kind = spark.sql.types.DataType.fromJson(schema.json())
            frame = self.session.createDataFrame(context.emptyRDD(), kind)
            frame.createOrReplaceTempView(name)

    def _drop(self, views: Iterable[str]) -> None:
        if self.local is not None:
            self.local.drop_views(views)
            return
        for view in views:
            self.session.catalog().dropTempView(view)


def _with_mark(schema: StructType, key: str) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [
            StructField(f.name, f.dataType, f.nullable, {**f.metadata, SOURCE_MARK: key})
            for f in schema.fields
        ]
    )
