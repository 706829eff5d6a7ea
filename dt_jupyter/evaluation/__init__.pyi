from .evaluator import Evaluator as Evaluator, LocalRows as LocalRows
from .kinds import (
    arrow_value_kind as arrow_value_kind,
    empty_rows as empty_rows,
    value_kind as value_kind,
)
from .left_out import LeftOut as LeftOut
