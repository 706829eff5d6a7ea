"""One stage moved to a new frontier: its change computed, looked at, and made one commit's change.

A change that fits the driver travels as Arrow and everything after it is decided by looking at
it; a large one is computed once, cached by Spark, and stays there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.definition import CompiledStage
from dt_jupyter.evaluation import Evaluator
from dt_jupyter.ivm import LARGE, Rel, key_relations
from dt_jupyter.lake import (
    Append,
    Change,
    Merge,
    Overwrite,
    Small,
    SmallTables,
    TableLog,
    Unchanged,
    selecting_columns,
)
from dt_jupyter.model import Name, Tuning, count_of, error, quote
from dt_jupyter.model.hidden import (
    EXISTED,
    HASH,
    OP,
    POSITION,
    RESCAN,
    SEQUENCE,
    STORED_ID,
    WEIGHT,
    hidden,
)
from dt_jupyter.refresh.frozen_rows import KeptRegion
from dt_jupyter.refresh.gathered_rows import gather_rows
from dt_jupyter.refresh.held_frames import HeldFrames
from dt_jupyter.refresh.initial_rows import are_few, initial_rows
from dt_jupyter.refresh.inputs import Reading
from dt_jupyter.refresh.row_copies import contents_of, count_distinct, is_exact, newest_copies
from dt_jupyter.refresh.semijoin_reduction import is_nothing
from dt_jupyter.refresh.shared_rows import SharedRows
from dt_jupyter.refresh.stage_plan import UNKNOWN_ROWS, StageStatement, StageStep
from dt_jupyter.refresh.stage_texts import StageTexts
from dt_jupyter.refresh.statement_confs import INTERPRETED, plan_for
from dt_jupyter.spark import JobPurpose, collect_arrow, note_purpose, text_of_path, type_text
from dt_jupyter.sql import AllColumns, BagSql, GroupSql, Query, Select, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_DONE = f"NOT COALESCE({RESCAN}, FALSE)"
"""Of a group: its new values are in the change, and it need not be computed from all its rows."""


def _all_of(view: str) -> Query:
    """All rows of a view."""
    return Select((AllColumns(),), Table(quote(view)))


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """Of a change: its rows, how many it merges of each kind, and how many groups are yet to be
    computed from all of their rows."""

    rows: int
    counts: Mapping[str, int]
    unfinished: int = 0


@dataclass
class StageRun:
    """A step of a plan, executed; it waits for none. `target` is the stage's own table, `logs` are
    those of what it reads, by id."""

    spark: SparkSession
    name: Name
    compiled: CompiledStage
    step: StageStep
    target: TableLog
    logs: Mapping[str, TableLog]
    staging: Path
    tuning: Tuning
    tables: SmallTables
    evaluator: Evaluator
    """Of statements over rows that are all at hand."""
    compiled_as: Callable[[], Mapping[str, str]] = dict[str, str]
    """What the session says instead of `INTERPRETED`, for statements over more rows; the first
    statement of Spark's asks for it."""
    written_views: Mapping[str, str] = field(default_factory=dict)
    """Hidden stages of which this refresh has written all rows, by id: Spark reads them from files
    of the attempt, since to read a table it first runs jobs over its log."""
    written: str | None = None
    """That of this one, once it is."""
    region: KeptRegion | None = None
    """The frozen region of the dynamic table, whose own stage it is."""
    held: HeldFrames = field(default_factory=HeldFrames)
    """Rows that are computed once and read several times, until the refresh ends."""

    def __post_init__(self) -> None:
        assert not self.step.waits_for
        self.texts = StageTexts(self.spark, self.compiled, self.step, self.region)
        self.size = self.texts.size
        whole = self.step.statement is StageStatement.INITIALISE
        self.reading = Reading(
            self.spark,
            {r.source: r for r in self.step.reads},
            self.logs,
            None if whole and not are_few(self) else self.tables,
            self.evaluator,
            small=Small(rows=self.tuning.read_rows),
            written_views=self.written_views,
            held=self.held,
            rescanned_rows=self.tuning.driver_rows,
        )

    # -- the statements ---------------------------------------------------------------------------

    def state(self) -> str:
        """What a change needs of the stage's own table, as it is."""
        assert self.step.version is not None
        sql = self.compiled.sql
        columns = sql.state_columns if isinstance(sql, GroupSql) else (*STORED_ID, *HASH)
        return self.reading.snapshot(self.target, self.step.version, columns)

    def change_query(self, delta: Rel) -> Query:
        """ΔQ: the statement whose rows decide everything else."""
        local = self.reading.is_local(delta)
        render = self.reading.renderer(local=local)
        return self.texts.change(render, delta, self._find_groups, local=local)

    def _find_groups(self, touched: Query, sql: GroupSql) -> tuple[Query, str]:
        """The touched groups and the state to merge them into: their own, selected from a large
        table, where they fit the driver; else all of it."""
        assert self.step.version is not None
        log, version, columns = self.target, self.step.version, sql.state_columns
        selecting = selecting_columns(log.metadata(version))
        plain = [i for i, k in enumerate(sql.keys) if k in selecting]
        if sql.scalar or not plain or not self._may_select(log, version, columns):
            return touched, self.state()
        groups = self.reading.views.evaluate(touched)
        if groups is None:
            if not self.size.is_small:
                return touched, self.state()
            held = _all_of(self._hold(touched))
            groups = collect_arrow(self.spark.sql(held.sql).limit(self.tuning.driver_rows + 1))
            if groups.num_rows > self.tuning.driver_rows:
                return held, self.state()
        values = {i: groups[sql.top.keys[i]] for i in plain}
        most = max(plain, key=lambda i: len(values[i].unique()))
        state = self.reading.state(log, version, columns, sql.keys[most], values[most])
        return _all_of(self.reading.view(groups)), state or self.state()

    def _may_select(self, log: TableLog, version: int, columns: Sequence[str]) -> bool:
        small = self.size.is_small or self._is_at_hand()
        return small and self.reading.is_selected(log, version, columns)

    def delta(self) -> Rel | None:
        """ΔQ, its touched keys computed: each of them is a small relation that is then read as
        often as it is needed, and no derivative is computed twice. None: there is no change."""
        delta = self.step.delta
        if delta is None:
            return None
        names: dict[Rel, str] = {}
        shared = SharedRows(self.reading, None if self._is_at_hand() else self._hold)
        relations = key_relations(delta)
        shared.find_changes([*relations, delta])
        for keys in relations:
            read = shared.prepare(keys, names)
            render = self.reading.renderer(local=self.reading.is_local(read))
            names[keys] = self.touched(render.query(read))
        delta = shared.prepare(delta, names)
        return None if is_nothing(delta) else delta

    def _hold(self, query: Query) -> str:
        """The view of a statement's rows, which are computed when they are first read."""
        note_purpose(self.spark, JobPurpose.KEYS)
        return self.held.hold(self._planned(query, heavy=not self.reading.all_local))

    def touched(self, query: Query) -> str:
        """The keys of a change, computed; the name of their relation."""
        rows, schema = self.reading.views.evaluate(query), None
        if rows is None:
            heavy = not self.reading.all_local and not self.size.is_small
            note_purpose(self.spark, JobPurpose.KEYS)
            frame = self._planned(query, heavy=heavy)
            if not self.size.fits_driver(self.tuning):
                return quote(self.held.hold(frame))
            rows, schema = collect_arrow(frame), frame.schema
        name = quote(self.reading.view(rows, schema))
        self.reading.keys[name] = rows
        return name

    # -- running them -----------------------------------------------------------------------------

    def initialise(self, new_schema: bool) -> Overwrite:
        rows = initial_rows(self, new_schema=new_schema)
        if rows is not None:
            return Overwrite(rows, new_schema)
        query = self.texts.initial(self.reading.renderer())
        local = self.reading.all_local
        note_purpose(self.spark, JobPurpose.STATE)
        frame = self._planned(query, heavy=not local)
        if local:
            return Overwrite(collect_arrow(frame), new_schema)
        return Overwrite(frame if new_schema else self._gathered(frame), new_schema)

    def _gathered(self, frame: DataFrame) -> pa.Table | DataFrame:
        folder = self.staging / f"{self.target.path.name}_rows"
        read = sum(self.logs[s].size().bytes for s in self.compiled.reads)
        rows, files = gather_rows(frame, self.target, folder, read)
        if files is not None:
            self.written = hidden(f"whole_{self.step.ordinal}")
            files.createOrReplaceTempView(self.written)
        return rows

    def advance(self) -> Change | None:
        """The change to commit; None: the stage's rows are the same."""
        delta = self.delta()
        if delta is None:
            return None
        query = self.change_query(delta)
        may_fit = self.size.may_fit(self.tuning, grouped=isinstance(self.compiled.sql, GroupSql))
        at_hand = may_fit or self.reading.is_local(delta)
        arrow = self.reading.views.evaluate(query) if at_hand else None
        if arrow is None or arrow.num_rows > self.tuning.evaluated_rows:
            heavy = not self.reading.all_local and (
                not self.size.is_small or self._scanned() > self.tuning.driver_bytes
            )
            note_purpose(self.spark, JobPurpose.STATE)
            frame = self._planned(query, heavy=heavy)
            bag = isinstance(self.compiled.sql, BagSql)
            fits = self.size.fits_driver(self.tuning)
            if bag and self.texts.insert_only and not fits:
                return Append(self._numbered(frame))
            if fits:
                arrow = collect_arrow(frame.limit(self.tuning.driver_rows + 1))
            if arrow is None or arrow.num_rows > self.tuning.driver_rows:
                change = self.held.hold(frame)
                facts = self._facts(change)
                if not (may_fit and facts.rows <= self.tuning.driver_rows):
                    return self._large(change, facts)
                arrow = collect_arrow(frame)
        if isinstance(self.compiled.sql, GroupSql):
            return self._group(arrow, self.compiled.sql)
        return self._bag(arrow, self.compiled.sql)

    def _planned(self, query: Query, *, heavy: bool) -> DataFrame:
        """A statement of Spark's, and the session for it."""
        self.reading.views.give(query.sql)
        local = self.reading.all_local
        rows = self.size.rows or (None,)
        changed = sum(UNKNOWN_ROWS if n is None else n for n in rows)
        plan_for(self.spark, heavy=heavy, local=local, changed=changed)
        few = local and self.reading.views.given_rows <= self.tuning.interpreted_rows
        compiled = self.compiled_as()
        for conf, value in (INTERPRETED if few else compiled).items():
            self.spark.conf.set(conf, value)
        return self.spark.sql(query.sql)

    def _rows(self, query: Query) -> pa.Table:
        """The rows of a statement, computed here or by Spark."""
        rows = self.reading.views.evaluate(query)
        return collect_arrow(self._frame(query.sql)) if rows is None else rows

    def _frame(self, text: str) -> DataFrame:
        """A statement of Spark's in the session as it is."""
        self.reading.views.give(text)
        return self.spark.sql(text)

    def _is_at_hand(self) -> bool:
        """Whether the rows of all changes are, however many that may be."""
        changed = (s for s, p in self.step.changes.items() if not isinstance(p, Unchanged))
        return all(self.reading.change(s).arrow is not None for s in changed)

    def _scanned(self) -> int:
        """Bytes of the snapshots that the terms of a join may read."""
        sizes = [log.size().bytes for s, log in self.logs.items() if s in self.compiled.reads]
        return sum(sizes) if len(self.compiled.reads) > 1 else 0

    # -- small: Arrow -----------------------------------------------------------------------------

    def _group(self, rows: pa.Table, sql: GroupSql) -> Change | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self._refuse_negative(pc.sum(pc.equal(rows[OP], "X")).as_py() or 0)
        again = rows.filter(pc.fill_null(rows[RESCAN], False))
        done = rows.filter(
            pc.and_(pc.is_valid(rows[OP]), pc.invert(pc.fill_null(rows[RESCAN], False)))
        )
        columns = [*sql.columns, OP]
        parts = [done.select(columns)]
        if again.num_rows:
            self.reading.keys["keys"] = again.select([*sql.keys, EXISTED])
            fresh = self._rows(self._rescan(sql, self.reading.view(self.reading.keys["keys"])))
            fresh = fresh.filter(pc.is_valid(fresh[OP])).select(columns)
            parts.append(fresh.cast(parts[0].schema))
        if sql.once:
            parts = self._with_values(done, sql)
        changes = pa.concat_tables(parts)
        self._refuse_repeated(changes.select(list(sql.keys)))
        return Merge(sql.keys, changes) if changes.num_rows else None

    def _with_values(self, rows: pa.Table, sql: GroupSql) -> list[pa.Table]:
        """The rows of a merge, functions called for those of new groups."""
        import pyarrow.compute as pc

        new = pc.equal(rows[OP], "I")
        kept = rows.filter(pc.invert(new)).select([*sql.columns, OP])
        if not pc.any(new).as_py():
            return [kept]
        view = quote(self.reading.view(rows.filter(new)))
        return [kept, collect_arrow(self._frame(sql.computed(view).sql)).cast(kept.schema)]

    def _rescan(self, sql: GroupSql, view: str) -> Query:
        render = self.reading.renderer(quote(view))
        return sql.rescan(render, "keys", self.reading.prepared)

    def _bag(self, rows: pa.Table, sql: BagSql) -> Change | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not rows.num_rows:
            return None
        weights = rows[WEIGHT]
        inserted = rows.filter(pc.greater(weights, 0))
        copies = inserted[WEIGHT].to_pylist()
        if any(c != 1 for c in copies):
            inserted = inserted.take([i for i, c in enumerate(copies) for _ in range(c)])
        added = self.as_rows(inserted, sql)
        gone = rows.filter(pc.less(weights, 0))
        if not gone.num_rows:
            return Append(added)
        victims = self._victims(gone, sql)
        self._refuse_missing(-pc.sum(gone[WEIGHT]).as_py() - victims.num_rows)
        contents = gone.take(pa.array(contents_of(victims, gone)))
        deleted = pa.table(
            [victims[c] if c in STORED_ID else contents[c] for c in added.column_names],
            added.schema,
        )
        marked = [
            t.append_column(OP, pa.array([op] * t.num_rows, pa.string()))
            for t, op in ((deleted, "D"), (added, "I"))
        ]
        return Merge(STORED_ID, pa.concat_tables(marked), whole=is_exact(added.schema))

    def _victims(self, gone: pa.Table, sql: BagSql) -> pa.Table:
        """The ids of the rows that a change deletes, the newest copies of each content."""
        assert self.step.version is not None
        found = self.tables.select(
            self.target,
            self.step.version,
            (*STORED_ID, *HASH),
            HASH[0],
            gone[HASH[0]],
            nulls=False,
            among=gone.select(list(sql.names)),
        )
        if found is None:
            view = self.reading.view(gone.select([*HASH, WEIGHT]))
            return self._rows(sql.victims(quote(view), self.state(), small=True))
        self.reading.local_rows += found.num_rows
        return newest_copies(found, gone)

    def as_rows(self, rows: pa.Table, sql: BagSql) -> pa.Table:
        """Rows of the backing table: this refresh's sequence and the position in it."""
        import numpy as np
        import pyarrow as pa

        numbered = rows.select([*HASH, *sql.names])
        positions = pa.array(np.arange(rows.num_rows))
        sequence = pa.repeat(pa.scalar(self.step.sequence, pa.int64()), rows.num_rows)
        table = numbered.append_column(SEQUENCE, sequence).append_column(POSITION, positions)
        return table.select(list(sql.columns))

    # -- large: rows that stay in Spark -----------------------------------------------------------

    def _facts(self, change: str) -> ChangeFacts:
        """What is known of a change that was computed; the job that asks is the one that computes
        it."""
        if isinstance(self.compiled.sql, BagSql):
            found = self._frame(
                f"SELECT COUNT(*), COALESCE(SUM(GREATEST({WEIGHT}, 0)), 0),"
                f" COALESCE(SUM(GREATEST(-{WEIGHT}, 0)), 0) FROM {quote(change)}"
            ).collect()[0]
            return ChangeFacts(found[0], {"I": found[1], "D": found[2]})
        found = self._frame(
            f"SELECT COUNT(*), COUNT_IF({OP} = 'I' AND {_DONE}), COUNT_IF({OP} = 'U' AND {_DONE}),"
            f" COUNT_IF({OP} = 'D' AND {_DONE}), COUNT_IF(NOT {_DONE}), COUNT_IF({OP} = 'X')"
            f" FROM {quote(change)}"
        ).collect()[0]
        self._refuse_negative(found[5])
        return ChangeFacts(found[0], dict(zip("IUD", found[1:4], strict=True)), found[4])

    def _large(self, change: str, facts: ChangeFacts) -> Change | None:
        if isinstance(self.compiled.sql, GroupSql):
            return self._large_group(change, facts, self.compiled.sql)
        return self._large_bag(change, facts.counts, self.compiled.sql)

    def _large_group(self, change: str, facts: ChangeFacts, sql: GroupSql) -> Change | None:
        columns = ", ".join(quote(c) for c in (*sql.columns, OP))
        done = f"SELECT {columns} FROM {quote(change)} WHERE {OP} IS NOT NULL AND {_DONE}"
        if sql.once:
            new = f"(SELECT * FROM {quote(change)} WHERE {OP} = 'I')"
            values = self.staged(self._frame(sql.computed(new).sql), "values")
            return Merge(
                sql.keys,
                self._frame(f"{done} AND {OP} <> 'I' UNION ALL SELECT * FROM {values}"),
            )
        if not facts.unfinished:
            return self._merge(sql.keys, done, facts.counts)
        again = f"SELECT {', '.join((*sql.keys, EXISTED))} FROM {quote(change)} WHERE NOT {_DONE}"
        keys = self.held.hold(self._frame(again))
        fresh = quote(self.held.hold(self._frame(self._rescan(sql, keys).sql)))
        kinds = self._frame(f"SELECT {OP}, COUNT(*) FROM {fresh} GROUP BY {OP}").collect()
        counts = Counter(facts.counts) + Counter({kind: n for kind, n in kinds if kind})
        both = f"{done} UNION ALL SELECT {columns} FROM {fresh} WHERE {OP} IS NOT NULL"
        return self._merge(sql.keys, both, counts)

    def _merge(self, keys: Sequence[str], text: str, counts: Mapping[str, int]) -> Merge | None:
        """None: there is nothing to merge."""
        return Merge(keys, self._frame(text), counts=counts) if any(counts.values()) else None

    def _large_bag(self, change: str, counts: Mapping[str, int], sql: BagSql) -> Change | None:
        gone, change = counts["D"], quote(change)
        added = sql.numbered(sql.copies(change), self.step.sequence)
        if not gone:
            return Append(self._frame(added.sql)) if counts["I"] else None
        found = self._frame(sql.victims(change, self.state(), small=gone <= LARGE).sql)
        victims = quote(self.held.hold(found))
        (there,) = self._frame(f"SELECT COUNT(*) FROM {victims}").collect()[0]
        self._refuse_missing(gone - there)
        others = [
            f"CAST(NULL AS {type_text(f.dataType)}) AS {quote(f.name)}"
            for f in self.compiled.schema
            if f.name not in STORED_ID
        ]
        deletes = f"SELECT {', '.join([*STORED_ID, *others])}, 'D' AS {OP} FROM {victims}"
        columns = ", ".join(quote(c) for c in sql.columns)
        rows = f"{deletes} UNION ALL SELECT {columns}, 'I' AS {OP} FROM ({added})"
        return self._merge(STORED_ID, rows, counts)

    def _numbered(self, frame: DataFrame) -> DataFrame:
        """An insert-only change as rows of the table, without a detour."""
        sql = self.compiled.sql
        assert isinstance(sql, BagSql)
        view = hidden("inserted")
        frame.createOrReplaceTempView(view)
        return self._frame(sql.numbered(_all_of(view), self.step.sequence).sql)

    def staged(self, frame: DataFrame, label: str) -> str:
        """The rows written to files of this attempt, as a relation."""
        folder = self.staging / f"{self.target.path.name}_{label}"
        frame.write.mode("overwrite").parquet(text_of_path(folder))
        return f"parquet.{quote(text_of_path(folder))}"

    # -- validations (DT paper 6.1) ---------------------------------------------------------------

    def _refuse_negative(self, groups: int) -> None:
        if groups:
            self._invalid(
                "NO_DELETE_OF_MISSING_ROW", f"{count_of(groups, 'group')} with fewer than 0 rows"
            )

    def _refuse_missing(self, rows: int) -> None:
        if rows:
            self._invalid(
                "NO_DELETE_OF_MISSING_ROW", f"{count_of(rows, 'row')} to be deleted but not found"
            )

    def _refuse_repeated(self, keys: pa.Table) -> None:
        distinct = count_distinct(keys)
        if distinct != keys.num_rows:
            again = keys.num_rows - distinct
            self._invalid(
                "ONE_CHANGE_PER_KEY", f"{count_of(again, 'key')} with more than one change"
            )

    def _invalid(self, check: str, facts: str) -> None:
        raise error("DT-2107", check=check, name=self.name, facts=facts)
