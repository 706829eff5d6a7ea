"""The statements of a step that is not run, and where each of them would be computed, for EXPLAIN.

What an earlier step has yet to make is named by the version that it would have, and all rows are
read by Spark in the texts. Nothing is read for them but logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.evaluation import Evaluator, StatementFacts, WayDecision, decide_way
from dt_jupyter.ivm import End, Rel, Restrict, Scan, directed, key_relations, scans, walk, with_keys
from dt_jupyter.lake import (
    FileDiff,
    NotSupported,
    Small,
    TableLog,
    Unchanged,
    Unreadable,
    relation,
    snapshot_sql,
    why_not_local,
)
from dt_jupyter.model import Tuning
from dt_jupyter.model.hidden import hidden
from dt_jupyter.refresh.consolidate import cancel_pairs
from dt_jupyter.refresh.observation import rows_of
from dt_jupyter.refresh.semijoin_reduction import is_nothing
from dt_jupyter.refresh.stage_plan import SourceRead
from dt_jupyter.refresh.stage_texts import StageTexts, log_sizes, make_renderer
from dt_jupyter.refresh.stage_way import has_many_rows
from dt_jupyter.refresh.view_shapes import ViewShapes
from dt_jupyter.spark import read_evaluation_session
from dt_jupyter.sql import GroupSql, Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_READ_BY_SPARK = Small(rows=-1, bytes=-1)
_COMPUTED_APART = "rows that Spark computes"
_NO_FEED = "the change data feed is off"


@dataclass(frozen=True)
class ForecastStatement:
    """`keys` is the name of the relation of touched keys that it computes; empty: the change."""

    keys: str
    text: str
    decision: WayDecision


@dataclass(frozen=True)
class _Places:
    """What statements read: the relation of a scan, and that of some columns of the own table."""

    scan: Callable[[Scan], str]
    state: Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class StageForecast:
    """`target` is the stage's own table, `logs` are those of what it reads, by id; `to_come` are
    the relations of changes that an earlier step has yet to make, by id."""

    spark: SparkSession
    texts: StageTexts
    target: TableLog
    logs: Mapping[str, TableLog]
    evaluator: Evaluator
    tuning: Tuning
    to_come: Mapping[str, str]
    _changes: dict[str, str] = field(default_factory=dict, init=False)

    def initial(self) -> str:
        """All rows of the stage's table."""
        sizes = log_sizes(self._reads, self.logs)
        return self.texts.initial(make_renderer(self._scan, self._reads, sizes)).sql

    def change(self) -> tuple[ForecastStatement, ...]:
        """The statements of a change, in order; that of the change itself last. Empty where nothing
        changed."""
        found = list(self._queries(_Places(self._scan, self._state)))
        decisions = self._decisions([(name, rel) for name, rel, _ in found])
        return tuple(
            ForecastStatement(name, query.sql, d)
            for (name, _, query), d in zip(found, decisions, strict=True)
        )

    # -- queries ----------------------------------------------------------------------------------

    @property
    def _reads(self) -> dict[str, SourceRead]:
        return {r.source: r for r in self.texts.step.reads}

    def _queries(self, places: _Places) -> Iterator[tuple[str, Rel, Query]]:
        delta, sizes = self.texts.step.delta, log_sizes(self._reads, self.logs)
        if delta is None:
            return
        render, names = make_renderer(places.scan, self._reads, sizes), dict[Rel, str]()
        for n, keys in enumerate(key_relations(delta), 1):
            rel = directed(with_keys(keys, names), sizes)
            names[keys] = f"touched_keys_{n}"
            yield names[keys], rel, render.query(rel)
        rel = directed(with_keys(delta, names), sizes)
        if not is_nothing(rel):
            query = self.texts.change(
                render, rel, lambda touched, sql: (touched, places.state(sql.state_columns))
            )
            yield "", rel, query

    def _state(self, columns: Sequence[str]) -> str:
        version = self.texts.step.version
        assert version is not None
        return snapshot_sql(self.target.path, version)

    def _scan(self, scan: Scan) -> str:
        read = self._reads[scan.source]
        if scan.end is not End.DELTA:
            return snapshot_sql(self.logs[scan.source].path, read.version_at(scan.end))
        if scan.source in self.to_come:
            return self.to_come[scan.source]
        if scan.source not in self._changes:
            self._changes[scan.source] = self._change(read)
        return self._changes[scan.source]

    def _change(self, read: SourceRead) -> str:
        assert read.change is not None
        columns, log = tuple(sorted(read.columns or ())), self.logs[read.source]
        change = relation(
            self.spark,
            log,
            read.change,
            columns,
            view_prefix=hidden(f"delta_{len(self.to_come) + len(self._changes)}"),
            small=_READ_BY_SPARK,
            local_views=False,
            by_files=False,
        )
        return cancel_pairs(change, log, read.change, columns).sql

    # -- where they are computed ------------------------------------------------------------------

    def _decisions(self, statements: Sequence[tuple[str, Rel]]) -> list[WayDecision]:
        shapes = ViewShapes(self.logs, read_evaluation_session(self.spark), self.evaluator)
        places = _Places(shapes.place, lambda columns: shapes.add_table(self.target, columns))
        try:
            queries = [query for _, _, query in self._queries(places)]
        except NotSupported as e:
            return [
                self._decide(rel, e.sentence, frozenset(), is_change=not name)
                for name, rel in statements
            ]
        found, apart = list[WayDecision](), set[str]()
        for (name, rel), query in zip(statements, queries, strict=True):
            left_out = shapes.find_left_out(query, name)
            found.append(self._decide(rel, left_out, frozenset(apart), is_change=not name))
            if not found[-1].is_here:
                apart.add(name)
        return found

    def _decide(
        self, rel: Rel, left_out: str, apart: frozenset[str], *, is_change: bool
    ) -> WayDecision:
        """`apart` are the names of the keys that Spark computes; only the change itself reads the
        state."""
        changes = sorted({s.source for s in scans(rel) if s.end is End.DELTA} - {*self.to_come})
        reads = [self._reads[source] for source in changes]
        rows = sum(rows_of(r.change) or 0 for r in reads if r.change is not None)
        rows += self._state_rows if is_change else 0
        reasons = [why for r in reads if (why := self._why_apart(r))]
        if any(isinstance(n, Restrict) and n.keys in apart for n in walk(rel)):
            reasons.append(_COMPUTED_APART)
        facts = StatementFacts(rows, next(iter(reasons), ""), left_out)
        return decide_way(facts, self.tuning.evaluated_rows)

    @property
    def _state_rows(self) -> int:
        """The rows of state that are all taken; of a large state few are selected."""
        if not isinstance(self.texts.compiled.sql, GroupSql):
            return 0
        rows = self.target.size(self.texts.step.version).rows
        return 0 if rows is None or has_many_rows(rows) else rows

    def _why_apart(self, read: SourceRead) -> str:
        """Why a change is read by Spark, as its log tells; empty where it is not."""
        plan = read.change
        if plan is None or isinstance(plan, Unchanged | Unreadable):
            return ""
        if isinstance(plan, FileDiff):
            return _NO_FEED
        small, columns = Small(rows=self.tuning.read_rows), tuple(sorted(read.columns or ()))
        return why_not_local(self.logs[read.source], plan, columns, small) or ""
