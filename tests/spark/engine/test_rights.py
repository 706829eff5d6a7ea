"""Who has no right on a table learns nothing of its rows, whichever way is tried; who has one right
on a view of it has that, and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from dt_jupyter.dispatch import Desk
from dt_jupyter.model import DTError, Name
from dt_jupyter.spark import PlanRead, of_frame
from dt_jupyter.wire import Ask, Request
from tests.spark.engine_lab import Lab

SECRET = "hush-4711"
DENIED = {"DT-5201", "DT-5207", "DT-5208"}
WORLD = f"""
CREATE TABLE secret (id INT, word STRING) USING delta;
INSERT INTO secret VALUES (1, '{SECRET}'), (2, 'b');
CREATE VIEW peek AS SELECT * FROM secret;
CREATE STREAM news ON TABLE secret;
CREATE TABLE plain (id INT) USING delta;
INSERT INTO plain VALUES (1);
INSERT INTO secret VALUES (3, '{SECRET}');
CREATE DYNAMIC TABLE counted AS SELECT word, count(*) AS n FROM secret GROUP BY word;
CREATE TEMPORARY VIEW fleeting AS SELECT * FROM secret;
CREATE FUNCTION most() RETURNS STRING RETURN (SELECT max(word) FROM secret);
CREATE ROLE nobody;
CREATE ROLE reader;
GRANT SELECT ON TABLE plain TO ROLE public;
GRANT INSERT, UPDATE, DELETE ON TABLE plain TO ROLE nobody;
GRANT CREATE ON SCHEMA default TO ROLE nobody;
GRANT MONITOR ON DYNAMIC TABLE counted TO ROLE reader;
"""


@contextmanager
def role(lab: Lab, name: str) -> Iterator[None]:
    lab.sql(f"USE ROLE {name}")
    try:
        yield
    finally:
        lab.sql("USE ROLE admin")


@pytest.fixture(scope="module")
def world(shared_lab: Lab) -> Iterator[Lab]:
    shared_lab.sql(WORLD)
    yield shared_lab
    shared_lab.sql("DROP FUNCTION most; DROP VIEW IF EXISTS fleeting")


def code_of(run: Callable[[], Any]) -> str | None:
    """The error's code, whose text has no row; None where there is none."""
    try:
        run()
    except DTError as e:
        told = f"{e} {e.details} {e.__cause__}"
        return e.code if SECRET not in told else told
    return None


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM secret",
        "SELECT * FROM peek",
        "SELECT * FROM counted",
        "SELECT * FROM news",
        "SELECT * FROM fleeting",
        "SELECT nothing FROM secret",
        "SELECT /* FROM plain */ (SELECT max(word) FROM\n  `secret`) FROM plain",
        "SELECT id FROM plain WHERE EXISTS (SELECT 1 FROM secret WHERE word LIKE 'h%')",
        "WITH plain AS (SELECT * FROM secret) SELECT * FROM plain",
        "SELECT * FROM IDENTIFIER('sec' || 'ret')",
        "EXECUTE IMMEDIATE 'SELECT * FROM secret'",
        "BEGIN SELECT * FROM secret; END",
        "SELECT most()",
        "FROM secret |> WHERE id = 1",
        "TABLE secret",
        "SELECT * FROM secret AT (VERSION => 1)",
        "SELECT * FROM plain AT (VERSION => (SELECT max(id) FROM secret))",
        "SELECT * FROM secret VERSION AS OF 1",
        "SELECT * FROM table_changes('secret', 0)",
        "SELECT * FROM secret CHANGES AT (VERSION => 1)",
        "SELECT * FROM counted CHANGES AT (VERSION => 0)",
        "SELECT * FROM (SELECT word FROM secret) CHANGES AT (VERSION => 1)",
        "SELECT * FROM plain AT (STREAM => 'news')",
        "SELECT SYSTEM$STREAM_HAS_DATA('news')",
        "EXPLAIN SELECT * FROM secret",
        "EXPLAIN EXTENDED SELECT * FROM secret CHANGES AT (VERSION => 1)",
        "EXPLAIN DYNAMIC TABLE counted",
        "EXPLAIN CREATE DYNAMIC TABLE x AS SELECT * FROM secret",
        "DESCRIBE secret",
        "DESCRIBE HISTORY secret",
        "DESCRIBE QUERY SELECT * FROM secret",
        "DESCRIBE DYNAMIC TABLE counted",
        "DESCRIBE STREAM news",
        "SHOW COLUMNS IN secret",
        "CREATE DYNAMIC TABLE x AS SELECT * FROM secret",
        "CREATE DYNAMIC TABLE x AS SELECT * FROM peek",
        "CREATE DYNAMIC TABLE x AS SELECT CAST(word AS INT) AS i FROM secret",
        "CREATE DYNAMIC TABLE x CLONE counted",
        "CREATE STREAM x ON TABLE secret",
        "CREATE SINK x FROM TABLE secret INTO 'sqlite:///tmp/nowhere.db'",
        "CREATE TABLE x AS SELECT * FROM secret",
        "CREATE TABLE x SHALLOW CLONE secret",
        "CREATE VIEW x AS SELECT * FROM secret",
        "CREATE TEMPORARY VIEW x AS SELECT * FROM secret",
        "CACHE TABLE secret",
        "INSERT INTO plain SELECT id FROM secret",
        "MERGE INTO plain USING secret s ON plain.id = s.id WHEN MATCHED THEN DELETE",
        "DELETE FROM plain WHERE id IN (SELECT id FROM secret)",
        "FROM secret INSERT INTO plain SELECT id",
        "BEGIN; INSERT INTO plain SELECT id FROM secret",
        "INSERT INTO secret VALUES (9, 'x')",
        "UPDATE secret SET word = 'x'",
        "DELETE FROM secret",
        "TRUNCATE TABLE secret",
        "DROP TABLE secret",
        "ALTER TABLE secret ADD COLUMN x INT",
        "ALTER TABLE secret RENAME TO open",
        "CREATE OR REPLACE TABLE secret (id INT)",
        "CREATE OR REPLACE VIEW peek AS SELECT 1 AS id",
        "OPTIMIZE secret",
        "RESTORE TABLE secret TO VERSION AS OF 1",
        "VACUUM secret",
        "ALTER DYNAMIC TABLE counted REFRESH",
        "ALTER DYNAMIC TABLE counted SUSPEND",
        "DROP DYNAMIC TABLE counted",
        "DROP STREAM news",
        "GRANT SELECT ON TABLE secret TO ROLE nobody",
        "GRANT ROLE admin TO ROLE nobody",
        "CREATE ROLE another",
        "CREATE SCHEMA x CLONE default",
        "CREATE STREAM x CLONE news",
        "CREATE TASK x AS INSERT INTO plain SELECT id FROM secret",
        "CREATE TASK x AS BEGIN INSERT INTO plain VALUES (1); DELETE FROM secret; END",
        "CREATE TASK x WHEN SYSTEM$STREAM_HAS_DATA('news') AS INSERT INTO plain VALUES (1)",
        "CREATE TASK x AS INSERT INTO plain SELECT id FROM news",
        "CREATE TASK x AS DROP TABLE secret",
        "SELECT * FROM secret AT (VERSION => 1, archive => TRUE)",
    ],
)
def test_a_statement_of_a_role_without_rights_is_refused(world: Lab, statement: str) -> None:
    with role(world, "nobody"):
        try:
            assert code_of(lambda: world.engine.sql(statement).collect()) in DENIED
        finally:
            if world.context.transactions.current is not None:
                world.context.transactions.rollback()
    assert world.context.catalog.list()[0].name.table == "counted"


def test_what_a_plan_reads_is_all_that_spark_says_of_it(world: Lab) -> None:
    """Each table that `TreeNode.toJSON` names anywhere in a plan is among those that are asked
    for."""
    for text in (
        "SELECT * FROM peek p JOIN secret s USING (id) WHERE id IN (SELECT id FROM plain)",
        "SELECT most(), (SELECT max(n) FROM counted) FROM plain",
        "WITH a AS (SELECT * FROM fleeting), b AS (SELECT * FROM a) SELECT * FROM b, a, LATERAL"
        " (SELECT count(*) FROM plain WHERE plain.id = a.id)",
        "SELECT id FROM plain ORDER BY (SELECT max(id) FROM secret) - id",
        "SELECT max(id) FILTER (WHERE id > (SELECT min(id) FROM secret)) OVER () FROM plain",
        "SELECT id FROM plain UNION SELECT id FROM peek EXCEPT SELECT 1 FROM secret",
        "SELECT * FROM table_changes('secret', 0), secret VERSION AS OF 1",
        "FROM secret |> AGGREGATE count(*) AS n GROUP BY word |> JOIN plain ON id = n",
    ):
        frame = world.spark.sql(text)
        read = set(_names_of(of_frame(frame).facts.reads))
        told = set(_named_in(json.loads(frame._jdf.queryExecution().analyzed().toJSON())))
        assert read == told != set(), text


def _names_of(reads: tuple[PlanRead, ...]) -> Iterator[str]:
    for read in reads:
        if read.name is not None:
            yield read.name.table
        yield from _names_of(read.inner)


def _named_in(value: Any) -> Iterator[str]:
    """The tables and lasting views in a plan as Spark's JSON."""
    if isinstance(value, dict):
        if value.get("database"):
            yield value["table"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _named_in(each)


def test_files_are_no_way_round(world: Lab) -> None:
    """The folder of a table, and of a dynamic table's rows; and a table made over them."""
    layout = world.context.layout
    base = world.context.catalog.tables()
    folder = next(t.path for t in base if t.name.table == "secret")
    public = layout.public(world.engine.table("counted").id)
    with role(world, "nobody"):
        for path in (folder, str(public), f"{folder}/../secret"):
            for statement in (
                f"SELECT * FROM delta.`{path}`",
                f"SELECT * FROM parquet.`{path}`",
                f"SELECT (SELECT max(word) FROM delta.`{path}`) FROM plain",
                f"SELECT * FROM delta.`{path}` AT (VERSION => 0)",
                f"CREATE TABLE x USING delta LOCATION '{path}'",
                f"CREATE TABLE x (id INT) USING parquet OPTIONS (path '{path}')",
                f"INSERT INTO delta.`{path}` SELECT 1, 'x'",
                f"DESCRIBE HISTORY delta.`{path}`",
            ):
                asked = partial(lambda s: world.engine.sql(s).collect(), statement)
                assert code_of(asked) in DENIED, statement


def test_methods_ask_as_statements_do(world: Lab) -> None:
    dt = world.engine
    with role(world, "nobody"):
        for ask in (
            lambda: dt.changes("secret", 1).collect(),
            lambda: dt.query_changes("SELECT * FROM secret", 1),
            lambda: dt.replay("secret", 1, "now"),
            lambda: dt.replay("news"),
            lambda: dt.replay_refresh("counted"),
            lambda: dt.diff("secret", 1, 2),
            lambda: dt.pin("p", "secret"),
            lambda: dt.profile("secret"),
            lambda: dt.rows("secret"),
            lambda: dt.compare("plain", "secret"),
            lambda: dt.compare("counted"),
            lambda: dt.verify("counted"),
            lambda: dt.explain("counted"),
            lambda: dt.refresh("counted"),
            lambda: dt.table("counted"),
            lambda: dt.lag("counted"),
            lambda: dt.lineage("counted"),
            lambda: dt.consume("news", lambda frame: None),
            lambda: dt.create_sink("x", "secret", "sqlite:///tmp/nowhere.db"),
            lambda: dt.archive("secret", to="nowhere"),
            dt.archives,
            lambda: dt.attach_archive("nowhere"),
            lambda: dt.plan("CREATE DYNAMIC TABLE x AS SELECT * FROM secret"),
            dt.vacuum,
            dt.export,
        ):
            assert code_of(ask) in DENIED


def test_the_panel_asks_too(world: Lab) -> None:
    desk = Desk(lambda: world.engine)
    opened = desk.answer(Request(1, Ask.REPLAY, "secret")).to_json()["message"]
    with role(world, "nobody"):
        of_rows = (Ask.PROFILE, Ask.REPLAY, Ask.TABLE_ROWS)
        for ask in (*of_rows, Ask.DETAIL, Ask.LAG, Ask.LINEAGE, Ask.REFRESH):
            name = "secret" if ask in of_rows else "counted"
            told = desk.answer(Request(1, ask, name)).to_json()["message"]
            assert told["code"] == "DT-5201", told
        for ask in (Ask.SIMULATE, Ask.REFRESH_FULL, Ask.CANCEL, Ask.SUSPEND, Ask.RESUME, Ask.ALTER,
                    Ask.DROP, Ask.PIN, Ask.EXPORT):  # fmt: skip
            asked = Request(1, ask, "counted", pin="p")
            assert desk.answer(asked).to_json()["message"]["code"] in DENIED, ask
        found = Request(1, Ask.ROWS, replay=opened["replay"], step=0)
        assert desk.answer(found).to_json()["message"]["code"] == "DT-5201"
        for ask in (Ask.GRAPH, Ask.CATALOGUE, Ask.FRONTIERS, Ask.STREAMS):
            told = str(desk.answer(Request(1, ask)).to_json())
            assert not any(word in told for word in ("secret", "counted", "news", "peek")), told
    desk.close()


def test_what_one_may_not_see_is_not_listed_or_suggested(world: Lab) -> None:
    with role(world, "nobody"):
        for listed in (
            "SHOW DYNAMIC TABLES",
            "SHOW STREAMS",
            "SELECT * FROM TABLE(DYNAMIC_TABLE_REFRESH_HISTORY())",
            "SELECT * FROM TABLE(DYNAMIC_TABLE_GRAPH_HISTORY())",
        ):
            assert world.sql(listed) == []
        assert [row[1] for row in world.sql("SHOW TABLES") if not row[2]] == ["plain"]
        for asked in ("SELECT * FROM secre", "ALTER DYNAMIC TABLE counte REFRESH"):
            with pytest.raises(DTError) as e:
                world.sql(asked)
            assert "secret" not in e.value.hint
            assert "counted" not in e.value.hint
        assert "plain" in code_hint(world, "SELECT * FROM plai")


def code_hint(lab: Lab, statement: str) -> str:
    with pytest.raises(DTError) as e:
        lab.sql(statement)
    return e.value.hint


def test_monitor_sees_state_without_rows(world: Lab) -> None:
    with role(world, "reader"):
        assert [row[0] for row in world.sql("SHOW DYNAMIC TABLES")] == ["counted"]
        history = "SELECT STATE FROM TABLE(DYNAMIC_TABLE_REFRESH_HISTORY(NAME => 'counted'))"
        assert world.sql(history) == [("SUCCEEDED",)]
        assert world.engine.records("counted")[0].name.table == "counted"
        assert world.engine.graph().nodes[0].table is not None
        assert code_of(lambda: world.sql("SELECT * FROM counted")) == "DT-5201"
        assert code_of(lambda: world.sql("ALTER DYNAMIC TABLE counted REFRESH")) == "DT-5201"


def test_current_role_and_what_is_granted(world: Lab) -> None:
    assert world.sql("SELECT CURRENT_ROLE()") == [("admin",)]
    with role(world, "reader"):
        frame = world.engine.sql("SELECT CURRENT_ROLE()")
        assert (frame.columns, frame.first()[0]) == (["CURRENT_ROLE()"], "reader")  # type: ignore[index]
        granted = {(r[1], r[3], r[5]) for r in world.sql("SHOW GRANTS")}
        assert granted == {("MONITOR", "counted", "reader"), ("SELECT", "plain", "public")}
    assert len(world.sql("SHOW GRANTS ON TABLE plain")) == 4
    told = world.sql("GRANT SELECT ON TABLE plain TO ROLE public")[0][0]
    assert "mistakes" in told
    assert "service" in told


def test_a_dynamic_table_runs_with_its_owners_role(quick_lab: Lab) -> None:
    """What its owner may not read any more fails its refresh, and is read again once it may."""
    lab = quick_lab
    lab.sql(
        "CREATE TABLE orders (id INT, n INT) USING delta; INSERT INTO orders VALUES (1, 1);"
        "CREATE ROLE maker; CREATE ROLE reader; GRANT SELECT ON TABLE orders TO ROLE maker;"
        "GRANT CREATE DYNAMIC TABLE, CREATE VIEW ON SCHEMA default TO ROLE maker"
    )
    with role(lab, "maker"):
        lab.sql("CREATE DYNAMIC TABLE d AS SELECT id, sum(n) AS n FROM orders GROUP BY id")
        lab.sql("CREATE VIEW v AS SELECT id FROM orders")
        lab.sql("GRANT SELECT ON DYNAMIC TABLE d TO ROLE reader")
        lab.sql("GRANT SELECT ON VIEW v TO ROLE reader")
    with role(lab, "reader"):
        assert lab.sql("SELECT * FROM d") == [(1, 1)]
        assert lab.sql("SELECT * FROM v") == [(1,)]
        assert lab.sql("SELECT count(*) FROM d CHANGES AT (VERSION => 0)") == [(1,)]
        assert code_of(lambda: lab.sql("SELECT * FROM orders")) == "DT-5201"
        assert code_of(lambda: lab.engine.verify("d")) == "DT-5201"
    lab.insert("orders", "1, 2")
    lab.sql("REVOKE SELECT ON TABLE orders FROM ROLE maker")
    record = lab.record("d")
    assert record.error_code == "DT-5202"
    assert record.error is not None
    assert all(word in record.error for word in ("role maker", "SELECT", "table orders"))
    with role(lab, "reader"):
        assert code_of(lambda: lab.sql("SELECT * FROM v")) == "DT-5201"
        assert lab.sql("SELECT * FROM d") == [(1, 1)]
    lab.sql("GRANT SELECT ON TABLE orders TO ROLE maker")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")
    lab.insert("orders", "2, 2")
    with role(lab, "maker"):
        assert lab.sql("ALTER DYNAMIC TABLE d REFRESH")[0][1] == "INCREMENTAL"
        assert lab.refresh("d") == "NO_DATA"


def test_what_a_text_reads_is_asked_anew_each_time(quick_lab: Lab) -> None:
    """The same text is run before and after its names mean something else, or the right is gone."""
    lab, text = quick_lab, "SELECT count(*) FROM eye"
    lab.sql(
        "CREATE TABLE hid (id INT) USING delta; CREATE TABLE open (id INT) USING delta;"
        "CREATE ROLE maker; CREATE ROLE r; CREATE SCHEMA aside; CREATE VIEW aside.eye AS SELECT 1;"
        "GRANT SELECT ON TABLE open TO ROLE maker; GRANT CREATE ON SCHEMA default TO ROLE maker"
    )
    with role(lab, "maker"):
        lab.sql("CREATE VIEW eye AS SELECT * FROM open; GRANT SELECT ON VIEW eye TO ROLE r")

    def outcome() -> str | None:
        with role(lab, "r"):
            return code_of(lambda: lab.engine.sql(text))

    def poisoned(change: Callable[[], Any], cure: Callable[[], Any]) -> None:
        assert outcome() is None
        change()
        assert outcome() == "DT-5201"
        cure()
        assert outcome() is None

    def run(script: str) -> Callable[[], Any]:
        return lambda: lab.sql(script)

    poisoned(  # a view of its owner's, over what its owner may not read
        lambda: lab.spark.sql("CREATE OR REPLACE VIEW eye AS SELECT * FROM hid"),
        lambda: lab.spark.sql("CREATE OR REPLACE VIEW eye AS SELECT * FROM open"),
    )
    poisoned(  # behind the engine's back
        lambda: lab.spark.table("hid").createOrReplaceTempView("eye"),
        run("DROP VIEW eye"),
    )
    poisoned(run("USE SCHEMA aside"), run("USE SCHEMA default"))
    poisoned(
        run("ALTER VIEW eye RENAME TO eye2; ALTER TABLE hid RENAME TO eye"),
        run("ALTER TABLE eye RENAME TO hid; ALTER VIEW eye2 RENAME TO eye"),
    )
    poisoned(
        run("REVOKE SELECT ON TABLE open FROM ROLE maker"),
        run("GRANT SELECT ON TABLE open TO ROLE maker"),
    )
    poisoned(lambda: _revoke_elsewhere(lab), run("GRANT SELECT ON VIEW eye TO ROLE r"))
    with role(lab, "r"):
        lab.sql("CREATE TEMPORARY VIEW mine AS SELECT * FROM eye")
    text = "SELECT count(*) FROM mine"
    poisoned(run("REVOKE SELECT ON VIEW eye FROM ROLE r"), run("GRANT ALL ON VIEW eye TO ROLE r"))


_PROCESS = """
import sys
from pathlib import Path
from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import Name, Named, Right, Securable, Clock

catalog = Catalog(Path(sys.argv[1]), Clock(), Owner.here("other"), lake=Path(sys.argv[2]))
assert catalog.revoke("r", [Right.SELECT], Securable.of(Named.VIEW, Name("default", "eye")))
"""


def _revoke_elsewhere(lab: Lab) -> None:
    """In another process."""
    layout = lab.context.layout
    words = [sys.executable, "-c", _PROCESS, str(layout.catalog), str(layout.lake)]
    subprocess.run(words, check=True, timeout=60)


def test_a_sink_and_a_task_run_with_their_owners_role(
    quick_lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lab, store = quick_lab, tmp_path_factory.mktemp("store") / "a.db"
    lab.sql("CREATE TABLE t (id INT NOT NULL) USING delta; INSERT INTO t VALUES (1)")
    lab.sql("CREATE TABLE u (id INT) USING delta; CREATE ROLE r")
    lab.sql(
        "GRANT SELECT ON TABLE t TO ROLE r; GRANT INSERT ON TABLE u TO ROLE r;"
        "GRANT CREATE SINK, CREATE TASK ON SCHEMA default TO ROLE r"
    )
    with role(lab, "r"):
        lab.sql(f"CREATE SINK k FROM TABLE t INTO 'sqlite://{store}' KEY (id)")
        lab.sql("CREATE TASK job AS INSERT INTO u SELECT id FROM t")
        lab.sql("EXECUTE TASK job")
    lab.sql("REVOKE SELECT ON TABLE t FROM ROLE r; INSERT INTO t VALUES (2)")
    for statement in ("ALTER SINK k REFRESH", "EXECUTE TASK job"):
        with pytest.raises(DTError) as e:
            lab.sql(statement)
        assert "Role r has no SELECT on table t" in str(e.value)
    lab.sql("CREATE ROLE w; GRANT MONITOR ON SINK k TO ROLE w; GRANT MONITOR ON TASK job TO ROLE w")
    histories = [f"SELECT * FROM TABLE({f}())" for f in ("SINK_HISTORY", "TASK_HISTORY")]
    ways = [*((lambda h=h: lab.sql(h)) for h in ("SHOW SINKS", *histories)),
            lambda: [n.obstacle or n.task or n.sink for n in lab.engine.graph().nodes],
            lambda: lab.engine.lag("k").records]  # fmt: skip
    for way in ways:
        assert "Role r has no SELECT" in str(way())
        with role(lab, "w"):
            told = str(way())
        assert "Role r has no SELECT" not in told
        assert "may show rows" in told
    assert lab.sql("SELECT count(*) FROM u") == [(1,)]
    lab.sql("GRANT SELECT ON TABLE t TO ROLE r; ALTER SINK k REFRESH; EXECUTE TASK job")
    assert lab.sql("SELECT count(*) FROM u") == [(3,)]
    lab.sql("DROP SINK k; DROP TASK job")


MADE = {
    "TABLE": "CREATE TABLE made AS SELECT * FROM open",
    "VIEW": "CREATE VIEW seen AS SELECT * FROM open",
    "DYNAMIC TABLE": "CREATE DYNAMIC TABLE kept AS SELECT id FROM open",
    "STREAM": "CREATE STREAM news ON TABLE open",
    "SINK": "CREATE SINK out FROM TABLE open INTO 'sqlite://{store}' KEY (id)",
    "TASK": "CREATE TASK job AS INSERT INTO made SELECT id FROM open",
}


def test_who_may_make_what_where_and_owns_it(
    quick_lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lab, folder = quick_lab, tmp_path_factory.mktemp("made")
    dt, store = lab.engine, folder / "a.db"
    lab.sql(
        "CREATE TABLE open (id INT NOT NULL) USING delta; INSERT INTO open VALUES (1);"
        "CREATE TABLE hid (id INT) USING delta; CREATE ROLE maker; CREATE ROLE heir;"
        "GRANT SELECT ON TABLE open TO ROLE maker"
    )
    made = {kind: statement.format(store=store) for kind, statement in MADE.items()}
    with role(lab, "maker"):
        for kind, statement in made.items():
            with pytest.raises(DTError) as e:
                lab.sql(statement)
            assert f"Role maker has no CREATE {kind} on schema default." in str(e.value)
            assert f"GRANT CREATE {kind} ON SCHEMA default TO ROLE maker" in e.value.hint
        assert (
            code_of(lambda: dt.create_stream(Name("default", "news"), "SELECT id FROM open"))
            == "DT-5201"
        )
        lab.sql("CREATE TEMPORARY VIEW brief AS SELECT * FROM open; DROP VIEW brief")
        assert [r[1] for r in lab.sql("SHOW TABLES")] == ["open"]
    lab.sql("GRANT CREATE VIEW ON SCHEMA default TO ROLE maker")
    with role(lab, "maker"):
        assert code_of(lambda: lab.sql(made["TABLE"])) == "DT-5201"
        lab.sql(made.pop("VIEW"))
        assert [r[1] for r in lab.sql("SHOW TABLES")] == ["open", "seen"], "the right shows nothing"
    lab.sql("GRANT CREATE ON SCHEMA default TO ROLE maker")
    with role(lab, "maker"):
        lab.sql(f"{'; '.join(made.values())}; CREATE WAREHOUSE w; CREATE SCHEMA mine")
        lab.sql("ALTER DYNAMIC TABLE kept RENAME TO mine.kept")  # a schema of its own
        lab.sql("CREATE DYNAMIC TABLE mine.twin CLONE mine.kept; CREATE STREAM again CLONE news")
        assert code_of(lambda: lab.sql("SELECT * FROM mine.twin")) is None
        with pytest.raises(DTError) as e:
            lab.sql("ALTER TASK job MODIFY AS INSERT INTO made SELECT id FROM hid")
        assert e.value.code == "DT-5201"
        assert e.value.span is not None
        assert "FROM hid"[5:] == e.value.query[e.value.span.start : e.value.span.end]
        archived = dt.archive("open", to=folder / "archive")
        assert archived.rows == 1
    shown = {"DYNAMIC TABLES": "kept", "STREAMS": "news", "SINKS": "out", "TASKS": "job",
             "WAREHOUSES": "w"}  # fmt: skip

    def owners() -> set[str]:
        frames = [dt.sql(f"SHOW {kind} LIKE '{name}'") for kind, name in shown.items()]
        return {row["OWNER"] for frame in frames for row in frame.select("OWNER").collect()}

    assert owners() == {"maker"}
    for on in ("DYNAMIC TABLE mine.kept", "STREAM news", "SINK out", "TASK job", "WAREHOUSE w"):
        lab.sql(f"GRANT OWNERSHIP ON {on} TO ROLE heir")
    assert owners() == {"heir"}
    lab.sql("REVOKE CREATE ON SCHEMA default FROM ROLE maker; GRANT ROLE admin TO ROLE heir")
    with role(lab, "maker"):
        rename = "ALTER DYNAMIC TABLE mine.twin RENAME TO twin"
        assert code_of(lambda: lab.sql(rename)) == "DT-5201", "another schema"
        assert code_of(lambda: lab.sql("DROP TASK job")) == "DT-5201"
    with role(lab, "heir"):
        assert dt.plan("CREATE DYNAMIC TABLE x AS SELECT id FROM hid").changes
        assert dt.archives().found
    lab.sql("DROP SINK out; DROP TASK job")


def test_grants_follow_their_object(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql(
        "CREATE ROLE a; CREATE ROLE b; CREATE ROLE c; GRANT ROLE a TO ROLE b;"
        "GRANT CREATE DYNAMIC TABLE ON SCHEMA default TO ROLE a"
    )
    lab.sql("CREATE TABLE t (id INT) USING delta; INSERT INTO t VALUES (1)")
    lab.sql("CREATE TABLE u (id INT) USING delta; GRANT SELECT ON TABLE t TO ROLE a")
    with role(lab, "b"):  # which has what a has
        assert lab.sql("SELECT * FROM t") == [(1,)]
        lab.sql(
            "CREATE DYNAMIC TABLE d AS SELECT * FROM t; GRANT SELECT ON DYNAMIC TABLE d TO ROLE c"
        )
        lab.sql("ALTER DYNAMIC TABLE d RENAME TO e")
    with role(lab, "c"):
        assert lab.sql("SELECT * FROM e") == [(1,)]
    with role(lab, "b"):
        lab.sql("DROP DYNAMIC TABLE e; UNDROP DYNAMIC TABLE e")
    with role(lab, "c"):
        assert lab.sql("SELECT * FROM e") == [(1,)]
        assert code_of(lambda: lab.sql("DROP DYNAMIC TABLE e")) == "DT-5201"
    lab.sql("DROP DYNAMIC TABLE e; CREATE DYNAMIC TABLE e AS SELECT * FROM t")
    with role(lab, "c"):
        assert code_of(lambda: lab.sql("SELECT * FROM e")) == "DT-5201"
    lab.sql("ALTER TABLE t RENAME TO t2; GRANT INSERT ON TABLE t2 TO ROLE c")
    with role(lab, "b"):
        assert lab.sql("SELECT * FROM t2") == [(1,)]
    with role(lab, "c"):
        lab.sql("INSERT INTO t2 VALUES (2)")
        assert code_of(lambda: lab.sql("SELECT * FROM t2")) == "DT-5201"
        assert code_of(lambda: lab.sql("DELETE FROM t2")) == "DT-5201"
    lab.table("kept", "id INT", "1")
    lab.sql("GRANT SELECT ON TABLE kept TO ROLE a; GRANT SELECT ON SCHEMA default TO ROLE c")
    lab.reopen()
    for one in ("b", "c"):
        with role(lab, one):
            assert lab.sql("SELECT * FROM kept") == [(1,)]
    lab.sql("DROP ROLE a")
    with role(lab, "b"):
        assert code_of(lambda: lab.sql("SELECT * FROM kept")) == "DT-5201"


def test_a_shared_engine_keeps_statements_in_the_lake(
    quick_lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lab = quick_lab
    lab.sql("CREATE TABLE t (id INT) USING delta; INSERT INTO t VALUES (1)")
    lab.sql(
        "CREATE ROLE guest; GRANT SELECT ON TABLE t TO ROLE guest;"
        "GRANT CREATE TABLE ON SCHEMA default TO ROLE guest"
    )
    outside = tmp_path_factory.mktemp("outside")
    allowed = tmp_path_factory.mktemp("allowed")
    for folder in (outside, allowed):
        (folder / "x.csv").write_text("1\n")
    (allowed / "link").symlink_to(outside)
    escape = str(outside).replace("/", "%2f", 1).replace("outside", "%6futside")
    shared = type(lab.engine).connect(
        lab.folder, lab.spark, scheduler=False, role="guest", shared=True, roots=[allowed]
    )
    try:
        assert [tuple(r) for r in shared.sql("SELECT * FROM t").collect()] == [(1,)]
        assert shared.sql(f"SELECT * FROM csv.`{allowed}/x.csv`").count() == 1
        assert code_of(lambda: shared.sql("USE ROLE admin")) == "DT-5204"
        for statement in (
            "SELECT * FROM text.`/etc/passwd`",
            "SELECT * FROM text.`file:/etc/passwd`",
            f"SELECT * FROM csv.`{allowed}/../{outside.name}/x.csv`",
            f"SELECT * FROM csv.`{allowed}/link/x.csv`",
            f"SELECT * FROM csv.`file://{outside}/x.csv`",
            f"SELECT (SELECT max(_c0) FROM csv.`{outside}/x.csv`) FROM t",
            "SELECT TRANSFORM(id) USING 'id -u' AS (x STRING) FROM t",
            "SELECT java_method('java.lang.System', 'getProperty', 'user.home')",
            "SELECT id, REFLECT /* */ ('java.lang.System', 'getenv', 'HOME') FROM t",
            "SELECT * FROM t WHERE try_reflect('java.lang.System', 'getenv', 'HOME') = 'x'",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "BEGIN SELECT 1; END",
            "ADD JAR '/tmp/x.jar'",
            "ADD FILE '/etc/passwd'",
            "CREATE FUNCTION f AS 'a.B' USING JAR '/tmp/x.jar'",
            "CREATE TEMPORARY VIEW w USING csv OPTIONS (path '/etc')",
            "SET spark.databricks.delta.retentionDurationCheck.enabled = false",
            "SET spark.sql.warehouse.dir = '/tmp'",
            "RESET",
            f"CREATE TABLE x (id INT) USING delta LOCATION '{outside}/x'",
            f"CREATE TABLE x USING delta LOCATION '{allowed}/link/x' AS SELECT 1 AS id",
            f"CREATE TABLE x (id INT) USING csv OPTIONS (path '{outside}')",
            "CREATE TABLE x (id INT) USING jdbc OPTIONS (url 'jdbc:x', dbtable 'y')",
            f"CREATE SCHEMA x LOCATION '{outside}'",
            f"INSERT OVERWRITE DIRECTORY '{outside}' USING csv SELECT 1",
            f"CONVERT TO DELTA parquet.`{outside}`",
            f"CREATE SINK k FROM TABLE t INTO 'file://{outside}/k'",
        ):
            assert code_of(lambda s=statement: shared.sql(s).collect()) == "DT-5211", statement  # type: ignore[misc]
        assert code_of(lambda: shared.sql(f"SELECT * FROM csv.`{escape}/x.csv`")) is not None
        shared.sql("SET spark.sql.session.timeZone = UTC; CREATE TABLE mine (id INT)")
        shared.sql("INSERT INTO mine SELECT * FROM t")
    finally:
        shared.close()
