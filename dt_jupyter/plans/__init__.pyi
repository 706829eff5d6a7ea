from .frame_query import (
    write_frame_query as write_frame_query,
)
from .no_form import (
    ManyRows as ManyRows,
    NoForm as NoForm,
    NotTheSame as NotTheSame,
    PythonFunction as PythonFunction,
)
from .plan_document import (
    read_frame_plan as read_frame_plan,
)
from .plan_form import (
    optimized_form as optimized_form,
    optimized_words as optimized_words,
)
from .query_sql import FromText as FromText
from .stand_ins import standing_tables as standing_tables
