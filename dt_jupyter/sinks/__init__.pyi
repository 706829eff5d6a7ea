from .address import (
    StoreAddress as StoreAddress,
    parse_store_url as parse_store_url,
    scheme_of as scheme_of,
    shown_option as shown_option,
    shown_url as shown_url,
)
from .binding import (
    Binding as Binding,
    HashRange as HashRange,
    SinkColumn as SinkColumn,
    Task as Task,
    hash_ranges as hash_ranges,
)
from .changes import (
    KIND as KIND,
    ChangeInterval as ChangeInterval,
    ChangeKind as ChangeKind,
    ChangeSource as ChangeSource,
)
from .channel import (
    DirectChannel as DirectChannel,
    KeepsDeadLetters as KeepsDeadLetters,
    StoreDriver as StoreDriver,
    ThreadChannel as ThreadChannel,
)
from .process import ProcessChannel as ProcessChannel
from .recovery import (
    CatalogLog as CatalogLog,
    RecoveryLog as RecoveryLog,
    TaskState as TaskState,
)
from .reductions import ReduceRule as ReduceRule, Strategy as Strategy
from .runtime import Delivered as Delivered, Delivery as Delivery
from .stores import (
    connector as connector,
    is_transient as is_transient,
    open_driver as open_driver,
)
