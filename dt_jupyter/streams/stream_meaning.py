"""What the source of a stream means, and whether it means what it meant when the stream began.

The changes of a view are the difference of one query at two times. Where the view became another
query, the rows that it gives or takes by that are in no table's change: the stream is stale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.definition import CallableFunctions, QueryText, read_meaning
from dt_jupyter.functions import called_by, expanded, scalar_names
from dt_jupyter.ivm import Refused, equivalent, simplify
from dt_jupyter.model import Name, Source, SourceKind, StreamMeaning, StreamTable, ViewSource
from dt_jupyter.replay import whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from dt_jupyter.catalog import Catalog
    from dt_jupyter.ivm import Rel
    from dt_jupyter.sources import Found


@dataclass(frozen=True)
class MeaningReader:
    """Reads meanings in a session; `builtins` are Spark's functions."""

    spark: SparkSession
    catalog: Catalog
    builtins: frozenset[str]

    def read(
        self,
        source: Name,
        found: Found,
        schemas: Mapping[str, StructType],
        columns: Sequence[str],
    ) -> StreamMeaning:
        """The meaning of a source that gives `columns`, over what its query came to."""
        views = sorted(found.views.values(), key=lambda v: str(v.name))
        texts = {v.name: expanded(self.catalog, v.text) for v in views}
        tables = (
            StreamTable(s.name, s.table_id, tuple(schemas[s.table_id].names))
            for s in found.sources.values()
        )
        return StreamMeaning(
            source,
            tuple(sorted(tables, key=lambda t: str(t.name))),
            tuple(ViewSource(n, text) for n, text in texts.items()),
            called_by(self.catalog, *texts.values()),
            tuple(columns),
        )

    def find_change(
        self, meant: StreamMeaning, means: StreamMeaning, schemas: Mapping[str, StructType]
    ) -> str | None:
        """Why the rows of a source are not those that they were, without any change of its tables;
        None where they are. Columns of a table may be added and dropped; those of a view may not.
        `schemas` are those of the tables now, by id."""
        if meant == means or not (meant.views or means.views):
            return None
        if meant.functions != means.functions:
            return f"a function that {means.source} calls was replaced"
        problem = f"{means.source} was replaced by a query that means something else"
        if meant.columns != means.columns:
            return problem
        try:
            before, now = (self._relation(m, schemas) for m in (meant, means))
        except Refused:
            return problem
        return None if equivalent(before, now) else problem

    def _relation(self, meaning: StreamMeaning, schemas: Mapping[str, StructType]) -> Rel:
        """The relation of a meaning; columns that there are no more have no type."""
        from pyspark.sql.types import NullType, StructField, StructType

        sources = {t.name: Source(t.name, SourceKind.DELTA, t.id, None) for t in meaning.tables}
        typed = {}
        for table in meaning.tables:
            now = {f.name: f for f in schemas.get(table.id, StructType([]))}
            fields = [now.get(c) or StructField(c, NullType()) for c in table.columns]
            typed[table.id] = StructType(fields)
        views = {v.name: v.text for v in meaning.views}
        declared = tuple(self.catalog.functions())
        text, schema = whole(meaning.source), meaning.source.schema
        query = QueryText(text, schema, sources, views, declared)
        functions = CallableFunctions(self.builtins, scalar_names(frozenset(), self.catalog))
        return simplify(read_meaning(self.spark, query, functions, typed).relation)
