"""Definitions of dynamic tables and warehouses, as the catalog keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dt_jupyter.model.errors import error
from dt_jupyter.model.frontier import Frontier
from dt_jupyter.model.functions import FunctionUse
from dt_jupyter.model.lag import TargetLag
from dt_jupyter.model.names import Name
from dt_jupyter.model.states import Initialize, Reason, RefreshMode, SchedulingState
from dt_jupyter.model.time import Timestamp


class SourceKind(StrEnum):
    DELTA = "DELTA"  # an ordinary Delta table
    DYNAMIC_TABLE = "DYNAMIC_TABLE"
    FOREIGN = "FOREIGN"  # not Delta: no versions, so FULL


@dataclass(frozen=True, slots=True)
class Source:
    """A table that a definition reads. `table_id` is Delta's metaData.id (a dynamic table's own
    id; a foreign source's name), `path` the table's folder, `columns` the names it uses."""

    name: Name
    kind: SourceKind
    table_id: str
    path: str | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewSource:
    """A view that the definition was expanded through, with its text then."""

    name: Name
    text: str


@dataclass(frozen=True, slots=True)
class FrozenRegion:
    """The rows of a dynamic table that no refresh changes: those for which `where`, over its public
    columns, is true.

    `backfill` at `version` is the table that gives the first of them; None: the query. `renamed`
    are columns that a statement gave new names (new, old): where the stored rows have the old one,
    they are read by it.
    """

    where: str
    backfill: Source | None = None
    version: int | None = None
    renamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Definition:
    """What a dynamic table computes: its query, and the settings that give it its meaning.

    `query` is the user's text; `settings` the session confs (ANSI mode, time zone, case
    sensitivity) it is run under for ever; `columns` the public columns (name, Spark type DDL,
    comment); `query_columns` the names that the query itself gives them, where the statement
    lists others: empty where the public names are the query's and follow it; `functions` those of
    the user's that it calls; `frozen` the rows that refreshes leave as they are;
    `parameters` the literals in the query that replace the statement's `:names`;
    `added` the public columns that came later than rows that the table has, in that order.
    """

    query: str
    settings: Mapping[str, str]
    columns: tuple[tuple[str, str, str | None], ...]
    sources: tuple[Source, ...]
    views: tuple[ViewSource, ...] = ()
    current_schema: str = "default"
    query_columns: tuple[str, ...] = ()
    functions: tuple[FunctionUse, ...] = ()
    frozen: FrozenRegion | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()

    @property
    def listed(self) -> tuple[tuple[str, str | None], ...]:
        """The column list of the statement, names with comments; empty where it gave none."""
        return tuple((n, c) for n, _, c in self.columns) if self.query_columns else ()


@dataclass(frozen=True)
class DynamicTable:
    """A row of the catalog: one dynamic table and its state.

    `id` never changes; `name` may. `mode` is what was requested, `effective_mode` what it came to
    and `mode_reason` why. `sequence` counts its lake commits; `version` is the Delta version of
    the last one. `frontier` is None before it is initialised.
    """

    id: str
    name: Name
    definition: Definition
    target_lag: TargetLag
    warehouse: str
    mode: RefreshMode
    effective_mode: RefreshMode
    mode_reason: Reason
    initialize: Initialize
    created: Timestamp
    scheduling: SchedulingState = SchedulingState.ACTIVE
    scheduling_reason: Reason | None = None
    scheduler_enabled: bool = True
    sequence: int = 0
    version: int | None = None
    frontier: Frontier | None = None
    error_count: int = 0
    cluster_by: tuple[str, ...] = ()
    retention_days: int | None = None
    alter_sources: bool = True
    comment: str | None = None
    dropped: Timestamp | None = None
    state_format: int = 1
    needs_reinit: Reason | None = None

    @property
    def data_timestamp(self) -> Timestamp | None:
        return self.frontier.data_timestamp if self.frontier else None

    @property
    def upstream(self) -> tuple[Name, ...]:
        """The dynamic tables among its sources."""
        kind = SourceKind.DYNAMIC_TABLE
        return tuple(s.name for s in self.definition.sources if s.kind is kind)


DEFAULT_WAREHOUSE = "default"


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A FAIR pool of the session with a limit of refreshes at once.

    It is suspended after `auto_suspend` idle seconds (0: never), with `auto_resume`
    work that needs it starts it again; `resumed` is when it was last started.
    """

    name: str
    max_concurrency: int = 2
    weight: int = 1
    suspended: bool = False
    created: Timestamp = field(default=Timestamp(0))
    auto_suspend: int = 0
    auto_resume: bool = False
    resumed: Timestamp | None = None

    def __post_init__(self) -> None:
        for option, value in (
            ("MAX_CONCURRENCY_LEVEL", self.max_concurrency),
            ("WEIGHT", self.weight),
        ):
            if not 1 <= value <= 1000:
                problem, hint = "it must be a number from 1 to 1000", "Omit it for the default."
                raise error("DT-1003", option=option, value=value, problem=problem, hint=hint)
