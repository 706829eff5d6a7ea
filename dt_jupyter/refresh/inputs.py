"""What a stage's statements read: changes, snapshots, and the rows of large tables that they need.

Few rows become views of the session; where all of a statement's rows are such, nothing of it is
read from files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from dt_jupyter.evaluation import Evaluator
from dt_jupyter.ivm import (
    End,
    Origin,
    Rel,
    Restrict,
    Scan,
    Sizes,
    directed,
    origins,
    scans,
    walk,
)
from dt_jupyter.lake import (
    Action,
    Feed,
    FileDiff,
    LiveFiles,
    LocalViews,
    Relation,
    Small,
    SmallTables,
    TableLog,
    Unchanged,
    Unreadable,
    ValueInterval,
    arrow_schema,
    fields_named,
    files_view,
    is_comparable,
    relation,
    scan_refusal,
    snapshot_sql,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import WEIGHT, hidden
from dt_jupyter.refresh.consolidate import cancel_pairs
from dt_jupyter.refresh.held_frames import HeldFrames
from dt_jupyter.refresh.literal_pushdown import Bounds, bounded, bounds_of
from dt_jupyter.refresh.order_bounds import is_of_kind
from dt_jupyter.refresh.semijoin_reduction import Reduction, Tables
from dt_jupyter.refresh.stage_facts import column_type
from dt_jupyter.refresh.stage_plan import SourceRead, changed_rows
from dt_jupyter.refresh.stage_texts import make_renderer, table_rows
from dt_jupyter.refresh.stage_way import has_many_rows
from dt_jupyter.spark import is_connect
from dt_jupyter.sql import Renderer

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


class _ScanSource(Protocol):
    """What a scan reads: a source, rows that were found, or a view of Spark's."""

    @property
    def table_rows(self) -> int:
        """The rows of the table, from its log, or of what was found."""

    def type_of(self, column: str) -> str | None:
        """A column's plain type; None where it is not known."""

    def place(self, scan: Scan) -> str:
        """The text of its relation."""

    def rows(self, scan: Scan) -> pa.Table | None:
        """All its rows; None where they are not in memory."""


@dataclass(frozen=True)
class _Stored:
    """A source or a hidden stage, by its id."""

    reading: Reading
    id: str

    @property
    def table_rows(self) -> int:
        return table_rows(self.reading.logs[self.id])

    def type_of(self, column: str) -> str | None:
        return column_type(self.reading.logs[self.id], column)

    def place(self, scan: Scan) -> str:
        return self.reading.stored(scan)

    def rows(self, scan: Scan) -> pa.Table | None:
        return self.reading.stored_rows(scan)


@dataclass(frozen=True)
class _Found:
    """Rows in memory of a scan that a reduction replaced, by its mark."""

    reading: Reading
    mark: str
    scan: Scan
    found: pa.Table

    @property
    def table_rows(self) -> int:
        return int(self.found.num_rows)

    def type_of(self, column: str) -> str | None:
        return self.reading.source(self.scan.source).type_of(column)

    def place(self, scan: Scan) -> str:
        return self.reading.found_view(self.scan, self.found)

    def rows(self, scan: Scan) -> pa.Table | None:
        return self.found


@dataclass(frozen=True)
class _Computed:
    """A view with the rows of a relation that Spark computes once, or selects rows of."""

    reading: Reading
    view: str
    rel: Rel

    @property
    def table_rows(self) -> int:
        return max(self.reading.source(s.source).table_rows for s in scans(self.rel))

    def type_of(self, column: str) -> str | None:
        read = origins(self.rel, column) or ()
        found = {self.reading.source(s.source).type_of(c) for s, c in read}
        return found.pop() if len(found) == 1 else None

    def place(self, scan: Scan) -> str:
        return quote(self.view)

    def rows(self, scan: Scan) -> pa.Table | None:
        return None


@dataclass
class Reading:
    """The sources of a step: `reads` are their versions and columns, `logs` their logs, by id.
    Without `tables` no rows of snapshots are in memory."""

    spark: SparkSession
    reads: Mapping[str, SourceRead]
    logs: Mapping[str, TableLog]
    tables: SmallTables | None
    evaluator: Evaluator
    small: Small | None = None
    rescanned_rows: int = 0
    """A second scan of a table with no more rows costs less than another statement."""
    written_views: Mapping[str, str] = field(default_factory=dict)
    """Hidden stages whose rows are views of Spark's, by id."""
    held: HeldFrames = field(default_factory=HeldFrames)
    relations: dict[str, Relation] = field(default_factory=dict)
    keys: dict[str, pa.Table] = field(default_factory=dict)
    """Relations of keys that were computed, by the names of their views."""
    local_rows: int = 0
    """Rows that were read on the driver."""
    all_local: bool = True
    _computed: dict[str, _Computed] = field(default_factory=dict)
    _changed_rows: dict[str, int | None] = field(default_factory=dict)
    """Of views of changes, estimated."""
    _snapshots: dict[tuple[str, int, tuple[str, ...]], str] = field(default_factory=dict)
    _scans: dict[tuple[str, int], str] = field(default_factory=dict)
    _found: dict[int, str] = field(default_factory=dict)
    _read: set[tuple[str, int]] = field(default_factory=set)
    _views: int = 0

    def __post_init__(self) -> None:
        tables = Tables(
            self._rows_at_hand,
            self._select,
            self._comparable,
            self._key_values,
            self._has_many,
            self._select_between,
            self._read_columns,
        )
        self._reduction = Reduction(tables)
        self.views = LocalViews(self.spark, self.evaluator)

    def renderer(self, key_view: str | None = None, *, local: bool = False) -> Renderer:
        """Texts over what is read; `key_view` and `local` as of `make_renderer`."""
        return make_renderer(self._place, self.reads, self.sizes, key_view, local=local)

    def prepared(self, rel: Rel) -> Rel:
        """A relation of changes in order, reduced to what matters, and what stays with Spark
        bounded by its values."""
        rel = directed(rel, self.sizes)
        if self.tables is not None:
            rel = self._reduction(rel)
        return bounded(rel, self._bounds, self._key_bounds, self._is_at_hand)

    def _is_at_hand(self, rel: Rel) -> bool:
        return all(s.source in self._reduction.found for s in scans(rel))

    def is_local(self, rel: Rel) -> bool:
        """Whether all that the relation reads is in memory."""
        names = (n.keys for n in walk(rel) if isinstance(n, Restrict))
        return self._is_at_hand(rel) and all(n in self.keys for n in names)

    @property
    def sizes(self) -> Sizes:
        """The sizes of the sources and their changes, from the logs."""
        changed = changed_rows(self.reads.values())
        changed |= self._changed_rows
        for mark, (scan, rows) in self._reduction.found.items():
            if scan.end is End.DELTA:
                changed[mark] = rows.num_rows
        return Sizes(self._table_rows, changed, self._type_of)

    def is_shared(self, scan: Scan) -> bool:
        """Whether what is read of a scan for several terms is better read once, in Spark."""
        if scan.end is End.DELTA or scan.source not in self.logs:
            return False
        return self.held.cached and self._table_rows(scan.source) > self.rescanned_rows

    def add_view(self, rel: Rel, view: str) -> Scan:
        """The scan of a view that has rows of a relation, under the ids of their columns."""
        self._computed[view] = _Computed(self, view, rel)
        if WEIGHT in rel.columns:
            rows = self.sizes.of_change(rel)
            self._changed_rows[view] = None if rows is None else int(rows)
        reads = tuple((c, c) for c in rel.columns if c != WEIGHT)
        end = End.DELTA if WEIGHT in rel.columns else End.NEW
        return Scan(view, reads, end)

    def add_keys(self, text: str) -> str:
        """The name of a relation of keys, computed each time that it is read."""
        self._views += 1
        name = hidden(f"keys_{self._views}")
        self.spark.sql(text).createOrReplaceTempView(name)
        return quote(name)

    def source(self, source: str) -> _ScanSource:
        """What the source of a scan refers to."""
        if source in self._reduction.found:
            return _Found(self, source, *self._reduction.found[source])
        return self._computed.get(source) or _Stored(self, source)

    def _table_rows(self, source: str) -> int:
        return self.source(source).table_rows

    def _type_of(self, source: str, column: str) -> str | None:
        return self.source(source).type_of(column)

    def _place(self, scan: Scan) -> str:
        return self.source(scan.source).place(scan)

    def stored(self, scan: Scan) -> str:
        """The relation of a source's change or snapshot."""
        if scan.end is End.DELTA:
            return self.change(scan.source).sql
        columns = self._columns_of(scan)
        if self.tables is None and scan.source in self.written_views:
            self.all_local = False
            return quote(self.written_views[scan.source])
        return self.snapshot(self.logs[scan.source], self._version_of(scan), columns)

    def found_view(self, scan: Scan, rows: pa.Table) -> str:
        """Rows in memory as a view; complete scans share one."""
        if id(rows) not in self._found:
            log, version = self.logs[scan.source], self._version_of(scan)
            view = hidden(f"found_{len(self._found)}")
            self.views.add_of_table(view, log, version, rows)
            self._found[id(rows)] = quote(view)
        return self._found[id(rows)]

    def _rows_at_hand(self, scan: Scan) -> pa.Table | None:
        """All rows of a scan, of a change or a small table; None where there are too many."""
        return self.source(scan.source).rows(scan)

    def stored_rows(self, scan: Scan) -> pa.Table | None:
        """As `_rows_at_hand`, of a change or a snapshot."""
        if scan.end is End.DELTA:
            return self.change(scan.source).arrow
        assert self.tables is not None
        log, version = self.logs[scan.source], self._version_of(scan)
        rows = self.tables.rows(log, version, self._columns_of(scan))
        if rows is not None and (scan.source, version) not in self._read:
            self._read.add((scan.source, version))
            self.local_rows += rows.num_rows
        return rows

    def _comparable(self, scan: Scan) -> frozenset[str]:
        """The columns that `=` and `<` compare as Arrow does."""
        found = {n: self._type_of(scan.source, n) for _, n in scan.reads}
        return frozenset(n for n, t in found.items() if t is not None and is_comparable(t))

    def _version_of(self, scan: Scan) -> int:
        return self.reads[scan.source].version_at(scan.end)

    def _columns(self, source: str) -> tuple[str, ...]:
        return tuple(sorted(self.reads[source].columns or ()))

    def _columns_of(self, scan: Scan) -> tuple[str, ...]:
        """Those of them that the source has at that end."""
        columns, read = self._columns(scan.source), self.reads[scan.source]
        missing = dict(read.added) if scan.end is End.OLD else {}
        return tuple(c for c in columns if c not in missing)

    def snapshot(self, log: TableLog, version: int, columns: tuple[str, ...]) -> str:
        """A relation of a snapshot: local rows where the table is small, else Spark's read."""
        rows = self.tables.rows(log, version, columns) if self.tables is not None else None
        if rows is None:
            self.all_local = False
            return self._scan(log, version)
        key = (str(log.path), version, columns)
        if key not in self._snapshots:
            self.local_rows += rows.num_rows
            view = hidden(f"small_{len(self._snapshots)}")
            self.views.add_of_table(view, log, version, rows)
            self._snapshots[key] = quote(view)
        return self._snapshots[key]

    def _scan(self, log: TableLog, version: int) -> str:
        """A snapshot as Spark reads it: the files that the log reader lists, since Delta's own scan
        starts jobs to find them."""
        if is_connect(self.spark) or scan_refusal(log, version):
            return snapshot_sql(log.path, version)
        key = str(log.path), version
        if key not in self._scans:
            files = self._list(log, version)
            view = hidden(f"scan_{len(self._scans)}")
            files_view(self.spark, log, version, files).createOrReplaceTempView(view)
            self._scans[key] = quote(view)
        return self._scans[key]

    def _list(self, log: TableLog, version: int) -> Sequence[Action]:
        if self.tables is None:
            return LiveFiles(log.path).at(version)
        return self.tables.columns.known.list(log, version)

    def change(self, source: str) -> Relation:
        """The change of a source, read once."""
        if source not in self.relations:
            columns = self._columns(source)
            prefix = hidden(f"delta_{len(self.relations)}")
            log, plan = self.logs[source], self.reads[source].change
            assert plan is not None
            change = relation(
                self.spark,
                log,
                plan,
                columns,
                view_prefix=prefix,
                small=self.small,
                local_views=False,
                kept=self.tables.columns if self.tables is not None else None,
            )
            change = cancel_pairs(change, log, plan, columns)
            arrow = change.arrow
            if arrow is None and isinstance(plan, Feed | FileDiff):
                view = self.held.hold(self.spark.sql(f"SELECT * FROM {change.sql}"))
                change = replace(change, sql=quote(view))
            self.relations[source] = change
            if arrow is not None:
                assert not isinstance(plan, Unchanged | Unreadable)
                self.views.add_of_table(change.views[0], log, plan.last, arrow)
            self.all_local = self.all_local and arrow is not None
            self.local_rows += arrow.num_rows if arrow is not None else 0
        return self.relations[source]

    def _select(
        self, scan: Scan, column: str, values: pa.ChunkedArray, nulls: bool
    ) -> pa.Table | None:
        """The rows of a table with these values; None for one that is local anyhow."""
        log, version = self.logs[scan.source], self._version_of(scan)
        columns = self._columns_of(scan)
        if not self.is_large(log, version, columns):
            return None
        assert self.tables is not None
        names = tuple(dict.fromkeys(n for _, n in scan.reads))
        found = self.tables.select(log, version, names, column, values, nulls=nulls)
        self.local_rows += found.num_rows if found is not None else 0
        return found

    def _select_between(self, scan: Scan, column: str, interval: ValueInterval) -> pa.Table | None:
        """The rows of a table, in memory or not, whose column is in an interval of values that are
        compared with its own by what they are; else None."""
        assert self.tables is not None
        log, version = self.logs[scan.source], self._version_of(scan)
        (type_,) = arrow_schema(fields_named(log.metadata(version), [column])).types
        if not is_of_kind(interval, type_):
            return None
        names = tuple(dict.fromkeys(n for _, n in scan.reads))
        found = self.tables.select_between(log, version, names, column, interval)
        self.local_rows += found.num_rows if found is not None else 0
        return found

    def _read_columns(self, scan: Scan, columns: Sequence[str]) -> pa.Table | None:
        """Some columns of all rows of a table."""
        assert self.tables is not None
        found = self.tables.columns_of(self.logs[scan.source], self._version_of(scan), columns)
        self.local_rows += found.num_rows if found is not None else 0
        return found

    def _has_many(self, scan: Scan) -> bool:
        """Whether a table is so large that selecting rows is better than taking all."""
        return has_many_rows(self.logs[scan.source].size(self._version_of(scan)).rows)

    def is_large(self, log: TableLog, version: int, columns: Sequence[str]) -> bool:
        """Whether rows of a table may be selected, as they are not all in memory anyhow."""
        if self.tables is None:
            return False
        return self.tables.rows(log, version, columns) is None

    def is_selected(self, log: TableLog, version: int, columns: Sequence[str]) -> bool:
        """Whether rows of a table are better selected than all taken."""
        if self.tables is None:
            return False
        many = has_many_rows(log.size(version).rows)
        return many or self.is_large(log, version, columns)

    def state(
        self, log: TableLog, version: int, columns: Sequence[str], key: str, values: pa.ChunkedArray
    ) -> str | None:
        """The rows of a stage's own table with some values of a key, as a view."""
        assert self.tables is not None
        rows = self.tables.select(log, version, columns, key, values, nulls=True)
        if rows is None:
            return None
        self.local_rows += rows.num_rows
        self.views.add_of_table(hidden("state"), log, version, rows)
        return quote(hidden("state"))

    def _values(self, columns: Sequence[Origin]) -> pa.ChunkedArray | None:
        """All values of some columns of changes and selected rows, where they are in memory."""
        import pyarrow as pa

        found = [(self._rows_at_hand(s), c) for s, c in columns]
        arrays = [rows[c] for rows, c in found if rows is not None]
        if len(arrays) < len(found) or len({a.type for a in arrays}) != 1:
            return None
        return pa.chunked_array([c for a in arrays for c in a.chunks], arrays[0].type)

    def _key_values(self, name: str, column: str) -> pa.ChunkedArray | None:
        rows = self.keys.get(name)
        return rows[column] if rows is not None else None

    def _bounds(self, columns: Sequence[Origin]) -> Bounds | None:
        """The values of columns of changes, where the changes are in memory."""
        values = self._values(columns)
        return bounds_of(values) if values is not None else None

    def _key_bounds(self, name: str, column: str) -> Bounds | None:
        values = self._key_values(name, column)
        return bounds_of(values) if values is not None else None

    def view(self, rows: pa.Table, schema: StructType | None = None) -> str:
        """The name of a relation of rows that a statement gave, with its own schema where Arrow's
        may not say all of it, as of collations."""
        self._views += 1
        name = hidden(f"rows_{self._views}")
        self.views.add(name, rows, schema)
        return name
