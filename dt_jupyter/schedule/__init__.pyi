from .decisions import (
    Decision as Decision,
    Skip as Skip,
    Start as Start,
    Wait as Wait,
    decide as decide,
    next_wake as next_wake,
)
from .forecast import Foretold as Foretold, foretell as foretell
from .idle import (
    BEAT_SECONDS as BEAT_SECONDS,
    awake_since as awake_since,
    idle_times as idle_times,
)
from .lag import (
    LagStatistics as LagStatistics,
    estimate_times as estimate_times,
    lag_statistics as lag_statistics,
    lag_teeth as lag_teeth,
)
from .lag_days import (
    DAY_SECONDS as DAY_SECONDS,
    LagDays as LagDays,
    LagFigures as LagFigures,
    lag_lines as lag_lines,
    lag_over_days as lag_over_days,
    lag_quantiles as lag_quantiles,
)
from .lateness_causes import (
    SOURCE_GONE as SOURCE_GONE,
    LakeStanding as LakeStanding,
    late_cause as late_cause,
)
from .obstacle import (
    NO_READER as NO_READER,
    held_back as held_back,
    obstacles as obstacles,
    obstacles_in as obstacles_in,
)
from .periods import (
    Period as Period,
    choose_period as choose_period,
    next_tick as next_tick,
    tick as tick,
)
from .plan import held_lags as held_lags, planned as planned
from .state import (
    Node as Node,
    Slots as Slots,
    State as State,
    StateReader as StateReader,
    node_of as node_of,
    slots_of as slots_of,
    upstream_first as upstream_first,
)
from .supervisor import Supervisor as Supervisor, join_all as join_all
from .task_decisions import (
    FULL_WAREHOUSE as FULL_WAREHOUSE,
    RunDecision as RunDecision,
    RunGo as RunGo,
    RunSkipped as RunSkipped,
    RunWaits as RunWaits,
    TickBegun as TickBegun,
    begun_ticks as begun_ticks,
    find_task_cycle as find_task_cycle,
    graph_of as graph_of,
    lost_run_outcome as lost_run_outcome,
    next_tick_of as next_tick_of,
    run_decisions as run_decisions,
)
from .thread import (
    Scheduler as Scheduler,
    SchedulerPort as SchedulerPort,
    Spawn as Spawn,
    Worker as Worker,
)
from .warehouses import WarehouseUse as WarehouseUse, idle_warehouses as idle_warehouses
