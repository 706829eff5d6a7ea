"""Ctrl-C in a statement that refreshes: its refresh has a separate flag, which is set too."""

from __future__ import annotations

from dt_jupyter.model import Name
from dt_jupyter.refresh import Refresher
from dt_jupyter.spark import CancelFlag


class StatementFlag(CancelFlag):
    """Says that a statement is not wanted any more; its refreshes, of the dynamic table `name` and
    what is upstream of it, then end as CANCELLED, and not as failures of Spark."""

    def __init__(self, refresher: Refresher, name: object) -> None:
        super().__init__()
        self._refresher = refresher
        self._name = name if isinstance(name, Name) else None

    def set(self) -> None:
        super().set()
        catalog = self._refresher.sources.catalog
        table = catalog.get(self._name) if self._name is not None else None
        pending = [table.id] if table is not None else []
        while pending:
            table = catalog.by_id(pending.pop())
            if table is not None:
                self._refresher.cancel(table.id)
                pending += [s.table_id for s in table.definition.sources]
