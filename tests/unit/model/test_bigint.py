from __future__ import annotations

from decimal import Decimal

import pytest

from dt_jupyter.model import is_bigint


@pytest.mark.parametrize("value", [0, 2**63 - 1, -(2**63), Decimal(2**63 - 1)])
def test_numbers_of_64_bits(value: int | Decimal) -> None:
    assert is_bigint(value)


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, 10**5_000, Decimal(2**63)], ids=lambda v: type(v).__name__
)
def test_numbers_of_more(value: int | Decimal) -> None:
    assert not is_bigint(value)
