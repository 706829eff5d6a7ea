"""Sinks in the catalog: names, who delivers them, and what became of their deliveries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dt_jupyter.catalog import Owner, SchemaMoves, StreamMove
from dt_jupyter.model import (
    DeliveryCounts,
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    Intent,
    Name,
    Sink,
    SinkState,
    Stream,
    TargetLag,
)
from tests.unit.catalog_lab import HERE, Lab, at, name, refused

SINK = Sink(
    "id-s", name("s"), name("t"), "TABLE", "file:///x", at(0), ("a", "ö"), True, TargetLag(5.0),
    "w", {"n": "SUM"}, 3, {"adopt": "true"}, "c",
)  # fmt: skip
OTHER = Owner(HERE.host, 200, "uid-other", "1")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_sink_is_there_again_as_it_was(lab: Lab) -> None:
    lab.catalog.create_sink(SINK)
    with refused("DT-1105"):
        lab.catalog.create_sink(replace(SINK, id="another"))
    lab.catalog.close()
    assert lab.open().sinks() == (SINK,)


def test_what_the_user_suspended_no_failure_wakes(lab: Lab) -> None:
    catalog = lab.catalog
    catalog.create_sink(SINK)
    catalog.set_sink_state("id-s", SinkState.SUSPENDED)
    catalog.set_sink_state("id-s", SinkState.PAUSED, "DT-6110", "it is down")
    assert catalog.sink(name("s")).state is SinkState.SUSPENDED
    catalog.set_sink_state("id-s", SinkState.ACTIVE)
    catalog.set_sink_state("id-s", SinkState.RETRYING, "DT-6110", "it is down")
    assert catalog.sink(name("s")).problem == "it is down"


def test_one_process_delivers_and_one_that_is_gone_does_not(lab: Lab) -> None:
    lab.catalog.create_sink(SINK)
    other = lab.open(OTHER)
    assert other.claim_sink(SINK) == HERE
    assert lab.catalog.claim_sink(SINK) is None
    lab.catalog.release_sinks()
    assert other.claim_sink(SINK) is None
    assert lab.catalog.claim_sink(SINK) == OTHER
    lab.dead.add(OTHER.uid)
    assert lab.catalog.claim_sink(SINK) is None


def test_a_process_that_lost_the_sink_writes_nothing_of_it(lab: Lab) -> None:
    """Neither record, state, next try nor count; the delivery that it left open has failed."""
    state, trigger = DeliveryState.RETRYING, DeliveryTrigger.SCHEDULED
    record = DeliveryRecord("r1", "id-s", name("s"), state, trigger, at(1), code="DT-6113")
    lab.catalog.create_sink(SINK)
    lab.catalog.finish_delivery(SINK, record, state=SinkState.RETRYING, dead_letters=2)
    assert lab.catalog.sink(name("s")).dead_letters == 2
    other = lab.open(OTHER)
    assert other.claim_sink(SINK, alive=True) is None
    assert lab.catalog.sink_owner(SINK) == OTHER
    (left,) = other.deliveries()
    assert (left.state, left.end is None, left.code) == (DeliveryState.FAILED, False, "DT-6113")
    other.finish_delivery(SINK, state=SinkState.ACTIVE, dead_letters=0)
    for released in (False, True):
        if released:
            other.release_sinks()
        with refused("DT-6122"):
            lab.catalog.finish_delivery(SINK, record, state=SinkState.PAUSED, dead_letters=9)
        lab.catalog.set_next_try("id-s", at(9))
        found = lab.catalog.sink(name("s"))
        assert (found.state, found.next_try, found.dead_letters) == (SinkState.ACTIVE, None, 0)
        assert other.deliveries() == [left]


def test_a_sink_that_was_dropped_is_delivered_by_nobody(lab: Lab) -> None:
    lab.catalog.create_sink(SINK)
    lab.catalog.drop_sink(name("s"))
    with refused("DT-6104"):
        lab.catalog.claim_sink(SINK)
    with refused("DT-6104"):
        lab.catalog.sink(name("s"))


def test_a_delivery_is_one_row_whatever_becomes_of_it(lab: Lab) -> None:
    catalog = lab.catalog
    state, trigger = DeliveryState.RETRYING, DeliveryTrigger.MANUAL
    first = DeliveryRecord("r1", "id-s", name("s"), state, trigger, at(1), retries=1)
    catalog.record_delivery(first)
    counts = DeliveryCounts(1, 2, 3, 4, 5, 6, 7)
    done = replace(first, state=DeliveryState.SUCCEEDED, end=at(2), counts=counts, retries=2)
    catalog.record_delivery(done)
    catalog.record_delivery(replace(first, id="r2", name=name("u")))
    assert catalog.deliveries(name("s")) == [done]
    assert [r.id for r in catalog.deliveries()] == ["r2", "r1"]
    events = len(catalog.lake_events())
    assert catalog.prune(at(3)) == events + 1
    assert [r.id for r in catalog.deliveries()] == ["r2"]


def test_what_was_begun_before_a_schema_took_another_name_is_told_by_the_new_one(lab: Lab) -> None:
    catalog = lab.catalog
    before = replace(SINK, name=Name("a", "s"), source=Name("a", "t"))
    catalog.create_sink(before)
    state, trigger = DeliveryState.RETRYING, DeliveryTrigger.MANUAL
    record = DeliveryRecord("r1", "id-s", before.name, state, trigger, at(1), retries=1)
    catalog.record_delivery(record)
    catalog.rename_schemas(SchemaMoves({"a": "b"}))
    catalog.record_delivery(replace(record, state=DeliveryState.SUCCEEDED, end=at(2)))
    catalog.record_delivery(replace(record, id="r2"))
    assert [r.id for r in catalog.deliveries(Name("b", "s"))] == ["r2", "r1"]
    assert catalog.deliveries(Name("a", "s")) == []
    assert sorted(e.schema for e in catalog.lake_events()) == ["a", "b", "b"]
    catalog.alter_sink(replace(before, comment="new"))
    found = catalog.sink(Name("b", "s"))
    assert (found.comment, found.source) == ("new", Name("b", "t"))


STREAM = Stream("id-x", name("x"), name("t"), "TABLE", {"a": 3, "b": 5}, at(0), at(0))
ON_STREAM = replace(SINK, source=name("x"), kind="STREAM")


def test_a_stream_is_of_one_consumer(lab: Lab) -> None:
    catalog, intent = lab.catalog, Intent("i", "INSERT", "/t", 1, at(0), at(0), {"id-x": {}})
    with refused("DT-3201"):
        catalog.create_sink(ON_STREAM)
    catalog.create_stream(STREAM)
    catalog.begin_intent(intent, [STREAM])
    with refused("DT-3203"):
        catalog.create_sink(ON_STREAM)
    catalog.abort_intent(intent)
    catalog.create_sink(ON_STREAM)
    for refuse in (
        lambda: catalog.begin_intent(intent, [STREAM]),
        lambda: catalog.create_sink(replace(ON_STREAM, id="other", name=name("o"))),
        lambda: catalog.drop_stream(name("x")),
    ):
        with refused("DT-3211"):
            refuse()
    catalog.create_stream(replace(STREAM, id="new"), replace_existing=True)
    catalog.drop_sink(name("s"))
    catalog.drop_stream(name("x"))


def test_a_stream_moves_with_its_sink_and_never_back(lab: Lab) -> None:
    catalog = lab.catalog
    catalog.create_stream(replace(STREAM, initial=True))
    catalog.create_sink(ON_STREAM)

    def moved(**frontier: int) -> tuple[object, int, bool]:
        catalog.finish_delivery(ON_STREAM, None, StreamMove("id-s", "id-x", frontier, at(1)))
        found = catalog.stream(name("x"))
        return dict(found.frontier), found.number, found.initial

    assert moved(a=3, b=5) == ({"a": 3, "b": 5}, 1, False)
    assert moved(a=4, b=5) == ({"a": 4, "b": 5}, 2, False)
    assert moved(a=4, b=5) == moved(a=5, b=4) == moved(a=3, b=9) == moved(a=9)
    assert moved(a=4, b=5)[1] == 2
    lab.open(OTHER).claim_sink(ON_STREAM, alive=True)
    with refused("DT-6122"):
        catalog.finish_delivery(
            ON_STREAM, None, StreamMove("id-s", "id-x", {"a": 9, "b": 9}, at(2))
        )
    catalog.drop_sink(name("s"), StreamMove("id-s", "id-x", {"a": 7, "b": 7}, at(3)))
    assert catalog.stream(name("x")).frontier == {"a": 7, "b": 7}
