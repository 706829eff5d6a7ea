from .observation import (
    Look as Look,
    plan as plan,
)
from .protocol import (
    Refresher as Refresher,
    list_anew as list_anew,
    use_schema as use_schema,
)
from .recovery import (
    recover_table as recover_table,
    restore_times as restore_times,
)
from .stage_run import (
    StageRun as StageRun,
)
