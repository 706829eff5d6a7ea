"""The present graph: tables, views, dynamic tables with their hidden stages, streams, sinks,
tasks.

From the catalog, the logs and what is compiled already: no Spark job, and no analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dt_jupyter.caches import text_cache
from dt_jupyter.catalog import TOO_MANY_FAILURES, Catalog
from dt_jupyter.lake import LakeError, count_shown_rows, is_delta
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Name,
    Named,
    Progress,
    Reason,
    RefreshRecord,
    Source,
    SourceKind,
    Timestamp,
)
from dt_jupyter.refresh import Refresher
from dt_jupyter.reports.report_values import GraphNode, GraphReport, NodeName, StageName, TaskName
from dt_jupyter.reports.sink_report import SinkReport, SinkReports
from dt_jupyter.reports.task_report import TaskReport, TaskReports
from dt_jupyter.schedule import held_lags, obstacles_in
from dt_jupyter.sources import name_of
from dt_jupyter.sql import qualified_name, table_places

_KINDS: dict[str, str] = {
    Named.DYNAMIC_TABLE: "dynamic_table",
    Named.TABLE: "table",
    Named.VIEW: "view",
    Named.STREAM: "stream",
    Named.SINK: "sink",
    Named.TASK: "task",
}


def _name_of(text: str) -> Name:
    """Of what a quarantine calls it: no other node is called so."""
    try:
        return qualified_name(text)
    except DTError:
        return Name("default", text or "?")


@text_cache("names of queries", 4)
def reads(text: str, schema: str) -> tuple[Name, ...]:
    """The names that a query reads, each once."""
    return tuple(dict.fromkeys(name_of(parts, schema) for parts, *_ in table_places(text)))


@dataclass(frozen=True)
class Nodes:
    """Reads the graph of one engine."""

    refresher: Refresher
    sinks: SinkReports
    tasks: TaskReports

    @property
    def _catalog(self) -> Catalog:
        return self.refresher.sources.catalog

    def held(self) -> dict[str, float]:
        """The lag in seconds that each dynamic table, by id, is held to."""
        return held_lags(self._catalog.list())

    def report(self, now: Timestamp) -> GraphReport:
        """All of it."""
        held, last, running = self.held(), self._catalog.last(), self._running()
        waits = obstacles_in(self._catalog)
        drawn = _Drawing(self)
        for table in self._catalog.list():
            drawn.table(table)
            node = self._node(table, last.get(table.id), held, running.get(table.id), now)
            node = replace(node, standing=_standing(table, waits))
            drawn.nodes[table.name] = node
        for stream in self._catalog.streams():
            if stream.name in drawn.nodes:
                continue  # a table of that name was made since
            drawn.read(stream.source, stream.source.schema)
            drawn.nodes[stream.name] = GraphNode(stream.name, "stream")
            drawn.edges[stream.source, stream.name] = None
        for found in self.sinks.all(now):
            drawn.sink(found)
        drawn.tasks(self.tasks.all(now))
        drawn.views()
        return GraphReport(self._told(drawn), tuple(drawn.edges), now)

    def _told(self, drawn: _Drawing) -> tuple[GraphNode, ...]:
        """The nodes; what is in quarantine says so, and what cannot be read is a node too."""
        nodes = {str(name): node for name, node in drawn.nodes.items()}
        for q in self._catalog.quarantine.all():
            kind = _KINDS.get(q.kind)
            if kind is None:
                continue
            plain = _name_of(q.name)
            name: NodeName = TaskName(plain) if kind == "task" else plain
            known = nodes.get(str(name)) or GraphNode(name, kind)
            nodes[str(name)] = replace(known, problem=q.problem)
        return tuple(nodes.values())

    def one(
        self, dt_id: str, held: Mapping[str, float], progress: Progress | None, now: Timestamp
    ) -> GraphNode | None:
        """A dynamic table; None where it is gone."""
        table = self._catalog.by_id(dt_id)
        if table is None or table.dropped is not None:
            return None
        node = self._node(table, self._catalog.last_of(dt_id), held, progress, now)
        waits = obstacles_in(self._catalog) if progress is None else {}
        return replace(node, standing=_standing(table, waits))

    def sink(self, id_: str, now: Timestamp) -> GraphNode | None:
        """A sink; None where it is gone."""
        found = self.sinks.by_id(id_, now)
        return sink_node(found) if found is not None else None

    def task(self, id_: str, now: Timestamp) -> GraphNode | None:
        """A task; None where it is gone."""
        found = self.tasks.by_id(id_, now)
        return task_node(found) if found is not None else None

    def sinks_of(self, source: Name, now: Timestamp) -> list[GraphNode]:
        """The sinks that deliver a table."""
        return [sink_node(found) for found in self.sinks.of_source(source, now)]

    def rows(self, path: str | None) -> int | None:
        """Those that a Delta table shows."""
        try:
            if path is None or not is_delta(path):
                return None
            log = self.refresher.sources.logs[path]
            return count_shown_rows(log, self.refresher.small.columns)
        except LakeError:
            return None

    def files(self, path: str | None) -> str | None:
        """For a source that is files, the number and folder of the files in its newest list."""
        try:
            return self.refresher.sources.describe_source(path)
        except LakeError:
            return None

    def newest(self, source: Source) -> int | None:
        """The version that a source has now; None where it has none, or is gone."""
        if source.kind is SourceKind.DYNAMIC_TABLE:
            table = self._catalog.get(source.name)
            return table.version if table is not None else None
        try:
            path = source.path
            known = path is not None and source.kind is SourceKind.DELTA and is_delta(path)
            return self.refresher.sources.logs[path].version() if known and path else None
        except LakeError:
            return None

    def _node(
        self,
        table: DynamicTable,
        last: RefreshRecord | None,
        held: Mapping[str, float],
        running: Progress | None,
        now: Timestamp,
    ) -> GraphNode:
        t = table.data_timestamp
        rows = self.rows(str(self.refresher.sources.layout.public(table.id)))
        return GraphNode(
            table.name,
            "dynamic_table",
            table,
            last,
            now.since(t) if t else None,
            held.get(table.id),
            rows,
            running,
        )

    def _running(self) -> dict[str, Progress]:
        """By id: what runs, here or in another process."""
        here = self.refresher.running()
        leases = self._catalog.running()
        return {x.dt_id: here[x.attempt]() if x.attempt in here else Progress() for x in leases}


def _standing(table: DynamicTable, waits: Mapping[str, Reason]) -> Reason | None:
    """Why it does not continue; a suspension by a user is not a problem of the table."""
    own = table.scheduling_reason
    return own if own is not None and own.code == TOO_MANY_FAILURES else waits.get(table.id)


def sink_node(found: SinkReport) -> GraphNode:
    limit = found.sink.target_lag.seconds
    return GraphNode(found.sink.name, "sink", lag=found.lag, effective_lag=limit, sink=found)


def task_node(found: TaskReport) -> GraphNode:
    return GraphNode(TaskName(found.task.name), "task", task=found)


@dataclass
class _Drawing:
    """Nodes and edges as they are found."""

    of: Nodes
    nodes: dict[NodeName, GraphNode] = field(default_factory=dict)
    edges: dict[tuple[NodeName, NodeName], None] = field(default_factory=dict)
    _below: dict[Name, frozenset[Name]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        catalog = self.of.refresher.sources.catalog
        self._views = {v.name: v.text for v in catalog.views()}
        self._paths = {t.name: t.path for t in catalog.tables()}
        self._dynamic = {t.name for t in catalog.list()}

    def table(self, table: DynamicTable) -> None:
        """What a dynamic table reads, by its definition; and its hidden stages."""
        definition = table.definition
        views = {v.name: v.text for v in definition.views}
        paths = {s.name: s.path for s in definition.sources if s.path is not None}
        sources = {s.name: s for s in definition.sources}
        known = views.keys() | sources.keys()
        found = reads(definition.query, definition.current_schema)
        direct = [n for n in found if n in known]
        below = {n: self.read(n, definition.current_schema, views, paths) for n in direct}
        for name in sources.keys() - frozenset[Name]().union(*below.values()):
            below[name] = self.read(name, definition.current_schema, views, paths)
        self._stages(table, {n: _ids(b, sources.values()) for n, b in below.items()})

    def sink(self, found: SinkReport) -> None:
        """A sink below its source; none where a table of its name was made since."""
        sink = found.sink
        if sink.name in self.nodes:
            return
        self.read(sink.source, sink.source.schema)
        self.nodes[sink.name] = sink_node(found)
        self.edges[sink.source, sink.name] = None

    def tasks(self, found: Sequence[TaskReport]) -> None:
        """Tasks after what they read and come after, and last what they change: where that leads
        back to what they read, it is the edge that a picture leaves out."""
        for report in found:
            task = report.task
            self.nodes[TaskName(task.name)] = task_node(report)
            self.edges.update({(TaskName(n), TaskName(task.name)): None for n in task.after})
            for name in report.flow.reads:
                self.read(name, task.schema)
                self.edges[name, TaskName(task.name)] = None
        for report in found:
            for name in report.flow.writes:
                self.read(name, report.task.schema)
                self.edges[TaskName(report.task.name), name] = None

    def views(self) -> None:
        """Those that read what is drawn, though nothing that is drawn reads them."""
        for name, text in self._views.items():
            if any(read in self.nodes for read in reads(text, name.schema)):
                self.read(name, name.schema)

    def read(
        self,
        name: Name,
        schema: str,
        views: Mapping[Name, str] | None = None,
        paths: Mapping[Name, str] | None = None,
    ) -> frozenset[Name]:
        """A node for a name that is read, and for what is behind it if it is a view; the tables
        at the end."""
        if name in self._below:
            return self._below[name]
        self._below[name] = frozenset((name,))
        text = {**self._views, **(views or {})}.get(name)
        if name in self._dynamic:
            return self._below[name]
        if text is None:
            path = {**self._paths, **(paths or {})}.get(name)
            node = GraphNode(name, "table", rows=self.of.rows(path), files=self.of.files(path))
            self.nodes.setdefault(name, node)
            return self._below[name]
        found = reads(text, schema)
        ends = frozenset[Name]().union(*(self.read(n, schema, views, paths) for n in found))
        self.nodes.setdefault(name, GraphNode(name, "view"))
        self.edges.update({(n, name): None for n in found if n != name})
        self._below[name] = ends
        return ends

    def _stages(self, table: DynamicTable, direct: Mapping[Name, frozenset[str]]) -> None:
        """Edges from what is read to the stages that read it. Where the definition was not
        compiled yet it is known only that all of it flows into the table."""
        layout = self.of.refresher.sources.layout
        rows = self.of.refresher.sources.catalog.stages(table.id)
        compiled = self.of.refresher.known(table.id) if rows else None
        hidden = {row.id: StageName(table.name, row.ordinal) for row in rows}
        wanted: dict[NodeName, frozenset[str] | None] = dict.fromkeys(
            (*hidden.values(), table.name)
        )
        if compiled is not None:
            wanted = {
                hidden.get(s.stage.id, table.name): frozenset(s.reads) for s in compiled.stages
            }
        for row in rows:
            path = str(layout.stage(table.id, row.ordinal))
            stage = hidden[row.id]
            self.nodes[stage] = GraphNode(stage, "stage", rows=self.of.rows(path))
        for target, ids in wanted.items():
            for stage_id, stage in hidden.items():
                known = stage_id in ids if ids is not None else target == table.name
                if known and stage != target:
                    self.edges[stage, target] = None
            for name, its in direct.items():
                if (ids & its if ids is not None else target == table.name) or not its:
                    self.edges[name, target] = None


def _ids(names: Iterable[Name], sources: Iterable[Source]) -> frozenset[str]:
    """The ids by which a definition knows these."""
    wanted = frozenset(names)
    return frozenset(s.table_id for s in sources if s.name in wanted)
