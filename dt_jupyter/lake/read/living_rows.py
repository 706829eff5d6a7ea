"""Which rows of a data file no deletion vector has taken."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.deletion_vectors import read_places

if TYPE_CHECKING:
    import pyarrow as pa


def read_living_rows(table: Path, vector: Mapping[str, Any], rows: int) -> pa.BooleanArray:
    """For each of the `rows` of a file whether it lives. Raises as `read_places` does."""
    import numpy as np
    import pyarrow as pa

    living = np.ones(rows, np.bool_)
    living[read_places(table, vector)] = False
    return pa.array(living)
