"""Two bags of rows compared: exactly, floats within a relative tolerance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dt_jupyter.model import count_of

_Row = tuple[Any, ...]


def difference(got: list[_Row], wanted: list[_Row], tolerance: float = 1e-9) -> str | None:
    """None where both hold the same rows as often; else a sentence about the first that differ."""
    return sentence(*differing(got, wanted, tolerance))


def differing(
    got: list[_Row], wanted: list[_Row], tolerance: float = 1e-9
) -> tuple[list[_Row], list[_Row]]:
    """The rows that are too many, and those that are missing, each in order of their texts.

    Rows equal except for floats within `tolerance` (relative) are paired; NaN equals NaN.
    """
    left, right = Counter(map(_frozen, got)), Counter(map(_frozen, wanted))
    extra = sorted((left - right).elements(), key=repr)
    missing = sorted((right - left).elements(), key=repr)
    unpaired = []
    for row in extra:
        partner = next((m for m in missing if _close(row, m, tolerance)), None)
        if partner is None:
            unpaired.append(row)
        else:
            missing.remove(partner)
    return list(map(_thawed, unpaired)), list(map(_thawed, missing))


def sentence(too_many: list[_Row], missing: list[_Row]) -> str | None:
    """The difference in words; None for none."""
    if not too_many and not missing:
        return None
    parts = (
        [f"{count_of(len(too_many), 'extra row')}, such as {row_text(too_many[0])}"]
        if too_many
        else []
    )
    parts += (
        [f"{count_of(len(missing), 'missing row')}, such as {row_text(missing[0])}"]
        if missing
        else []
    )
    return "; ".join(parts)


def row_text(row: Iterable[object]) -> str:
    """A row in one line, as results show their values."""
    text = "(" + ", ".join("NULL" if v is None else str(v) for v in row) + ")"
    return text if len(text) <= 120 else text[:117] + "..."


class _NaN:
    """Equal to itself, unlike the float."""

    def __repr__(self) -> str:
        return "NaN"


_NAN = _NaN()


@dataclass(frozen=True, slots=True)
class _Float:
    """By its exact text: −0.0 is not 0.0."""

    text: str


def _frozen(value: Any) -> Any:
    if isinstance(value, float):
        return _NAN if math.isnan(value) else _Float(repr(value))
    if isinstance(value, dict):
        return tuple(sorted(((k, _frozen(v)) for k, v in value.items()), key=repr))
    if isinstance(value, list | tuple):
        return tuple(_frozen(v) for v in value)
    return bytes(value) if isinstance(value, bytearray) else value


def _thawed(value: Any) -> Any:
    """What `_frozen` made a value of, as it was; maps and lists stay tuples."""
    if value is _NAN:
        return math.nan
    if isinstance(value, _Float):
        return float(value.text)
    return tuple(map(_thawed, value)) if isinstance(value, tuple) else value


def _close(a: object, b: object, tolerance: float) -> bool:
    if isinstance(a, _Float) and isinstance(b, _Float):
        x, y = float(a.text), float(b.text)
        return math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return all(_close(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return bool(a == b)
