"""Spark's SQL as sqlglot reads it for us."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from dt_jupyter.sql.dialect import BY_CLASS, SparkAsWritten, WholeSpark

OF_THE_GRAMMAR = {"APPLY", "CASE", "CONNECT_BY_ROOT", "IF", "INSERT", "TRANSFORM"}


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


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("'it''s'", r"'it\'s'"),
        ("''''", r"'\''"),
        ("'a''' 'b'", r"CONCAT('a\'', 'b')"),
        (r"'\\''' || ''", r"'\\\'' || ''"),
        ('"a""b\'\'c"', r"""'a"b\'\'c'"""),
        ("'a\"\"b'", "'a\"\"b'"),
        ("`a''b` + 1", "`a''b` + 1"),
        ("/* it''s */ 'x''y'", r"/* it''s */ 'x\'y'"),
        ("TIME'10:00:01'", "TIME '10:00:01'"),
        ("array(1, 2)[1]", "ARRAY(1, 2)[1]"),
        ("listagg(x)", "LISTAGG(x)"),
        ("dateadd(day, n, x)", "DATEADD(DAY, n, x)"),
        ("date_trunc(u, x)", "DATE_TRUNC(u, x)"),
        ("parse_json(x)", "PARSE_JSON(x)"),
        ("to_char(x, 'yyyy')", "TO_CHAR(x, 'yyyy')"),
        ("map(1, 2, 3)", "MAP(1, 2, 3)"),
    ],
)
def test_a_text_keeps_its_meaning(text: str, read: str) -> None:
    written = parse_one(f"SELECT {text}", read=SparkAsWritten).sql(WholeSpark)
    assert written.replace("/* it''s */ SELECT", "SELECT /* it''s */") == f"SELECT {read}"


def test_a_call_keeps_its_name_and_its_arguments() -> None:
    """Also where sqlglot has a form for it: of other dialects, or of fewer arguments."""
    names = WholeSpark.Parser.FUNCTIONS.keys() - WholeSpark.Parser.FUNCTION_PARSERS - BY_CLASS
    assert len(names) > 500
    for name in names - OF_THE_GRAMMAR:
        for count in range(1, 6):
            call = f"{name}({', '.join('abcde'[:count])})"
            written = parse_one(call, read=SparkAsWritten).sql(WholeSpark)
            assert written.upper() == call.upper()
