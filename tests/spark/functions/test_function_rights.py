"""What a function was called with is told to who may read the rows, and to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dt_jupyter.dispatch import Desk
from dt_jupyter.model import DTError
from dt_jupyter.wire import Ask, Request
from tests.spark.engine.test_rights import role
from tests.spark.engine_lab import Lab

SECRET = "hush-4711"
GRANTS = """
CREATE ROLE watcher; CREATE ROLE worker; CREATE ROLE viewer; CREATE ROLE below; CREATE ROLE reader;
GRANT MONITOR ON DYNAMIC TABLE d TO ROLE watcher; GRANT MONITOR ON DYNAMIC TABLE e TO ROLE watcher;
GRANT OPERATE ON DYNAMIC TABLE d TO ROLE worker; GRANT OPERATE ON DYNAMIC TABLE e TO ROLE worker;
GRANT SELECT ON DYNAMIC TABLE d TO ROLE viewer; GRANT SELECT ON DYNAMIC TABLE e TO ROLE viewer;
GRANT OPERATE ON DYNAMIC TABLE d TO ROLE viewer; GRANT OPERATE ON DYNAMIC TABLE e TO ROLE viewer;
GRANT SELECT ON DYNAMIC TABLE e TO ROLE below; GRANT OPERATE ON DYNAMIC TABLE e TO ROLE below;
GRANT ROLE viewer TO ROLE reader; GRANT SELECT ON TABLE t TO ROLE reader;
"""


def told(lab: Lab, *, acts: bool) -> Iterator[str]:
    """What the role is told of refreshes of `d` and `e`; `acts`: also of those that it begins."""
    dt = lab.engine
    for statement in (
        "SELECT * FROM TABLE(DYNAMIC_TABLE_REFRESH_HISTORY())",
        "SELECT * FROM TABLE(DYNAMIC_TABLES())", "SELECT * FROM TABLE(DT_EVENTS())",
        "SHOW DYNAMIC TABLES", "DESCRIBE DYNAMIC TABLE d", "DESCRIBE DYNAMIC TABLE e",
        *(["ALTER DYNAMIC TABLE d REFRESH", "ALTER DYNAMIC TABLE e REFRESH"] if acts else []),
    ):  # fmt: skip
        yield f"{statement}: {outcome(lambda s=statement: lab.sql(s))}"
    for ask in (
        lambda: [dt.records(n) for n in ("d", "e")], dt.alerts, dt.graph,
        lambda: dt.lag("d"), *([lambda: dt.refresh("d"), lambda: dt.refresh("e")] if acts else []),
    ):  # fmt: skip
        yield outcome(ask)
    desk = Desk(lambda: dt)
    for asked in (Ask.GRAPH, Ask.DETAIL, Ask.LAG):
        for name in ("d", "e"):
            yield str(desk.answer(Request(1, asked, name)).to_json())
    desk.close()


def outcome(ask: Any) -> str:
    try:
        return repr(ask())
    except DTError as e:
        return f"{e} {e.facts} {e.details} {e.__cause__}"


def test_arguments_are_told_to_who_may_read_all_that_is_read(quick_lab: Lab) -> None:
    lab = quick_lab

    def length(x: str) -> int:
        if "-" in x:
            raise ValueError("no dashes")
        return len(x)

    lab.table("t", "id INT, x STRING", "1, 'a'")
    lab.engine.register_udf("length_of", length, "int", immutable=True)
    lab.dynamic_table("d", "SELECT id, length_of(x) AS n FROM t")
    lab.dynamic_table("e", "SELECT n, count(*) AS c FROM d GROUP BY n")
    lab.sql(GRANTS)
    lab.insert("t", f"2, '{SECRET}'")
    record = lab.record("e")
    assert SECRET in str(record.upstream[0].error)
    for name in ("watcher", "worker", "viewer", "below"):
        with role(lab, name):
            for text in told(lab, acts=name == "worker"):
                assert SECRET not in text, (name, text)
    with role(lab, "reader"):
        texts = list(told(lab, acts=False))
        assert sum(SECRET in text for text in texts) > 6
        assert "DT-1134" in str(lab.engine.records("d")[0].error)
    lab.sql("DELETE FROM t WHERE id = 2")
    assert lab.refresh("e") in ("NO_DATA", "INCREMENTAL")
    lab.verified("d", "e")
