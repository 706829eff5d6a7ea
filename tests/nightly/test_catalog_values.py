"""Every value that nobody wrote, in every column of the catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.catalog import schema
from tests.experiments import CATALOG_DAMAGED
from tests.unit.catalog.test_quarantine import GARBAGE, TABLES, site, sweep
from tests.unit.catalog_lab import Lab

__all__ = ["site"]


@CATALOG_DAMAGED
@pytest.mark.parametrize("value", GARBAGE, ids=repr)
@pytest.mark.parametrize("table", TABLES)
def test_any_value_in_any_column_leaves_the_others(
    site: Lab, table: str, value: object, tmp_path: Path
) -> None:
    columns = [c.name for c in schema.METADATA.tables[table].columns]
    sweep(site, table, tmp_path, [(c, value) for c in columns])
