"""Errors that a role is shown have no value of a row that it may not read; code and kind stay."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dt_jupyter.dispatch import Desk
from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError
from dt_jupyter.wire import Ask, Request
from tests.spark.engine_lab import Lab

SECRET = "hush4711"
KIND = "CAST_INVALID_INPUT"


@pytest.fixture(scope="module")
def world(shared_lab: Lab) -> Iterator[Lab]:
    lab = shared_lab
    lab.table("secret", "id INT, word STRING", f"1, '{SECRET}'")
    lab.table("target", "n INT")
    lab.table("late", "id INT, word STRING", "1, '7'")
    lab.sql(
        "CREATE VIEW ids AS SELECT id FROM secret WHERE CAST(word AS INT) > 0;"
        "CREATE TASK job AS INSERT INTO target SELECT CAST(word AS INT) FROM secret;"
        "CREATE DYNAMIC TABLE casts TARGET_LAG = '1 hour' AS"
        " SELECT CAST(word AS INT) AS n FROM late;"
        "CREATE VIEW casts_seen AS SELECT n FROM casts WHERE n > 0;"
        f"INSERT INTO late VALUES (2, '{SECRET}');"
        "CREATE ROLE guest; GRANT SELECT ON VIEW ids TO ROLE guest;"
        "GRANT CREATE ON SCHEMA default TO ROLE guest;"
        "GRANT OPERATE ON TASK job TO ROLE guest;"
        "GRANT SELECT, OPERATE ON DYNAMIC TABLE casts TO ROLE guest"
    )
    yield lab
    lab.sql("DROP TASK job")


@pytest.fixture(scope="module")
def guest(world: Lab) -> Iterator[Engine]:
    engine = Engine.connect(world.folder, world.spark, scheduler=False, role="guest", shared=True)
    yield engine
    engine.close()


def shown_of(run: Callable[[], Any], kind: type[Exception] = DTError) -> str:
    """All that an error says: its text, its details, and the traceback that Python prints."""
    with pytest.raises(kind) as e:
        run()
    failure = e.value
    details = getattr(failure, "details", "")
    return f"{details}{''.join(traceback.format_exception(failure))}"


WAYS: tuple[Callable[[Engine], Any], ...] = (
    lambda dt: dt.sql("EXECUTE TASK job"),
    lambda dt: dt.sql("SELECT * FROM ids").collect(),
    lambda dt: dt.sql("SELECT * FROM ids").count(),
    lambda dt: dt.sql("SELECT * FROM ids").toPandas(),
    lambda dt: list(dt.sql("SELECT * FROM ids").toLocalIterator()),
    lambda dt: dt.sql("CREATE TABLE failed_copy AS SELECT * FROM ids"),
    lambda dt: dt.sql("CREATE DYNAMIC TABLE mine AS SELECT id FROM ids"),
    lambda dt: dt.sql("ALTER DYNAMIC TABLE casts REFRESH"),
)


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_an_error_hides_what_the_role_may_not_read(world: Lab, guest: Engine, way: int) -> None:
    shown = shown_of(lambda: WAYS[way](guest))
    assert SECRET not in shown
    assert "may show rows" in shown
    assert KIND in shown or "DT-2105" in shown, shown
    assert SECRET in shown_of(lambda: WAYS[way](world.engine), Exception), "admin sees it"


TABLES = (
    "SHOW DYNAMIC TABLES", "SHOW TASKS", "DESCRIBE TASK job",
    "SELECT * FROM TABLE(DYNAMIC_TABLE_REFRESH_HISTORY())",
    "SELECT * FROM TABLE(TASK_HISTORY())", "SELECT * FROM TABLE(DT_EVENTS())",
    "SELECT * FROM TABLE(SINK_HISTORY())",
)  # fmt: skip


def test_what_is_kept_of_failures_hides_it_too(world: Lab, guest: Engine) -> None:
    """Of the failed run of the task and the failed refresh: records, tables, alerts and panel."""
    for run in (WAYS[0], WAYS[7]):
        shown_of(lambda r=run: r(world.engine))  # type: ignore[misc]
    desk = Desk(lambda: guest)
    asks = [Request(1, a) for a in (Ask.GRAPH, Ask.CATALOGUE, Ask.FRONTIERS, Ask.STREAMS)]
    asks += [Request(1, a, "casts") for a in (Ask.DETAIL, Ask.LAG)]
    asks += [Request(1, a, "task job") for a in (Ask.TASK,)]
    for text in TABLES:
        assert SECRET not in str(guest.sql(text).collect()), text
    ways: list[tuple[str, Callable[[Engine], Any]]] = [
        ("status", lambda dt: dt.status()),
        ("alerts", lambda dt: dt.alerts()),
        ("events", lambda dt: list(dt.events())),
        ("records", lambda dt: dt.records("casts")),
        ("graph", lambda dt: dt.graph()),
        ("refresh", lambda dt: dt.refresh("casts")),
    ]
    for name, way in ways:
        assert SECRET not in str(way(guest)), name
    for ask in asks:
        assert SECRET not in str(desk.answer(ask).to_json()), ask
    assert SECRET in str(world.engine.records("casts")), "admin sees it"
    desk.close()


def test_each_error_of_a_shared_engine_has_a_code(world: Lab, guest: Engine) -> None:
    """Also what Spark raises when the rows of a result are asked for."""
    world.sql("GRANT SELECT ON TABLE target TO ROLE guest; INSERT INTO target VALUES (0)")
    with pytest.raises(DTError) as e:
        guest.sql("SELECT * FROM STREAM secret")
    assert e.value.code == "DT-5208", "its columns are hidden too"
    for text in (
        "SELECT * FROM STREAM target",
        "SELECT 1 / n FROM target",
        "SELECT raise_error('no') FROM target",
        "SELECT CAST(concat('x', n) AS INT) FROM target",
        "SELECT element_at(array(n), 9) FROM target",
    ):
        for act in ("collect", "count", "toPandas", "toArrow", "first", "show"):
            if act == "count" and "STREAM" not in text:
                continue  # Spark computes no column for it
            with pytest.raises(DTError):
                getattr(guest.sql(text), act)()
