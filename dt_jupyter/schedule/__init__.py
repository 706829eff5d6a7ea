"""Target lags into refreshes: periods, ticks, and a decision with its reason for each.

`decide` is a pure function of a `State` and the time, `planned` of a state and the periods before;
`Scheduler` is the one thread that obeys them. Nothing here knows Spark, or how to refresh.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
