"""The rows of a snapshot compared with those of another one, as texts, each with its change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.lake import TableLog, Unchanged, Unreadable, plan_changes, relation
from dt_jupyter.model import Mark, error, quote
from dt_jupyter.model.hidden import WEIGHT, unique_view, where_visible
from dt_jupyter.replay.digest import Columns, hash_order, named
from dt_jupyter.replay.schema_modes import select_list
from dt_jupyter.sources import By, told_apart
from dt_jupyter.spark import as_text, is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dt_jupyter.replay.snapshots import TableAt
    from dt_jupyter.replay.walk_stats import Reader

_UNORDERED = ("map<", "variant", "interval")


@dataclass(frozen=True)
class Marked:
    """Rows as texts, None for NULL, in one order, each with its mark since the step `since`
    (None: nothing to compare with). `truncated`: there are more."""

    columns: Columns
    rows: tuple[tuple[str | None, ...], ...]
    marks: tuple[Mark, ...]
    since: int | None
    truncated: bool


@dataclass(frozen=True)
class Marker:
    """Reads marked rows by the reader of a walk."""

    reader: Reader
    spark: SparkSession

    def rows(self, step: int, limit: int, other: int | None) -> Marked:
        """The first rows of a step, and all that moved since the `other`, as far as there is room:
        what moved comes first where there is not. Nothing moved since one that is not
        comparable."""
        columns = self.reader.columns(self.spark, step)
        since = other if other is not None and self._comparable(step, other) else None
        moved, keys = self._moved(step, since, limit) if since is not None else (None, 0)
        sample = named(self.reader.frame(self.spark, step), columns)
        order = _order(columns)
        sample = (sample.orderBy(*order) if order else sample).limit(limit + 1)
        found = self._collected(moved, sample, columns, keys)
        return _marked(found, columns, since, limit)

    def difference(self, step: int, against: int, limit: int) -> Marked:
        """What moved from one step to another. DT-1003 where their columns are not the same."""
        if not self._comparable(step, against):
            raise error(
                "DT-1003",
                option="against",
                value=against,
                problem="its columns differ, or cannot be compared",
                hint="Compare both steps.",
            )
        columns = self.reader.columns(self.spark, step)
        moved, keys = self._moved(step, against, limit)
        return _marked(self._collected(moved, None, columns, keys), columns, against, limit)

    def _comparable(self, step: int, other: int) -> bool:
        columns = self.reader.columns(self.spark, step)
        same = columns == self.reader.columns(self.spark, other)
        return same and hash_order(columns) is not None

    # -- what moved -------------------------------------------------------------------------------

    def _moved(self, step: int, since: int, limit: int) -> tuple[DataFrame | None, int]:
        """What moved, by content, with its weight `n` and the key's columns `k0`, …; how many
        those are."""
        from pyspark.sql import functions as f

        columns = self.reader.columns(self.spark, step)
        found = self._change(step, since)
        if found is None:
            return None, 0
        rows, keys = found
        order = hash_order(columns)
        assert order is not None
        names = [*(f"c{i}" for i in range(len(columns))), *(f"k{i}" for i in range(keys))]
        hashes = [f.expr(h).alias(n) for h, n in zip(order, ("h1", "h2"), strict=True)]
        net = (
            rows.select("*", *hashes)
            .groupBy("h1", "h2")
            .agg(*(f.first(n).alias(n) for n in names), f.sum(WEIGHT).alias("n"))
        )
        net = net.where("n <> 0").select(*names, "n")
        shown = _order(columns)
        return (net.orderBy(*shown) if shown else net).limit(limit + 1), keys

    def _change(self, step: int, since: int) -> tuple[DataFrame, int] | None:
        """The rows that came (weight 1) and went (−1), not consolidated, with the columns of a
        key; by the log of a table where it has them, else both snapshots. None: nothing moved."""
        low, high = sorted((step, since))
        old, new = self.reader.at(low).only, self.reader.at(high).only
        if old is not None and new is not None:
            if old.version == new.version:
                return None
            log = self.reader.logs[new.source.table_id]
            plan = plan_changes(
                log, old.version, new.version, None, file_diff=not is_connect(self.spark)
            )
            if isinstance(plan, Unchanged):
                return None
            if (
                not isinstance(plan, Unreadable)
                and old.then.schema_string == new.then.schema_string
            ):
                prefix = unique_view("marks")
                change = relation(self.spark, log, plan, new.then.columns, view_prefix=prefix)
                return self._projected(log, old, new, change.sql, 1 if step == high else -1)
        return self.reader.difference(self.spark, step, since), 0

    def _projected(
        self, log: TableLog, old: TableAt, new: TableAt, change: str, sign: int
    ) -> tuple[DataFrame, int]:
        by, names = told_apart(log, old.version, new.version, new.then.columns)
        keys = list(names) if by in (By.KEY, By.GROUP) else []
        shown = where_visible(new.then.columns)
        parts = [select_list(new.columns(self.reader.mode)), f"{WEIGHT} * {sign} AS {WEIGHT}"]
        parts += [quote(k) for k in keys]
        frame = self.spark.sql(f"SELECT {', '.join(parts)} FROM {change}{shown}")
        width = len(frame.columns) - 1 - len(keys)
        named_ = [*(f"c{i}" for i in range(width)), WEIGHT, *(f"k{i}" for i in range(len(keys)))]
        return frame.toDF(*named_), len(keys)

    # -- rows -------------------------------------------------------------------------------------

    def _collected(
        self, moved: DataFrame | None, sample: DataFrame | None, columns: Columns, keys: int
    ) -> list[_Row]:
        """Both in one order: weight (0 of the sample), key as texts (None: it has none), texts."""
        from pyspark.sql import functions as f

        names = [f"c{i}" for i in range(len(columns))]
        none = f.lit(None).cast("string")
        parts = []
        if moved is not None:
            key = f.to_json(f.array(*(f.col(f"k{i}").cast("string") for i in range(keys))))
            parts.append(moved.select(*names, "n", (key if keys else none).alias("key")))
        if sample is not None:
            parts.append(
                sample.select(*names, f.lit(0).cast("bigint").alias("n"), none.alias("key"))
            )
        if not parts:
            return []
        rows = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
        order = _order(columns)
        texts = [as_text(f.col(n), t) for n, (_, t) in zip(names, columns, strict=True)]
        ordered = (rows.orderBy(*order, "n") if order else rows).select("n", "key", *texts)
        return [_Row(r[0], r[1], tuple(r[2:])) for r in ordered.collect()]


@dataclass(frozen=True)
class _Row:
    weight: int
    key: str | None
    cells: tuple[str | None, ...]


def _order(columns: Columns) -> list[str]:
    return [f"c{i}" for i, (_, t) in enumerate(columns) if not any(u in t for u in _UNORDERED)]


def _marked(found: Sequence[_Row], columns: Columns, since: int | None, limit: int) -> Marked:
    """Marks, with the two sides of an update side by side, and no more than `limit` rows."""
    pairs = _updates(found)
    sides = {id(r) for pair in pairs.values() for r in pair}
    inserted = Counter[tuple[str | None, ...]]()
    for row in found:
        inserted[row.cells] += max(row.weight, 0)
    shown: list[tuple[Mark, tuple[str | None, ...]]] = []
    for row in found:
        if id(row) in pairs:
            before, after = pairs[id(row)]
            shown += [(Mark.BEFORE, before.cells), (Mark.AFTER, after.cells)]
        elif id(row) in sides:
            continue
        elif row.weight:
            mark = Mark.INSERTED if row.weight > 0 else Mark.DELETED
            shown += [(mark, row.cells)] * min(abs(row.weight), limit + 1)
        elif inserted[row.cells]:
            inserted[row.cells] -= 1  # it is there already, as one that came
        else:
            shown.append((Mark.SAME, row.cells))
    room = limit - sum(mark is not Mark.SAME for mark, _ in shown)
    kept = []
    for mark, cells in shown:
        if mark is Mark.SAME:
            room -= 1
        if mark is not Mark.SAME or room >= 0:
            kept.append((mark, cells))
    cut = kept[:limit]
    return Marked(
        columns, tuple(c for _, c in cut), tuple(m for m, _ in cut), since, len(cut) < len(shown)
    )


def _updates(found: Sequence[_Row]) -> dict[int, tuple[_Row, _Row]]:
    """By the row that came: what went and what came with one key, where that is one row each."""
    gone: dict[str, list[_Row]] = defaultdict(list)
    came: dict[str, list[_Row]] = defaultdict(list)
    for row in found:
        if row.key is not None and row.weight:
            (came if row.weight > 0 else gone)[row.key].append(row)
    return {
        id(rows[0]): (gone[key][0], rows[0])
        for key, rows in came.items()
        if len(rows) == len(gone.get(key, ())) == 1 and rows[0].weight == -gone[key][0].weight == 1
    }
