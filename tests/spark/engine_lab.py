"""An engine on a lake of its own, with the few words that tests of refreshes are written in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import dt_jupyter.definition.define as define
from dt_jupyter.definition.validate.creation_check import Verdict
from dt_jupyter.engine import Engine, services, task_sessions
from dt_jupyter.engine.context import Context
from dt_jupyter.lake import list_folders, open_log
from dt_jupyter.model import SPARK_ONLY, DTError, DynamicTable, RefreshRecord, Tuning, quote
from dt_jupyter.spark import RefreshSessions, is_connect, text_of_path
from dt_jupyter.spark.sessions import REFRESH_CONFS
from tests.spark import rival

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import DataFrame, SparkSession

BOTH = os.environ.get("DT_TEST_ORACLES") == "both"
"""Whether `verify` is asked too where its rival has answered, as nightly runs do."""
CATALOG = os.environ.get("DT_TEST_CATALOG", "sqlite")
"""Where a `lab` has its catalog: `sqlite` or `postgresql`."""
TABLES = os.environ.get("DT_TEST_TABLES", "lake")
"""Where a `lab` has the tables that it makes: in the `lake`, on `hdfs`, or on `s3`."""
LAKE = os.environ.get("DT_TEST_LAKE", "disk")
"""Where a `lab` has its lake: on a `disk`, on `hdfs`, or on `s3`."""
PATH = os.environ.get("DT_TEST_PATH", "process")
"""Where a `lab` computes refreshes: in the `process` where they fit, or all in `spark`."""
_DEFAULT = "spark.sql.sources.default"
_NEVER = 10**9
IN_SPARK = replace(SPARK_ONLY, notable_ms=_NEVER)
NOT_BY_THE_CLOCK = IN_SPARK if PATH == "spark" else Tuning(notable_ms=_NEVER)
"""On a busy machine a refresh of a few rows may take longer than computing all of them: what it
took is no reason here to do that."""
_INTERPRET = "spark.sql.codegen.factoryMode"

QUICK = {
    _INTERPRET: "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.shuffle.partitions": "1",
}
"""For a few hundred rows, compiling a plan and starting its tasks costs more than running it."""


@dataclass
class Lab:
    """`engine` on the lake `folder`; `sql` runs scripts, `refresh` gives the action taken."""

    spark: SparkSession
    folder: Path | str
    engine: Engine
    tuning: Tuning = NOT_BY_THE_CLOCK
    catalog_url: ClassVar[str | None] = None
    """Of a server; None: the lake's own file."""
    tables_at: ClassVar[str | None] = None
    """A folder on other storage; None: the lake's own."""

    @classmethod
    def open(cls, spark: SparkSession, folder: Path | str) -> Lab:
        spark.conf.set(_DEFAULT, "delta")
        return cls(spark, folder, _connect(spark, folder, NOT_BY_THE_CLOCK))

    @property
    def context(self) -> Context:
        """What the engine consists of: the one place where tests reach into it."""
        return self.engine.context

    def reopen(self) -> None:
        """The engine closed, every name forgotten, and the same lake opened again."""
        self.engine.close()
        self.forget()
        self.engine = _connect(self.spark, self.folder, self.tuning)

    def tune(self, **thresholds: Any) -> None:
        """The same lake, opened with these thresholds."""
        self.tuning = replace(NOT_BY_THE_CLOCK, **thresholds)
        self.reopen()

    def leave_process(self) -> None:
        """The same lake, opened so that nothing is computed without Spark."""
        self.tuning = IN_SPARK
        self.reopen()

    @property
    def is_in_spark(self) -> bool:
        """Whether every refresh that has something to do runs Spark jobs."""
        return self.tuning.evaluated_rows == IN_SPARK.evaluated_rows

    def close(self) -> None:
        self.engine.close()
        self.forget()

    def forget(self) -> None:
        """No table or view of the default schema is known to the session any more. Its catalog is
        told so itself: a test has some ten tables, and a DROP takes as long as a small query."""
        if is_connect(self.spark):
            self._drop_all()
            return
        catalog = self.spark._jsparkSession.sessionState().catalog()
        tables = catalog.listTables("default")
        for i in range(tables.size()):
            catalog.dropTable(tables.apply(i), True, False)

    def _drop_all(self) -> None:
        for table in self.spark.catalog.listTables("default"):
            kind = "VIEW" if table.tableType in ("VIEW", "TEMPORARY") else "TABLE"
            self.spark.sql(f"DROP {kind} {quote(table.name)}")

    # -- words ------------------------------------------------------------------------------------

    def sql(self, script: str) -> list[tuple[Any, ...]]:
        return [tuple(r) for r in self.engine.sql(script).collect()]

    def table(self, name: str, columns: str, *rows: str) -> None:
        """A Delta table: `lab.table("item", "id INT, name STRING", "1, 'rug'", "2, 'car'")`.

        It lies in the lake's folder, where a session of the engine's own puts tables, or where
        all those of this run lie.
        """
        folder = self.tables_at or text_of_path(self.context.layout.tables)
        self.sql(f"CREATE TABLE {name} ({columns}) USING delta LOCATION '{folder}/{name}'")
        self.insert(name, *rows)

    def insert(self, name: str, *rows: str) -> None:
        if rows:
            self.sql(f"INSERT INTO {name} VALUES {', '.join(f'({r})' for r in rows)}")

    def dynamic_table(self, name: str, query: str, options: str = "") -> DynamicTable:
        self.sql(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '1 hour' {options} AS {query}")
        return self.engine.table(name)

    def refresh(self, name: str) -> str:
        """The action of a refresh that succeeded."""
        record = self.record(name)
        assert record.error is None, record.error
        assert record.action is not None
        return record.action.value

    def serializable(self) -> None:
        """What the logs tell of the lake's transactions and refreshes has no phenomenon."""
        report = self.engine.check_history()
        assert not report.phenomena, str(report)

    def record(self, name: str) -> RefreshRecord:
        return self.engine.refresh(name)

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """The rows by which any Spark code sees a table, sorted."""
        rows = _sorted(rival.read(self.spark, name))
        assert not BOTH or rows == _sorted(self.spark.table(name))
        return rows

    def verified(self, *names: str) -> None:
        for name in names:
            assert (wrong := self.wrong(name)) is None, wrong

    def wrong(self, name: str) -> str | None:
        """How a dynamic table is not what its query gives; None where it is. By the oracle that
        shares nothing with the engine, and by `verify` where that one cannot tell."""
        try:
            found = rival.difference(self, name)
        except rival.NotComparable:
            return self._by_verify(name)
        return found or (self._by_verify(name) if BOTH else None)

    def _by_verify(self, name: str) -> str | None:
        verdict = self.engine.verify(name)
        return None if verdict.equal else str(verdict)

    def mode(self, name: str) -> str:
        return self.engine.table(name).effective_mode.value

    def why(self, name: str) -> str:
        return self.engine.table(name).mode_reason.code

    def version(self, name: str) -> int:
        """The newest Delta version of a dynamic table's backing table, as its log says."""
        return open_log(self.context.layout.public(self.engine.table(name).id)).version()

    def names(self) -> tuple[set[str], set[str], set[str]]:
        """What the catalog knows, what Spark's knows, and the folders of dynamic tables."""
        own = self.context.layout.own / "dynamic"
        folders = {p.name for p in own.iterdir()} if own.is_dir() else set()
        known = {r["tableName"] for r in self.spark.sql("SHOW TABLES").collect()}
        return {str(t.name) for t in self.context.catalog.list()}, known, folders

    def left(self) -> list[str]:
        """What statements with streams, and transactions, have left: streams that are taken,
        intents, and folders of what is staged."""
        catalog, root = self.context.catalog, self.context.layout.transactions
        taken = [str(s.name) for s in catalog.streams() if s.intent is not None]
        return [*taken, *catalog.intents(), *(str(folder) for folder, _ in list_folders(root))]

    def files(self) -> dict[str, int]:
        """Every file of the lake but the catalog's, with its size."""
        root = self.context.layout.own / "dynamic"
        return {str(p): p.stat().st_size for p in sorted(root.rglob("*")) if p.is_file()}


def _sorted(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in frame.collect()), key=repr)


def _connect(spark: SparkSession, folder: Path | str, tuning: Tuning) -> Engine:
    url = Lab.catalog_url
    return Engine.connect(folder, spark=spark, scheduler=False, tuning=tuning, catalog=url)


@contextmanager
def refused(code: str) -> Iterator[list[DTError]]:
    """The block ends in the catalogue's error `code`; the list then holds it."""
    found: list[DTError] = []
    try:
        yield found
    except DTError as e:
        if e.code != code:
            raise
        found.append(e)
        return
    raise AssertionError(f"no error; {code} was expected")


def without_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Creation without its check, which costs more than all else that a small test does."""
    monkeypatch.setattr(define, "check", lambda *args, **kw: Verdict(None, "nothing"))


@contextmanager
def quick(spark: SparkSession, patched: pytest.MonkeyPatch) -> Iterator[None]:
    """The session, and those that the engine makes of it, with the confs of QUICK.

    Tables are listed by SHOW TABLES: `spark.catalog.listTables()` needs what QUICK turns off.
    """
    sessions = partial(RefreshSessions, confs={**REFRESH_CONFS, **QUICK})
    patched.setattr(services, "RefreshSessions", sessions)
    reset = task_sessions.reset_session
    patched.setattr(task_sessions, "reset_session", lambda s, c: reset(s, {**c, **QUICK}))
    before = {key: spark.conf.get(key, None) for key in QUICK}
    for key, value in QUICK.items():
        spark.conf.set(key, value)
    # Delta's own jobs over a log are no SQL: their tasks see the properties of the thread alone.
    if not is_connect(spark):
        spark.sparkContext.setLocalProperty(_INTERPRET, QUICK[_INTERPRET])
    yield
    if not is_connect(spark):
        spark.sparkContext.setLocalProperty(_INTERPRET, None)
    for key, was in before.items():
        if was is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, was)
