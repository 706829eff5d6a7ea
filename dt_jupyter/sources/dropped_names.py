"""Names that the lake has and a session lost: they were dropped, or their schema was, with plain
Spark, which does not know the lake."""

from __future__ import annotations

from collections.abc import Mapping

from dt_jupyter.lake import is_delta
from dt_jupyter.model import DTError, Name, Named, error, quote
from dt_jupyter.sources.source_names import Sources
from dt_jupyter.spark import lookup


def lost_names(sources: Sources, schema: str | None = None) -> dict[Name, Named]:
    """Those of a schema, or of all, with what each is in the lake."""
    found = {
        name: kind
        for name, kind in _of_lake(sources).items()
        if schema in (None, name.schema) and sources.quarantined(str(name)) is None
    }
    return {name: kind for name, kind in found.items() if lookup(sources.spark, name) is None}


def lost_error(sources: Sources, name: Name) -> DTError | None:
    """DT-4114 for a name that was lost; None for any other."""
    kind = _of_lake(sources).get(name)
    if kind is None or lookup(sources.spark, name) is not None:
        return None
    if not sources.spark.catalog.databaseExists(quote(name.schema)):
        problem = f"schema {name.schema} was dropped outside of the engine"
    else:
        problem = "its name was dropped outside of the engine"
    return error("DT-4114", kind=kind.capitalize(), name=name, problem=problem, schema=name.schema)


def _of_lake(sources: Sources) -> Mapping[Name, Named]:
    catalog = sources.catalog
    views = {view.name: Named.VIEW for view in catalog.views()}
    tables = {table.name: Named.TABLE for table in catalog.tables()}
    return {**views, **tables, **{t.name: Named.DYNAMIC_TABLE for t in catalog.list()}}


def without_data(sources: Sources, names: Mapping[Name, Named]) -> list[Name]:
    """The tables among them whose files are gone."""
    paths = {t.name: t.path for t in sources.catalog.tables()}
    return [n for n, kind in names.items() if kind is Named.TABLE and not is_delta(paths[n])]
