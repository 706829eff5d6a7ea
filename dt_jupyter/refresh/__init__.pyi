from .decision import has_new_columns as has_new_columns
from .derived_contents import (
    ContentsVerdict as ContentsVerdict,
    Derivable as Derivable,
    KeptContents as KeptContents,
    derive_contents as derive_contents,
    judge_contents as judge_contents,
)
from .frozen_rows import (
    KeptRegion as KeptRegion,
    kept_region as kept_region,
    require_frozen_rows as require_frozen_rows,
)
from .held_frames import HeldFrames as HeldFrames
from .observation import Look as Look, plan_source as plan_source, source_sizes as source_sizes
from .protocol import Refresher as Refresher
from .query_session import list_anew as list_anew, use_schema as use_schema
from .recovery import recover_table as recover_table, restore_times as restore_times
from .stage_facts import (
    LogFacts as LogFacts,
    logs_of as logs_of,
    stage_app_id as stage_app_id,
)
from .stage_forecast import (
    ForecastStatement as ForecastStatement,
    StageForecast as StageForecast,
)
from .stage_plan import (
    SourceRead as SourceRead,
    StageFacts as StageFacts,
    StagePlan as StagePlan,
    StageStatement as StageStatement,
    StageStep as StageStep,
    Standing as Standing,
    plan_stage as plan_stage,
    resolve_step as resolve_step,
)
from .stage_run import StageRun as StageRun
from .stage_texts import StageTexts as StageTexts
from .statement_confs import plan_for as plan_for
