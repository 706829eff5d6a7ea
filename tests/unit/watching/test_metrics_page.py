"""Metrics for Prometheus: read as its own parser reads them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dt_jupyter.model import (
    Alert,
    AlertKind,
    DeliveryCounts,
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    RefreshAction,
    RefreshRecord,
    RefreshState,
)
from dt_jupyter.watching import serve_metrics
from tests.unit.catalog_lab import MANUAL, Lab, at, name, refused
from tests.unit.watching.ports import free_port

Samples = dict[tuple[str, str], float]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.make("a", "b")
    return made


@pytest.fixture
def port(lab: Lab) -> Iterator[int]:
    port = free_port()
    stop = serve_metrics(lab.catalog, "127.0.0.1", port)
    yield port
    stop()
    assert lab.catalog.noted == []


def scrape(port: int) -> Samples:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        families = [*text_string_to_metric_families(answer.read().decode())]
    assert all(f.documentation and f.type for f in families)
    return {
        (s.name, " ".join(v for _, v in sorted(s.labels.items()))): s.value
        for f in families
        for s in f.samples
    }


def test_how_the_lake_stands_and_what_was_done(lab: Lab, port: int) -> None:
    before = scrape(port)
    assert ("dt_lag_seconds", "a") not in before
    assert before["dt_suspended", "a"] == 0
    lab.refresh(0)
    lab.wall.forward(40)
    record = RefreshRecord(
        name("a"), "n", RefreshState.SUCCEEDED, MANUAL, at(5), action=RefreshAction.NO_DATA
    )
    lab.catalog.no_data("id-a", MANUAL, at(5), record)
    lab.fail(7)
    failed = Alert(AlertKind.FAILED, "DYNAMIC_TABLE", name("a"), "id-a", at(0))
    lab.catalog.settle_alerts([failed])
    done = DeliveryRecord(
        "d", "id-k", name("k"), DeliveryState.SUCCEEDED, DeliveryTrigger.MANUAL, at(1),
        end=at(3), counts=DeliveryCounts(stored=4),
    )  # fmt: skip
    lab.catalog.record_delivery(done)
    found = scrape(port)
    assert found["dt_lag_seconds", "a"] == 35
    assert found["dt_target_lag_seconds", "a"] == 60
    assert found["dt_alert", "FAILED a DYNAMIC_TABLE"] == 1
    assert found["dt_refreshes_running", ""] == 0
    assert found["dt_refreshes_total", "INCREMENTAL SUCCEEDED a"] == 1
    assert found["dt_refreshes_total", "NO_DATA SUCCEEDED a"] == 1
    assert found["dt_refreshes_total", " FAILED a"] == 1
    assert found["dt_refresh_seconds_count", "a"] == 3
    assert found["dt_deliveries_total", " k SUCCEEDED"] == 1
    assert found["dt_delivery_seconds_sum", "k"] == 2
    lab.catalog.drop(name("a"))
    lab.catalog.settle_alerts([])
    gone = scrape(port)
    assert ("dt_lag_seconds", "a") not in gone
    assert ("dt_alert", "FAILED a DYNAMIC_TABLE") not in gone
    assert gone["dt_refreshes_total", " FAILED a"] == 1


def test_a_port_that_is_taken(lab: Lab, port: int) -> None:
    for taken in (port, 10**6, -1):
        with refused("DT-5131"):
            serve_metrics(lab.catalog, "127.0.0.1", taken)
    assert len(lab.catalog.noted) == 1


def test_without_the_library(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with refused("DT-5132") as caught:
        serve_metrics(lab.catalog, "127.0.0.1", free_port())
    assert "dt-jupyter[metrics]" in str(caught[0])
