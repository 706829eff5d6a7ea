"""Drivers of a package of one's own and programs, named in CREATE SINK."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sinks.test_installed_drivers import EXAMPLES, folder, installed
from tests.spark.engine_lab import refused
from tests.spark.sinks.shop import Shop

__all__ = ["folder", "installed"]


def of_folder(path: Path) -> dict[Any, Any]:
    rows = (json.loads(f.read_text()) for f in path.glob("*.json"))
    return {each["id"]: each["price"] for each in rows}


def of_program(path: Path) -> dict[Any, Any]:
    views = [json.loads(f.read_text()) for f in path.glob("*.json")]
    return {each["id"]: each["price"] for view in views for each in view["rows"].values()}


@pytest.mark.parametrize("kind", ["package", "program"])
def test_a_sink_of_ones_own_delivers_resets_and_is_dropped(
    shop: Shop, folder: Path, tmp_path: Path, kind: str
) -> None:
    stored: Callable[[], dict[Any, Any]]
    if kind == "package":
        shop.url, clauses = f"folder://{folder}", "KEY (id)"
        stored = lambda: of_folder(folder / "orders")  # noqa: E731
    else:
        out = tmp_path / "out"
        shop.url = f"process://{sys.executable}"
        clauses = f"KEY (id) OPTIONS (args = '-S {EXAMPLES}/sink_driver.py {out}')"
        stored = lambda: of_program(out)  # noqa: E731
    shop.create(clauses=clauses)
    assert stored() == {1: 10, 2: 20}
    shop.sql("UPDATE orders SET price = 11 WHERE id = 1; DELETE FROM orders WHERE id = 2")
    shop.lab.reopen()
    assert shop.deliver() == ("INCREMENTAL", 1, 1)
    assert stored() == {1: 11}
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30); ALTER SINK s RESET")
    assert shop.history()[0] == ("INITIAL", 2, 0)
    assert stored() == {1: 11, 3: 30}
    assert shop.sql("DROP SINK s") == [("Sink s dropped.",)]
    assert stored() == {1: 11, 3: 30}
    if kind == "program":
        shop.sql(
            "CREATE ROLE maker; GRANT CREATE SINK ON SCHEMA default TO ROLE maker; "
            "GRANT SELECT ON TABLE orders TO ROLE maker; "
            "GRANT USAGE ON WAREHOUSE `default` TO ROLE maker; USE ROLE maker"
        )
        with refused("DT-5207"):
            shop.create(clauses=clauses)
        with refused("DT-5207"):
            shop.lab.engine.create_sink("s", "orders", f" {shop.url}", key=["id"])
        shop.sql("USE ROLE admin")


def test_a_program_that_is_gone_pauses_its_sink(shop: Shop, tmp_path: Path) -> None:
    """A driver that cannot be opened counts no dead letters, and its failure is stored."""
    program, out = tmp_path / "program", tmp_path / "out"
    program.symlink_to(sys.executable)
    shop.url = f"process://{program}"
    shop.create(clauses=f"KEY (id) OPTIONS (args = '-S {EXAMPLES}/sink_driver.py {out}')")
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30)")
    shop.lab.reopen()
    program.unlink()
    with refused("DT-6101"):
        shop.deliver()
    assert shop.state() == ("PAUSED", "DT-6101")
    last = "SELECT STATE, DELIVERY_END_TIME IS NULL FROM TABLE(SINK_HISTORY(NAME => 's'))"
    assert shop.sql(last)[0] == ("FAILED", False)
    program.symlink_to(sys.executable)
    shop.sql("ALTER SINK s RESUME")
    assert shop.deliver()[1:] == (1, 0)
    assert of_program(out) == {1: 10, 2: 20, 3: 30}
