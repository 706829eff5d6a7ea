"""Spark's SQL as sqlglot reads it for us."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from dt_jupyter.sql.binding.dialect import WholeSpark


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("-128Y", "CAST(-128 AS TINYINT)"),
        ("- 32768S", "CAST(-32768 AS SMALLINT)"),
        ("5 - -9223372036854775808L", "5 - CAST(-9223372036854775808 AS BIGINT)"),
        ("-(128Y)", "-(CAST(128 AS TINYINT))"),
        ("-TRY_CAST(128 AS TINYINT)", "-TRY_CAST(128 AS TINYINT)"),
        ("-0.0D", "-CAST(0.0 AS DOUBLE)"),
        ("-1L::string", "-CAST(CAST(1 AS BIGINT) AS STRING)"),
    ],
)
def test_a_negative_number_with_its_type_is_one_literal(text: str, read: str) -> None:
    assert parse_one(f"SELECT {text}", read=WholeSpark).sql("spark") == f"SELECT {read}"
