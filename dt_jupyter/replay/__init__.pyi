from .archive import (
    archive_snapshot as archive_snapshot,
    read_archive as read_archive,
    verify_archive as verify_archive,
)
from .archive_files import (
    Archive as Archive,
    ArchiveIndex as ArchiveIndex,
    Archives as Archives,
    naming_archive as naming_archive,
    read_manifest as read_manifest,
    table_ids as table_ids,
)
from .definition_history import (
    Past as Past,
    elsewhere as elsewhere,
    require_versions as require_versions,
)
from .hold_files import (
    Wanted as Wanted,
    release as release,
    secure as secure,
    vacuum_lock as vacuum_lock,
)
from .live_rows import (
    Axes as Axes,
    TableRows as TableRows,
    read_table_rows as read_table_rows,
)
from .pace import (
    REFRESH_PAUSE_SECONDS as REFRESH_PAUSE_SECONDS,
    Pace as Pace,
)
from .past_refresh import (
    RefreshReplay as RefreshReplay,
    compiled_then as compiled_then,
    find_refresh as find_refresh,
    replay_refresh as replay_refresh,
)
from .query_diff import (
    Compared as Compared,
    QueryDiff as QueryDiff,
    compare_queries as compare_queries,
)
from .replay import (
    Bench as Bench,
    Replay as Replay,
    Step as Step,
    open_replay as open_replay,
)
from .replay_points import (
    common_moment as common_moment,
)
from .row_diff import (
    Marked as Marked,
)
from .schema_modes import select_list as select_list, values_now as values_now
from .snapshots import (
    NOBODY as NOBODY,
    Snapshots as Snapshots,
    whole as whole,
)
from .table_diff import (
    Diff as Diff,
    diff as diff,
)
from .verify_rows import (
    compare as compare,
)
