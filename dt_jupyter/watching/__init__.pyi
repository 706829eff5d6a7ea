from .alert_handlers import (
    AlertFunction as AlertFunction,
    AlertHandler as AlertHandler,
)
from .alert_watch import AlertWatch as AlertWatch, stream_problem as stream_problem
from .webhook_post import Webhook as Webhook
