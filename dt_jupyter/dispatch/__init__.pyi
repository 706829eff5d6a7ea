from .answers import (
    frontiers as frontiers,
    live_rows_message as live_rows_message,
    streams as streams,
)
from .dispatcher import QUICK as QUICK, Desk as Desk
from .feed import EventFeed as EventFeed, hello as hello
from .lake_history import recent_lakes as recent_lakes, record_lake as record_lake
from .lake_page import graph_page as graph_page, write_graph as write_graph
from .list_messages import list_message as list_message
from .live import LIVE_SCRIPT as LIVE_SCRIPT, LiveView as LiveView
from .outcome import outcome_message as outcome_message
from .sink_answers import sink_message as sink_message
from .spark_errors import error_message as error_message
from .static_messages import (
    change_table as change_table,
    compared_message as compared_message,
    created_message as created_message,
    explanation_message as explanation_message,
    frontiers_message as frontiers_message,
    graph_message as graph_message,
    history_message as history_message,
    lag_message as lag_message,
    picture_of as picture_of,
    replay_message as replay_message,
    report_message as report_message,
    result_message as result_message,
    status_message as status_message,
    streams_message as streams_message,
)
