from .keep import keep_function as keep_function
from .make import (
    ARGUMENTS as ARGUMENTS,
    file_of as file_of,
    make_function as make_function,
    telling_arguments as telling_arguments,
)
from .names import (
    checked_function_name as checked_function_name,
    is_registered as is_registered,
    on_change_names as on_change_names,
    scalar_names as scalar_names,
)
from .registrations import (
    Functions as Functions,
    called_by as called_by,
    functions_now as functions_now,
    why_replaced as why_replaced,
)
from .sql_functions import (
    FUNCTION_HOME as FUNCTION_HOME,
    calls_only_sql as calls_only_sql,
    expanded as expanded,
    kept_sql_function as kept_sql_function,
)
