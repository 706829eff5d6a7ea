"""Tasks in the graph, in the panel and in the catalogue: what they read and change, how they stand,
and what a role may see and do."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pytest

from dt_jupyter.dispatch import picture_of
from dt_jupyter.dispatch.feed import EventFeed
from dt_jupyter.wire.live_messages import Ask
from tests.spark.dispatch.test_desk import SOON, Client
from tests.spark.engine_lab import Lab, without_check

Edges = set[tuple[str, str]]


def edges(client: Client) -> Edges:
    found = client.ask(Ask.GRAPH)["edges"]
    return {(e["source"], e["target"]) for e in found if "task " in e["source"] + e["target"]}


def node(client: Client, name: str) -> dict[str, Any]:
    (found,) = (n for n in client.ask(Ask.GRAPH)["nodes"] if n["name"] == name)
    return dict(found)


@pytest.fixture(scope="module")
def client(shared_lab: Lab) -> Iterator[Client]:
    patched = pytest.MonkeyPatch()
    without_check(patched)
    lab = shared_lab
    lab.sql("CREATE TABLE orders (id INT, v INT); CREATE TABLE load (id INT, v INT)")
    lab.sql("CREATE STREAM news ON TABLE orders; CREATE TABLE sums (s BIGINT)")
    lab.dynamic_table("d", "SELECT v, count(*) AS n FROM load GROUP BY v")
    lab.sql(
        "CREATE TASK load SCHEDULE = '1 hour' WHEN SYSTEM$STREAM_HAS_DATA('news') "
        "AS INSERT INTO load SELECT id, v FROM news"
    )
    lab.sql(
        "CREATE TASK sum_up AFTER load AS BEGIN INSERT INTO sums SELECT sum(v) FROM load; "
        "DELETE FROM sums WHERE s IS NULL; END"
    )
    lab.sql("CREATE TASK fresh AFTER sum_up AS ALTER DYNAMIC TABLE d REFRESH")
    back = "MERGE INTO orders USING news n ON false WHEN MATCHED THEN DELETE"
    lab.sql(f"CREATE SCHEMA IF NOT EXISTS odd; CREATE TASK odd.back AS {back}")
    yield Client(lab)
    patched.undo()


def test_tasks_are_nodes_between_what_they_read_and_change(client: Client) -> None:
    assert edges(client) == {
        ("news", "task load"),
        ("task load", "load"),
        ("task load", "task sum_up"),
        ("load", "task sum_up"),
        ("task sum_up", "sums"),
        ("task sum_up", "task fresh"),
        ("task fresh", "d"),
        ("news", "task odd.back"),
    }, "what leads back to what a task reads is left out"
    found = node(client, "task load")
    assert (found["kind"], found["state"], found["scheduling_state"]) == ("task", None, "SUSPENDED")
    assert found["task"] == {
        "state": "SUSPENDED", "runs_when": "1 hour", "next": None, "last": None, "failures": 0,
        "condition": "SYSTEM$STREAM_HAS_DATA('news')",
    }  # fmt: skip
    items = {i["name"]: i for i in client.ask(Ask.CATALOGUE)["items"] if i["kind"] == "task"}
    assert items["task sum_up"]["about"] == "SUSPENDED, after load"
    shown = picture_of(client.lab.engine.graph())
    for text in (shown.text, getattr(shown, "dot", ""), str(client.lab.engine.graph())):
        assert "task load" in text
        assert "after load" in text


def test_a_role_sees_the_tasks_that_it_may_monitor_and_does_what_it_may(client: Client) -> None:
    lab = client.lab
    lab.sql("CREATE ROLE r; GRANT MONITOR ON TASK load TO ROLE r; USE ROLE r")
    try:
        shown = {n["name"] for n in client.ask(Ask.GRAPH)["nodes"]}
        assert shown == {"task load"}
        items = {i["name"] for i in client.ask(Ask.CATALOGUE)["items"] if i["kind"] == "task"}
        assert items == {"task load"}
        assert client.ask(Ask.TASK, name="task load")["type"] == "task"
        client.refused("DT-5201", Ask.TASK, name="task sum_up")
        for ask in (Ask.REFRESH, Ask.RESUME, Ask.DROP):
            client.refused("DT-5201", ask, name="task load")
    finally:
        lab.sql("USE ROLE admin")
    assert node(client, "task load")["task"]["state"] == "SUSPENDED"


def test_the_end_of_a_run_is_an_event(client: Client) -> None:
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    stop = EventFeed(lambda: client.lab.engine).listen(heard.put)
    client.lab.sql("EXECUTE TASK load")
    state = None
    while state != "SKIPPED":
        told = heard.get(timeout=SOON)
        state = told["node"]["state"] if told.get("name") == "task load" else None
    client.lab.sql("CREATE TASK other AS INSERT INTO sums VALUES (1)")
    while heard.get(timeout=SOON)["happened"] != "changed":
        pass
    client.lab.sql("DROP TASK other")
    stop()


def test_a_task_is_resumed_run_and_dropped_from_the_panel(client: Client) -> None:
    lab = client.lab
    lab.insert("orders", "1, 10", "2, 20")
    assert client.ask(Ask.RESUME, name="task load")["sentence"].startswith("Task load resumed.")
    assert node(client, "task load")["task"]["next"] is not None
    done = client.ask(Ask.REFRESH, name="task load")
    assert done["sentence"] == "Task load succeeded, 2 rows."
    found = client.ask(Ask.TASK, name="task load")
    assert found["definition"].startswith("CREATE TASK IF NOT EXISTS load")
    assert (found["reads"], found["writes"], found["error"]) == (["news"], ["load"], None)
    runs = [(r["state"], r["trigger"], r["rows"]) for r in found["runs"]]
    assert runs[0] == ("SUCCEEDED", "EXECUTE TASK", 2)
    assert found["node"]["state"] == "SUCCEEDED"
    assert client.ask(Ask.SUSPEND, name="task load")["sentence"] == "Task load suspended."
    lab.sql("DROP TABLE sums")
    client.refused("DT-3306", Ask.REFRESH, name="task sum_up")
    assert client.ask(Ask.TASK, name="task sum_up")["error"]["code"] == "DT-1101"
    assert node(client, "task sum_up")["state"] == "FAILED"
    assert client.ask(Ask.DROP, name="task odd.back")["sentence"] == "Task odd.back dropped."
    for gone in ("task odd.back", "task d", "d"):
        client.refused("DT-3301", Ask.TASK, name=gone)
    assert lab.rows("load") == [(1, 10), (2, 20)], "no table was touched under a task's name"
