"""Rows as values that compare exactly: −0.0 is not 0.0, NaN is itself, maps have an order."""

from __future__ import annotations

import math
from typing import Any


def exact(value: Any) -> Any:
    """A value that is equal to another one exactly where both are the same; hashable."""
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else repr(value))
    if isinstance(value, dict):
        return ("map", *sorted(((exact(k), exact(v)) for k, v in value.items()), key=repr))
    if isinstance(value, list | tuple):
        return tuple(map(exact, value))
    return bytes(value) if isinstance(value, bytearray) else value


def close(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    """Whether two values of `exact` are equal but for floats within a relative tolerance."""
    if a == b:
        return True
    if not (isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b)):
        return False
    if a and b and a[0] == b[0] == "float":
        return math.isclose(float(a[1]), float(b[1]), rel_tol=tolerance, abs_tol=tolerance)
    return all(close(x, y, tolerance) for x, y in zip(a, b, strict=True))
