"""Names of tables from their parts in a text."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, Name
from dt_jupyter.sources import name_of


def test_a_name_has_the_current_schema_where_it_has_none() -> None:
    assert name_of(("T",), "s") == Name("s", "t")
    assert name_of(("spark_catalog", "a", "t"), "s") == Name("a", "t")


@pytest.mark.parametrize("parts", [("",), ("", "t"), ("s", ""), ("a\0b",), ("s", "\0")])
def test_what_can_be_no_name_is_no_table(parts: tuple[str, ...]) -> None:
    with pytest.raises(DTError, match="does not exist") as e:
        name_of(parts, "default")
    assert e.value.code == "DT-1101"
