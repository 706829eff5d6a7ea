"""The catalog of a lake: all its tables of records as one."""

from __future__ import annotations

from dt_jupyter.catalog.alert_rows import AlertRows
from dt_jupyter.catalog.attempts import Attempts
from dt_jupyter.catalog.definitions import Definitions
from dt_jupyter.catalog.functions import FunctionRows
from dt_jupyter.catalog.history import History
from dt_jupyter.catalog.holds import Holds
from dt_jupyter.catalog.lake_events import LakeEvents
from dt_jupyter.catalog.registry import RegisteredSources, Warehouses
from dt_jupyter.catalog.registry_points import RegistryPoints
from dt_jupyter.catalog.rights import RightRows
from dt_jupyter.catalog.scheduler_runs import SchedulerRuns
from dt_jupyter.catalog.schema_names import SchemaNames
from dt_jupyter.catalog.sinks import SinkRows
from dt_jupyter.catalog.stages import StageRows
from dt_jupyter.catalog.statements import StatementRows
from dt_jupyter.catalog.stored_plans import StoredPlans
from dt_jupyter.catalog.tables import DynamicTables
from dt_jupyter.catalog.versions import Versions
from dt_jupyter.catalog.watch import Watch


class Catalog(
    DynamicTables,
    Warehouses,
    RegisteredSources,
    RegistryPoints,
    Versions,
    Attempts,
    StageRows,
    History,
    StatementRows,
    Holds,
    Definitions,
    StoredPlans,
    SchedulerRuns,
    SinkRows,
    AlertRows,
    RightRows,
    FunctionRows,
    LakeEvents,
    SchemaNames,
    Watch,
):
    """The catalog of a lake; a context manager that closes itself."""

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
