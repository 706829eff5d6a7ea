"""A sink as a node of the graph, on a real lake: what pages see of it, and what they can do."""

from __future__ import annotations

import json
import queue
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.dispatch import EventFeed, outcome_message, picture_of
from dt_jupyter.dispatch.dispatcher import Desk
from dt_jupyter.engine import read_outcome, run_script
from dt_jupyter.reports import SinkReport
from dt_jupyter.wire import Ask, SinkMessage
from tests.spark.engine_lab import Lab

SOON = 30.0


class Page:
    """Asks as a browser does, and hears what happens."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.desk = lab, Desk(lambda: lab.engine)
        self.heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self._feed = EventFeed(lambda: lab.engine)
        self._feed.listen(self.heard.put)

    def ask(self, ask: Ask, **fields: Any) -> dict[str, Any]:
        reply = self.desk.answer_json(json.loads(json.dumps({"id": 1, "ask": ask, **fields})))
        message: dict[str, Any] = json.loads(json.dumps(reply))["message"]
        return message

    def done(self, ask: Ask, **fields: Any) -> str:
        message = self.ask(ask, **fields)
        assert message["type"] == "done", message
        return str(message["sentence"])

    def node(self, name: str) -> dict[str, Any]:
        return next(n for n in self.ask(Ask.GRAPH)["nodes"] if n["name"] == name)

    def hear(self, name: str, state: str) -> dict[str, Any]:
        """The next event after which a sink is in that state."""
        while True:
            event = self.heard.get(timeout=SOON)
            node = event.get("node")
            if event.get("name") == name and node["sink"]["state"] == state:
                return event

    def close(self) -> None:
        self._feed.close()
        self.desk.close()


def shown(lab: Lab, script: str) -> SinkMessage:
    """What a cell shows of a statement about a sink."""
    for done in run_script(lab.engine.context, script):
        found = outcome_message(done, read_outcome(lab.engine.context, done))
        assert isinstance(found, SinkMessage)
    return found


def test_a_sink_is_seen_and_acted_on(quick_lab: Lab, tmp_path: Path) -> None:
    lab, file = quick_lab, tmp_path / "app.db"
    lab.table("orders", "id INT, city STRING, price INT", "1, 'Ulm', 10", "2, 'Bonn', 20")
    lab.dynamic_table("city", "SELECT city, sum(price) AS total FROM orders GROUP BY city")
    card = shown(
        lab,
        f"CREATE SINK app FROM TABLE orders INTO 'sqlite://{file}' KEY (id) "
        "TARGET_LAG = '1 minute' OPTIONS (timeout = '0.05', table = 'a<b>')",
    )
    assert card.notes[0] == "Sink app created on orders: 2 rows delivered."
    assert (card.standing.scheme, card.standing.target, card.node.lag_seconds) == (
        "sqlite", "a<b>", 0.0,
    )  # fmt: skip
    lab.sql(f"CREATE SINK s FROM DYNAMIC TABLE city INTO 'sqlite://{file}' KEY (city)")
    page = Page(lab)
    graph = page.ask(Ask.GRAPH)
    edges = {(e["source"], e["target"]) for e in graph["edges"]}
    assert {("orders", "app"), ("orders", "city"), ("city", "s")} == edges
    last = page.node("app")["sink"]["last"]
    assert (last["action"], last["stored"], last["deleted"]) == ("INITIAL", 2, 0)
    items = {(i["kind"], i["name"], i["state"]) for i in page.ask(Ask.CATALOGUE)["items"]}
    assert ("sink", "app", "ACTIVE") in items
    html = picture_of(lab.engine.graph()).html
    assert "sqlite → a&lt;b&gt;" in html
    assert "a<b>" not in html
    assert lab.engine.status()["sinks"] == ["app ACTIVE", "s ACTIVE"]

    lab.sql("INSERT INTO orders VALUES (3, 'Jena', 30)")
    behind = lab.engine.lag("app")
    assert isinstance(behind, SinkReport)
    assert behind.lag
    assert f"lag {behind.lag:.1f} s" in str(behind)
    assert "lag" in picture_of(behind).text
    assert page.ask(Ask.LAG, name="app")["code"] == "DT-1109"
    node = page.node("app")
    assert node["sink"]["newest"] == node["sink"]["version"] + 1
    assert 0 < node["lag_seconds"] < SOON
    assert page.node("s")["lag_seconds"] == 0
    lab.refresh("city")
    event = page.heard.get(timeout=SOON)
    while event.get("name") != "s":
        event = page.heard.get(timeout=SOON)
    assert event["node"]["sink"]["behind_since"] is not None
    assert page.done(Ask.REFRESH, name="s") == "Sink s delivered: 1 row stored, 0 deleted."
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused = page.ask(Ask.REFRESH, name="app")
    assert (refused["type"], refused["code"]) == ("error", "DT-6110")
    event = page.hear("app", "RETRYING")
    assert event["node"]["error"].startswith("DT-6110: ")
    assert lab.engine.status()["sinks"][0].startswith("app RETRYING: DT-6110: ")
    assert str(lab.engine.graph()).count("RETRYING") == 1
    other.execute("ROLLBACK")
    other.close()
    assert "1 row stored" in page.done(Ask.REFRESH, name="app")
    page.hear("app", "ACTIVE")
    detail = page.ask(Ask.SINK, name="app")
    actions = [(d["action"], d["retries"]) for d in detail["deliveries"]]
    assert actions == [("INCREMENTAL", 1), ("INITIAL", 0)]
    assert detail["node"]["lag_seconds"] == 0

    assert "suspended" in page.done(Ask.SUSPEND, name="s")
    page.hear("s", "SUSPENDED")
    assert "resumed" in page.done(Ask.RESUME, name="s")
    assert "altered" in page.done(Ask.ALTER, name="s", target_lag=90)
    assert (
        shown(lab, "DESCRIBE SINK s").node.target_lag
        == lab.engine.context.catalog.sink(lab.engine.context.name("s")).target_lag
    )
    assert page.node("s")["target_lag"] == 90
    assert page.done(Ask.RESET, name="s") == "Sink s delivered: 3 rows stored, 0 deleted."
    assert "dropped" in page.done(Ask.DROP, name="s")
    with pytest.raises(StopIteration):
        page.node("s")
    assert page.ask(Ask.SINK, name="s")["code"] == "DT-6104"
    assert page.ask(Ask.RESET, name="city")["code"] == "DT-6104"
    lab.sql("DROP TABLE orders")
    assert page.node("app")["lag_seconds"] is None
    page.close()
