from .arguments import LARGEST_INT as LARGEST_INT, shown as shown, within as within
from .boundary import FromUser as FromUser, coded as coded, coded_call as coded_call
from .key_errors import (
    broken_key as broken_key,
    find_broken_key as find_broken_key,
    raised as raised,
    sql_text as sql_text,
)
from .local_frames import (
    arrow_of as arrow_of,
    is_frame as is_frame,
    is_local_frame as is_local_frame,
    local_frame_error as local_frame_error,
    storing_line as storing_line,
)
from .lost_errors import find_lost_error as find_lost_error
from .refresh_failures import as_error as as_error, out_of_reach as out_of_reach
from .signs import (
    causes as causes,
    environment_error as environment_error,
    java_causes as java_causes,
)
from .syntax import is_syntax_error as is_syntax_error, syntax_error as syntax_error
from .words import (
    UNFORESEEN as UNFORESEEN,
    catalogued as catalogued,
    details_of as details_of,
    first_line as first_line,
    is_of_values as is_of_values,
    spoken as spoken,
    value_hint as value_hint,
    value_sentence as value_sentence,
)
