from .check import (
    Guarantee as Guarantee,
    HistoryReport as HistoryReport,
    Phenomenon as Phenomenon,
    PhenomenonKind as PhenomenonKind,
    check_history as check_history,
)
from .dependencies import Dependency as Dependency, DependencyKind as DependencyKind
from .events import (
    AbortEvent as AbortEvent,
    BeginEvent as BeginEvent,
    CommitEvent as CommitEvent,
    DeriveEvent as DeriveEvent,
    HistoryEvent as HistoryEvent,
    ReadEvent as ReadEvent,
    TransactionHistory as TransactionHistory,
    Version as Version,
    WriteEvent as WriteEvent,
    parse_history as parse_history,
)
