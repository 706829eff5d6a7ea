from .alerting import seen_alerts as seen_alerts
from .api import Engine as Engine
from .compared import diff_versions as diff_versions
from .context import Context as Context
from .created import Created as Created
from .late_tables import late_causes as late_causes, why_late as why_late
from .lint import lint_text as lint_text
from .load import LoadedTable as LoadedTable
from .open_engines import (
    connect_once as connect_once,
    find_engine as find_engine,
)
from .own_spark import (
    order_spark as order_spark,
    prepare_spark as prepare_spark,
)
from .rights.graph import (
    seen_node as seen_node,
    seen_sink as seen_sink,
    seen_task as seen_task,
)
from .rows import (
    LONGEST_CELL as LONGEST_CELL,
    ROWS_SHOWN as ROWS_SHOWN,
    ResultRows as ResultRows,
    interruptible as interruptible,
    read_change_counts as read_change_counts,
    read_frame as read_frame,
    read_rows as read_rows,
    read_sample as read_sample,
)
from .script import (
    Done as Done,
    StatementOutcome as StatementOutcome,
    create_by_cell as create_by_cell,
    frame_of as frame_of,
    read_outcome as read_outcome,
    run_script as run_script,
)
from .services import (
    archive_classes as archive_classes,
    known_lake as known_lake,
    lake_folder as lake_folder,
    lake_layout as lake_layout,
    replace_unused as replace_unused,
    require_catalog_url as require_catalog_url,
    separate_names as separate_names,
    start_session as start_session,
)
from .upstream_refresh import failure_of as failure_of
