"""Whether Spark reads a text as our reader read it: two readers that share nothing, compared over
tables without rows, by Spark's analyser and optimizer and without a job.

The plans are compared by their forms. Where our rules write an operator otherwise than Spark plans
it, as a full join or a subquery, that is no difference in reading: the text of Spark's plan is then
bound by ours too, and what comes of both is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dt_jupyter.definition.compile import bind_query
from dt_jupyter.definition.spark_reading import StandingQuery, public_schema, standing_query
from dt_jupyter.ivm import Refused, Rel
from dt_jupyter.model import Definition, DTError, quote
from dt_jupyter.plans import NoForm, optimized_form, optimized_words
from dt_jupyter.sql import Renderer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Opinion:
    """`same` is None where neither is shown; `difference` says how Spark reads it otherwise, and
    `why` why it is not decided."""

    same: bool | None
    difference: str = ""
    why: str = ""


@dataclass(frozen=True)
class TextReader:
    """How our reader reads texts: `builtins` are Spark's functions, `scalars` all that are known,
    `expanded` puts in what functions of SQL return."""

    builtins: Collection[str]
    scalars: frozenset[str]
    expanded: Callable[[str], str]


def second_opinion(
    spark: SparkSession,
    definition: Definition,
    schemas: Mapping[str, StructType],
    reader: TextReader,
) -> Opinion:
    """Of a definition that our reader read, over sources with these schemas, by id."""
    try:
        with standing_query(spark, definition, schemas, reader.expanded) as query:
            return _Comparison(spark, definition, schemas, reader, query).opinion()
    except Refused as e:
        return Opinion(None, why=e.reason.sentence)
    except NoForm as e:
        return Opinion(None, why=f"Spark's plan has no text: there is none of {e.what}")
    except (PySparkException, Py4JJavaError, DTError, RecursionError) as e:
        return Opinion(None, why=f"Spark's optimizer ended in {type(e).__name__}")


@dataclass(frozen=True)
class _Comparison:
    spark: SparkSession
    definition: Definition
    schemas: Mapping[str, StructType]
    reader: TextReader
    query: StandingQuery

    def opinion(self) -> Opinion:
        own = self._rendered(self.definition.query)
        wanted, found = (self.spark.sql(t) for t in (self.query.text, own))
        for asked, bound in zip(wanted.schema.fields, found.schema.fields, strict=True):
            kinds = (asked.dataType.simpleString(), bound.dataType.simpleString())
            if kinds[0] != kinds[1]:
                what = f"Spark reads column {asked.name} as {kinds[0]}, and it was bound as "
                return Opinion(False, f"{what}{kinds[1]}")
        form, asked_form = self._form(found), self._form_or_none(wanted)
        if asked_form == form:
            return Opinion(True)
        text = self.query.read(self.reader.builtins)
        by_plan = self._form(self.spark.sql(self._rendered(text))) if text else None
        if by_plan == form:
            return Opinion(True)
        if by_plan is not None and by_plan == asked_form:
            return Opinion(False, "Spark plans the text as another one")
        plans = (f._jdf.queryExecution().analyzed() for f in (wanted, found))
        asked_words, bound_words = (optimized_words(self.spark, p) for p in plans)
        if lost := sorted(asked_words - bound_words):
            return Opinion(False, f"Spark reads {lost[0]} in the text, and it was bound without")
        return Opinion(None, why="Spark's plan of it has another form")

    def _form(self, frame: Any) -> Any:
        return optimized_form(self.spark, frame._jdf.queryExecution().analyzed())

    def _form_or_none(self, frame: Any) -> Any:
        """None for what Spark's optimizer makes of some operators, as of a pivot."""
        try:
            return self._form(frame)
        except NoForm:
            return None

    def _rendered(self, text: str) -> str:
        """What a text comes to in our reader, over the empty tables."""
        relation = self._bound(text)
        tables = self.query.tables
        inner = Renderer(lambda scan: quote(tables[scan.source]))(relation)
        items = (f"{quote(c)} AS {quote(f'c{i}')}" for i, c in enumerate(relation.columns))
        return f"SELECT {', '.join(items)} FROM (\n{inner}\n)"

    def _bound(self, text: str) -> Rel:
        definition, expanded = self.definition, self.reader.expanded
        return bind_query(
            self.spark,
            expanded(text),
            definition.current_schema,
            {s.name: s for s in definition.sources},
            {v.name: expanded(v.text) for v in definition.views},
            self.reader.scalars,
            {i: public_schema(s) for i, s in self.schemas.items()},
        ).relation
