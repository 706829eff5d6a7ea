from .evaluator import Evaluator as Evaluator, LocalRows as LocalRows
from .kinds import kind_of as kind_of, kind_of_arrow as kind_of_arrow
from .left_out import LeftOut as LeftOut
