"""A webhook that refuses all requests, or some rows, from the statement to the alert."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import AlertKind, EventKind, Severity, error
from tests.sinks.test_webhook import Receiver
from tests.spark.engine_lab import refused
from tests.spark.sinks.shop import Shop


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    found.row_key = "id"
    yield found
    found.server.shutdown()
    found.server.server_close()


def row(shop: Shop) -> dict[str, Any]:
    (found,) = shop.lab.engine.sql("SHOW SINKS LIKE 'hook'").collect()
    return dict(found.asDict())


def hook(shop: Shop, receiver: Receiver, folder: Path, clauses: str = "") -> None:
    shop.url = receiver.url
    options = f"DELTA_UPDATES = TRUE OPTIONS (outbox = '{folder}/outbox', attempts = '1')"
    shop.create("hook", f"KEY (id) {clauses} {options}")


def test_an_endpoint_that_refuses_all_pauses_the_sink_until_it_is_mended(
    shop: Shop, receiver: Receiver, tmp_path: Path
) -> None:
    engine = shop.lab.engine
    receiver.answers = [401]
    with refused("DT-6145"):
        hook(shop, receiver, tmp_path)
    assert engine.sinks().collect() == []
    hook(shop, receiver, tmp_path)
    for status in (401, 403, 404, 301):
        receiver.answers = [status]
        shop.sql(f"INSERT INTO orders VALUES ({status}, 'Jena', 30)")
        with refused("DT-6145") as found:
            shop.deliver("hook")
        assert str(status) in found[0].sentence
        assert shop.state("hook") == ("PAUSED", "DT-6145")
        engine.context.alerts.check()
        assert [a.kind for a in engine.context.alerts.standing()] == [AlertKind.FAILED]
    shop.deliver("hook")
    assert shop.state("hook") == ("ACTIVE", None)
    sent = [each["id"] for body in receiver.taken.values() for each in body["rows"]]
    assert sorted(sent) == [1, 2, 301, 401, 403, 404]


def test_a_refused_row_is_counted_alerted_and_sent_again(
    shop: Shop, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = shop.lab.engine
    receiver.refuses = {2: 422}
    hook(shop, receiver, tmp_path)
    assert shop.history("hook") == [("INITIAL", 1, 0)]
    receiver.refuses = {2: 422, 3: 413, 4: 400}
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30), (4, 'Hof', 40), (5, 'Bam', 50)")
    told = shop.sql("ALTER SINK hook REFRESH")
    assert told == [("Sink hook delivered: 1 row stored, 0 deleted, 2 refused by the store.",)]
    history = "SELECT ROWS_STORED, ROWS_REFUSED, STATE FROM TABLE(SINK_HISTORY(NAME => 'hook'))"
    assert shop.sql(f"{history} LIMIT 1") == [(1, 2, "SUCCEEDED")]
    assert row(shop)["DEAD_LETTERS"] == 3
    engine.context.alerts.check()
    (alert,) = engine.context.alerts.standing()
    assert (alert.kind, "3 rows" in str(alert.message)) == (AlertKind.REFUSED, True)
    events = [e for _, e in engine.context.catalog.events_after(0, 100)]
    severities = [e.severity for e in events if e.kind is EventKind.DELIVERY]
    assert severities == [Severity.WARN] * 2
    receiver.refuses = {4: 400}
    sent = "ALTER SINK hook RETRY DEAD LETTERS"
    assert shop.sql(sent) == [("Sink hook sent 2 dead letters, 1 wait.",)]
    assert row(shop)["DEAD_LETTERS"] == 1
    receiver.refuses, receiver.answers = {}, [401]
    with refused("DT-6145"):
        shop.sql(sent)
    shop.sql("UPDATE orders SET price = 41 WHERE id = 4")
    assert shop.deliver("hook")[1] == 1
    assert row(shop)["DEAD_LETTERS"] == 0, "the newer row has replaced it"
    assert shop.sql(sent) == [("Sink hook has no dead letters.",)]
    engine.context.alerts.check()
    assert engine.context.alerts.standing() == ()
    last = {
        each["id"]: each["price"] for b in receiver.taken.values() for each in b.get("rows", ())
    }
    assert last == {1: 10, 2: 20, 3: 30, 4: 41, 5: 50}
    shop.url = f"sqlite://{shop.file}"
    shop.create()
    with refused("DT-6144"):
        shop.sql("ALTER SINK s RETRY DEAD LETTERS")


def test_who_has_lost_the_sink_writes_nothing_of_its_delivery(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped while another process took the sink, and wakes with each kind of failure and
    with success: state, history and stream are the other's, the error names sink and holder."""
    shop.create()
    catalog = shop.lab.context.catalog
    before = shop.sql("SELECT * FROM TABLE(SINK_HISTORY())")
    deliver = type(shop.lab.context.sinks.deliveries)._deliver

    def taken(failure: Exception | None) -> Any:
        def late(deliveries: Any, sink: Any, *args: Any) -> Any:
            found = deliver(deliveries, sink, *args)
            layout = shop.lab.context.layout
            other = Catalog(layout.catalog, catalog.clock, Owner.here("other"), lake=layout.lake)
            other.claim_sink(sink, alive=True)
            other.close()
            if failure is not None:
                raise failure
            return found

        return late

    failures = [error("DT-6113", seconds="1"), error("DT-6130", key="id", example="1"), None]
    for number, failure in enumerate(failures):
        shop.sql(f"INSERT INTO orders VALUES ({number + 10}, 'Jena', 30)")
        with monkeypatch.context() as patched:
            patched.setattr(type(shop.lab.context.sinks.deliveries), "_deliver", taken(failure))
            with refused("DT-6122") as found:
                shop.sql("ALTER SINK s REFRESH")
        assert "delivers s (process " in found[0].sentence
        assert shop.state() == ("ACTIVE", None)
        assert shop.sql("SELECT * FROM TABLE(SINK_HISTORY())") == before
        (sink,) = catalog.sinks()
        catalog.claim_sink(sink, alive=True)
    assert shop.deliver() == ("INCREMENTAL", 0, 0)
    assert len(shop.stored()) == 5
