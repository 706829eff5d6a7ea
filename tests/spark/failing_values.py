"""Expressions that Spark cannot compute of one row of a table, with its condition for each."""

from __future__ import annotations

from dt_jupyter.engine import read_outcome, run_script
from dt_jupyter.model import DTError
from tests.spark.engine_lab import Lab

COLUMNS = (
    "id INT, s STRING, n INT, a ARRAY<INT>, day DATE, written STRING, big BIGINT, wide DOUBLE,"
    " exact DECIMAL(38,18), js STRING, url STRING"
)
ROWS = (
    "1, '5', 1, array(1, 2), DATE'2024-01-01', '2024-01-01', 1, 1.0, 1.5, '{\"a\": 1}', 'http://a.b/c'",
    "2, 'x', 0, array(1), DATE'2024-01-01', 'yesterday', 9223372036854775807, 1e300,"
    " 99999999999999999999.5, '{\"a\":', 'http:// %'",
)
"""The first is good for every expression, the second for none."""
FAILING = {
    "id / n": "DIVIDE_BY_ZERO",
    "id DIV n": "DIVIDE_BY_ZERO",
    "id % n": "REMAINDER_BY_ZERO",
    "pmod(id, n)": "REMAINDER_BY_ZERO",
    "INTERVAL '1' DAY / n": "INTERVAL_DIVIDED_BY_ZERO",
    "CAST(s AS INT)": "CAST_INVALID_INPUT",
    "s::DOUBLE": "CAST_INVALID_INPUT",
    "CAST(written AS DATE)": "CAST_INVALID_INPUT",
    "CAST(written AS TIMESTAMP)": "CAST_INVALID_INPUT",
    "s + id": "CAST_INVALID_INPUT",
    "CAST(s AS INTERVAL DAY)": "INVALID_INTERVAL_FORMAT",
    "CAST(big AS INT)": "CAST_OVERFLOW",
    "CAST(wide AS INT)": "CAST_OVERFLOW",
    "CAST(exact AS DECIMAL(10,2))": "NUMERIC_VALUE_OUT_OF_RANGE",
    "exact * exact": "NUMERIC_VALUE_OUT_OF_RANGE",
    "big + 1": "ARITHMETIC_OVERFLOW",
    "-big - 2": "ARITHMETIC_OVERFLOW",
    "big * 2": "ARITHMETIC_OVERFLOW",
    "abs(-big - id + 1)": "ARITHMETIC_OVERFLOW",
    "round(big, -1)": "ARITHMETIC_OVERFLOW",
    "CAST(id AS TINYINT) * CAST(big % 128 AS TINYINT)": "BINARY_ARITHMETIC_OVERFLOW",
    "a[1]": "INVALID_ARRAY_INDEX",
    "elt(n, 'a', 'b')": "INVALID_ARRAY_INDEX",
    "element_at(a, 2)": "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
    "element_at(a, n)": "INVALID_INDEX_OF_ZERO",
    "map(nullif(n, 0), 2)": "NULL_MAP_KEY",
    "map(id, 1, n + 2, 2)": "DUPLICATED_MAP_KEY",
    "to_date(s, 'd')": "CANNOT_PARSE_TIMESTAMP",
    "to_timestamp(s, 'd')": "CANNOT_PARSE_TIMESTAMP",
    "unix_timestamp(s, 'd')": "CANNOT_PARSE_TIMESTAMP",
    "make_date(2024, n, 1)": "DATETIME_FIELD_OUT_OF_BOUNDS",
    "make_timestamp(2024, n, 1, 0, 0, 0)": "DATETIME_FIELD_OUT_OF_BOUNDS",
    "timestampadd(YEAR, n * 1 + (id - 1) * 300000, day)": "DATETIME_OVERFLOW",
    "to_binary(concat(s, '0'), 'hex')": "CONVERSION_INVALID_INPUT",
    "to_number(s, '9')": "INVALID_FORMAT",
    "from_json(js, 'a INT', map('mode', 'FAILFAST'))": "MALFORMED_RECORD_IN_PARSING",
    "string(parse_json(js))": "MALFORMED_RECORD_IN_PARSING",
    "parse_url(url, 'HOST')": "INVALID_URL",
    "url_decode(url)": "CANNOT_DECODE_URL",
    "slice(a, n, 1)": "INVALID_PARAMETER_VALUE",
    "from_utc_timestamp(day, if(id = 1, 'UTC', s))": "INVALID_TIMEZONE",
    "next_day(day, if(id = 1, 'MO', s))": "ILLEGAL_DAY_OF_WEEK",
    "assert_true(n > 0)": "USER_RAISED_EXCEPTION",
}
"""By expression; each fails of the second row alone."""


def make_table(lab: Lab) -> None:
    lab.table("failing", COLUMNS, *ROWS)


def error_of(lab: Lab, script: str) -> DTError:
    """What a cell with the script says."""
    try:
        for done in run_script(lab.context, script):
            read_outcome(lab.context, done)
    except DTError as e:
        return e
    raise AssertionError(f"no error: {script}")


def check_told(lab: Lab, expression: str, condition: str) -> None:
    """Condition and row, one advice, and not the one to turn ANSI off."""
    found = error_of(lab, f"SELECT id, {expression} AS v FROM failing")
    told = str(found)
    assert (found.code, condition in told) == ("DT-1033", True), told
    assert "for example of the row id = 2, " in told, told
    assert found.hint, told
    assert found.sentence.count(" Use ") + found.sentence.count("instead") == 0, told
    assert "ansi" not in told.lower(), told
