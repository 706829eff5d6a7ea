"""The durable registry: definitions, warehouses, versions, leases, pins, streams and refresh
history.

One SQLite file in the lake, used by several threads and processes at once. Every method of
`Catalog` is one transaction: on the disk when it returns, or without any trace. What stands here
about a dynamic table's data is a copy; the truth is in that table's own log.
"""

from dt_jupyter.catalog.attempts import Attempts, Overtaken
from dt_jupyter.catalog.definitions import Definitions
from dt_jupyter.catalog.history import History
from dt_jupyter.catalog.holds import Holds
from dt_jupyter.catalog.owner import Owner, running
from dt_jupyter.catalog.quarantine import Quarantine, Quarantined, problem_line
from dt_jupyter.catalog.rebuild import CatalogWarning, Rebuilt
from dt_jupyter.catalog.registry import RegisteredSources, Warehouses
from dt_jupyter.catalog.stages import StageRows
from dt_jupyter.catalog.streams import StreamRows
from dt_jupyter.catalog.tables import DynamicTables
from dt_jupyter.catalog.values import (
    FAILURES_ALLOWED,
    Attempt,
    BaseTable,
    DefinitionRow,
    GraphRow,
    HeldTable,
    Hold,
    HoldKind,
    Lease,
    Pin,
    StageRow,
)
from dt_jupyter.catalog.versions import Versions
from dt_jupyter.catalog.watch import News, Watch
from dt_jupyter.sql.statements import DEFAULT_WAREHOUSE


class Catalog(
    DynamicTables,
    Warehouses,
    RegisteredSources,
    Versions,
    Attempts,
    StageRows,
    History,
    StreamRows,
    Holds,
    Definitions,
    Watch,
):
    """The catalog of a lake; a context manager that closes itself."""

    def __enter__(self) -> "Catalog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


__all__ = [
    "DEFAULT_WAREHOUSE",
    "FAILURES_ALLOWED",
    "Attempt",
    "BaseTable",
    "Catalog",
    "CatalogWarning",
    "DefinitionRow",
    "GraphRow",
    "HeldTable",
    "Hold",
    "HoldKind",
    "Lease",
    "News",
    "Overtaken",
    "Owner",
    "Pin",
    "Quarantine",
    "Quarantined",
    "Rebuilt",
    "StageRow",
    "problem_line",
    "running",
]
