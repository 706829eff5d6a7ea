from .alert_rows import AlertRows as AlertRows
from .attempts import Attempts as Attempts, Overtaken as Overtaken
from .catalog_place import (
    CATALOG_FILE as CATALOG_FILE,
    CatalogPlace as CatalogPlace,
    read_place as read_place,
)
from .database import (
    CatalogDatabase as CatalogDatabase,
    Pulse as Pulse,
)
from .databases import find_database as find_database
from .definitions import Definitions as Definitions
from .functions import FunctionRows as FunctionRows
from .history import History as History
from .holds import Holds as Holds
from .lake_catalog import Catalog as Catalog
from .owner import Owner as Owner, running as running
from .postgres import parse_catalog_url as parse_catalog_url
from .quarantine import (
    Quarantine as Quarantine,
    Quarantined as Quarantined,
    problem_line as problem_line,
)
from .rebuild import CatalogWarning as CatalogWarning, Rebuilt as Rebuilt
from .registry import (
    RegisteredSources as RegisteredSources,
    Warehouses as Warehouses,
)
from .rights import RightRows as RightRows, require_role as require_role
from .scheduler_runs import SchedulerRuns as SchedulerRuns
from .schema_moves import SchemaMoves as SchemaMoves
from .schema_names import SchemaNames as SchemaNames
from .sink_tasks import SinkTasks as SinkTasks
from .sinks import SinkRows as SinkRows
from .stages import StageRows as StageRows
from .statements import STATEMENT_SHELF as STATEMENT_SHELF, StatementRows as StatementRows
from .streams import INTENT_SECONDS as INTENT_SECONDS, INTENTS as INTENTS, StreamRows as StreamRows
from .tables import DynamicTables as DynamicTables
from .task_runs import TaskRuns as TaskRuns
from .tasks import TaskRows as TaskRows
from .values import (
    FAILURES_ALLOWED as FAILURES_ALLOWED,
    TOO_MANY_FAILURES as TOO_MANY_FAILURES,
    Attempt as Attempt,
    BaseTable as BaseTable,
    DefinitionRow as DefinitionRow,
    GraphRow as GraphRow,
    HeldTable as HeldTable,
    Hold as Hold,
    HoldKind as HoldKind,
    Lease as Lease,
    Pin as Pin,
    SchedulerRun as SchedulerRun,
    SinkTaskPlan as SinkTaskPlan,
    SinkTaskRow as SinkTaskRow,
    StageRow as StageRow,
    StoredPlan as StoredPlan,
    StreamMove as StreamMove,
    UnchangedTable as UnchangedTable,
)
from .versions import Versions as Versions
from .watch import News as News, Watch as Watch
