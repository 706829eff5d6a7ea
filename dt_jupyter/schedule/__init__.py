"""Target lags into refreshes: periods, ticks, and a decision with its reason for each.

`decide` is a pure function of a `State` and the time, `planned` of a state and the periods before;
`Scheduler` is the one thread that obeys them. Nothing here knows Spark, or how to refresh.
"""

from dt_jupyter.schedule.decide import Decision, Skip, Start, Wait, decide, next_wake
from dt_jupyter.schedule.lag import LagStatistics, estimate_times, lag_statistics, lag_teeth
from dt_jupyter.schedule.obstacles import held_back, obstacles, obstacles_in
from dt_jupyter.schedule.periods import Period, choose_period, next_tick, tick
from dt_jupyter.schedule.plan import effective_lags, planned
from dt_jupyter.schedule.state import Node, Slots, State, StateReader, node_of, upstream_first
from dt_jupyter.schedule.thread import Scheduler, SchedulerPort, Spawn, Worker

__all__ = [
    "Decision", "LagStatistics", "Node", "Period", "Scheduler", "SchedulerPort", "Skip", "Slots",
    "Spawn", "Start", "State", "StateReader", "Wait", "Worker", "choose_period", "decide",
    "effective_lags", "estimate_times", "held_back", "lag_statistics", "lag_teeth", "next_tick",
    "next_wake", "node_of", "obstacles", "obstacles_in", "planned", "tick", "upstream_first",
]  # fmt: skip
