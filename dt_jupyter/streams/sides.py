"""One source between two of its versions: its rows at either end and its change, with ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dt_jupyter.ivm import End, Scan
from dt_jupyter.lake import (
    Added,
    ChangePlan,
    Feed,
    FileDiff,
    Relation,
    TableLog,
    Unreadable,
    feed_by_version,
    feed_parts,
    gone_from_change,
    gone_from_snapshot,
    inserted,
    reads_feed,
    relation,
    sql_table,
)
from dt_jupyter.model import error, quote
from dt_jupyter.model.hidden import RANK, ROW_ID, TRACKED_ID, WEIGHT, hidden
from dt_jupyter.replay import select_list, values_now
from dt_jupyter.sources import By, Identity, require_key, surely_unique

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ONE = hidden("one")
_KIND, _VERSION = "_change_type", "_commit_version"
NO_FEED = "its change data feed was off, which is needed to distinguish inserts from updates"


@dataclass
class Side:
    """The source `id` from version `old` to `new`; `types` are its columns' at the new end.

    `views` are the temporary views that its change reads, once it has been read, and `local`
    says that its rows are few and in the driver; a relation that occurs in a query several times
    is read once. Of a `whole` one all rows are requested, and not those of the interval.
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
    whole: bool = False
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
        """The relation of a scan: its columns, `__dt_rid` where requested, `__dt_w` of a change."""
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
            old = self._snapshot(spark, self.old, columns, with_id)
            return f"(SELECT {named} FROM {old} UNION ALL SELECT {named} FROM {added})"
        version = self.old if end is End.OLD else self.new
        return self._snapshot(spark, version, columns, with_id)

    def _require_there(self, gone: str | None) -> None:
        """DT-3103 where VACUUM took a file that is needed."""
        if gone is not None:
            raise error("DT-3103", name=self.name, problem=gone)

    def _snapshot(
        self, spark: SparkSession, version: int, columns: tuple[str, ...], with_id: bool
    ) -> str:
        """The rows at a version, in the columns of the new end; those that came later are NULL."""
        self._require_there(gone_from_snapshot(self.log, version))
        own = self.identity.names if with_id else ()
        then, now = self.log.metadata(version), self.log.metadata(self.new)
        items = [select_list(values_now(then, now, tuple(dict.fromkeys((*columns, *own)))))]
        if with_id and self.identity.by is By.TRACKING:
            items.append(f"_metadata.row_id AS {TRACKED_ID}")
        source = f"{sql_table(self.log.path)} VERSION AS OF {version}"
        rows = f"(SELECT {', '.join(filter(None, items)) or f'1 AS {_ONE}'} FROM {source})"
        if not with_id:
            return rows
        if self.whole:
            self._require_key(spark, f"(SELECT *, 1L AS {WEIGHT} FROM {rows})", ())
        named = [*map(quote, columns), f"{self.identity.text} AS {ROW_ID}"]
        return f"(SELECT {', '.join(named)} FROM {rows})"

    def _change(self, spark: SparkSession, columns: tuple[str, ...], with_id: bool) -> str:
        tracked = with_id and self.identity.by is By.TRACKING
        own = self.identity.names if with_id else ()
        wanted = tuple(dict.fromkeys((*columns, *own))) or tuple(self.types)[:1]
        gone = gone_from_change(
            self.log,
            self.plan,
            by_feed=reads_feed(self.plan) and not tracked,
            first_images=self.inserts_only and tracked,
        )
        self._require_there(gone)
        prefix = f"{self.prefix}_{len(self.views)}"
        found = self._found(spark, wanted, prefix, tracked, keyed=with_id)
        self.views += found.views
        self.local = found.way == "local"
        items = [quote(c) for c in columns]
        if with_id:
            items.append(f"{self.identity.text} AS {ROW_ID}")
        return f"(SELECT {', '.join([*items, WEIGHT])} FROM {found.sql})"

    def _found(
        self, spark: SparkSession, columns: tuple[str, ...], prefix: str, tracked: bool, keyed: bool
    ) -> Relation:
        """The rows of the change; DT-3108 where they are to have the ids of a key that is none."""
        keyed = keyed and self.identity.by is By.KEY
        if self.inserts_only and not tracked and isinstance(self.plan, Feed | FileDiff):
            return self._feed_inserts(spark, columns, prefix, keyed)
        rows = inserted if self.inserts_only else relation
        found = rows(spark, self.log, self.plan, columns, view_prefix=prefix, row_ids=tracked)
        if keyed and not (
            found.arrow is not None and surely_unique(found.arrow, self.identity.names)
        ):
            self._require_key(spark, found.sql, () if self.adds_only else columns)
        return found

    def _feed_inserts(
        self, spark: SparkSession, columns: tuple[str, ...], prefix: str, keyed: bool
    ) -> Relation:
        """The inserts of the feed; of each key the first one: a row that was deleted and inserted
        again is there once.  Source: CQ 2.2.1, repeated inserts."""
        found = self._feed(spark, columns, prefix)
        named = ", ".join([*map(quote, columns), WEIGHT])
        if not keyed:
            sql = f"(SELECT {named} FROM {found.sql} WHERE {_KIND} = 'insert')"
            return replace(found, sql=sql)
        self._require_key(spark, found.sql, columns, _VERSION)
        first = f"ROW_NUMBER() OVER (PARTITION BY {self.identity.text} ORDER BY {_VERSION})"
        sql = (
            f"(SELECT {named} FROM (SELECT *, {first} AS {RANK} FROM {found.sql}"
            f" WHERE {_KIND} = 'insert') WHERE {RANK} = 1)"
        )
        return replace(found, sql=sql)

    def _feed(self, spark: SparkSession, columns: tuple[str, ...], prefix: str) -> Relation:
        """The feed of the interval in the columns of the new end, with kinds and versions: each
        part between changes of the schema in its own."""
        parts = feed_parts(self.log, self.old, self.new)
        if parts is None:
            raise error("DT-3103", name=self.name, problem=NO_FEED)
        texts, views = [], list[str]()
        for i, part in enumerate(parts):
            then, now = self.log.metadata(part.last), self.log.metadata(self.new)
            names = (*then.columns, _KIND)
            found = feed_by_version(spark, self.log, part, names, f"{prefix}_{i}")
            views += found.views
            values = select_list(values_now(then, now, columns))
            texts.append(f"SELECT {values}, {_KIND}, {_VERSION}, {WEIGHT} FROM {found.sql}")
        sql = f"({' UNION ALL '.join(texts)})"
        return Relation(sql, "feed", "by version", None, tuple(views))

    def _require_key(
        self, spark: SparkSession, rows: str, columns: Sequence[str], version: str = "0L"
    ) -> None:
        if self.identity.by is By.KEY:
            types = [(c, self.types[c]) for c in columns]
            require_key(spark, rows, self.name, self.identity, types, version)
