from .filter_condition import read_filter_condition as read_filter_condition
from .frame_query import (
    write_frame_query as write_frame_query,
)
from .lost_values import find_lost as find_lost
from .no_form import (
    ManyRows as ManyRows,
    NoForm as NoForm,
    NotTheSame as NotTheSame,
    PythonFunction as PythonFunction,
)
from .plan_document import (
    DOCUMENT_VERSION as DOCUMENT_VERSION,
    digest_document as digest_document,
    read_document as read_document,
)
from .plan_flows import column_flows as column_flows
from .plan_reads import reads_elsewhere as reads_elsewhere
from .plan_relation import (
    read_query_document as read_query_document,
    relation_of_plan as relation_of_plan,
)
from .plan_source import PlanSource as PlanSource
from .plan_tree import SparkNode as SparkNode
from .special_times import refuse_special_literals as refuse_special_literals
