"""The places of a column's values in their order: few values are found without a scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from dt_jupyter.lake.delta_log.deletion_vectors import Places


@dataclass(frozen=True)
class KeyIndex:
    """`values` in order, less NULLs; `places`: where each of them is, None where they are so."""

    values: np.typing.NDArray[np.integer]
    places: np.typing.NDArray[np.uint32] | None
    nbytes: int

    def find(self, wanted: np.typing.NDArray[np.integer]) -> Places:
        """The places of wanted values, different ones, in order."""
        import numpy as np

        first = self.values.searchsorted(wanted, "left")
        count = self.values.searchsorted(wanted, "right") - first
        before = np.cumsum(count) - count
        found = np.arange(count.sum()) + np.repeat(first - before, count)
        return found if self.places is None else np.sort(self.places[found].astype(np.int64))


def index_keys(keys: pa.Array) -> KeyIndex | None:
    """The index of integers or dates; None for others, and where it would save little."""
    import numpy as np
    from pyarrow import types as t

    if not (t.is_integer(keys.type) or t.is_date32(keys.type)):
        return None
    there = None
    if keys.null_count:
        there = np.flatnonzero(np.array(keys.is_valid())).astype(np.uint32)
        keys = keys.drop_null()
    values = as_numbers(keys)
    if bool((values[1:] >= values[:-1]).all()):
        taken = values.nbytes if there is not None else 0
        return KeyIndex(values, there, taken + (there.nbytes if there is not None else 0))
    order = np.argsort(values).astype(np.uint32)
    values = values[order]
    places = order if there is None else there[order]
    return KeyIndex(values, places, values.nbytes + places.nbytes)


def as_numbers(keys: pa.Array) -> np.typing.NDArray[np.integer]:
    """Integers, or dates by their days; without NULLs."""
    import pyarrow as pa

    kind = pa.int32() if pa.types.is_date32(keys.type) else keys.type
    values: np.typing.NDArray[np.integer] = keys.view(kind).to_numpy(zero_copy_only=False)
    return values
