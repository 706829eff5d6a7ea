from .copied_tables import (
    CopiedTables as CopiedTables,
)
from .declared_keys import (
    find_declared_key as find_declared_key,
    require_key as require_key,
    surely_unique as surely_unique,
    told_keys as told_keys,
)
from .dropped_names import (
    lost_error as lost_error,
    lost_names as lost_names,
    without_data as without_data,
)
from .early_commits import (
    find_early_commits as find_early_commits,
    note_early as note_early,
)
from .file_tables import (
    FileTable as FileTable,
    read_creation_time as read_creation_time,
)
from .folders import (
    Layout as Layout,
)
from .follow_files import (
    FileSource as FileSource,
    Session as Session,
    sample_files as sample_files,
)
from .frontiers import (
    fix_past as fix_past,
    follow_lists as follow_lists,
    gone_is_named as gone_is_named,
    resolve as resolve,
    resolve_together as resolve_together,
)
from .lakes_of_session import (
    LakeNames as LakeNames,
    enter_lake as enter_lake,
    has_other_lake as has_other_lake,
    leave_lake as leave_lake,
)
from .lease_waits import LeaseWaits as LeaseWaits
from .lost_files import (
    gone_between as gone_between,
    lost_is_named as lost_is_named,
    unreadable_source as unreadable_source,
)
from .mend_table import (
    is_to_mend as is_to_mend,
    is_unreadable as is_unreadable,
    mend as mend,
    noticed as noticed,
)
from .names_now import (
    NamesNow as NamesNow,
    follow_names as follow_names,
    upstream_now as upstream_now,
)
from .owner_reads import (
    direct_reads as direct_reads,
    require_owner_reads as require_owner_reads,
    require_sink_reads as require_sink_reads,
)
from .pinned_text import (
    at_time as at_time,
    pinned as pinned,
    reads_the_clock as reads_the_clock,
    rows_at as rows_at,
    text_at as text_at,
)
from .points import (
    OLDEST as OLDEST,
    Moment as Moment,
    Resolver as Resolver,
    no_versions as no_versions,
    whole_micro as whole_micro,
)
from .row_identity import (
    KEY as KEY,
    TRACKING as TRACKING,
    By as By,
    Identity as Identity,
    identity as identity,
    key_names as key_names,
    told_apart as told_apart,
)
from .source_names import (
    OWN_SCHEMA as OWN_SCHEMA,
    UNKNOWN as UNKNOWN,
    Found as Found,
    Logs as Logs,
    Sources as Sources,
    name_of as name_of,
)
from .taken_names import (
    holder as holder,
    require_free as require_free,
)
from .view_registry import (
    Publisher as Publisher,
)
