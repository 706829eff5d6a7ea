"""What the engine answers, as wire messages: every view of a value begins here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dt_jupyter.dispatch.list_messages import lineage_message, list_message
from dt_jupyter.dispatch.sink_answers import sink_graph_node, sink_message
from dt_jupyter.dispatch.task_answers import task_graph_node
from dt_jupyter.engine import LONGEST_CELL, Created, ResultRows
from dt_jupyter.maintenance import Pins, Storage, Vacuum
from dt_jupyter.model import DynamicTable, Mark, RefreshRecord, RefreshState, Timestamp, count_of
from dt_jupyter.replay import Diff, QueryDiff, RefreshReplay, TableRows
from dt_jupyter.reports import (
    Explanation,
    FrontierReport,
    GraphNode as ReportNode,
    GraphReport,
    HealthReport,
    LagReport,
    Lineage,
    NodeName,
    SinkReport,
    StageName,
    StreamReport,
    TableProfile,
    Verification,
    Verifications,
    validation_sentence,
)
from dt_jupyter.widgets import ChangeCounts, ChangeTable, Panel, Picture, show
from dt_jupyter.wire import (
    CardMessage,
    Column,
    CompareMessage,
    ExplanationMessage,
    GraphEdge,
    GraphMessage,
    GraphNode,
    HistoryMessage,
    HistoryRow,
    IdleTime,
    LagMessage,
    Message,
    NodeKind,
    RefreshPoint,
    ReportMessage,
    ResultMessage,
    duration,
    instant,
)

if TYPE_CHECKING:
    from dt_jupyter.replay import Step

REPLAY_ROWS = 500
"""Steps of a replay that are shown."""
_NOT_RUN = (RefreshState.SCHEDULED, RefreshState.SKIPPED, RefreshState.UPSTREAM_FAILED)


def message_of(value: object) -> Message | ExplanationMessage:
    """The message of a value that the engine returned; TypeError for one it never returns."""
    match value:
        case GraphReport():
            return graph_message(value)
        case LagReport():
            return lag_message(value)
        case HealthReport():
            return health_message(value)
        case SinkReport():
            return sink_message(value)
        case FrontierReport():
            return frontiers_message([value])
        case RefreshRecord():
            return history_message([*value.upstream, value], f"Refresh of {value.name}")
        case Created():
            return created_message(value)
        case DynamicTable():
            return card_message(value)
        case Lineage():
            return lineage_message(value)
        case tuple() if (listed := list_message(value)) is not None:
            return listed
        case TableProfile():
            return profile_message(value)
        case TableRows():
            return table_rows_message(value)
        case Verification():
            return verification_message(value)
        case Explanation():
            return explanation_message(value)
        case (
            Verifications() | RefreshReplay() | Diff() | QueryDiff() | Pins() | Vacuum() | Storage()
        ):
            return report_message(_TITLES[type(value)], str(value))
    raise TypeError(f"a {type(value).__name__} has no picture")


_TITLES = {
    Verifications: "Verification",
    RefreshReplay: "Replay of a refresh",
    Diff: "Difference",
    QueryDiff: "Difference",
    Pins: "Pins",
    Vacuum: "Vacuum",
    Storage: "Storage",
}


def picture_of(value: object) -> Picture | Panel:
    """Of a value that the engine returned, or of a message: what a notebook or a terminal shows."""
    return show(value if isinstance(value, Message | ExplanationMessage) else message_of(value))


def graph_message(
    report: GraphReport, *, stages: bool = False, periods: Mapping[str, float] | None = None
) -> GraphMessage:
    """With `stages` the hidden ones are separate nodes, else their edges are the table's.
    `periods`, by id, are those of the scheduler that runs, in seconds."""
    shown = [n for n in report.nodes if stages or not isinstance(n.name, StageName)]
    pairs = report.edges if stages else [(_table_of(a), _table_of(b)) for a, b in report.edges]
    edges = _forward([(str(a), str(b)) for a, b in dict.fromkeys(pairs)])
    nodes = tuple(node_message(n, periods or {}) for n in shown)
    return GraphMessage(nodes, edges, _instant(report.as_of))


def _forward(pairs: Sequence[tuple[str, str]]) -> tuple[GraphEdge, ...]:
    """Without the edges that lead back: tables that swapped their names may read each other."""
    below: dict[str, set[str]] = {}
    kept = []
    for source, target in pairs:
        reached, queue = {target}, [target]
        for name in queue:
            new = below.get(name, set()) - reached
            reached |= new
            queue += new
        if source not in reached:
            below.setdefault(source, set()).add(target)
            kept.append(GraphEdge(source, target))
    return tuple(kept)


def _table_of(name: NodeName) -> NodeName:
    return name.of if isinstance(name, StageName) else name


def lag_message(report: LagReport) -> LagMessage:
    points = refresh_points(report.records)
    idle = tuple(IdleTime(_instant(start), _instant(end)) for start, end in report.idle)
    as_of = _instant(report.as_of)
    return LagMessage(str(report.name), report.target.seconds, points, as_of, idle)


def refresh_points(records: Iterable[RefreshRecord]) -> tuple[RefreshPoint, ...]:
    return tuple(_point(record) for record in records)


def history_message(
    records: Iterable[RefreshRecord], title: str = "Refresh history"
) -> HistoryMessage:
    return HistoryMessage(tuple(_history_row(record) for record in records), title)


def frontiers_message(reports: Sequence[FrontierReport]) -> ResultMessage:
    """A row for each source of each dynamic table."""
    names = ("dynamic_table", "data_timestamp", "version", "source", "kind", "source_version")
    types = ("string", "timestamp", "bigint", "string", "string", "bigint")
    rows = [
        (str(r.name), _time(r.data_timestamp), _text(r.version), str(source), kind, _text(version))
        for r in reports
        for source, kind, version in r.sources
    ]
    columns = tuple(Column(n, t) for n, t in zip(names, types, strict=True))
    return ResultMessage(columns, tuple(rows), title="Frontiers")


def streams_message(reports: Sequence[StreamReport]) -> ResultMessage:
    """A row for each stream."""
    names = ("stream", "source", "mode", "consumed_up_to", "waiting_commits", "stale", "reason",
             "consumed_into")  # fmt: skip
    types = ("string", "string", "string", "timestamp", "bigint", "boolean", "string", "string")
    rows = [
        (
            str(r.stream.name),
            f"{r.stream.kind.lower()} {r.stream.source}",
            r.stream.mode,
            _time(r.stream.advanced),
            _text(r.waiting),
            str(r.reason is not None).lower(),
            r.reason,
            ", ".join(map(str, r.consumers)) or None,
        )
        for r in reports
    ]
    columns = tuple(Column(n, t) for n, t in zip(names, types, strict=True))
    return ResultMessage(columns, tuple(rows), title="Streams")


def verification_message(found: Verification) -> ResultMessage:
    columns = (
        Column("data_timestamp", "timestamp"),
        Column("rows_compared", "bigint"),
        Column("difference", "string"),
    )
    row = (_time(found.data_timestamp), f"{found.rows:,}", found.difference)
    verdict = "✓ {} equals its query" if found.equal else "✗ {} differs from its query"
    shown = 2 if found.equal else 3
    return ResultMessage(columns[:shown], (row[:shown],), title=verdict.format(found.name))


def table_rows_message(found: TableRows) -> ResultMessage:
    """The present rows, without their changes."""
    there = [
        tuple(v and short_cell(v) for v in row)
        for row, mark in zip(found.marked.rows, found.marked.marks, strict=True)
        if mark not in (Mark.DELETED, Mark.BEFORE)
    ]
    columns = tuple(Column(n, t) for n, t in found.marked.columns)
    return ResultMessage(columns, tuple(there), found.marked.truncated, found.title)


def profile_message(found: TableProfile) -> ResultMessage:
    """A row for each column."""
    heads = ("column", "type", "NULL", "distinct, about", "least", "greatest")
    kinds = ("string", "string", "bigint", "bigint", "string", "string")
    rows = tuple(
        (
            c.name,
            c.type,
            f"{c.nulls:,}",
            None if c.distinct is None else f"{c.distinct:,}",
            c.least and short_cell(c.least),
            c.greatest and short_cell(c.greatest),
        )
        for c in found.columns
    )
    columns = tuple(Column(n, t) for n, t in zip(heads, kinds, strict=True))
    title = f"Columns of {found.name}: {count_of(found.row_count, 'row')}"
    return ResultMessage(columns, rows, title=title, note=found.snapshot)


def health_message(found: HealthReport) -> ResultMessage:
    """A row for each dynamic table, the worst first."""
    names = ("table", "target", "within target", "lag", "p95 lag", "refreshes", "recomputed",
             "failed", "time", "rows", "bytes written", "cause")  # fmt: skip
    types = ("string", "string", *("bigint",) * 9, "string")
    rows = tuple(
        (
            str(t.name),
            str(t.target),
            None if t.within is None else f"{t.within:.1%}",
            None if t.lag is None else duration(t.lag),
            None if t.p95 is None else duration(t.p95),
            f"{t.refreshes:,}",
            f"{t.recomputed:,}",
            f"{t.failed:,}",
            duration(t.seconds),
            f"{t.rows:,}",
            f"{t.bytes:,}",
            t.cause and short_cell(t.cause),
        )
        for t in found.tables
    )
    columns = tuple(Column(n, kind) for n, kind in zip(names, types, strict=True))
    days = f"{found.days:g} days" if found.days != 1 else "day"
    return ResultMessage(columns, rows, title=f"Dynamic tables over the last {days}")


def short_cell(text: str) -> str:
    """What is sent of a long text."""
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"


def replay_message(name: str, steps: Sequence[Step]) -> ResultMessage:
    """A row for each step of a walk."""
    names = ("step", "time", "version", "operation", "rows", "inserted", "deleted",
             "schema_change", "digest")  # fmt: skip
    types = ("int", "timestamp", "string", "string", "bigint", "bigint", "bigint", "string",
             "string")  # fmt: skip
    rows = tuple(
        (
            str(s.number),
            _time(s.time),
            ", ".join(str(v) for v in s.versions.values()),
            s.operation or None,
            f"{s.row_count:,}",
            _text(s.inserted),
            _text(s.deleted),
            s.schema_change or None,
            s.digest,
        )
        for s in steps
    )
    columns = tuple(Column(n, t) for n, t in zip(names, types, strict=True))
    many = count_of(len(steps), "snapshot")
    shown = rows[:REPLAY_ROWS]
    return ResultMessage(columns, shown, len(rows) > len(shown), f"Replay of {name}: {many}")


def compared_rows(found: Diff | QueryDiff) -> ResultMessage:
    """The first rows that differ, similar ones below each other."""
    columns = found.new.columns if isinstance(found, Diff) else found.columns
    marks: list[Mark] = []
    rows: list[tuple[str | None, ...]] = []
    for action, values, many in sorted(found.rows, key=lambda r: (str(r[1]), r[0])):
        cells = tuple(None if v is None else short_cell(str(v)) for v in values)
        marks += [Mark.INSERTED if action == "INSERT" else Mark.DELETED] * many
        rows += [cells] * many
    total = (found.inserted or 0) + (found.deleted or 0)
    return ResultMessage(
        tuple(Column(n, t) for n, t in columns),
        tuple(rows),
        len(rows) < total,
        "Rows that differ",
        f"{found.inserted or 0:,} inserted, {found.deleted or 0:,} deleted",
        tuple(marks),
    )


def compared_message(found: Diff | QueryDiff) -> CompareMessage:
    """What differs between two versions, definitions or tables."""
    title, *lines = str(found).splitlines()
    end = next((i for i, line in enumerate(lines) if line.startswith("rows:")), len(lines))
    return CompareMessage(title, tuple(lines[: end + 1]), compared_rows(found))


def report_message(title: str, text: str) -> ReportMessage:
    """A report of several lines as it is."""
    return ReportMessage(title, tuple(text.splitlines()))


def explanation_message(found: Explanation, note: str = "") -> ExplanationMessage:
    action = f"{found.action}: {found.action_reason}" if found.action else None
    return ExplanationMessage(
        str(found.name),
        found.mode,
        str(found.reason),
        tuple(Column(n, t) for n, t, _ in found.columns),
        tuple(f"{n} ({kind.lower().replace('_', ' ')})" for n, kind in found.sources),
        tuple((step.title, step.text) for step in found.parts),
        action,
        found.hint,
        found.checked,
        note,
    )


def _incremental(hint: str) -> str:
    question = hint.endswith("?")
    return hint if question else f"To make it incremental, {hint[:1].lower()}{hint[1:]}"


def created_message(created: Created, sample: ResultRows | None = None) -> CardMessage:
    """The card of what CREATE did: mode and why, and what was checked and altered for it."""
    defined, notes = created.defined, [created.status, *created.notes]
    if created.change:
        notes += [*created.change.facts, *created.change.text]
    if defined is not None and defined.checked:
        notes.append(validation_sentence(defined.checked))
    if defined is not None and defined.hint:
        notes.append(_incremental(defined.hint))
    rows = result_message(sample) if sample is not None else None
    return card_message(created.table, rows, tuple(notes), created.held_back)


def card_message(
    table: DynamicTable,
    sample: ResultMessage | None = None,
    notes: tuple[str, ...] = (),
    held_back: str | None = None,
) -> CardMessage:
    t, definition = table.data_timestamp, table.definition
    if definition.parameters:
        bound = ", ".join(f":{name} = {text}" for name, text in definition.parameters)
        notes = (*notes, f"The parameters had these values when it was created: {bound}.")
    return CardMessage(
        str(table.name),
        table.mode,
        table.effective_mode,
        str(table.mode_reason),
        tuple(Column(n, kind) for n, kind, _ in definition.columns),
        table.target_lag,
        table.warehouse,
        tuple(str(s.name) for s in definition.sources),
        table.scheduling,
        _instant(t) if t else None,
        sample,
        notes,
        held_back,
    )


def status_message(status: Mapping[str, Any]) -> ResultMessage:
    """`Engine.status()`: a row for each fact."""
    columns = (Column("what", "string"), Column("value", "string"))
    rows = [(key.replace("_", " "), _words(value)) for key, value in status.items()]
    return ResultMessage(columns, tuple(rows), title="Engine")


def change_table(
    rows: ResultRows, title: str, counts: tuple[int, int, int] | None = None
) -> ChangeTable:
    """The first rows of a change query; `counts` of all (inserted, deleted, updated)."""
    return ChangeTable(result_message(rows, title), ChangeCounts(*counts) if counts else None)


def result_message(rows: ResultRows, title: str | None = None) -> ResultMessage:
    """The first rows of a result."""
    instant_type = f"timestamp ({rows.zone})" if rows.zone else "timestamp"
    kinds = {"timestamp": instant_type}
    columns = tuple(Column(name, kinds.get(kind, kind)) for name, kind in rows.columns)
    cells = tuple(tuple(v and short_cell(v) for v in row) for row in rows.rows)
    return ResultMessage(columns, cells, truncated=rows.truncated, title=title)


def node_message(node: ReportNode, periods: Mapping[str, float]) -> GraphNode:
    table, last = node.table, node.last
    kind = NodeKind(node.kind)
    if node.sink is not None:
        return sink_graph_node(node.sink)
    if node.task is not None:
        return task_graph_node(node.task)
    if table is None:
        parent = str(node.name.of) if isinstance(node.name, StageName) else None
        return GraphNode(
            str(node.name),
            kind,
            rows=node.rows,
            error=node.problem,
            parent=parent,
            files=node.files,
        )
    t = table.data_timestamp
    return GraphNode(
        str(node.name),
        kind,
        table.scheduling,
        table.mode,
        table.effective_mode,
        str(table.mode_reason),
        last.action if last else None,
        RefreshState.EXECUTING if node.running is not None else last.state if last else None,
        table.target_lag,
        node.lag,
        _instant(t) if t else None,
        node.rows,
        node.obstacle,
        node.effective_lag,
        table.warehouse,
        None,
        node.running,
        periods.get(table.id),
        held_back=node.held_back,
    )


def _point(record: RefreshRecord) -> RefreshPoint:
    start, end = record.start, record.end
    if record.state in _NOT_RUN:
        start = end = None
    return RefreshPoint(
        record.data_timestamp.datetime,
        record.state,
        _instant(start) if start else None,
        _instant(end) if end else None,
        record.action,
        record.error or (str(record.reason) if record.reason else None),
    )


def _history_row(record: RefreshRecord) -> HistoryRow:
    s, run = record.statistics, record.state not in _NOT_RUN
    inserted, deleted, read, written = (
        (s.inserted_rows, s.deleted_rows, s.rows_read, s.bytes_written) if run else (None,) * 4
    )
    return HistoryRow(
        str(record.name),
        record.state,
        record.data_timestamp.datetime,
        record.action,
        record.trigger,
        record.duration if run else None,
        inserted,
        deleted,
        read,
        record.error or (str(record.reason) if record.reason else None),
        written,
    )


def _instant(t: Timestamp) -> datetime:
    return t.datetime


def _time(t: Timestamp | None) -> str | None:
    return instant(t.datetime) if t else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "none"
    return str(value)
