from .frame_query import (
    ManyRows as ManyRows,
    NoForm as NoForm,
    NotTheSame as NotTheSame,
    PythonFunction as PythonFunction,
    write_frame_query as write_frame_query,
)
