"""Processes killed in the middle of statements over several objects.

Each statement is killed after each transaction of the catalog and each move of a folder that it
makes. Then the lake is as before the statement or as after it, in names, rows, folders and what can
be brought back, for an engine that was open meanwhile and for one that opens it; and the statement
can be run, or is refused since it was done.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from dt_jupyter.lake import list_folders
from dt_jupyter.model import DTError
from tests.cases import some
from tests.experiments import KILLED_ELSEWHERE
from tests.faults.forked import Forked
from tests.spark.engine_lab import Lab

pytestmark = [KILLED_ELSEWHERE, pytest.mark.slow]
SCHEMAS = ("a", "b", "c", "d")
SUMS = "SELECT g, sum(v) AS s FROM a.src GROUP BY g"
SETUP = (
    "CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.src (g INT, v INT) USING delta "
    "LOCATION '{tables}/a.db/src'; INSERT INTO a.src VALUES (1, 1), (2, 5);"
    "CREATE TABLE a.gone (g INT) USING delta LOCATION '{tables}/a.db/gone';"
    "INSERT INTO a.gone VALUES (7); CREATE VIEW a.big AS SELECT g, v FROM a.src WHERE v > 1;"
    f"CREATE DYNAMIC TABLE a.sums TARGET_LAG = '1 hour' AS {SUMS};"
    "CREATE DYNAMIC TABLE a.top TARGET_LAG = '1 hour' AS SELECT g, s FROM a.sums WHERE s > 1;"
    "CREATE DYNAMIC TABLE a.many TARGET_LAG = '1 hour' AS SELECT g FROM a.big;"
    "CREATE STREAM a.changes ON TABLE a.src; CREATE ROLE reader; CREATE ROLE maker;"
    + "".join(
        f"GRANT SELECT ON {on} TO ROLE reader;"
        for on in (
            *("TABLE a.src", "TABLE a.gone", "VIEW a.big", "STREAM a.changes"),
            *("DYNAMIC TABLE a.sums", "DYNAMIC TABLE a.top"),
        )
    )
    + "GRANT SELECT ON TABLE a.src TO ROLE maker; GRANT CREATE ON SCHEMA b TO ROLE maker"
)


@dataclass(frozen=True)
class Killed:
    """A statement; what comes before it, and what takes it back where it was done all the same."""

    statement: str
    back: str
    before: str = ""


_AS_MAKER = "USE ROLE maker"
STATEMENTS = {
    "drop schema": Killed("DROP SCHEMA a CASCADE", "UNDROP SCHEMA a"),
    "clone schema": Killed("CREATE SCHEMA c CLONE a", "DROP SCHEMA c CASCADE"),
    "undrop schema": Killed("UNDROP SCHEMA a", "DROP SCHEMA a CASCADE", "DROP SCHEMA a CASCADE"),
    "create or replace": Killed(
        "CREATE OR REPLACE DYNAMIC TABLE a.sums TARGET_LAG = '1 hour' AS "
        "SELECT g, max(v) AS s FROM a.src GROUP BY g",
        "DROP DYNAMIC TABLE a.sums; UNDROP DYNAMIC TABLE a.sums",
    ),
    "create or alter": Killed(
        "CREATE OR ALTER DYNAMIC TABLE a.sums TARGET_LAG = '1 hour' AS "
        "SELECT g, max(v) AS s FROM a.src GROUP BY g",
        f"CREATE OR ALTER DYNAMIC TABLE a.sums TARGET_LAG = '1 hour' AS {SUMS}",
    ),
    "apply": Killed(
        "apply:CREATE WAREHOUSE w; "
        "CREATE DYNAMIC TABLE a.sums TARGET_LAG = '2 hours' AS "
        "SELECT g, max(v) AS s FROM a.src GROUP BY g; "
        "CREATE VIEW a.big AS SELECT g, v FROM a.src WHERE v > 2; "
        "CREATE DYNAMIC TABLE a.more TARGET_LAG = '1 hour' AS SELECT s FROM a.sums; "
        "CREATE STREAM a.other ON TABLE a.src; "
        "CREATE TASK a.job SCHEDULE = '1 hour' AS INSERT INTO a.gone SELECT g FROM a.src",
        "DROP TASK a.job; DROP STREAM a.other; DROP DYNAMIC TABLE a.more; DROP WAREHOUSE w;"
        "CREATE OR REPLACE VIEW a.big AS SELECT g, v FROM a.src WHERE v > 1;"
        f"CREATE OR ALTER DYNAMIC TABLE a.sums TARGET_LAG = '1 hour' AS {SUMS}",
    ),
    "drop table": Killed("DROP TABLE a.gone", "UNDROP TABLE a.gone"),
    "undrop table": Killed("UNDROP TABLE a.gone", "DROP TABLE a.gone", "DROP TABLE a.gone"),
    "clone": Killed("CREATE DYNAMIC TABLE b.sums CLONE a.sums", "DROP DYNAMIC TABLE b.sums"),
    "create": Killed(
        "CREATE DYNAMIC TABLE b.n TARGET_LAG = '1 hour' AS SELECT count(*) AS n FROM a.src",
        "DROP DYNAMIC TABLE b.n",
    ),
    "rename": Killed(
        "ALTER DYNAMIC TABLE a.top RENAME TO b.top", "ALTER DYNAMIC TABLE b.top RENAME TO a.top"
    ),
    "swap": Killed(
        "ALTER DYNAMIC TABLE a.top SWAP WITH a.many", "ALTER DYNAMIC TABLE a.top SWAP WITH a.many"
    ),
    "set options": Killed(
        "ALTER DYNAMIC TABLE a.top SET TARGET_LAG = '2 hours' DATA_RETENTION_TIME_IN_DAYS = 9 "
        "CLUSTER BY (g)",
        "ALTER DYNAMIC TABLE a.top SET TARGET_LAG = '1 hour' DATA_RETENTION_TIME_IN_DAYS = 8 "
        "CLUSTER BY (s)",
        "ALTER DYNAMIC TABLE a.top SET DATA_RETENTION_TIME_IN_DAYS = 8 CLUSTER BY (s)",
    ),
    "drop dynamic table": Killed("DROP DYNAMIC TABLE a.top", "UNDROP DYNAMIC TABLE a.top"),
    "undrop dynamic table": Killed(
        "UNDROP DYNAMIC TABLE a.top", "DROP DYNAMIC TABLE a.top", "DROP DYNAMIC TABLE a.top"
    ),
    "drop view": Killed(
        "DROP VIEW a.big",
        "CREATE VIEW a.big AS SELECT g, v FROM a.src WHERE v > 1;"
        "GRANT SELECT ON VIEW a.big TO ROLE reader",
    ),
    "drop stream": Killed("DROP STREAM a.changes", "UNDROP STREAM a.changes"),
    "rename table": Killed(
        "ALTER TABLE a.gone RENAME TO a.away", "ALTER TABLE a.away RENAME TO a.gone"
    ),
    "view of a role": Killed(
        f"{_AS_MAKER}; CREATE VIEW b.mine AS SELECT g FROM a.src; USE ROLE admin",
        "DROP VIEW b.mine",
    ),
    "stream of a role": Killed(
        f"{_AS_MAKER}; CREATE STREAM b.mine ON TABLE a.src; USE ROLE admin", "DROP STREAM b.mine"
    ),
    "dynamic table of a role": Killed(
        f"{_AS_MAKER}; CREATE DYNAMIC TABLE b.mine TARGET_LAG = '1 hour' AS SELECT g FROM a.src;"
        "USE ROLE admin",
        "DROP DYNAMIC TABLE b.mine",
    ),
    "rename schema": Killed("ALTER SCHEMA a RENAME TO c", "ALTER SCHEMA c RENAME TO a"),
}
AT_EACH_CHANGE = 0
"""So many statements, each killed in its middle; at all of its points by night."""


@dataclass
class Shop:
    """A lake with an engine on it, and processes to kill beside."""

    lab: Lab
    forked: Forked

    def run(self, statement: str, failpoint: str = "") -> list[str]:
        """In another process: the points that it passed; none of one that was killed."""
        self.forked.ask("", statement=statement, failpoint=failpoint)
        self.forked.go()
        status, told = self.forked.ended()
        assert status == (-signal.SIGKILL if failpoint else 0), self.forked.errors
        return told

    def reopen(self) -> None:
        self.lab.engine.close()
        drop_schemas(self.lab)
        self.lab.reopen()

    def state(self) -> dict[str, object]:
        """All that a user can see of the lake, and what lies on the disk."""
        lab, catalog = self.lab, self.lab.context.catalog
        lab.sql("SELECT 1")  # before each statement what others left is settled
        tables = {str(t.name): t for t in catalog.list()}
        assert lab.left() == []
        assert not catalog.quarantine.all()
        names = self.names()
        objects = (catalog.streams(), catalog.sinks(), catalog.tasks())
        return {
            "rows": {name: lab.rows(name) for name in names},
            "queries": {name: t.definition.query for name, t in tables.items()},
            "lags": {name: t.target_lag for name, t in tables.items()},
            "options": {n: (t.retention_days, t.cluster_by) for n, t in tables.items()},
            "properties": {name: self.properties(t.id) for name, t in tables.items()},
            "others": sorted(str(o.name) for found in objects for o in found),
            "grants": sorted(f"{g.role}: {g.right} {g.on}" for g in catalog.rights().grants),
            "warehouses": [w.name for w in catalog.warehouses()],
            "known": sorted(str(n) for n in lab.context.publisher.known_tables()),
            "views": sorted((str(v.name), v.text) for v in catalog.views()),
            "trash": sorted(f.name for f, _ in list_folders(lab.context.layout.trash)),
            "orphans": self.orphans(),
        }

    def names(self) -> list[str]:
        """By which Spark knows something; the catalog has the same."""
        spark, context = self.lab.spark, self.lab.context
        found = [
            f"{schema}.{row['tableName']}"
            for schema in SCHEMAS
            if spark.catalog.databaseExists(schema)
            for row in spark.sql(f"SHOW TABLES IN {schema}").collect()
        ]
        known = [o.name for o in (*context.catalog.list(), *context.catalog.views())]
        assert sorted(found) == sorted(map(str, [*known, *context.publisher.known_tables()]))
        return sorted(found)

    def properties(self, dt_id: str) -> list[tuple[str, str]]:
        """Of the tables behind a dynamic table, for how long they keep their past."""
        layout, logs = self.lab.context.layout, self.lab.context.sources.logs
        stages = (Path(s.path) for s in self.lab.context.catalog.stages(dt_id))
        found = [
            (key, value)
            for path in (layout.public(dt_id), *stages)
            for key, value in logs[str(path)].metadata().configuration.items()
        ]
        return sorted((key, value) for key, value in found if "etention" in key)

    def orphans(self) -> set[str]:
        """Folders of dynamic tables that the catalog does not know."""
        own = self.lab.context.layout.own / "dynamic"
        known = {t.id for t in self.lab.context.catalog.list(include_dropped=True)}
        return {p.name for p in own.iterdir()} - known


def drop_schemas(lab: Lab) -> None:
    """Of the session alone: the tables lie in the lake."""
    for schema in SCHEMAS:
        lab.spark.sql(f"DROP DATABASE IF EXISTS {schema} CASCADE")


@pytest.fixture
def shop(quick_lab: Lab, tmp_path: Path) -> Iterator[Shop]:
    lab = quick_lab
    lab.sql(SETUP.format(tables=lab.context.layout.tables))
    with Forked.on(lab.spark, lab.folder, tmp_path / "said") as forked:
        yield Shop(lab, forked)
    drop_schemas(lab)


def run(lab: Lab, statement: str) -> None:
    """As a process of `forked` does."""
    script = statement.removeprefix("apply:")
    if script != statement:
        lab.engine.apply(lab.engine.plan(script))
    else:
        lab.sql(statement)


def killed_at_each(shop: Shop, case: Killed, *, everywhere: bool) -> None:
    if case.before:
        shop.lab.sql(case.before)
    before = shop.state()
    points = shop.run(case.statement)
    shop.reopen()
    after = shop.state()
    assert differs(after, before)
    shop.lab.sql(case.back)
    before = shop.state()
    chosen = points if everywhere else [points[len(points) // 2]]
    for number, point in enumerate(dict.fromkeys(chosen)):
        shop.run(case.statement, point)
        if number % 2:
            shop.reopen()
        found = shop.state()
        if differs(found, before):
            assert_same(found, after, point)
            shop.lab.sql(case.back)
            before = shop.state()
    run(shop.lab, case.statement)
    assert_same(shop.state(), after, "none")
    shop.lab.verified(*(str(t.name) for t in shop.lab.context.catalog.list()))


def assert_same(found: dict[str, object], after: dict[str, object], point: str) -> None:
    assert not (keys := differs(found, after)), (point, [(found[k], after[k]) for k in keys])


def differs(found: dict[str, object], other: dict[str, object]) -> list[str]:
    """In what; but for the numbers of folders in the trash."""
    return [key for key in found if key != "trash" and found[key] != other[key]]


@pytest.mark.parametrize("name", some(AT_EACH_CHANGE, STATEMENTS))
def test_a_statement_that_is_killed_happens_whole_or_not_at_all(
    shop: Shop, name: str, request: pytest.FixtureRequest
) -> None:
    nightly = "nightly" in (request.config.option.markexpr or "")
    killed_at_each(shop, STATEMENTS[name], everywhere=nightly)


@pytest.mark.nightly
@pytest.mark.parametrize("second", ["CREATE SCHEMA d CLONE a", "ALTER SCHEMA a RENAME TO d"])
def test_two_processes_that_are_killed_while_they_have_one_schema(
    shop: Shop, tmp_path: Path, second: str
) -> None:
    """Both at once, at five pairs of points, one before the other and behind it."""
    lab, first = shop.lab, "CREATE SCHEMA c CLONE a"
    with Forked.on(lab.spark, lab.folder, tmp_path / "other") as other:
        sides = Shop(lab, shop.forked), Shop(lab, other)
        points = [side.run(text) for side, text in zip(sides, (first, second), strict=True)]
        shop.reopen()
        lab.sql("DROP SCHEMA c CASCADE")
        lab.sql("DROP SCHEMA d CASCADE" if "CLONE" in second else "ALTER SCHEMA d RENAME TO a")
        names = [str(t.name) for t in lab.context.catalog.list()]
        lab.verified(*names)
        before = shop.state()
        for number, share in enumerate((0.1, 0.3, 0.5, 0.7, 0.9)):
            pair = [at[int(len(at) * s)] for at, s in zip(points, (share, 1 - share), strict=True)]
            for side, text, point in zip(sides, (first, second), pair, strict=True):
                side.forked.ask("", statement=text, failpoint=point)
            for side in sides:
                side.forked.go()
            for side in sides:
                status, _ = side.forked.ended()
                assert status in (-signal.SIGKILL, 1), side.forked.errors  # or it was refused
            if number % 2:
                shop.reopen()
            found = shop.state()
            if "d.sums" in found["rows"]:  # type: ignore[operator]
                assert "CLONE" not in second, pair
                lab.sql("ALTER SCHEMA d RENAME TO a")
                found = shop.state()
            assert_same(found, before, str(pair))
            lab.verified(*names)
        lab.sql(first)
        assert lab.rows("c.sums") == lab.rows("a.sums")


@pytest.mark.nightly
def test_a_statement_of_a_process_that_lives_is_left_alone(shop: Shop) -> None:
    lab = shop.lab
    shop.forked.ask("", statement="CREATE SCHEMA c CLONE a", failpoint="catalog_written:3")
    lab.sql("SELECT 1")
    with lab.context.log.begin("CREATE SCHEMA c CLONE a") as record:
        lab.context.log.recover()
        lab.engine.sql("SELECT 1")
        record.will("schema made", schema="c")
    assert lab.left() == []
    shop.forked.go()
    assert shop.forked.ended()[0] == -signal.SIGKILL
    assert lab.context.catalog.unfinished()
    lab.sql("CREATE SCHEMA IF NOT EXISTS c CLONE a")
    assert lab.rows("c.sums") == lab.rows("a.sums")


@pytest.mark.nightly
@pytest.mark.parametrize("name", STATEMENTS)
def test_one_that_fails_or_is_interrupted_at_its_end_is_undone_at_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, catalog = STATEMENTS[name], shop.lab.context.catalog
    if case.before:
        shop.lab.sql(case.before)
    before = shop.state()
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):
        failures, ending = [error], catalog.end_statement

        def fail(
            intent_id: str,
            failures: list[BaseException] = failures,
            ending: Callable[[str], bool] = ending,
        ) -> bool:
            if failures:
                raise failures.pop()
            return ending(intent_id)

        monkeypatch.setattr(catalog, "end_statement", fail)
        with suppress(OSError, KeyboardInterrupt, DTError):
            run(shop.lab, case.statement)
        if differs(shop.state(), before):  # it was done, or completed
            shop.lab.sql(case.back)
        assert_same(shop.state(), before, str(error))
        monkeypatch.setattr(catalog, "end_statement", ending)


@pytest.mark.nightly
def test_a_table_that_spark_moves_with_its_name_is_known_by_the_new_one(shop: Shop) -> None:
    lab = shop.lab
    folder = lab.context.layout.tables / "b.db"
    lab.sql(
        f"DROP SCHEMA b; CREATE SCHEMA b LOCATION '{folder}';"
        "CREATE TABLE b.x (v INT); INSERT INTO b.x VALUES (1)"
    )
    before = shop.state()
    shop.run("ALTER TABLE b.x RENAME TO b.y", "catalog_written:2")
    assert not differs(shop.state(), before)
    shop.run("ALTER TABLE b.x RENAME TO b.y", "catalog_written:3")
    lab.sql("SELECT 1")
    assert lab.rows("b.y") == [(1,)]
    recorded = {str(t.name): t.path for t in lab.context.catalog.tables()}
    assert recorded["b.y"] == str(folder / "y")
    assert "b.x" not in recorded
    assert "b.x" not in shop.state()["rows"]  # type: ignore[operator]
