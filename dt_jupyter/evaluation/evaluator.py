"""Statements over rows that are all in memory, evaluated in this process by DuckDB.

Spark is the reference: what is not on the closed list, and whatever fails, is left to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING

from dt_jupyter.caches import Cache, CacheMemory
from dt_jupyter.evaluation.expressions import ROW_NUMBER, Function
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.row_hashes import compute_hashes
from dt_jupyter.evaluation.statement_way import StatementFacts, WayDecision, decide_way
from dt_jupyter.evaluation.statements import Translation, ViewShape, translate
from dt_jupyter.sql import Query

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

_Statement = tuple[str, frozenset[tuple[str, ViewShape]], bool, bool]
"""A text, the views that it reads, whether local time is UTC, and whether rows are taken."""
_MOST_BYTES = 32 << 20
"""Of translations that share no memory with other caches."""
_COLUMN_BYTES = 200
"""A column of a view or of a result takes 150 to 290, measured with 2 to 400; a character 1."""


@dataclass(frozen=True)
class LocalRows:
    """The rows of a view, and the types of its columns that are evaluated."""

    rows: pa.Table
    shape: ViewShape


_Fetch = Callable[["DuckDBPyConnection", str], "pa.Table | None"]
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    # What does not fit fails, and is Spark's: nothing is put into files here.
    "memory_limit": "1GB",
    "temp_directory": "",
}
_NOT_OPTIMIZED = "expression_rewriter"
"""It makes `x > 4` of `x + 1 > 5`: an overflow would not be seen."""
_NOT_OPTIMIZED_FOR_FEW = f"{_NOT_OPTIMIZED},common_subexpressions"
"""To look for them takes longer than to compute them twice for few rows."""
_LONG_TEXT = 20_000
_BATCH = 100_000
_WATCHED_ROWS = 20_000
_MOST_SECONDS = 30.0
"""Of so many rows on a join may become too many pairs: it is Spark's after so long."""
_WATCH_SECONDS = 0.1


def _all_rows(connection: DuckDBPyConnection, sql: str) -> pa.Table | None:
    return connection.sql(sql).to_arrow_table()


def _few_rows(connection: DuckDBPyConnection, sql: str) -> pa.Table | None:
    """Those of a long text by way of a table: as a relation it would be read and bound twice."""
    if len(sql) < _LONG_TEXT:
        return _all_rows(connection, sql)
    connection.execute(f"CREATE TEMP TABLE found AS {sql}").fetchall()
    try:
        return _all_rows(connection, "FROM found")
    finally:
        connection.execute("DROP TABLE found").fetchall()


def _rows_within(connection: DuckDBPyConnection, sql: str, most_bytes: int) -> pa.Table | None:
    """The rows of a statement, as they come; None once they have more bytes."""
    import pyarrow as pa

    reader = connection.sql(sql).to_arrow_reader(_BATCH)
    assert reader is not None
    batches, size = [], 0
    for batch in reader:
        size += batch.nbytes
        if size > most_bytes:
            return None
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


@contextmanager
def _interrupted_when(connection: DuckDBPyConnection, over: Callable[[], bool]) -> Iterator[None]:
    """Its statements are stopped once `over()`, which another thread asks again and again."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_WATCH_SECONDS):
            if over():
                connection.interrupt()

    watching = threading.Thread(target=watch, name="evaluation watch", daemon=True)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()


def _rows_in_time(connection: DuckDBPyConnection, sql: str) -> pa.Table | None:
    end = monotonic() + _MOST_SECONDS
    with _interrupted_when(connection, lambda: monotonic() > end):
        return _all_rows(connection, sql)


@dataclass
class _Opened:
    """A connection, and the functions that it was given."""

    connection: DuckDBPyConnection
    offered: set[str] = field(default_factory=set)


@dataclass
class Evaluator:
    """Evaluates statements over fewer than `most_rows` rows (0: none); threads may share it."""

    most_rows: int
    memory: CacheMemory = field(default_factory=lambda: CacheMemory(_MOST_BYTES))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _idle: dict[bool, list[_Opened]] = field(default_factory=lambda: {False: [], True: []})
    """Open connections, by whether they are for few rows."""

    def __post_init__(self) -> None:
        self._known: Cache[_Statement, Translation | LeftOut] = Cache(self.memory, "statements")

    def __call__(
        self, query: Query, views: Mapping[str, LocalRows], *, is_utc: bool
    ) -> pa.Table | None:
        """The rows of a statement over these views, in the types in which Spark gives them; None:
        it is Spark's. `is_utc`: the session's time zone is UTC."""
        few = sum(v.rows.num_rows for v in views.values()) < _WATCHED_ROWS
        found = self._decide(query, views, is_utc=is_utc, takes=few)
        if isinstance(found, WayDecision):
            return None
        return self._run(found, views, _few_rows if few else _rows_in_time, few=few)

    def _decide(
        self, query: Query, views: Mapping[str, LocalRows], *, is_utc: bool, takes: bool
    ) -> Translation | WayDecision:
        """The statement to run here, or why it is Spark's; one over too many rows is not
        translated."""
        facts = StatementFacts(sum(v.rows.num_rows for v in views.values()))
        decision = decide_way(facts, self.most_rows)
        if not decision.is_here:
            return decision
        found = self.translated(query, _shapes(views), is_utc=is_utc, takes=takes)
        if isinstance(found, LeftOut):
            return decide_way(replace(facts, left_out=found.what), self.most_rows)
        return found

    def evaluate_whole(
        self,
        query: Query,
        views: Mapping[str, LocalRows],
        most_bytes: int,
        over: Callable[[], bool],
        *,
        is_utc: bool,
    ) -> pa.Table | None:
        """As a call, over however many rows; None also where the result has more bytes, or
        another thread finds that it is `over()`: Spark puts aside what it cannot hold."""
        found = self.translated(query, _shapes(views), is_utc=is_utc)
        if isinstance(found, LeftOut):
            return None

        def fetch(connection: DuckDBPyConnection, sql: str) -> pa.Table | None:
            with _interrupted_when(connection, over):
                return _rows_within(connection, sql, most_bytes)

        return self._run(found, views, fetch, few=False)

    def translated(
        self, query: Query, shapes: Mapping[str, ViewShape], *, is_utc: bool, takes: bool = False
    ) -> Translation | LeftOut:
        """The statement over views of these shapes in DuckDB's words, or what in it is left to
        Spark; `takes` as `translate` has it."""
        key = (query.sql, frozenset(shapes.items()), is_utc, takes)
        known = self._known.get(key)
        if known is not None:
            return known
        found: Translation | LeftOut
        try:
            found = translate(query, shapes, is_utc=is_utc, takes=takes)
        except LeftOut as left_out:
            found = left_out.with_traceback(None)
        except RecursionError:
            found = LeftOut("an expression that is too deep")
        self._known.put(key, found, _bytes_of(key, found))
        return found

    def _run(
        self, statement: Translation, views: Mapping[str, LocalRows], fetch: _Fetch, *, few: bool
    ) -> pa.Table | None:
        import duckdb
        import pyarrow as pa

        opened = self._opened(few)
        connection = opened.connection
        for name, function in statement.functions.items():
            _offer(opened, name, function)
        try:
            rows = {name: views[name].rows for name in statement.reads}
            read = {name: _rows_read(statement, name, r) for name, r in rows.items()}
            for name, table in read.items():
                connection.register(name, table.select(list(_columns_read(statement, name))))
            found = fetch(connection, statement.sql)
            return None if found is None else _result(statement, found, read)
        except (duckdb.Error, pa.ArrowException, ArithmeticError):
            connection.abort()
            return None  # what fails, fails in Spark, in its words
        finally:
            for name in statement.reads:
                connection.unregister(name)
            with self._lock:
                self._idle[few].append(opened)

    def _opened(self, few: bool) -> _Opened:
        """One for this statement alone: a refresh is a thread of its own, and opening takes longer
        than most statements."""
        import duckdb

        with self._lock:
            if self._idle[few]:
                return self._idle[few].pop()
        optimizers = _NOT_OPTIMIZED_FOR_FEW if few else _NOT_OPTIMIZED
        connection = duckdb.connect(config={**_CONFIG, "disabled_optimizers": optimizers})
        connection.execute("SET TimeZone = 'UTC'").fetchall()
        return _Opened(connection)


def _shapes(views: Mapping[str, LocalRows]) -> dict[str, ViewShape]:
    return {n: v.shape for n, v in views.items()}


def _offer(opened: _Opened, name: str, function: Function) -> None:
    from duckdb.func import FunctionNullHandling, PythonUDFType

    if name in opened.offered:
        return
    opened.connection.create_function(
        name,
        function.evaluate,
        [k.sql for k in function.arguments],
        function.result.sql,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
    opened.offered.add(name)


def _columns_read(statement: Translation, view: str) -> tuple[str, ...]:
    """The columns of a view that a statement reads: of one that is only counted, its numbers."""
    return statement.reads[view] or (ROW_NUMBER,)


def _rows_read(statement: Translation, view: str, rows: pa.Table) -> pa.Table:
    """A view's rows with their hashes, and their numbers where they are read, the columns named by
    their places."""
    import numpy as np
    import pyarrow as pa

    table = rows.rename_columns([f"c{i}" for i in range(rows.num_columns)])
    wanted = {h: name for h, name in statement.hashes.items() if h.view == view}
    for name, values in compute_hashes(wanted, table).items():
        table = table.append_column(name, values)
    if ROW_NUMBER not in _columns_read(statement, view):
        return table
    return table.append_column(ROW_NUMBER, pa.array(np.arange(rows.num_rows)))


def _result(statement: Translation, found: pa.Table, read: Mapping[str, pa.Table]) -> pa.Table:
    """The columns of a statement, those that are taken by the numbers of their rows."""
    import pyarrow as pa

    columns: dict[int, pa.ChunkedArray] = {}
    together: dict[tuple[str, str], list[int]] = {}
    for i in range(len(statement.columns)):
        if (taken := statement.taken.get(i)) is None:
            columns[i] = found[f"c{i}"]
        else:
            together.setdefault((taken.view, taken.rows), []).append(i)
    for (view, rows), places in together.items():
        wanted = read[view].select([statement.taken[i].column for i in places])
        columns |= dict(zip(places, wanted.take(found[rows]).columns, strict=True))
    schema = pa.schema([(f"c{i}", k.arrow) for i, (_, k) in enumerate(statement.columns)])
    table = pa.table([columns[i] for i in range(len(columns))], schema.names)
    return table.cast(schema).rename_columns([n for n, _ in statement.columns])


def _bytes_of(statement: _Statement, found: Translation | LeftOut) -> int:
    """About the memory of both."""
    text, views, _, _ = statement
    columns = sum(len(shape) for _, shape in views)
    if isinstance(found, LeftOut):
        return len(text) + _COLUMN_BYTES * columns
    return len(text) + len(found.sql) + _COLUMN_BYTES * (columns + len(found.columns))
