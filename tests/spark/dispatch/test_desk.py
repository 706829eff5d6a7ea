"""The desk on a real lake: every ask, bad input and hostile names."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from dt_jupyter.dispatch import picture_of
from dt_jupyter.dispatch.dispatcher import REPLAYS, Desk
from dt_jupyter.dispatch.feed import EventFeed
from dt_jupyter.model import DTError
from dt_jupyter.wire.live_messages import Ask
from tests.spark.engine_lab import Lab, without_check

ODD = "a \"b\" 'c'; drop table item --<img src=x>"
ODD_SQL = "`1st`"
"""Spark's own catalog takes no table of a worse name."""
SOON = 60.0


class Client:
    """Asks as a browser does: JSON in, JSON out."""

    def __init__(self, lab: Lab) -> None:
        self.desk = Desk(lambda: lab.engine)
        self.lab, self._id = lab, 0

    def ask(self, ask: Ask, **fields: Any) -> dict[str, Any]:
        self._id += 1
        reply = self.desk.answer_json(
            json.loads(json.dumps({"id": self._id, "ask": ask, **fields}))
        )
        assert reply["id"] == self._id
        json.dumps(reply, allow_nan=False)
        message: dict[str, Any] = reply["message"]
        return message

    def refused(self, code: str, ask: Ask, **fields: Any) -> dict[str, Any]:
        message = self.ask(ask, **fields)
        assert (message["type"], message.get("code")) == ("error", code), message
        return message


@pytest.fixture(scope="module")
def shop(shared_lab: Lab) -> Iterator[Client]:
    """item → daily (aggregate) → top (two stages) and odd; through a view; two streams."""
    patched = pytest.MonkeyPatch()
    without_check(patched)
    lab = shared_lab
    lab.table("item", "id INT, day STRING, v INT", "1, 'mon', 1", "2, 'tue', 2")
    lab.sql("ALTER TABLE item SET TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.sql("CREATE VIEW big AS SELECT id, day, v FROM item WHERE v > 0")
    lab.dynamic_table("daily", "SELECT day, sum(v) AS total, count(*) AS n FROM big GROUP BY day")
    lab.dynamic_table(
        "busy",
        "SELECT n, count(*) AS days FROM (SELECT day, count(*) AS n FROM item GROUP BY day)"
        " GROUP BY n",
    )
    lab.dynamic_table(ODD_SQL, f"SELECT day, total * 2 AS `{ODD}` FROM daily")
    lab.sql("CREATE STREAM news ON TABLE item; CREATE STREAM of_view ON VIEW big")
    client = Client(lab)
    yield client
    client.desk.close()
    patched.undo()


def test_hello_and_catalogue(shop: Client) -> None:
    hello = shop.ask(Ask.HELLO)
    assert (hello["lake"], hello["scheduler"]) == (str(shop.lab.engine.lake), False)
    items = {(i["kind"], i["name"]) for i in shop.ask(Ask.CATALOGUE)["items"]}
    assert {
        ("dynamic_table", "daily"),
        ("stream", "news"),
        ("table", "item"),
        ("view", "big"),
        ("warehouse", "default"),
        ("dynamic_table", ODD_SQL),
    } <= items


def test_a_table_a_view_and_a_stream_have_details(shop: Client) -> None:
    item = shop.ask(Ask.SOURCE, name="item")
    columns = [{"name": n, "type": t} for n, t in (("id", "int"), ("day", "string"), ("v", "int"))]
    assert (item["kind"], item["columns"]) == ("table", columns)
    assert item["rows"] == shop.lab.spark.table("item").count()
    log = shop.lab.context.sources.logs[str(shop.lab.context.layout.tables / "item")]
    history = shop.lab.spark.sql("DESCRIBE HISTORY item").collect()
    found = [(v["version"], v["operation"]) for v in item["versions"]]
    assert found == [(h.version, h.operation) for h in history][:20]
    assert found[0][0] == log.version()
    assert {"big", "busy", "news"} <= set(item["readers"]), "a stage reads for its table"
    catalogue = {i["name"]: i["columns"] for i in shop.ask(Ask.CATALOGUE)["items"]}
    assert catalogue["item"] == columns
    assert [c["name"] for c in catalogue["daily"]] == ["day", "total", "n"]
    view = shop.ask(Ask.SOURCE, name="big")
    assert (view["kind"], view["readers"]) == ("view", ["daily", "of_view"])
    assert view["definition"].startswith("SELECT id, day, v")
    news = shop.ask(Ask.SOURCE, name="news")
    assert (news["kind"], news["stream"]["source"]) == ("stream", "item")
    shop.refused("DT-1101", Ask.SOURCE, name="daily")
    shop.refused("DT-1101", Ask.SOURCE, name="nobody")


def test_a_table_that_nothing_asks_for_says_so_wherever_it_is_shown(shop: Client) -> None:
    why = "Not refreshed: no target lag, and nothing reads it."
    created = shop.lab.engine.create("idle", "SELECT id FROM item", target_lag="DOWNSTREAM")
    assert why in picture_of(created).text
    (node,) = [n for n in shop.ask(Ask.GRAPH)["nodes"] if n["name"] == "idle"]
    assert (node["held_back"], node["state"]) == (why, "SUCCEEDED")
    assert shop.ask(Ask.DETAIL, name="idle")["card"]["held_back"] == why
    states = {i["name"]: i["state"] for i in shop.ask(Ask.CATALOGUE)["items"]}
    assert (states["idle"], states["daily"]) == ("NOT REFRESHED", "SUCCEEDED")
    assert f"idle: NO_READER: {why}" in shop.lab.engine.status()["waiting"]
    (row,) = shop.lab.sql("SHOW DYNAMIC TABLES LIKE 'idle'")
    assert f"NO_READER: {why}" in row
    shop.lab.sql("CREATE STREAM of_idle ON DYNAMIC TABLE idle")
    (node,) = [n for n in shop.ask(Ask.GRAPH)["nodes"] if n["name"] == "idle"]
    assert node["held_back"].endswith("nothing that is refreshed reads it.")
    shop.lab.sql("DROP STREAM of_idle; DROP DYNAMIC TABLE idle")


def test_the_graph_has_views_streams_stages_and_standing(shop: Client) -> None:
    graph = shop.ask(Ask.GRAPH)
    nodes = {n["name"]: n for n in graph["nodes"]}
    edges = {(e["source"], e["target"]) for e in graph["edges"]}
    kinds = {name: node["kind"] for name, node in nodes.items()}
    assert kinds == {
        "item": "table",
        "big": "view",
        "daily": "dynamic_table",
        "busy": "dynamic_table",
        ODD_SQL: "dynamic_table",
        "busy stage 0": "stage",
        "news": "stream",
        "of_view": "stream",
    }
    assert edges == {
        ("item", "big"),
        ("big", "daily"),
        ("daily", ODD_SQL),
        ("item", "busy stage 0"),
        ("busy stage 0", "busy"),
        ("item", "news"),
        ("big", "of_view"),
    }
    assert nodes["busy stage 0"]["parent"] == "busy"
    daily = nodes["daily"]
    assert (daily["held_to"], daily["warehouse"], daily["running"]) == (3600.0, "default", None)
    assert (daily["state"], daily["rows"]) == ("SUCCEEDED", 2)


def test_the_static_graph_hides_stages(shop: Client) -> None:
    from dt_jupyter.dispatch.static_messages import message_of

    message = message_of(shop.lab.engine.graph())
    assert {e["target"] for e in message.to_json()["edges"] if e["source"] == "item"} == {
        "big",
        "busy",
        "news",
    }


def test_frontiers_streams_and_lag(shop: Client) -> None:
    frontiers = {f["name"]: f for f in shop.ask(Ask.FRONTIERS)["frontiers"]}
    (source,) = frontiers["daily"]["sources"]
    assert source["name"] == "item"
    assert (
        source["version"]
        <= source["newest"]
        == shop.lab.context.sources.logs[str(shop.lab.context.layout.tables / "item")].version()
    )
    assert frontiers["daily"]["data_timestamps"][0] == frontiers["daily"]["data_timestamp"]
    streams = {s["name"]: s for s in shop.ask(Ask.STREAMS)["streams"]}
    assert (streams["news"]["waiting"], streams["news"]["stale"]) == (0, False)
    assert (streams["of_view"]["source"], streams["of_view"]["source_type"]) == ("big", "view")
    lag = shop.ask(Ask.LAG, name="daily")
    assert (lag["target_lag"], lag["points"][-1]["state"]) == (3600.0, "SUCCEEDED")


def test_a_stream_waits_and_is_consumed(shop: Client) -> None:
    shop.lab.insert("item", "3, 'wed', 3")
    shop.lab.sql("CREATE TABLE taken (id INT); INSERT INTO taken SELECT id FROM news")
    shop.lab.insert("item", "4, 'wed', 1")
    (news,) = [s for s in shop.ask(Ask.STREAMS)["streams"] if s["name"] == "news"]
    assert (news["waiting"], news["has_data"], news["consumers"]) == (1, True, ["taken"])


def test_detail_says_how_and_why(shop: Client) -> None:
    shop.lab.insert("item", "5, 'thu', 1")
    detail = shop.ask(Ask.DETAIL, name="daily")
    assert detail["decision"].startswith("INCREMENTAL: ")
    assert [n["depth"] for n in detail["tree"]][:2] == [0, 1]
    assert detail["tree"][0]["operator"] == "the table"
    assert detail["tree"][0]["state"].startswith("key (day")
    assert any("SELECT" in s["sql"] for s in detail["statements"])
    assert detail["error"] is None
    assert {"Spark jobs", "rows inserted"} <= {f["name"] for f in detail["statistics"]}
    assert detail["history"]["rows"][0]["trigger"] == "CREATION"
    assert detail["card"]["upstream"] == ["item"]


def test_lineage_goes_through_views_and_dynamic_tables(shop: Client) -> None:
    lineage = shop.ask(Ask.LINEAGE, name="daily")
    edges = {
        (e["source"], e["source_column"], e["target"], e["target_column"]) for e in lineage["edges"]
    }
    assert edges == {
        ("item", "day", "daily", "day"),
        ("item", "v", "daily", "total"),
        ("daily", "day", ODD_SQL, "day"),
        ("daily", "total", ODD_SQL, ODD),
    }
    of_table = shop.ask(Ask.LINEAGE, name="item")
    assert [c["name"] for c in of_table["columns"]] == ["id", "day", "v"]
    assert edges == {
        (e["source"], e["source_column"], e["target"], e["target_column"])
        for e in of_table["edges"]
    }


def test_a_profile_and_sample_rows_of_one_snapshot(shop: Client) -> None:
    lab = shop.lab
    columns = "id INT, day STRING, m MAP<STRING, INT>, b BINARY"
    rows = ("1, 'mon', map('a', 1), X'00'", "2, NULL, NULL, NULL", "3, 'mon', NULL, NULL")
    lab.table("odd", columns, *rows)
    version = lab.context.sources.logs[str(lab.context.layout.tables / "odd")].version()
    found = shop.ask(Ask.PROFILE, name="odd")
    assert (found["type"], found["row_count"]) == ("profile", 3)
    assert found["snapshot"].startswith(f"version {version} (")
    assert found["columns"]["rows"] == [
        ["id", "int", "0", "3", "1", "3"],
        ["day", "string", "1", "1", "mon", "mon"],
        ["m", "map<string,int>", "2", None, None, None],
        ["b", "binary", "2", None, None, None],
    ]
    sample = found["sample"]
    assert (len(sample["rows"]), sample["truncated"]) == (3, False)
    assert sample["note"] == found["snapshot"]
    assert ["1", "mon", "{a -> 1}", "00"] in sample["rows"]
    of_view = shop.ask(Ask.PROFILE, name="big")
    assert of_view["snapshot"].startswith("version ")
    before = lab.engine.profile("odd", at=version - 1, rows=0)
    assert (before.row_count, before.sample) == (0, ())
    assert "id int: 0 NULL, about 0 distinct" in str(before)
    assert "Columns of odd: 0 rows" in picture_of(before).text
    shop.refused("DT-1101", Ask.PROFILE, name="nothing")


def test_what_the_scheduler_would_do(shop: Client) -> None:
    found = shop.ask(Ask.SIMULATE, name="daily", target_lag=120, refresh_seconds=5, concurrency=2)
    assert found["refresh_seconds"] == 5
    assert found["within_target"] == 1.0
    assert 0 < found["load"] < 1
    assert found["lag"]["target_lag"] == 120
    assert shop.lab.engine.table("daily").target_lag.seconds == 3600


def test_a_replay_shows_rows_and_what_moved(shop: Client) -> None:
    lab = shop.lab
    lab.table("part", "id INT, name STRING, b BINARY", "1, 'rug', X'00ff'", "2, NULL, NULL")
    lab.sql("ALTER TABLE part SET TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.sql("UPDATE part SET name = 'mat' WHERE id = 1")
    lab.sql("DELETE FROM part WHERE id = 2; INSERT INTO part VALUES (3, 'pen', NULL)")
    replay = shop.ask(Ask.REPLAY, name="part", since="1")
    assert [s["row_count"] for s in replay["steps"]] == [2, 2, 2, 1, 2]
    last = len(replay["steps"]) - 1

    def rows(step: int, against: int | None = None) -> list[tuple[str, ...]]:
        found = shop.ask(Ask.ROWS, replay=replay["replay"], step=step, against=against)
        assert found["since"] == (against if against is not None else step - 1 if step else None)
        return [(m, *r) for m, r in zip(found["marks"], found["rows"], strict=True)]

    assert rows(0) == [("same", "1", "rug", "00FF"), ("same", "2", None, None)]
    assert rows(2) == [
        ("before", "1", "rug", "00FF"),
        ("after", "1", "mat", "00FF"),
        ("same", "2", None, None),
    ]
    assert rows(last) == [("same", "1", "mat", "00FF"), ("inserted", "3", "pen", None)]
    rug, mat = ("1", "rug", "00FF"), ("1", "mat", "00FF")
    assert rows(last, 0) == [
        ("before", *rug),
        ("after", *mat),
        ("deleted", "2", None, None),
        ("inserted", "3", "pen", None),
    ]
    assert rows(0, last) == [
        ("before", *mat),
        ("after", *rug),
        ("inserted", "2", None, None),
        ("deleted", "3", "pen", None),
    ]
    shop.refused("DT-1003", Ask.ROWS, replay=replay["replay"], step=99)


def test_a_replay_of_a_dynamic_table_and_of_a_view(shop: Client) -> None:
    shop.lab.insert("item", "6, 'mon', 10")
    shop.lab.refresh("daily")
    replay = shop.ask(Ask.REPLAY, name="daily")
    last = len(replay["steps"]) - 1
    found = shop.ask(Ask.ROWS, replay=replay["replay"], step=last)
    marks = dict(zip((r[0] for r in found["rows"]), found["marks"], strict=True))
    assert marks["mon"] == "after"
    assert marks["thu"] == "inserted"
    assert marks["tue"] == "same"
    view = shop.ask(Ask.REPLAY, name="big", until="now", since="-1 hours")
    assert "DT-4101" in view.get("code", "DT-4101")


def test_at_most_four_replays_are_open(shop: Client) -> None:
    opened = [shop.ask(Ask.REPLAY, name="item", since="now")["replay"] for _ in range(REPLAYS + 1)]
    shop.refused("DT-4108", Ask.ROWS, replay=opened[0], step=0)
    assert shop.ask(Ask.ROWS, replay=opened[-1], step=0)["type"] == "rows"
    assert len(shop.lab.engine.pins().holds) == REPLAYS
    shop.desk.close()
    assert len(shop.lab.engine.pins().holds) == 0
    shop.desk = Desk(lambda: shop.lab.engine)


def test_rows_of_a_replay_that_a_cell_opened(shop: Client) -> None:
    """As `%replay` does: opened by the engine, shown by a desk of its own."""
    engine = shop.lab.engine

    def opened(name: str) -> tuple[Client, dict[str, Any]]:
        client = Client(shop.lab)
        walk = engine.replay(name, 0, datetime.now(UTC))
        return client, client.desk.take(name, walk, list(walk)).to_json()

    shop.lab.sql("CREATE TABLE gone (id INT)")
    shop.lab.insert("gone", "1")
    (one, first), (two, second) = opened("gone"), opened("gone")
    shop.lab.sql("DROP TABLE gone")
    for client, message in ((one, first), (two, second), (one, first)):
        rows = [
            client.ask(Ask.ROWS, replay=message["replay"], step=s["number"])["rows"]
            for s in message["steps"]
        ]
        assert rows == [[], [["1"]]]
    one.desk.close()
    one.refused("DT-4108", Ask.ROWS, replay=first["replay"], step=0)
    assert two.ask(Ask.ROWS, replay=second["replay"], step=1)["rows"] == [["1"]]
    two.desk.close()
    assert engine.pins().holds == ()


def test_a_replay_ends_with_its_engine(shop: Client) -> None:
    engines: list[Any] = [shop.lab.engine]
    desk = Desk(lambda: engines[-1], "Run the cell again.")

    def ask() -> dict[str, Any]:
        message: dict[str, Any] = desk.answer_json(question)["message"]
        return message

    walk = shop.lab.engine.replay("item")
    taken = desk.take("item", walk, list(walk))
    question = {"id": 1, "ask": "rows", "replay": taken.replay, "step": 0}
    assert ask()["type"] == "rows"
    engines.append(None)
    assert ask()["code"] == "DT-5109"
    engines.append(shop.lab.engine)
    told = ask()
    assert (told["code"], told["sentence"], told["hint"]) == (
        "DT-4108",
        "This replay is closed.",
        "Run the cell again.",
    )
    assert shop.lab.engine.pins().holds == ()


def test_pin_suspend_and_resume(shop: Client) -> None:
    told = shop.ask(Ask.PIN, name="item", pin="before", version=1)["sentence"]
    assert told.startswith("Pin before keeps item at version 1")
    assert ("pin", "before") in {(i["kind"], i["name"]) for i in shop.ask(Ask.CATALOGUE)["items"]}
    shop.refused("DT-4107", Ask.PIN, name="item", pin="before")
    shop.lab.engine.unpin("before")
    for name in ("daily", ODD_SQL):
        assert shop.ask(Ask.SUSPEND, name=name)["sentence"].endswith("suspended.")
        assert shop.lab.engine.table(name).scheduling.value == "SUSPENDED"
        assert shop.ask(Ask.RESUME, name=name)["sentence"].endswith("resumed.")
        assert shop.lab.engine.table(name).scheduling.value == "ACTIVE"
    assert "item" in shop.lab.names()[1]


def test_a_refresh_starts_and_its_end_is_an_event(shop: Client) -> None:
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    feed = EventFeed(lambda: shop.lab.engine)
    stop = feed.listen(heard.put)
    assert heard.get(timeout=SOON)["type"] == "hello"
    shop.lab.insert("item", "7, 'sun', 1")
    assert shop.ask(Ask.REFRESH, name="daily") == {
        "type": "done",
        "version": 1,
        "sentence": "Refresh of daily started.",
    }
    told = []
    while not told or told[-1]["happened"] != "ended":
        event = heard.get(timeout=SOON)
        if event["type"] == "event" and event["name"] == "daily":
            told.append(event)
    assert told[0]["happened"] == "started"
    assert told[0]["node"]["state"] == "EXECUTING"
    assert told[0]["node"]["running"]["jobs"] == 0
    assert told[-1]["node"]["running"] is None
    assert told[-1]["node"]["action"] == "INCREMENTAL"
    assert told[-1]["seconds"] > 0
    # Its end is told before its thread has left.
    deadline = time.monotonic() + SOON
    while "No refresh of daily runs" not in shop.ask(Ask.CANCEL, name="daily")["sentence"]:
        assert time.monotonic() < deadline
    stop()
    assert not shop.lab.context.events.heard


def test_bad_names_are_errors(shop: Client) -> None:
    asks = (Ask.LAG, Ask.DETAIL, Ask.LINEAGE, Ask.REPLAY, Ask.SIMULATE, Ask.REFRESH, Ask.CANCEL,
            Ask.SUSPEND, Ask.RESUME, Ask.ALTER, Ask.DROP)  # fmt: skip
    for name in ("nowhere", "no.such", "a b; DROP TABLE item", "`", "''", "x\0y"):
        for ask in asks:
            message = shop.ask(ask, name=name)
            assert message["type"] == "error"
            assert message["code"] in ("DT-1101", "DT-1001", "DT-1109"), (name, ask, message)
    assert "item" in shop.lab.names()[1]


def test_bad_points_and_kinds_are_errors(shop: Client) -> None:
    shop.refused("DT-1003", Ask.REPLAY, name="item", since="yesterday-ish")
    shop.refused("DT-1003", Ask.REPLAY, name="item", schema_mode="odd")
    shop.refused("DT-4102", Ask.REPLAY, name="item", since="999")
    shop.refused("DT-1109", Ask.REFRESH, name="item")
    shop.refused("DT-1109", Ask.DETAIL, name="item")
    shop.refused("DT-4108", Ask.ROWS, replay="nope", step=0)


def test_a_target_lag_is_set_and_a_table_dropped(shop: Client) -> None:
    told = shop.ask(Ask.ALTER, name="daily", target_lag=7200)["sentence"]
    assert told == "Target lag of daily: 2 hours."
    assert shop.lab.engine.table("daily").target_lag.seconds == 7200
    assert shop.ask(Ask.ALTER, name="daily")["sentence"] == "Target lag of daily: DOWNSTREAM."
    assert shop.lab.engine.table("daily").target_lag.seconds is None
    assert shop.ask(Ask.DROP, name=ODD_SQL)["sentence"] == f"Dynamic table {ODD_SQL} dropped."
    shop.refused("DT-1101", Ask.ALTER, name=ODD_SQL, target_lag=60)


def test_a_full_refresh_recomputes_what_has_not_changed(shop: Client) -> None:
    lab = shop.lab
    lab.refresh("busy")
    assert lab.refresh("busy") == "NO_DATA"
    (row,) = lab.sql("ALTER DYNAMIC TABLE busy REFRESH FULL")
    assert (row[1], row[2]) == ("FULL", "FULL_REQUESTED: a full refresh was requested")
    lab.verified("busy")
    lab.insert("item", "50, 'sun', 5")
    assert lab.engine.refresh("daily", full=True).action == "FULL"
    assert lab.engine.refresh("busy").action == "INCREMENTAL"  # its state was kept
    assert shop.ask(Ask.REFRESH_FULL, name="busy")["sentence"] == "Full refresh of busy started."
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        last = lab.engine.records("busy", 1)[0]
        if last.action == "FULL" and last.state == "SUCCEEDED":
            break
        time.sleep(0.05)
    assert (last.action, last.state) == ("FULL", "SUCCEEDED")
    lab.verified("busy", "daily")


def test_rows_are_marked_with_what_a_refresh_did(shop: Client) -> None:
    lab = shop.lab
    lab.table("sold", "id INT, item STRING, v INT", "1, 'rug', 5", "2, 'mat', 7", "3, NULL, 9")
    lab.sql("ALTER TABLE sold SET TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.dynamic_table("sums", "SELECT item, sum(v) AS total FROM sold GROUP BY item")
    lab.sql("CREATE VIEW costly AS SELECT id, v FROM sold WHERE v > 6")
    names = ("sums", "sold", "costly")
    first = {name: shop.ask(Ask.TABLE_ROWS, name=name, limit=50) for name in names}
    assert first["sums"]["rows"] == [[None, "9"], ["mat", "7"], ["rug", "5"]]
    assert all(set(message["marks"]) == {"same"} for message in first.values())
    assert [m["dynamic"] for m in first.values()] == [True, False, False]
    lab.sql("UPDATE sold SET v = 8 WHERE id = 2; DELETE FROM sold WHERE id = 3; "
            "INSERT INTO sold VALUES (4, 'box', 1)")  # fmt: skip
    assert lab.refresh("sums") == "INCREMENTAL"
    moved = {}
    for name, message in first.items():
        version = message["table_version"]
        since = message["at"] if version is None else str(version)
        found = shop.ask(Ask.TABLE_ROWS, name=name, limit=50, since=since)
        marked = zip(found["marks"], found["rows"], strict=True)
        moved[name] = sorted((mark, *map(str, row)) for mark, row in marked if mark != "same")
    assert moved["sums"] == [
        ("after", "mat", "8"), ("before", "mat", "7"), ("deleted", "None", "9"),
        ("inserted", "box", "1"),
    ]  # fmt: skip
    assert [kind for kind, *_ in moved["sold"]] == ["after", "before", "deleted", "inserted"]
    assert {mark for mark, *_ in moved["costly"]} == {"inserted", "deleted"}
    few = shop.ask(Ask.TABLE_ROWS, name="sold", limit=2)
    assert (len(few["rows"]), few["truncated"]) == (2, True)


def test_rows_of_what_is_not_there_have_a_code(shop: Client) -> None:
    shop.refused("DT-1101", Ask.TABLE_ROWS, name="nowhere")
    shop.refused("DT-5110", Ask.TABLE_ROWS, name="item", limit=0)
    shop.refused("DT-1003", Ask.TABLE_ROWS, name="item", limit=100_000)
    shop.refused("DT-4102", Ask.TABLE_ROWS, name="item", since="999")
    with pytest.raises(DTError) as wrong:
        shop.lab.engine.rows("item", chart=("day", "vv"))
    assert wrong.value.hint == "Did you mean v?"


def test_rows_of_a_value_are_shown_as_they_are_now(shop: Client) -> None:
    shop.lab.table("shown", "id INT, v INT", "1, 5", "2, 7")
    found = shop.lab.engine.rows("shown", limit=10, chart=("id", "v"))
    assert str(found).startswith("Rows of shown at ")
    assert [row[0] for row in picture_of(found).message.rows] == ["1", "2"]
