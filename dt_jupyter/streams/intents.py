"""Statements that consume streams: each writes what it recorded that it would, once, or never.

A consumption is recorded as an intent before it writes; its commit carries the intent's id, and
the streams move after. After a crash the log of the written table shows whether it came so far;
where its commit is not there, it is kept from coming later: a JVM may outlive the process that
asked for it.  Source: CQ 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dt_jupyter.catalog import INTENTS, Catalog
from dt_jupyter.lake import (
    TableGone,
    TableLocked,
    TableLog,
    ask_again,
    fence,
    is_delta,
    mark_of,
    marked,
    move_folder,
    next_sequence,
    reach,
    register,
    sequenced,
    sql_table,
    storage_lock,
    unstage,
)
from dt_jupyter.model import (
    DTError,
    Intent,
    Name,
    Named,
    Stream,
    Timestamp,
    error,
    name_taken,
    undo,
)
from dt_jupyter.sources import Logs
from dt_jupyter.spark import confs
from dt_jupyter.streams.rollforward import RollForward, kept_alive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELTA_BY_DEFAULT = {"spark.sql.sources.default": "delta"}
Ends = dict[str, dict[str, int]]
"""For each stream by id, the version of each base table."""


@dataclass(frozen=True)
class Intents:
    """The consumptions of a lake, written by the session `spark`."""

    catalog: Catalog
    spark: SparkSession
    logs: Logs
    forward: RollForward
    now: Callable[[], Timestamp]
    new_id: Callable[[], str]

    def begin(self, text: str, path: Path, streams: Sequence[Stream], ends: Ends) -> Intent:
        """Takes the streams for a statement that is to write the table at `path`. DT-3203."""
        version = self.logs[str(path)].version() if is_delta(path) else None
        now = self.now()
        intent = Intent(self.new_id(), text, str(path), version, now, now, ends)
        self.catalog.begin_intent(intent, streams)
        reach("intent_recorded")
        return intent

    def run(self, intent: Intent, write: Callable[[], DataFrame]) -> DataFrame:
        """One commit of a table that is there, and the move of the streams; or neither.

        DT-3203 where another session was faster, DT-3210 where it was given up.
        """

        def sequence() -> DataFrame:
            # As it was before the intent was on record: who gives it up takes this one.
            own = self._next_sequence(intent, intent.version)
            taken = sequenced(self.spark, app_id(intent.frontiers), own)
            with _only_writer(Path(intent.path)), taken:
                frame = write()
            self._require_written(intent, own)
            return frame

        return self._move(intent, sequence)

    def make(
        self, intent: Intent, name: Name | None, write: Callable[[str], DataFrame]
    ) -> DataFrame:
        """As `run`, of a table that is not there yet: `write` makes it elsewhere, as the table that
        it is given, and it is moved to its place as a whole. DT-1105 where another one is there by
        then."""

        def place() -> DataFrame:
            assert name is not None
            path = Path(intent.path)
            aside = self.forward.folder(intent.id) / path.name
            with confs(self.spark, DELTA_BY_DEFAULT):
                frame = write(sql_table(aside))
            if intent.id not in self.catalog.intents():
                raise _given_up(intent)
            try:
                move_folder(aside, path)
            except FileExistsError as e:
                raise name_taken(Named.TABLE, name) from e
            register(self.spark, name, path)
            unstage(aside.parent)
            return frame

        return self._move(intent, place)

    def _move(self, intent: Intent, write: Callable[[], DataFrame]) -> DataFrame:
        try:
            return self._write_and_move(intent, write)
        except BaseException:
            self.catalog.let_go(intent)
            raise

    def _write_and_move(self, intent: Intent, write: Callable[[], DataFrame]) -> DataFrame:
        try:
            mark = {"intent": intent.id, "reads": versions_read(intent.frontiers)}
            with kept_alive(self.catalog, intent.id), marked(self.spark, **mark):
                frame = write()
                reach("intent_written")
        except BaseException as e:
            mine = intent.id in self.catalog.intents()
            ended = _has_ended(e)
            undo(e, lambda: self.settle(intent, ended=ended))
            if mine or not isinstance(e, Exception):
                raise
            raise _given_up(intent) from e
        if not self.catalog.finish_intent(intent) and not self._committed(intent):
            raise _given_up(intent)
        return frame

    def _require_written(self, intent: Intent, sequence: int) -> None:
        """DT-3203 where Delta left the write out, since its sequence was taken just before."""
        if self._next_sequence(intent) <= sequence:
            return  # it had nothing to write
        if not self._committed(intent):
            names = [str(s.name) for s in self.catalog.streams() if s.id in intent.frontiers]
            raise error("DT-3203", name=", ".join(names), owner="another session, just before")

    # -- after a crash ----------------------------------------------------------------------------

    def recover(self) -> None:
        """Settles what processes that are gone left unfinished. What cannot be settled stays as it
        is, in quarantine, until it can be, or its streams are dropped."""
        quarantine = self.catalog.quarantine
        for intent in self.catalog.orphans():
            try:
                self.settle(intent)
            except Exception as e:
                hint = "It is completed as soon as that can be read; or DROP its streams."
                quarantine.put(INTENTS.kind, intent.id, e, hint)
            else:
                quarantine.lift(INTENTS.kind, intent.id)

    def settle(self, intent: Intent, *, ended: bool = False) -> None:
        """The streams move if the commit is there, and else they are free again; unless its writer
        has `ended`, it is kept from committing later."""
        if intent.transaction:
            self.forward.settle(intent)
        elif self._committed(intent) or (not ended and not self._fenced(intent)):
            self.catalog.finish_intent(intent)
        else:
            self.forward.abort(intent)

    def _committed(self, intent: Intent, upto: int | None = None) -> bool:
        """Whether the written table's log has the commit of the intent."""
        log = self._log(intent)
        if log is None:
            return False
        newest = log.version() if upto is None else upto
        first = max(-1 if intent.version is None else intent.version, log.oldest() - 1)
        commits = log.commits(min(first, newest), newest)
        return any(mark_of(c.user_metadata).get("intent") == intent.id for c in commits)

    def _fenced(self, intent: Intent) -> bool:
        """Keeps the commit of the intent out; False where it was faster. A table that is not
        there yet is not visible while it is made."""
        while intent.version is not None and (log := self._log(intent)) is not None:
            newest = log.version()
            if self._committed(intent, newest):
                return False
            if fence(log, app_id(intent.frontiers), newest + 1):
                break
        return True

    def _log(self, intent: Intent) -> TableLog | None:
        """None where there is no such table."""
        ask_again()  # it was written since, or may have been
        if not is_delta(intent.path):
            return None
        log = self.logs[intent.path]
        try:
            log.version()
        except TableGone:  # of which there is a copy of the log
            return None
        return log

    def _next_sequence(self, intent: Intent, version: int | None = None) -> int:
        """Of the table, at that version. TableGone."""
        ask_again()
        return next_sequence(self.logs[intent.path], app_id(intent.frontiers), version)


@contextmanager
def _only_writer(table: Path) -> Iterator[None]:
    """Among those that write with streams. DT-3204 where another does for too long."""
    with ExitStack() as held:
        try:
            held.enter_context(storage_lock(table))
        except TableLocked as e:
            facts = {"problem": e.sentence, "hint": "Run it again when that has ended."}
            raise error("DT-3204", name=table.name, **facts) from e
        yield


def app_id(stream_ids: Iterable[str]) -> str:
    """By which the commit of an intent on these streams is distinguished from one that comes too
    late: while it is open, no other process has its streams."""
    return f"dt-stream:{min(stream_ids)}"


def versions_read(frontiers: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """What consuming streams reads: the version of each base table, the newest where streams differ
    since one of them gives its first rows."""
    found: dict[str, int] = {}
    for versions in frontiers.values():
        for table_id, version in versions.items():
            found[table_id] = max(version, found.get(table_id, version))
    return found


def _given_up(intent: Intent) -> DTError:
    return error("DT-3210", statement=intent.statement.split()[0].upper())


def _has_ended(failure: BaseException) -> bool:
    """Whether a statement that failed runs no more; what was interrupted, or lost the connection,
    may run on in the JVM."""
    known = isinstance(failure, DTError | PySparkException | Py4JJavaError)
    return known and type(failure).__name__ != "SparkConnectGrpcException"


__all__ = ["Ends", "Intents", "app_id"]
