"""Dynamic tables that get another name, go, or come back: in the catalog and as a view, or not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException

from dt_jupyter.catalog import Catalog
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.model import DynamicTable, Name, Named, StatementStep, undo
from dt_jupyter.sources import Publisher, holder
from dt_jupyter.streams import StatementLog

_log = logging.getLogger("dt_jupyter.engine")


@dataclass(frozen=True)
class TableNames:
    """The names of the dynamic tables of a lake, which the catalog and Spark's know; `standing`
    returns a table in the state that its log has."""

    catalog: Catalog
    publisher: Publisher
    standing: Callable[[DynamicTable], DynamicTable]
    log: StatementLog

    @contextmanager
    def followed(self, statement: str, *names: Name) -> Iterator[None]:
        """A block in which the catalog changes what has these names. Where it ends before the
        session knows that, the next statement makes it known."""
        facts = {"names": [[name.schema, name.table] for name in names]}
        with self.log.begin(statement, StatementStep(StepKind.NAMES_KNOWN, facts)):
            yield

    def make_known(self, facts: Mapping[str, Any]) -> None:
        """The session knows these names as the catalog does."""
        views = {view.name for view in self.catalog.views()}
        for name in (Name(*parts) for parts in facts["names"]):
            table = self.catalog.get(name)
            if table is not None:
                self.publisher.publish(self.standing(table))
            elif name not in views and self._is_view(name):
                self.unpublish(name)

    def _is_view(self, name: Name) -> bool:
        return holder(self.catalog, self.publisher.spark, name) == Named.VIEW

    def rename(self, old: Name, new: Name) -> str | None:
        """The view of the old name goes last: until then it can be read. Gives the schema that was
        made for it. DT-1101, DT-1105."""
        made, renamed = self.publisher.new_schema(new), self.catalog.rename(old, new)
        try:
            self.publisher.publish(renamed)
        except BaseException as e:
            undo(e, lambda: self.catalog.rename(new, old), lambda: self.publisher.unpublish(new))
            raise
        self.unpublish(old)
        return made

    def swap(self, one: Name, other: Name) -> None:
        """Each takes the other's name. DT-1101."""
        self.catalog.swap(one, other)
        try:
            self._publish(one, other)
        except BaseException as e:
            undo(
                e,
                lambda: self.catalog.swap(one, other),
                lambda: self._publish(one),
                lambda: self._publish(other),
            )
            raise

    def undrop(self, name: Name) -> str | None:
        """The one of that name that was dropped last; the schema that was made for it. DT-1118."""
        made, back = self.publisher.new_schema(name), self.catalog.undrop(name)
        try:
            self.publisher.publish(self.standing(back))
        except BaseException as e:
            undo(e, lambda: self.catalog.drop(name), lambda: self.publisher.unpublish(name))
            raise
        return made

    def unpublish(self, name: Name) -> None:
        """Drops the view of a name that no table has any more; a failure of Spark is reported, and
        undoes nothing."""
        try:
            self.publisher.unpublish(name)
        except PySparkException as e:
            _log.warning("the view %s is still there: %s", name, e)

    def _publish(self, *names: Name) -> None:
        for name in names:
            self.publisher.publish(self.catalog.require(name))


__all__ = ["TableNames"]
