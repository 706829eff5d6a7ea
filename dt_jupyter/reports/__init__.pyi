from .events import (
    Event as Event,
    Events as Events,
)
from .explanation import (
    explain_defined as explain_defined,
    explain_table as explain_table,
)
from .explanation_values import (
    Explanation as Explanation,
    Verification as Verification,
    Verifications as Verifications,
    validation_sentence as validation_sentence,
)
from .export import (
    editable_definition as editable_definition,
    export_script as export_script,
    task_definition as task_definition,
)
from .export_functions import registration as registration
from .failure_parts import FailureReport as FailureReport, failure_report as failure_report
from .graph_report import (
    Nodes as Nodes,
    sink_node as sink_node,
    task_node as task_node,
)
from .health import (
    HealthReport as HealthReport,
    TableHealth as TableHealth,
    measure_table as measure_table,
    read_health as read_health,
)
from .lineage import (
    Lineage as Lineage,
    Lineages as Lineages,
)
from .lint_report import (
    LintProblem as LintProblem,
    LintReport as LintReport,
    LintSeverity as LintSeverity,
)
from .profile import (
    ColumnProfile as ColumnProfile,
    TableProfile as TableProfile,
    profile_columns as profile_columns,
)
from .recorded_history import read_lake_history as read_lake_history
from .report_values import (
    FrontierReport as FrontierReport,
    GraphNode as GraphNode,
    GraphReport as GraphReport,
    LagReport as LagReport,
    NodeName as NodeName,
    StageName as StageName,
    TaskName as TaskName,
    frontier_report as frontier_report,
    lag_report as lag_report,
    read_lag_days as read_lag_days,
)
from .script_plan import (
    AppliedChange as AppliedChange,
    AppliedPlan as AppliedPlan,
    PlannedAction as PlannedAction,
    PlannedChange as PlannedChange,
    ScriptPlan as ScriptPlan,
)
from .sink_report import (
    SinkReport as SinkReport,
    SinkReports as SinkReports,
    sink_definition as sink_definition,
)
from .source_report import (
    SourceReport as SourceReport,
    SourceReports as SourceReports,
)
from .stream_standing import (
    StreamReport as StreamReport,
    stream_report as stream_report,
)
from .task_report import (
    TaskReport as TaskReport,
    TaskReports as TaskReports,
    task_flow as task_flow,
)
from .verification import (
    verify as verify,
    verify_at as verify_at,
)
