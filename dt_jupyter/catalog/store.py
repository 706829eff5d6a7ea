"""What every part of the catalog uses: its file, its clock, and its transactions."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from filelock import Timeout
from sqlalchemy import Column, Connection, Engine, RowMapping, Select, Table, func, select
from sqlalchemy.exc import DBAPIError

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.database import OF_PROCESS, READ, CatalogDatabase
from dt_jupyter.catalog.event_log import log_events
from dt_jupyter.catalog.event_rows import NOTED
from dt_jupyter.catalog.migrations import MIGRATIONS, Migration
from dt_jupyter.catalog.owner import Owner, running
from dt_jupyter.catalog.quarantine import Quarantine, Quarantined, problem_line
from dt_jupyter.catalog.rebuild import Rebuilt, rebuild
from dt_jupyter.catalog.registry_log import RegistryLog
from dt_jupyter.catalog.registry_rows import changes, last_stamp, picture, prune_changes
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.rows import (
    UNREADABLE,
    BrokenRow,
    RowMemory,
    read_each,
    require_unreadable,
    texts,
)
from dt_jupyter.catalog.sqlite import SqliteFile
from dt_jupyter.catalog.values import Attempt
from dt_jupyter.lake import reach
from dt_jupyter.model import (
    Clock,
    Intent,
    LakeEvent,
    Leftovers,
    Name,
    StatementIntent,
    Timestamp,
    error,
)

T = TypeVar("T")
_log = logging.getLogger("dt_jupyter.catalog")
VERSION_KEY = "schema_version"


def _random_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True)
class Shelf(Generic[T]):
    """A table of the catalog whose rows are objects that people name: `kind` in words, `names` its
    columns that make the name (a schema's and a table's, or one), `key` what represents an invalid
    name, `make` what a row becomes."""

    table: Table
    kind: str
    names: tuple[Column[Any], ...]
    key: Column[Any]
    make: Callable[[RowMapping, LakeRoot], T]
    hint: str

    def told(self, connection: Connection, row: BrokenRow) -> Quarantined:
        """The error for an invalid row."""
        *names, key = texts(connection, self.table, row, *self.names, self.key)
        name = name_text(names) or key
        problem = f"its row in the catalog cannot be read ({problem_line(row.problem)})"
        return Quarantined(self.kind, name, problem, self.hint.format(name=name), row=True)


def name_text(parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    try:
        return str(Name(*parts))
    except ValueError:
        return ""


def _first(row: RowMapping) -> Any:
    return next(iter(row.values()))


class _State(threading.local):
    """Of the running thread: the transaction in which it reads one state of the catalog, what it
    has asked of it, and what it is going to write; None where it reads each time what is there
    then. `whole`: whether it reads all rows of a kind at once."""

    whole: bool = False
    answers: dict[Hashable, object] | None = None
    expected: dict[Hashable, object] | None = None
    connection: Connection | None = None
    ends: ExitStack | None = None


class Store:
    """An open catalog. Threads share it; every process opens its own.

    `path` is that of the file in the lake, `database` where the catalog is kept instead. `lake` is
    the folder that stored paths are relative to, by default the one that holds the file's own
    folder. `alive` says whether the process of an owner on this host runs, `new_id` gives ids to
    history rows without an attempt, `migrations` is what brings a catalog to this release.
    `written`, where it is set, is called after each transaction of this object that wrote, and
    each of `noted` with what happened in it.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        owner: Owner,
        *,
        lake: Path | None = None,
        database: CatalogDatabase | None = None,
        alive: Callable[[Owner], bool] = running,
        new_id: Callable[[], str] = _random_id,
        migrations: tuple[Migration, ...] = MIGRATIONS,
    ) -> None:
        self.path, self.clock, self.owner = path, clock, owner
        self._database = database or SqliteFile(path)
        self.root = LakeRoot.of(lake or path.parent.parent)
        self._alive, self._new_id, self._migrations = alive, new_id, migrations
        self.written: Callable[[], None] | None = None
        self.noted: list[Callable[[tuple[LakeEvent, ...]], None]] = []
        self._noted: list[LakeEvent] = []  # by the transaction that writes
        self.rebuilt: Rebuilt | None = None
        self.quarantine = Quarantine()
        self.leftovers = Leftovers()
        self._writing = threading.Lock()  # threads queue here; only processes poll the file's lock
        self._reopening = threading.Lock()
        self._registry = RegistryLog(path.with_name("registry.jsonl"))
        self._stamp = 0
        self._let_go: set[str] = set()  # attempts and intents that ended here, not in the catalog
        self._state = _State()
        self._open_database()
        self._observe()

    def let_go(self, ended: Attempt | Intent | StatementIntent) -> None:
        """It has ended here, even if the catalog could not record it: this engine treats it as one
        whose process is gone."""
        self._let_go.add(ended.id)

    @property
    def place(self) -> str:
        """Where it is kept, for people."""
        return self._database.place

    def _open_database(self, before: Engine | None = None) -> None:
        engine = self._database.open(self._migrate, before)
        options = {**self.root.option, NOTED: self._noted}
        self._engine = engine.execution_options(**options)
        self._readers = self._engine.execution_options(**{READ: True})
        self._of_process = self._engine.execution_options(**{OF_PROCESS: True})
        self._log_registry(whole=True)

    def _lasting(self) -> Engine:
        return self._engine

    def _passing(self) -> Engine:
        return self._of_process

    @contextmanager
    def _write(self, *, of_process: bool = False) -> Iterator[Connection]:
        """A transaction that may write: all of it is on the disk after, or nothing. One
        `of_process` has facts that no one needs after the processes of this machine have ended."""
        try:
            with self._read_anew(), self._writing:
                self._noted.clear()
                writers = self._passing if of_process else self._lasting
                with self._begun(writers) as connection:
                    yield connection
                    stamp = last_stamp(connection)
                noted = tuple(self._noted)
        except DBAPIError as problem:
            raise self._database.explain(problem) from problem
        if stamp > self._stamp:
            self._log_registry()
        self._tell(noted)
        if self.written is not None:
            self.written()
        reach("catalog_written")

    def _tell(self, noted: tuple[LakeEvent, ...]) -> None:
        """What was committed is so, whatever those say who hear of it."""
        log_events(noted)
        for hear in tuple(self.noted) if noted else ():
            try:
                hear(noted)
            except Exception:
                _log.exception("%r could not take what happened", hear)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        """A transaction that reads one snapshot of the catalog."""
        try:
            if self._state.answers is not None:
                yield self._reading()
                return
            with self._begun(lambda: self._readers) as connection:
                yield connection
        except DBAPIError as problem:
            self.read_anew()
            raise self._database.explain(problem) from problem

    @contextmanager
    def one_state(self, *, whole: bool = True) -> Iterator[None]:
        """In the block this thread reads one state of the catalog, in one transaction, and asks no
        question twice: who is going to ask about most objects reads the `whole` of them at once.
        Where it writes it reads the state after that; `read_anew` gives it the present one."""
        state = self._state
        if state.answers is not None:
            yield
            return
        state.answers, state.expected, state.whole = {}, {}, whole
        try:
            yield
        finally:
            self.read_anew()
            state.answers = state.expected = None

    @contextmanager
    def each_state(self) -> Iterator[None]:
        """In the block this thread reads each time what is there then, in a block of `one_state`
        too: work that takes long keeps no transaction open."""
        state = self._state
        self.read_anew()
        before = state.answers, state.expected
        state.answers = state.expected = None
        try:
            yield
        finally:
            state.answers, state.expected = before

    def read_anew(self) -> None:
        """What this thread has read in a block of `one_state` may have changed."""
        state = self._state
        if state.answers is not None:
            state.answers.clear()
        ends, state.ends, state.connection = state.ends, None, None
        if ends is not None:
            ends.close()

    @contextmanager
    def _read_anew(self) -> Iterator[None]:
        """Before and after a block that writes."""
        self.read_anew()
        try:
            yield
        finally:
            self.read_anew()

    def _reading(self) -> Connection:
        """The transaction of a block of `one_state`."""
        state = self._state
        if state.connection is None:
            with ExitStack() as stack:
                state.connection = self._entered(lambda: self._readers, stack)
                state.ends = stack.pop_all()
        return state.connection

    @property
    def _reads_whole(self) -> bool:
        return self._state.answers is not None and self._state.whole

    def _answer(self, question: Hashable, ask: Callable[[], T]) -> T:
        """What `ask` gives: in a block of `one_state` once."""
        answers, expected = self._state.answers, self._state.expected
        if answers is None or expected is None:
            return ask()
        if question in expected:
            return cast(T, expected[question])
        if question not in answers:
            answers[question] = ask()
        return cast(T, answers[question])

    def _expect(self, question: Hashable, answer: object) -> None:
        """In a block of `one_state`: the answer from now on, whatever is written in it besides."""
        expected = self._state.expected
        assert expected is not None
        expected[question] = answer

    @contextmanager
    def _begun(self, engine: Callable[[], Engine]) -> Iterator[Connection]:
        """A transaction on the database that is there: a file that was deleted while it is open is
        put back, one that was replaced is opened, and rebuilt where it is older."""
        with ExitStack() as stack:
            yield self._entered(engine, stack)

    def _entered(self, engine: Callable[[], Engine], stack: ExitStack) -> Connection:
        used = engine()
        try:
            connection = stack.enter_context(used.begin())
            if self._database.is_current(connection):
                return connection
            stack.close()
        except DBAPIError as problem:
            if not self._database.is_gone(problem):
                raise
        self._reopen(used)
        return stack.enter_context(engine().begin())

    def _reopen(self, used: Engine) -> None:
        with self._reopening:
            if used not in (self._engine, self._readers, self._of_process):
                return  # another thread was faster
            before = self._engine
            self._open_database(before)
            before.dispose()
            what = str(self.rebuilt or "Nothing is lost.")
            _log.warning(
                "the catalog %s was gone while open, and is there again. %s", self.place, what
            )

    def _log_registry(self, *, whole: bool = False) -> None:
        """The registry log follows the catalog; `whole`: it is made where it is missing, and
        rewritten where it has grown. A full disk blocks no one: the next
        change writes what is missing."""
        log = self._registry
        try:
            with log.lock(), self._readers.begin() as connection:
                known = log.read()
                self._stamp = last_stamp(connection)
                if known is None or (whole and log.grown):
                    log.write(picture(connection))
                else:
                    log.append(changes(connection, known.stamp))
        except (OSError, Timeout, DBAPIError) as problem:
            self._stamp = 0
            _log.warning("the registry log %s is behind: %s", log.path, problem)

    def _migrate(self, engine: Engine, database: CatalogDatabase) -> None:
        with engine.execution_options(**self.root.option).begin() as connection:
            schema.meta.create(connection, checkfirst=True)
            key = schema.meta.c.key == VERSION_KEY
            found = int(connection.scalar(select(schema.meta.c.value).where(key)) or 0)
            known = len(self._migrations)
            if found > known:
                raise error("DT-5101", path=database.place, found=found, known=known)
            for migration in self._migrations[found:]:
                for step in migration:
                    if callable(step):
                        step(connection)
                    else:
                        connection.exec_driver_sql(database.dialect_text(step))
            if not found:
                connection.execute(schema.meta.insert().values(key=VERSION_KEY, value=str(known)))
            elif found < known:
                connection.execute(schema.meta.update().where(key).values(value=str(known)))
            taken = not found and database.take_over(connection)
            fresh = not found and not taken
            self.rebuilt = rebuild(connection, self._registry, self.clock.now(), fresh=fresh)
            prune_changes(connection, self._registry.stamp)
            database.disown_copy(connection)

    def _lease_time(self) -> Timestamp:
        """Now, as leases are counted on every machine."""
        return self._database.shared_time(self.clock)

    def _observe(self) -> None:
        """The clock takes note of the newest timestamps here: what comes now comes after them."""
        table = schema.dynamic_table.c
        columns = (table.data_timestamp, table.created, table.dropped, table.last_tick)
        with self._read() as connection:
            seen: list[Timestamp | None]
            try:
                query = select(*(func.max(column) for column in columns))
                seen = list(connection.execute(query).one())
            except UNREADABLE as e:
                require_unreadable(e)
                seen = []
                for column in columns:
                    read = read_each(connection, schema.dynamic_table, select(column), _first)
                    seen += read[0]
        for timestamp in seen:
            if timestamp is not None:
                self.clock.observe(timestamp)

    def _made(self, shelf: Shelf[T]) -> Callable[[RowMapping], T]:
        """What makes an object of a row, its paths as they are from here."""
        return lambda row: shelf.make(row, self.root)

    def _listed(
        self,
        connection: Connection,
        query: Select[Any],
        shelf: Shelf[T],
        memory: RowMemory[T] | None = None,
    ) -> list[T]:
        """The objects that can be read, in the order of the query; the others are in quarantine.

        The query is of all the rows of its kind.
        """
        return self._listed_as(connection, query, shelf, self._made(shelf), memory)

    def _listed_as(
        self,
        connection: Connection,
        query: Select[Any],
        shelf: Shelf[Any],
        make: Callable[[RowMapping], T],
        memory: RowMemory[T] | None = None,
    ) -> list[T]:
        """As `_listed`, with what `make` makes of each row."""
        made, broken = read_each(connection, shelf.table, query, make, memory)
        self.quarantine.rows(shelf.kind, [shelf.told(connection, row) for row in broken])
        return made

    def _one(
        self,
        connection: Connection,
        query: Select[Any],
        shelf: Shelf[T],
        given: Mapping[str, object] | None = None,
    ) -> T | None:
        """The object that the query finds, None where there is none; DT-5112 for one that cannot
        be read."""
        return next(iter(self._every(connection, query, shelf, given)), None)

    def _every(
        self,
        connection: Connection,
        query: Select[Any],
        shelf: Shelf[T],
        given: Mapping[str, object] | None = None,
    ) -> list[T]:
        """The objects that the query finds with the parameters `given`; DT-5112 where one cannot
        be read."""
        query = query.params(given) if given else query
        made, broken = read_each(connection, shelf.table, query, self._made(shelf))
        for row in broken:
            raise shelf.told(connection, row).error from row.problem
        return made

    def _broken(self, connection: Connection, name: object, shelf: Shelf[T]) -> list[BrokenRow]:
        """The rows in quarantine with a name, or with the key that represents it."""
        broken = read_each(connection, shelf.table, shelf.table.select(), self._made(shelf))[1]
        known = {str(name), name.table if isinstance(name, Name) else name}
        return [row for row in broken if shelf.told(connection, row).name in known]

    def _dispose(self) -> None:
        self._engine.dispose()
