"""What an open engine consists of, as one value that every verb and every statement is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.model import ADMIN, DynamicTable, Name, Warehouse, error
from dt_jupyter.spark import SHARE, Pool, declare_pool, lookup, session_end
from dt_jupyter.sql import qualified_name

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from dt_jupyter.catalog import Catalog
    from dt_jupyter.delivery import Sinks
    from dt_jupyter.engine.base_tables import LakeTables
    from dt_jupyter.engine.clone import Cloner
    from dt_jupyter.engine.create import Creator
    from dt_jupyter.engine.event_tables import EventTables
    from dt_jupyter.engine.information_schema import CatalogTables
    from dt_jupyter.engine.rename import TableNames
    from dt_jupyter.engine.rights.access import Access
    from dt_jupyter.engine.rights.spark_rights import SparkRights
    from dt_jupyter.engine.scheduling import Scheduling
    from dt_jupyter.engine.sink_tables import SinkTables
    from dt_jupyter.engine.task_tables import TaskTables
    from dt_jupyter.engine.task_verbs import Tasks
    from dt_jupyter.engine.travel import Travel
    from dt_jupyter.engine.upstream_refresh import Graph
    from dt_jupyter.functions import Functions
    from dt_jupyter.maintenance import Keeper
    from dt_jupyter.model import Clock
    from dt_jupyter.refresh import Refresher
    from dt_jupyter.reports import Events, Lineages, Nodes
    from dt_jupyter.sources import Layout, Publisher, Sources
    from dt_jupyter.spark import RefreshSessions
    from dt_jupyter.streams import Changes, StatementLog, Streams, Transactions
    from dt_jupyter.watching import AlertWatch

_READERS = 3
"""Of a table, that are named."""


@dataclass
class EngineState:
    """What changes while an engine is open: whether it still is, the id of the last statement that
    wrote rows, and the session's role; `login` is the one that it was opened with. `holders`: how
    many `with` blocks use the engine, and the variable that had it before; the last block to end
    closes it."""

    closed: bool = False
    last_query_id: str | None = None
    role: str = ADMIN
    login: str = ADMIN
    holders: int = 0

    def require_open(self, lake: Path | str) -> None:
        """DT-5108 after `close`."""
        if self.closed:
            raise error("DT-5108", path=lake)


@dataclass(frozen=True, eq=False)
class Context:
    """The services of an engine on one lake and one Spark session; see `services.build`.

    Frozen: services keep their state themselves, and none is exchanged while the engine is open.
    """

    spark: SparkSession
    layout: Layout
    clock: Clock
    state: EngineState
    catalog: Catalog
    sources: Sources
    sessions: RefreshSessions
    refresher: Refresher
    publisher: Publisher
    graph: Graph
    scheduling: Scheduling
    creator: Creator
    cloner: Cloner
    names: TableNames
    tables: CatalogTables
    sink_tables: SinkTables
    task_tables: TaskTables
    event_tables: EventTables
    lake_tables: LakeTables
    nodes: Nodes
    lineages: Lineages
    events: Events
    alerts: AlertWatch
    changes: Changes
    streams: Streams
    sinks: Sinks
    tasks: Tasks
    travel: Travel
    keeper: Keeper
    functions: Functions
    transactions: Transactions
    access: Access
    log: StatementLog
    spark_rights: SparkRights

    def require_open(self) -> None:
        """DT-5108 after `close`; DT-5124 where the Spark session has ended."""
        self.state.require_open(self.layout.known_as)
        if (end := session_end(self.spark)) is not None:
            raise error("DT-5124", problem=end)

    def schema(self) -> str:
        """The session's current schema."""
        return self.spark.catalog.currentDatabase().lower()

    def name(self, name: str | Name) -> Name:
        """A name as typed, in the current schema where it has none."""
        return name if isinstance(name, Name) else qualified_name(name, self.schema())

    def table(self, name: str | Name, instead: str = "") -> DynamicTable:
        """The dynamic table of that name; DT-1109 where it is something else, with what to write
        `instead` for its {kind}, DT-1101 where nothing has it."""
        known = self.name(name)
        found = self.catalog.get(known)
        if found is not None:
            return found
        if (relation := lookup(self.spark, known)) is not None:
            raise error(
                "DT-1109",
                name=known,
                kind=relation.kind.value,
                expected="dynamic table",
                hint=instead.format(kind=relation.kind.value.upper()) or self._readers_of(known),
            )
        return self.catalog.require(known)

    def _readers_of(self, name: Name) -> str:
        """The hint for a name that is not a dynamic table: those that read it."""
        tables = (t for t in self.catalog.list() if self.access.monitors(t.name))
        readers = [str(t.name) for t in tables if name in {s.name for s in t.definition.sources}]
        read = f" It is read by {', '.join(readers[:_READERS])}." if readers else ""
        return f"Only dynamic tables have refreshes and a lag.{read}"

    def declare(self, warehouse: Warehouse) -> None:
        """The warehouse's pool and its number of sessions."""
        declare_pool(self.spark, Pool(warehouse.name, warehouse.weight * SHARE))
        self.sessions.limit(warehouse.name, warehouse.max_concurrency)
