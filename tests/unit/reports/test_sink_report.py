"""Where a sink stands, from the catalog and a log; and the message of it that pages get."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.dispatch import sink_message
from dt_jupyter.model import (
    DeliveryAction,
    DeliveryCounts,
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    Sink,
    SinkState,
    Stream,
    TargetLag,
    Timestamp,
    error,
)
from dt_jupyter.reports import SinkReports, export_script, sink_definition
from dt_jupyter.sources import CopiedTables, Layout, Logs
from dt_jupyter.sql.grammar.parse import parse_statement
from dt_jupyter.sql.grammar.statement_values import CreateSink
from tests.unit.catalog_lab import Lab, at, name
from tests.unit.delta_logs import Written, add, info

URL = "postgresql://me@db.example.org:5432/app?table=shops"
SINK = Sink(
    "id-s", name("s"), name("t"), "TABLE", URL, at(0), ("a", "b c"),
    target_lag=TargetLag(60.0), options={"password": "secret://env/PW"},
)  # fmt: skip
SECOND = 1_000
NOW = Timestamp(100 * 1_000_000)


class Shop:
    """A sink on a table whose commits are at second 1, 2, …; `delivered` is the version."""

    def __init__(self, folder: Path) -> None:
        self.lab = Lab(folder)
        self.table = Written(folder / "t", millis=SECOND)
        self.delivered: int | None = 0
        self.lab.catalog.record_table(name("t"), "table-1", str(folder / "t"))
        self.lab.catalog.create_sink(SINK)
        sources: Any = SimpleNamespace(
            catalog=self.lab.catalog, layout=Layout(folder), logs=Logs(CopiedTables(folder, None))
        )
        deliveries: Any = SimpleNamespace(
            delivered_of=lambda sink: self._delivered(),
            source_of=self._unknown,
            changes=SimpleNamespace(base_tables=lambda query, schema: ()),
        )
        self.reports = SinkReports(sources, deliveries)

    def _unknown(self, sink: Sink) -> Any:
        """What the session knows of a table that the catalog does not."""
        if sink.source == name("gone"):
            raise error("DT-6151", name=sink.name, problem="it is gone")
        return SimpleNamespace(look=lambda: SimpleNamespace(log=self.table.log, version=3))

    def _delivered(self) -> dict[str, int] | None:
        if self.delivered == -1:
            raise error("DT-5112", kind="sink", name="s", problem="torn", hint="")
        return None if self.delivered is None else {"table-1": self.delivered}

    def read(self, source: str) -> None:
        """The sink is of another table."""
        self.lab.catalog.drop_sink(SINK.name)
        self.lab.catalog.create_sink(replace(SINK, source=name(source)))

    def commit(self, *actions: Any) -> None:
        self.table.commit(info(), *actions, millis=SECOND * (self.table.next + 1))

    def standing(self) -> tuple[int | None, float | None, float | None]:
        """The newest version, seconds since 1970 of the oldest change that is missing, and lag."""
        (found,) = self.reports.all(NOW)
        since = found.behind_since
        return found.newest, since.micros / 1e6 if since else None, found.lag


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_store_that_has_all_has_no_lag_however_old_the_source_is(shop: Shop) -> None:
    assert shop.standing() == (0, None, 0.0)
    shop.commit(add("f", change=False))
    assert shop.standing() == (1, None, 0.0)


def test_the_lag_begins_with_the_oldest_change_that_is_missing(shop: Shop) -> None:
    shop.commit(add("f", change=False))
    shop.commit(add("g"))
    shop.commit(add("h"))
    assert shop.standing() == (3, 3.0, 97.0)
    shop.delivered = 2
    assert shop.standing() == (3, 4.0, 96.0)


def test_what_is_not_known_is_no_lag(shop: Shop) -> None:
    for delivered in (None, 7, -1):
        shop.delivered = delivered
        assert shop.standing()[1:] == (None, None), delivered
    shop.delivered = 0
    shop.read("gone")
    assert shop.standing() == (None, None, None)


def test_a_table_that_the_catalog_does_not_know_is_known_to_the_session(shop: Shop) -> None:
    for _ in range(3):
        shop.commit(add("f"))
    shop.read("elsewhere")
    assert shop.standing() == (3, 2.0, 98.0)


def test_the_last_delivery_is_of_this_sink_and_not_of_one_before_it(shop: Shop) -> None:
    old = DeliveryRecord(
        "r0", "id-old", name("s"), DeliveryState.FAILED, DeliveryTrigger.MANUAL, at(1)
    )
    shop.lab.catalog.record_delivery(old)
    assert shop.reports.all(NOW)[0].last is None
    shop.lab.catalog.record_delivery(replace(old, id="r1", sink="id-s"))
    found = shop.reports.by_id("id-s", NOW)
    assert found is not None
    assert [r.id for r in found.records] == ["r1"]
    assert shop.reports.of_source(name("t"), NOW) == [found]
    assert shop.reports.of_source(name("u"), NOW) == []
    assert shop.reports.by_id("id-old", NOW) is None


def test_what_reads_a_table_by_a_stream_is_told_of_its_changes(shop: Shop) -> None:
    catalog = shop.lab.catalog
    for stream, source in (("x", "t"), ("y", "a_view"), ("z", "other")):
        frontier = {"table-1": 0} if stream != "z" else {"table-2": 0}
        catalog.create_stream(
            Stream(stream, name(stream), name(source), "VIEW", frontier, at(0), at(0))
        )
        catalog.create_sink(
            replace(SINK, id=f"on-{stream}", name=name(f"on_{stream}"), source=name(stream),
                    kind="STREAM")
        )  # fmt: skip
    found = {r.sink.name.table for r in shop.reports.of_source(name("t"), NOW)}
    assert found == {"s", "on_x", "on_y"}


def test_a_message_has_the_figures_and_no_secret(shop: Shop) -> None:
    record = DeliveryRecord(
        "r1", "id-s", name("s"), DeliveryState.RETRYING, DeliveryTrigger.SCHEDULED, at(1),
        DeliveryAction.INCREMENTAL, 4, None, DeliveryCounts(1, 2, 3, 4, 5, 6, 7), 8,
        "DT-6110", "refused postgresql://me:hunter2@db",
    )  # fmt: skip
    shop.lab.catalog.record_delivery(record)
    shop.lab.catalog.set_sink_state("id-s", SinkState.RETRYING, "DT-6110", record.error)
    shop.lab.catalog.set_next_try("id-s", NOW.plus(3))
    sink = shop.lab.catalog.sink(name("s"))
    message = sink_message(shop.reports.one(sink, NOW), ["made"])
    told = json.dumps(message.to_json())
    assert "hunter2" not in told
    standing, (done,) = message.standing, message.deliveries
    assert (standing.scheme, standing.target) == ("postgresql", "shops")
    assert standing.address == "postgresql://db.example.org:5432/app"
    assert standing.next_try == NOW.plus(3).datetime
    moved = (done.loaded, done.stored, done.deleted, done.bytes, done.drifted, done.retries)
    assert moved == (3, 4, 5, 6, 7, 8)
    assert message.error is not None
    assert (message.error.code, message.error.page is not None) == ("DT-6110", True)
    assert message.node.error is not None
    assert message.node.error.startswith("DT-6110: refused")
    assert message.notes == ("made",)


@pytest.mark.parametrize(
    "sink",
    [
        SINK,
        replace(SINK, key=(), target_lag=TargetLag(None), options={}),
        replace(
            SINK, delta_updates=True, warehouse="w", partitions=3, comment="it's",
            reductions={"n": "SUM"}, kind="DYNAMIC TABLE",
        ),
    ],
)  # fmt: skip
def test_the_definition_of_a_sink_makes_it_again(sink: Sink) -> None:
    asked = parse_statement(sink_definition(sink))
    assert isinstance(asked, CreateSink)
    made = replace(
        sink, name=asked.name, source=asked.source, kind=asked.source_kind.value, url=asked.url,
        key=asked.key, delta_updates=asked.delta_updates, target_lag=asked.target_lag,
        warehouse=asked.warehouse, reductions=dict(asked.reductions),
        partitions=asked.partitions, options=dict(asked.options), comment=asked.comment,
    )  # fmt: skip
    assert made == sink


def test_a_script_of_all_definitions_has_sinks_as_comments(tmp_path: Path) -> None:
    catalog = Shop(tmp_path).lab.catalog
    catalog.create_sink(replace(SINK, id="id-u", name=name("u"), comment="two\nlines; DROP"))
    head, _, sinks = export_script(catalog, {}).partition("-- A sink delivers all rows")
    assert "SINK" not in head
    lines = sinks.splitlines()[3:]
    assert all(line.startswith("--") or not line for line in lines)
    texts = "\n".join(line.removeprefix("-- ") for line in lines).split("\n;")
    made = [parse_statement(text) for text in texts if text.strip()]
    assert [(m.name, m.url) for m in made if isinstance(m, CreateSink)] == [
        (name("s"), URL), (name("u"), URL),
    ]  # fmt: skip
