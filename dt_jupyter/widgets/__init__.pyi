from .card import card_html as card_html, card_text as card_text
from .change_table import (
    MOST_CHANGES as MOST_CHANGES,
    ChangeCounts as ChangeCounts,
    ChangeTable as ChangeTable,
)
from .details import Folded as Folded
from .errors import error_html as error_html, error_text as error_text
from .graph import NOT_REFRESHED as NOT_REFRESHED, graph_svg as graph_svg
from .graph_page import NodeState as NodeState, graph_document as graph_document
from .graph_words import graph_dot as graph_dot, graph_text as graph_text
from .lag import lag_svg as lag_svg, lag_text as lag_text
from .mime_bundle import ROWS_TYPE as ROWS_TYPE
from .picture import Panel as Panel, Picture as Picture, show as show
from .running import Running as Running
from .sawtooth_points import sawtooth as sawtooth
from .tables import (
    history_html as history_html,
    history_text as history_text,
    result_html as result_html,
    result_text as result_text,
)
