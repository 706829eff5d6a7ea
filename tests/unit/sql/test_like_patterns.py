"""Patterns of SHOW … LIKE: SQL's signs and Spark's."""

from __future__ import annotations

import pytest

from dt_jupyter.sql import matches, patterns_for_spark, replace_spans

LIKE = {
    "orders": ["orders", "o*", "o%", "*ders", "%d_rs", "ORDERS", "x|orders"],
    "a.b": ["a.b", "a_b"],
    "yes": ["y%|n%", "y*|n*"],
}


@pytest.mark.parametrize(("name", "pattern"), [(n, p) for n, found in LIKE.items() for p in found])
def test_a_name_is_like_either_form(name: str, pattern: str) -> None:
    assert matches(name, pattern)
    assert not matches(f"x{name}x", pattern.strip("*%"))


def test_no_pattern_is_like_all_and_other_signs_are_themselves() -> None:
    assert matches("anything", None)
    assert not matches("axb", "a.b")
    assert not matches("order", "ord?r")
    assert matches("a_b*", r"a\_b\*")
    assert not matches("axb*", r"a\_b\*")


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SHOW TABLES LIKE 'o%'", "SHOW TABLES LIKE 'o*'"),
        ("show tables in s 'o%|p%'", "show tables in s 'o*|p*'"),
        ("SHOW TABLES LIKE 'o*'", "SHOW TABLES LIKE 'o*'"),
        ("SELECT 'o%'", "SELECT 'o%'"),
        ("SHOW TBLPROPERTIES t ('a%')", "SHOW TBLPROPERTIES t ('a%')"),
    ],
)
def test_spark_is_given_its_own_sign(statement: str, wanted: str) -> None:
    assert replace_spans(statement, patterns_for_spark(statement)) == wanted
