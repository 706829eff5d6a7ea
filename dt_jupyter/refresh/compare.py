"""Two bags of rows compared: exactly, floats within a relative tolerance."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

Row = tuple[Any, ...]


def difference(got: list[Row], wanted: list[Row], tolerance: float = 1e-9) -> str | None:
    """None where both hold the same rows as often; else a sentence about the first that differ.

    Rows equal but for floats within `tolerance` (relative) are paired; NaN equals NaN.
    """
    left, right = Counter(map(_frozen, got)), Counter(map(_frozen, wanted))
    extra, missing = list((left - right).elements()), list((right - left).elements())
    unpaired = []
    for row in extra:
        partner = next((m for m in missing if _close(row, m, tolerance)), None)
        if partner is None:
            unpaired.append(row)
        else:
            missing.remove(partner)
    if not unpaired and not missing:
        return None
    parts = [f"{len(unpaired)} rows too many, such as {_show(unpaired[0])}"] if unpaired else []
    parts += [f"{len(missing)} rows missing, such as {_show(missing[0])}"] if missing else []
    return "; ".join(parts)


def _show(row: Any) -> str:
    text = "(" + ", ".join("NULL" if v is None else str(v) for v in row) + ")"
    return text if len(text) <= 120 else text[:117] + "..."


class _NaN:
    """Equal to itself, unlike the float."""

    def __repr__(self) -> str:
        return "NaN"


_NAN = _NaN()


def _frozen(value: Any) -> Any:
    if isinstance(value, float):
        return _NAN if math.isnan(value) else ("f", repr(value))
    if isinstance(value, dict):
        return tuple(sorted(((k, _frozen(v)) for k, v in value.items()), key=repr))
    if isinstance(value, list | tuple):
        return tuple(_frozen(v) for v in value)
    return bytes(value) if isinstance(value, bytearray) else value


def _close(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        if len(a) == 2 and a[0] == b[0] == "f" and isinstance(a[1], str):
            return math.isclose(float(a[1]), float(b[1]), rel_tol=tolerance, abs_tol=tolerance)
        return all(_close(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return bool(a == b)
