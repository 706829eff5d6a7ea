"""Which lakes a Spark session has been opened on: what one that was closed left by name is
forgotten when another is opened, so that each is found as a separate session would find it.

As long as no other lake is opened the names stay: who has closed an engine may read on.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dt_jupyter.lake import folder_exists
from dt_jupyter.model import Name, quote
from dt_jupyter.sources.folders import Layout
from dt_jupyter.spark import (
    RelationKind,
    catalog_id,
    forget_relation,
    is_connect,
    keeps_own_names,
    list_relations,
    lookup,
    remove_function,
    schema_folders,
    set_schema_folder,
    set_warehouse,
    table_folders,
    warehouse_of,
)

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class LakeNames:
    """What a lake knows by name: views, functions, and tables, each with its folder."""

    views: Collection[Name]
    tables: Mapping[Name, str]
    functions: Collection[str] = ()


@dataclass
class _Lakes:
    """Of one catalog of Spark: how many engines each lake has open, which names the session had
    before that, and what is known by each lake that has no open engine any more."""

    open: Counter[Path] = field(default_factory=Counter)
    before: dict[Path, frozenset[Name]] = field(default_factory=dict)
    left: dict[Path, LakeNames] = field(default_factory=dict)


_lock = threading.Lock()
_of_application: WeakKeyDictionary[SparkContext, dict[int, _Lakes]] = WeakKeyDictionary()
_catalogs: WeakKeyDictionary[SparkSession, int] = WeakKeyDictionary()
"""Of the sessions on which lakes are open: Spark may be gone when one is closed."""


def has_other_lake(spark: SparkSession, layout: Layout) -> bool:
    """Whether another lake is open under the names of a session that keeps its own."""
    if not keeps_own_names(spark):
        return False
    with _lock:
        known = _of_application.get(spark.sparkContext, {}).get(catalog_id(spark))
        return known is not None and not known.open.keys() <= {layout.lake}


def enter_lake(spark: SparkSession, layout: Layout) -> None:
    """An engine is about to be opened on a lake. Without another open one, the session forgets
    what earlier lakes left, and one that makes its tables in an earlier lake makes them in this."""
    if not keeps_own_names(spark):
        return
    with _lock:
        _catalogs[spark] = catalog_id(spark)
        of_application = _of_application.setdefault(spark.sparkContext, {})
        lakes = of_application.setdefault(_catalogs[spark], _Lakes())
        lake = layout.lake
        lakes.left.pop(lake, None)
        if lakes.open.keys() <= {lake}:
            for other, names in lakes.left.items():
                _forget(spark, Layout(other), names, lakes.before.pop(other))
                _move(spark, Layout(other), layout)
            lakes.left.clear()
        if lake not in lakes.before:
            lakes.before[lake] = frozenset(list_relations(spark))
        lakes.open[lake] += 1


def leave_lake(spark: SparkSession, layout: Layout, names: Callable[[], LakeNames]) -> None:
    """An engine on a lake is being closed; `names` is asked of the last one. Spark, which may be
    gone, is asked nothing."""
    if is_connect(spark):
        return
    with _lock:
        of_application = _of_application.get(spark.sparkContext, {})
        lakes, lake = of_application.get(_catalogs.get(spark, 0)), layout.lake
        if lakes is None or lake not in lakes.open:
            return
        lakes.open[lake] -= 1
        if not lakes.open[lake]:
            del lakes.open[lake]
            lakes.left[lake] = names()


def _forget(
    spark: SparkSession, layout: Layout, names: LakeNames, before: Collection[Name]
) -> None:
    for function in names.functions:
        remove_function(spark, function, kept=True)
    for view in names.views:
        known = lookup(spark, view, temporary=False)
        if known is not None and known.kind is RelationKind.VIEW:
            forget_relation(spark, view)
    for name, place in table_folders(spark).items():
        folder, known_at = place.resolve(), names.tables.get(name)
        is_known = known_at is not None and Path(known_at).resolve() == folder
        if layout.lake in folder.parents or (is_known and name not in before):
            forget_relation(spark, name)


def _move(spark: SparkSession, before: Layout, now: Layout) -> None:
    """What is made from now on is in the lake that is opened. A schema that holds nothing any
    more is forgotten, at a folder that is not there: Spark deletes the one that it drops."""
    if warehouse_of(spark).resolve() == before.tables:
        set_warehouse(spark, now.tables)
    for schema, folder in schema_folders(spark).items():
        if schema == "default" or before.lake not in folder.resolve().parents:
            continue
        place = now.tables / f"{schema}.db"
        set_schema_folder(spark, schema, place)
        if not folder_exists(place) and not list_relations(spark, [schema]):
            if spark.catalog.currentDatabase() == schema:
                spark.catalog.setCurrentDatabase("default")
            spark.sql(f"DROP DATABASE {quote(schema)} RESTRICT")
