from .alert_handlers import (
    AlertFunction as AlertFunction,
    AlertHandler as AlertHandler,
)
from .alert_watch import AlertWatch as AlertWatch, stream_problem as stream_problem
from .event_counts import EventCounts as EventCounts
from .log_lines import JsonLogFormatter as JsonLogFormatter, log_as_json as log_as_json
from .metrics_page import LakeCollector as LakeCollector, serve_metrics as serve_metrics
from .telemetry import (
    Telemetry as Telemetry,
    start_telemetry as start_telemetry,
    stop_telemetry as stop_telemetry,
)
from .webhook_post import Webhook as Webhook
