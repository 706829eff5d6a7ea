"""The columns of what a statement reads, under the names of views that have no rows: enough to find
out whether the statement is evaluated in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dt_jupyter.evaluation import Evaluator, LeftOut, ViewShape
from dt_jupyter.ivm import End, Scan
from dt_jupyter.lake import TableLog, arrow_schema, fields_named, table_shape
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import WEIGHT, hidden
from dt_jupyter.spark import EvaluationSession
from dt_jupyter.sql import Query


@dataclass
class ViewShapes:
    """Views of the tables behind `logs` (by id of source), as they are now."""

    logs: Mapping[str, TableLog]
    session: EvaluationSession
    evaluator: Evaluator
    _shapes: dict[str, ViewShape] = field(default_factory=dict)

    def place(self, scan: Scan) -> str:
        """The relation text of a scan. NotSupported for a column that is never in memory."""
        names = [n for _, n in scan.reads]
        return self.add_table(self.logs[scan.source], names, weight=scan.end is End.DELTA)

    def add_table(self, log: TableLog, columns: Sequence[str], *, weight: bool = False) -> str:
        """As `place`, of some columns of a table."""
        names = arrow_schema(fields_named(log.metadata(), columns)).names
        name = hidden(f"imagined_{len(self._shapes)}")
        shape = table_shape(log, log.version(), [*names, WEIGHT] if weight else names)
        self._shapes[name] = shape
        return quote(name)

    def find_left_out(self, query: Query, name: str = "") -> str:
        """What of a statement over the views the evaluator has no rule for; empty for nothing. The
        result of such a statement becomes a view, by the `name` that is given."""
        if self.session.left_out:
            return self.session.left_out
        found = self.evaluator.translated(query, self._shapes, is_utc=self.session.is_utc)
        if isinstance(found, LeftOut):
            return found.what
        if name:
            self._shapes[name] = found.columns
        return ""
