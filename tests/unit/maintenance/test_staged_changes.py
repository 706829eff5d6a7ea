"""A refresh that is killed while it has put a change aside leaves files that nobody reads."""

from __future__ import annotations

from pathlib import Path

from dt_jupyter.maintenance.staged_changes import drop_staged
from dt_jupyter.sources import Layout
from tests.unit.catalog_lab import Lab


def staged(layout: Layout, attempt: str) -> Path:
    folder = layout.staging(attempt)
    (folder / "rows").mkdir(parents=True)
    (folder / "rows" / "part-0.parquet").write_bytes(b"x" * 100)
    return folder


def test_what_a_refresh_left_that_is_gone_goes(tmp_path: Path) -> None:
    lab, layout = Lab(tmp_path), Layout(tmp_path)
    drop_staged(lab.catalog, layout)  # where nothing was ever put aside
    lab.make("a", "b")
    running, gone = lab.begin(10), lab.begin(10, dt="b")
    here, left = staged(layout, running.id), staged(layout, gone.id)
    other = staged(layout, "of-nobody")
    lab.catalog.heartbeat(running)
    drop_staged(lab.catalog, layout)
    assert (here.exists(), left.exists(), other.exists()) == (True, True, False)
    lab.wall.forward(20)
    lab.catalog.heartbeat(running)
    lab.wall.forward(20)  # the other one has not been heard of for 40 seconds
    lab.catalog.reap()
    drop_staged(lab.catalog, layout)
    assert (here.exists(), left.exists()) == (True, False)
    assert list(here.rglob("*.parquet"))
