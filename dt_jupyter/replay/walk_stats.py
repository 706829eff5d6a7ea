"""What a walk finds at each stop: rows, digest, and what moved since the stop before.

The first snapshot is read whole; from there on a stop costs what changed. Commits whose change
feed is on are read many at a time, by one job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from dt_jupyter.lake import (
    Added,
    CommitFacts,
    Feed,
    TableLog,
    Unchanged,
    Unreadable,
    feed_by_version,
    plan_changes,
    plan_from_facts as plan_of,
    relation,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import STOP, WEIGHT, unique_view, where_visible
from dt_jupyter.replay.digest import (
    EMPTY,
    NOTHING,
    BagDigest,
    Columns,
    Moved,
    bag_of,
    columns_of,
    moved_of,
)
from dt_jupyter.replay.schema_modes import select_list
from dt_jupyter.replay.snapshots import Snapshot, TableAt
from dt_jupyter.replay.stops import Stop
from dt_jupyter.spark import is_connect, rows_frame
from dt_jupyter.sql import SchemaMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT_ONCE = 256
"""Stops that are measured by one job."""


@dataclass(frozen=True)
class Measured:
    """A stop as it was found. `moved` is None where nothing can be said of what moved: the schema
    changed together with the rows."""

    columns: Columns
    bag: BagDigest
    moved: Moved | None


@dataclass(frozen=True)
class Reader:
    """Reads the stops of a walk in the session `spark`; `at` gives the snapshot of a stop, `logs`
    the logs of its tables where they are read, by id; `parts` the rows of a stop, part by part."""

    stops: Sequence[Stop]
    at: Callable[[int], Snapshot]
    logs: Mapping[str, TableLog]
    mode: SchemaMode
    parts: Callable[[SparkSession, int], Iterator[DataFrame]]
    _columns: dict[tuple[str, ...], Columns] = field(default_factory=dict)

    def frame(self, spark: SparkSession, number: int) -> DataFrame:
        """The rows of a stop."""
        return spark.sql(self.at(number).sql(self.mode))

    def columns(self, spark: SparkSession, number: int) -> Columns:
        """Its columns; analysed once for each schema of its tables."""
        tables = self.at(number).tables.values()
        key = tuple(t.then.id + t.then.schema_string for t in tables)
        if key not in self._columns:
            self._columns[key] = columns_of(self.frame(spark, number).schema)
        return self._columns[key]

    def measure(self, spark: SparkSession, number: int, before: Measured | None) -> list[Measured]:
        """The stop `number`, and where they cost no more, some that follow it; `before` is the
        stop before it."""
        if before is None:
            columns = self.columns(spark, number)
            return [Measured(columns, self._bag(spark, number, columns), None)]
        if self.stops[number].versions == self.stops[number - 1].versions:
            return [replace(before, moved=NOTHING)]
        if self.at(number).only is None:
            return [self._query(spark, number, before)]
        last, facts = self._readable(number)
        if last is not None:
            return self._by_feed(spark, number, last, facts, before)
        return [self._one(spark, number, before)]

    def _bag(self, spark: SparkSession, number: int, columns: Columns) -> BagDigest:
        """All rows of a stop."""
        bags = (bag_of(spark, part, columns) for part in self.parts(spark, number))
        return reduce(BagDigest.plus, bags, EMPTY)

    # -- a table ----------------------------------------------------------------------------------

    def _table(self, number: int) -> TableAt:
        found = self.at(number).only
        assert found is not None
        return found

    def _readable(self, number: int) -> tuple[int | None, list[CommitFacts]]:
        """The last stop up to which the change feed has all, and the commits up to there; a
        column that only moved has another place in the rows too."""
        table, schema = self._table(number), self._table(number - 1).then.schema_string
        id_ = table.source.table_id
        log, facts, last = self.logs[id_], list[CommitFacts](), None
        for i in range(number, min(number + AT_ONCE, len(self.stops))):
            if self._table(i).then.schema_string != schema:
                break
            low, high = self.stops[i - 1].versions[id_], self.stops[i].versions[id_]
            found = log.commits(low, high)
            if any(f.schema is not None or f.is_replace or not f.feed for f in found):
                break
            facts, last = [*facts, *found], i
        return last, facts

    def _by_feed(
        self,
        spark: SparkSession,
        first: int,
        last: int,
        facts: Sequence[CommitFacts],
        before: Measured,
    ) -> list[Measured]:
        table = self._table(last)
        id_ = table.source.table_id
        plan = plan_of(facts)
        moved: dict[int, Moved] = {}
        if isinstance(plan, Feed | Added):
            prefix = unique_view("replay")
            log = self.logs[id_]
            feed = feed_by_version(spark, log, plan, table.then.columns, prefix)
            stop_of = {
                v: i
                for i in range(first, last + 1)
                for v in range(self.stops[i - 1].versions[id_] + 1, self.stops[i].versions[id_] + 1)
            }
            source, stop = feed.sql, f"_commit_version - {min(stop_of) - first}L"
            if any(stop_of[v] - v != first - min(stop_of) for v in stop_of):
                view = f"{prefix}_stops"
                pairs = rows_frame(spark, stop_of.items(), "version bigint, stop bigint")
                pairs.createOrReplaceTempView(view)
                source = f"{feed.sql} JOIN {view} ON _commit_version = version"
                stop = "stop"
            moved = moved_of(spark, spark.sql(self._changed(table, source, stop)), before.columns)
        elif not isinstance(plan, Unchanged):
            return [self._one(spark, first, before)]
        found = []
        for i in range(first, last + 1):
            one = moved.get(i, NOTHING)
            before = Measured(before.columns, before.bag.plus(one.bag), one)
            found.append(before)
        return found

    def _changed(self, table: TableAt, source: str, stop: str) -> str:
        """The projected rows of a relation of changes, with their weight and their stop."""
        items = select_list(table.columns(self.mode))
        shown = where_visible(table.then.columns)
        return f"SELECT {items}, {WEIGHT}, CAST({stop} AS BIGINT) AS {STOP} FROM {source}{shown}"

    def _one(self, spark: SparkSession, number: int, before: Measured) -> Measured:
        """One stop alone: by its changed files, else whole."""
        table, earlier = self._table(number), self._table(number - 1)
        log = self.logs[table.source.table_id]
        columns = self.columns(spark, number)
        plan = plan_changes(
            log, earlier.version, table.version, None, file_diff=not is_connect(spark)
        )
        same = columns == before.columns
        if isinstance(plan, Unchanged):
            if same:
                return Measured(columns, before.bag, NOTHING)
            bag = self._bag(spark, number, columns) if before.bag.rows else EMPTY
            return Measured(columns, bag, NOTHING)
        schema_stays = earlier.then.schema_string == table.then.schema_string
        if isinstance(plan, Unreadable) or not (same and schema_stays):
            return self._query(spark, number, before)
        prefix = unique_view("replay")
        change = relation(spark, log, plan, table.then.columns, view_prefix=prefix)
        text = self._changed(table, change.sql, str(number))
        one = moved_of(spark, spark.sql(text), columns).get(number, NOTHING)
        return Measured(columns, before.bag.plus(one.bag), one)

    # -- a query ----------------------------------------------------------------------------------

    def _query(self, spark: SparkSession, number: int, before: Measured) -> Measured:
        """Both snapshots, whole; none where no table's rows changed."""
        columns = self.columns(spark, number)
        same = columns == before.columns
        if same and self._stands(number):
            return Measured(columns, before.bag, NOTHING)
        if not same:
            return Measured(columns, self._bag(spark, number, columns), None)
        one = moved_of(spark, self.difference(spark, number), columns).get(number, NOTHING)
        return Measured(columns, before.bag.plus(one.bag), one)

    def _stands(self, number: int) -> bool:
        old, new = self.at(number - 1).tables, self.at(number).tables
        return all(
            t.version == old[i].version
            or isinstance(plan_changes(self.logs[i], old[i].version, t.version), Unchanged)
            for i, t in new.items()
        )

    def difference(self, spark: SparkSession, number: int, since: int | None = None) -> DataFrame:
        """The rows of a stop with weight 1, those of the stop `since` (the one before) with −1,
        not consolidated."""
        width = len(self.columns(spark, number))
        names = [f"c{i}" for i in range(width)]
        sides = []
        for i, weight in ((number, 1), (number - 1 if since is None else since, -1)):
            frame = self.frame(spark, i).toDF(*names)
            extra = f"{weight}L AS {WEIGHT}", f"{number}L AS {STOP}"
            sides.append(frame.selectExpr(*map(quote, names), *extra))
        return sides[0].unionAll(sides[1])
