"""One source between two of its versions: its rows at either end and its change, with ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.ivm import ROW_ID, WEIGHT, End, Scan
from dt_jupyter.lake import Added, ChangePlan, Feed, FileDiff, TableLog, Unreadable, relation
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.lake.relation import inserted
from dt_jupyter.lake.tracked import TRACKED_ID
from dt_jupyter.model import error, quote
from dt_jupyter.streams.identity import By, Identity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Side:
    """The source `id` from version `old` to `new`; `types` are its columns' at the new end.

    `views` are the temporary views that its change stands on, once it has been read, and `local`
    says that its rows are few and in the driver; a relation that stands in a query several times
    is read once.
    """

    id: str
    name: str
    log: TableLog
    old: int
    new: int
    plan: ChangePlan
    identity: Identity
    types: Mapping[str, str]
    prefix: str
    views: list[str] = field(default_factory=list)
    inserts_only: bool = False
    local: bool = False
    _read: dict[tuple[tuple[str, ...], End], str] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        return isinstance(self.plan, Added | Feed | FileDiff)

    def require_readable(self) -> None:
        """DT-3103 where the log does not lead from the one end to the other."""
        if isinstance(self.plan, Unreadable):
            raise error("DT-3103", name=self.name, problem=self.plan.sentence)

    @property
    def adds_only(self) -> bool:
        return not self.changed or self.inserts_only or isinstance(self.plan, Added)

    @property
    def removes_only(self) -> bool:
        """Whether files only went, whole."""
        if not isinstance(self.plan, Feed | FileDiff) or self.inserts_only:
            return not self.changed
        commits = self.log.commits(self.plan.first - 1, self.plan.last)
        return not any(c.added_files for c in commits if c.data_change)

    def read(self, spark: SparkSession, scan: Scan) -> str:
        """The relation of a scan: its columns, `__dt_rid` where asked for, `__dt_w` of a change."""
        key = tuple(dict.fromkeys(n for _, n in scan.reads)), scan.end
        if key not in self._read:
            self._read[key] = self._relation(spark, *key)
        return self._read[key]

    def _relation(self, spark: SparkSession, names: tuple[str, ...], end: End) -> str:
        with_id = ROW_ID in names
        columns = tuple(n for n in names if n != ROW_ID)
        if end is End.DELTA:
            return self._change(spark, columns, with_id)
        if self.inserts_only and end is End.NEW and self.changed:
            named = ", ".join(map(quote, names))
            added = self._change(spark, columns, with_id)
            old = self._snapshot(self.old, columns, with_id)
            return f"(SELECT {named} FROM {old} UNION ALL SELECT {named} FROM {added})"
        version = self.old if end is End.OLD else self.new
        return self._snapshot(version, columns, with_id)

    def _snapshot(self, version: int, columns: tuple[str, ...], with_id: bool) -> str:
        """The rows at a version; columns that came later are NULL."""
        there = {c.lower() for c in self.log.metadata(version).columns}
        items = [
            quote(c) if c.lower() in there else f"CAST(NULL AS {self.types[c]}) AS {quote(c)}"
            for c in columns
        ]
        source = f"{sql_table(self.log.path)} VERSION AS OF {version}"
        if not with_id:
            return f"(SELECT {', '.join(items) or '1 AS __dt_one'} FROM {source})"
        if self.identity.by is By.TRACKING:
            source = f"(SELECT *, _metadata.row_id AS {TRACKED_ID} FROM {source})"
        items.append(f"{self.identity.text} AS {ROW_ID}")
        return f"(SELECT {', '.join(items)} FROM {source})"

    def _change(self, spark: SparkSession, columns: tuple[str, ...], with_id: bool) -> str:
        tracked = with_id and self.identity.by is By.TRACKING
        own = self.identity.names if with_id else ()
        wanted = tuple(dict.fromkeys((*columns, *own))) or tuple(self.types)[:1]
        prefix = f"{self.prefix}_{len(self.views)}"
        rows = inserted if self.inserts_only else relation
        found = rows(spark, self.log, self.plan, wanted, view_prefix=prefix, row_ids=tracked)
        self.views += found.views
        self.local = found.way == "local"
        items = [quote(c) for c in columns]
        if with_id:
            items.append(f"{self.identity.text} AS {ROW_ID}")
        return f"(SELECT {', '.join([*items, WEIGHT])} FROM {found.sql})"
