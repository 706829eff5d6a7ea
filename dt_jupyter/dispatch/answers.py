"""What the live views show of the engine's values: a message for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from dt_jupyter.delivery import address_text
from dt_jupyter.dispatch.static_messages import (
    card_message,
    history_message,
    profile_message,
    refresh_points,
    short_cell,
)
from dt_jupyter.engine import Context, seen_task
from dt_jupyter.ivm import PlanNode as Node
from dt_jupyter.model import DynamicTable, RefreshRecord, Right, Timestamp
from dt_jupyter.replay import Marked, TableRows
from dt_jupyter.reports import (
    Explanation,
    FrontierReport,
    Lineage,
    LintReport,
    NodeName,
    SourceReport,
    SourceReports,
    StreamReport,
    TableProfile,
    TaskName,
    failure_report,
)
from dt_jupyter.schedule import Foretold, obstacles_in
from dt_jupyter.widgets import NOT_REFRESHED
from dt_jupyter.wire import (
    CatalogueItem,
    CatalogueMessage,
    Column,
    ColumnEdge,
    DetailMessage,
    DoneMessage,
    ErrorMessage,
    Fact,
    FailureMessage,
    Frontier,
    FrontiersMessage,
    FrontierSource,
    LagMessage,
    LineageMessage,
    LintMessage,
    Problem,
    ProfileMessage,
    ReplayMessage,
    ReplayStep,
    ResultMessage,
    RowsMessage,
    SimulationMessage,
    SourceMessage,
    Statement,
    StreamRow,
    StreamsMessage,
    TableRowsMessage,
    TableVersion,
    TreeNode,
    Underline,
    duration,
)

if TYPE_CHECKING:
    from dt_jupyter.replay import Step


def frontiers(reports: Iterable[FrontierReport], now: Timestamp) -> FrontiersMessage:
    return FrontiersMessage(tuple(map(_frontier, reports)), now.datetime)


def _frontier(report: FrontierReport) -> Frontier:
    newest = report.newest or (None,) * len(report.sources)
    sources = tuple(
        FrontierSource(str(name), kind.lower(), version, now)
        for (name, kind, version), now in zip(report.sources, newest, strict=True)
    )
    times = tuple(t.datetime for t in report.data_timestamps)
    return Frontier(str(report.name), _when(report.data_timestamp), report.version, sources, times)


def streams(reports: Iterable[StreamReport], now: Timestamp) -> StreamsMessage:
    return StreamsMessage(tuple(map(_stream, reports)), now.datetime)


def _stream(report: StreamReport) -> StreamRow:
    stream = report.stream
    return StreamRow(
        str(stream.name),
        str(stream.source),
        stream.kind.lower(),
        stream.mode,
        stream.advanced.datetime,
        report.waiting,
        report.has_data,
        report.reason is not None,
        report.stale_after.datetime,
        report.reason,
        tuple(map(str, report.consumers)),
    )


def source(
    found: SourceReport,
    stream: StreamReport | None,
    sees: Callable[[NodeName], bool],
    now: Timestamp,
) -> SourceMessage:
    """`stream` is there where it is one; of its readers those that the role sees."""
    return SourceMessage(
        str(found.name),
        found.kind,
        tuple(Column(n, t) for n, t in found.columns),
        found.rows,
        found.files,
        found.place,
        tuple(TableVersion(v.version, v.time.datetime, v.operation) for v in found.versions),
        tuple(str(name) for name in found.readers if sees(name)),
        found.text,
        _stream(stream) if stream is not None else None,
        now.datetime,
    )


def lineage(found: Lineage) -> LineageMessage:
    edges = tuple(
        ColumnEdge(str(e.source), e.source_column, str(e.target), e.target_column)
        for e in found.edges
    )
    return LineageMessage(str(found.name), tuple(Column(n, t) for n, t in found.columns), edges)


def profile(found: TableProfile) -> ProfileMessage:
    shown = tuple(Column(c.name, c.type) for c in found.columns)
    cells = tuple(tuple(map(_cell, row[: len(shown)])) for row in found.sample)
    more = found.row_count > len(cells)
    return ProfileMessage(
        str(found.name),
        found.snapshot,
        found.row_count,
        replace(profile_message(found), title="Columns"),
        ResultMessage(shown, cells, more, "Sample rows", found.snapshot),
    )


def replay(name: str, id_: str, mode: str, steps: Iterable[Step]) -> ReplayMessage:
    return ReplayMessage(name, id_, mode, tuple(map(_step, steps)))


def _step(step: Step) -> ReplayStep:
    return ReplayStep(
        step.number,
        step.time.datetime,
        step.version,
        step.operation,
        step.row_count,
        step.inserted,
        step.deleted,
        step.schema_change,
        step.digest,
    )


def rows(name: str, step: int, found: Marked) -> RowsMessage:
    columns = tuple(Column(n, t) for n, t in found.columns)
    cells = tuple(tuple(map(_cell, row)) for row in found.rows)
    return RowsMessage(name, columns, cells, found.marks, step, found.since, found.truncated)


def live_rows_message(found: TableRows) -> TableRowsMessage:
    columns = tuple(Column(n, t) for n, t in found.marked.columns)
    cells = tuple(tuple(map(_cell, row)) for row in found.marked.rows)
    return TableRowsMessage(
        str(found.name),
        columns,
        cells,
        found.marked.marks,
        found.time.datetime,
        found.version,
        found.limit,
        found.dynamic,
        found.marked.truncated,
        found.chart or (),
    )


def _cell(text: str | None) -> str | None:
    return None if text is None else short_cell(text)


def simulation(name: str, found: Foretold) -> SimulationMessage:
    lag = LagMessage(name, found.target, refresh_points(found.records), found.end.datetime)
    s = found.statistics
    return SimulationMessage(
        lag,
        found.period,
        found.seconds,
        s.mean if s else 0.0,
        s.maximum if s else 0.0,
        s.time_within_target_lag_ratio if s else None,
        found.load,
    )


def detail(
    table: DynamicTable,
    found: Explanation | None,
    records: list[RefreshRecord],
    error: ErrorMessage | None,
    held_back: str | None = None,
) -> DetailMessage:
    """`found` is None where it could not be explained, for which `error` is the reason;
    `held_back` is that of its node."""
    decided = found is not None and found.action is not None
    return DetailMessage(
        str(table.name),
        table.effective_mode,
        str(table.mode_reason),
        found.hint if found else "",
        table.definition.query,
        card_message(table, held_back=held_back),
        tuple(map(_tree_node, found.tree)) if found else (),
        tuple(Statement(s.title, s.text) for s in found.steps) if found else (),
        f"{found.action}: {found.action_reason}" if found and decided else "",
        refresh_facts(records),
        history_message(records, f"Refreshes of {table.name}"),
        error,
    )


def _tree_node(node: Node) -> TreeNode:
    return TreeNode(
        node.depth, node.operator, node.rule, node.state, node.size.rows, node.size.changed
    )


def failure(table: DynamicTable, records: Iterable[RefreshRecord]) -> FailureMessage | DoneMessage:
    """Of the newest refresh that failed, where one did."""
    failed = next((r for r in records if r.error is not None), None)
    if failed is None:
        return DoneMessage(f"None of the last refreshes of {table.name} failed.")
    found = failure_report(table, failed)
    place = found.place
    told = ErrorMessage(
        found.code,
        found.sentence,
        found.hint or None,
        found.query if place is not None else None,
        Underline.of(found.query, place.start, place.end) if place is not None else None,
    )
    at = found.at.datetime
    return FailureMessage(str(found.name), at, told, found.expression, found.row, found.steps)


def lint(found: LintReport) -> LintMessage:
    return LintMessage(
        tuple(
            Problem(str(p.severity), p.code, p.sentence, p.hint, p.span.start, p.span.end)
            for p in found.problems
        )
    )


def refresh_facts(records: Sequence[RefreshRecord]) -> tuple[Fact, ...]:
    """The statistics of the newest refresh that ran; what has no value is left out."""
    last = next((r for r in records if r.state.final and r.duration is not None), None)
    if last is None:
        return ()
    s = last.statistics
    parts = (s.queued_ms + s.compilation_ms + s.execution_ms) / 1000
    facts: list[tuple[str, object]] = [
        ("took", duration(max(last.duration or 0.0, parts))),
        ("waited for a slot", f"{s.queued_ms} ms"),
        ("planned in", f"{s.compilation_ms} ms"),
        ("ran in", f"{s.execution_ms} ms"),
        ("computed by", s.way),
        ("Spark jobs", s.spark_jobs),
        ("rows read", f"{s.rows_read:,}"),
        ("changed rows of sources", f"{s.changed_rows:,}"),
        ("rows inserted", f"{s.inserted_rows:,}"),
        ("rows deleted", f"{s.deleted_rows:,}"),
        ("rows copied", f"{s.copied_rows:,}"),
        ("files added", s.added_files),
        ("files removed", s.removed_files),
        ("bytes written", f"{s.bytes_written:,}"),
        ("written by", s.writer),
    ]
    return tuple(Fact(name, str(value)) for name, value in facts if value not in (None, ""))


def catalogue(context: Context) -> CatalogueMessage:
    """All that a lake holds, dynamic tables first."""
    catalog, last = context.catalog, context.catalog.last()
    items = []
    sees, reports = context.access.sees, SourceReports(context.nodes.refresher)
    idle = obstacles_in(catalog)
    for table in filter(lambda t: sees(t.name), catalog.list()):
        record = last.get(table.id)
        state = record.state.value if record else "NEW"
        if table.id in idle and (record is None or record.error is None):
            state = NOT_REFRESHED
        suspended = table.scheduling.value == "SUSPENDED"
        lag = f"target lag {table.target_lag}, warehouse {table.warehouse}"
        about = f"{table.effective_mode}, {lag}"
        items.append(
            CatalogueItem(
                str(table.name),
                "dynamic_table",
                table.scheduling.value if suspended else state,
                about,
                tuple(Column(n, kind) for n, kind, _ in table.definition.columns),
            )
        )
    for stream in filter(lambda s: sees(s.name), catalog.streams()):
        about = f"on {stream.kind.lower()} {stream.source}"
        items.append(CatalogueItem(str(stream.name), "stream", stream.mode, about))
    for sink in filter(lambda s: sees(s.name), catalog.sinks()):
        about = f"{sink.kind.lower()} {sink.source} into {address_text(sink)}"
        items.append(CatalogueItem(str(sink.name), "sink", sink.state.value, about))
    for task in context.nodes.tasks.all(context.clock.now()):
        if context.access.may_task(Right.MONITOR, task.task.name):
            state, seen = task.task.state.value, seen_task(task, context.access)
            items.append(CatalogueItem(str(TaskName(task.task.name)), "task", state, str(seen)))
    items += [
        CatalogueItem(
            str(t.name),
            "table",
            "",
            context.sources.copies.place_of(t.path),
            tuple(Column(n, kind) for n, kind in reports.columns(t.path)),
        )
        for t in catalog.tables()
        if sees(t.name)
    ]
    items += [
        CatalogueItem(str(v.name), "view", "", _line(v.text))
        for v in catalog.views()
        if sees(v.name)
    ]
    for w in filter(lambda w: context.access.sees_warehouse(w.name), catalog.warehouses()):
        state = "SUSPENDED" if w.suspended else "ACTIVE"
        about = f"{w.max_concurrency} at once, weight {w.weight}"
        items.append(CatalogueItem(w.name, "warehouse", state, about))
    for pin in context.keeper.pins().holds if not context.access.bound else ():
        if pin.name is not None:
            items.append(CatalogueItem(pin.name, "pin", "", f"{pin.subject} at {pin.point}"))
    return CatalogueMessage(tuple(items), str(context.layout.known_as))


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 100 else f"{words[:99]}…"


def _when(t: Timestamp | None) -> datetime | None:
    return t.datetime if t is not None else None
