from .evaluator import Evaluator as Evaluator, LocalRows as LocalRows
from .kinds import (
    arrow_value_kind as arrow_value_kind,
    value_kind as value_kind,
)
from .left_out import LeftOut as LeftOut
from .statement_way import (
    StatementFacts as StatementFacts,
    WayDecision as WayDecision,
    decide_way as decide_way,
)
from .statements import ViewShape as ViewShape
