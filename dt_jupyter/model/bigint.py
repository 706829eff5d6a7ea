"""Spark's BIGINT, which versions and counts are too wherever they go."""

from __future__ import annotations

from decimal import Decimal


def is_bigint(value: int | Decimal) -> bool:
    """Whether a whole number has at most 64 bits, with its sign."""
    return -(2**63) <= value < 2**63
