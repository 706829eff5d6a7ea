from .analysis_errors import list_hint as list_hint, placed as placed
from .change_size import too_wide as too_wide
from .compile import (
    Compiled as Compiled,
    CompiledStage as CompiledStage,
)
from .define import (
    Defined as Defined,
    Definer as Definer,
    DefinitionRequest as DefinitionRequest,
)
from .evolution import (
    Outputs as Outputs,
    changed_meaning as changed_meaning,
    changed_outputs as changed_outputs,
    expected as expected,
    in_words as in_words,
    outputs_of as outputs_of,
    public_outputs as public_outputs,
)
from .frozen_region import (
    columns_of_region as columns_of_region,
    frozen_at as frozen_at,
    read_condition as read_condition,
    without_frozen as without_frozen,
)
from .kept_values import KeptValues as KeptValues
from .lost_columns import explained as explained, find_lost_column as find_lost_column
from .offending_row import with_offending_row as with_offending_row
from .pinned_definition import defining_text as defining_text
from .query_meaning import (
    CallableFunctions as CallableFunctions,
    QueryMeaning as QueryMeaning,
    QueryText as QueryText,
    empty_relation as empty_relation,
    read_document_of as read_document_of,
    read_meaning as read_meaning,
)
from .query_reader import QueryReader as QueryReader, found_by as found_by
from .refused_calls import of_registered as of_registered
from .spark_answers import SparkAnswers as SparkAnswers
from .table_options import (
    DEFAULT_DAYS as DEFAULT_DAYS,
    apply_options as apply_options,
    require_clusterable as require_clusterable,
)
from .validate.bag_diff import differing as differing, row_text as row_text, sentence as sentence
