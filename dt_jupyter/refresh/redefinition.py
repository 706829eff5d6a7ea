"""A definition analysed again, as its sources and views are now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.definition import Defined, Definer, DefinitionRequest
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    RefreshAction,
    RefreshMode,
    SourceKind,
)
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.observation import Look
from dt_jupyter.refresh.query_session import use_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def define_anew(
    spark: SparkSession, definer: Definer, table: DynamicTable, seen: Look, choice: Choice
) -> Defined | None:
    """The definition analysed over its sources at the frontier that was seen, where all rows are
    computed and a source or view was replaced or has other columns; else None."""
    if choice.action not in (RefreshAction.REINITIALIZE, RefreshAction.FULL):
        return None
    old = table.definition
    before = (old.sources, old.views, old.functions)
    same = before == (seen.sources, seen.views, seen.functions) and not seen.evolved
    if same and _is_current(definer, table, seen.frontier):
        return None
    full = table.effective_mode is RefreshMode.FULL
    mode = RefreshMode.FULL if full else table.mode
    use_schema(spark, old)
    request = request_again(table, mode)
    return definer.define(spark, request, old.settings, verify=False, at=seen.frontier)


def may_be_incremental(table: DynamicTable, seen: Look) -> bool:
    """Whether a table that is FULL though AUTO was requested has other sources than when it became
    that, all with versions. One that is to be repaired is repaired first."""
    full = table.mode is RefreshMode.AUTO and table.effective_mode is RefreshMode.FULL
    versions = all(s.kind is not SourceKind.FOREIGN for s in seen.sources)
    moved = seen.invalid is not None or seen.evolved
    return full and versions and moved and table.frontier is not None and not table.needs_reinit


def define_as_asked(
    spark: SparkSession, definer: Definer, table: DynamicTable, seen: Look
) -> Defined:
    """The definition in the mode that was requested, over its sources at the frontier that was
    seen, with the check at creation."""
    old = table.definition
    use_schema(spark, old)
    return definer.define(spark, request_again(table, table.mode), old.settings, at=seen.frontier)


def request_again(table: DynamicTable, mode: RefreshMode) -> DefinitionRequest:
    """What the statement that made the table asked for, in some mode."""
    old = table.definition
    return DefinitionRequest(
        table.name, old.query, mode, old.listed, old.current_schema, old.frozen
    )


def _is_current(definer: Definer, table: DynamicTable, frontier: Frontier) -> bool:
    """Whether the columns of the sources are those that the definition was made over, where no
    frontier of the table itself shows."""
    return table.frontier is not None or definer.is_current(table.definition, frontier)


def definition_now(
    defined: Defined | None, table: DynamicTable, seen: Look, choice: Choice
) -> Definition:
    """The definition as it was analysed again, or extended, else the table's, with its sources as
    they are."""
    if defined is not None:
        return defined.definition
    if choice.action is RefreshAction.INCREMENTAL and choice.extended is not None:
        return choice.extended
    return replace(
        table.definition, sources=seen.sources, views=seen.views, functions=seen.functions
    )
