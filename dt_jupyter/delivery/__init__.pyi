from .deliver import (
    Deliveries as Deliveries,
    address_of as address_of,
    address_text as address_text,
    target_of as target_of,
)
from .sink_reads import needed_versions as needed_versions
from .sink_verbs import Sinks as Sinks
from .sink_workers import SinkWorkers as SinkWorkers
