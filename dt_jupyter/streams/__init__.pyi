from .change_plan_report import (
    ChangePlans as ChangePlans,
    changes_title as changes_title,
    explains as explains,
)
from .change_query import ChangeRows as ChangeRows, Changes as Changes, moment as moment
from .intents import app_id as app_id
from .statement_log import (
    StatementLog as StatementLog,
    StatementRecord as StatementRecord,
    StepHandler as StepHandler,
)
from .stream_verbs import (
    CONSUMERS as CONSUMERS,
    RETENTION_DAYS as RETENTION_DAYS,
    FoundStream as FoundStream,
    Replaced as Replaced,
    Streams as Streams,
)
from .time_travel import (
    PastReaders as PastReaders,
    Points as Points,
    all_common as all_common,
    in_place as in_place,
    warn as warn,
)
from .transactions import WRITES as WRITES, Transaction as Transaction, Transactions as Transactions
