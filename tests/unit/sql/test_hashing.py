"""The content hash, as a text: every value in it, NULLs told apart, parts framed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dt_jupyter.ivm import Refused, col
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import HASH
from dt_jupyter.sql.emit.hashing import content_hash, exact_text, fields_of, split_types


def test_a_hash_is_two_columns_of_different_seeds_over_all_values() -> None:
    one, two = content_hash([("a", "int"), ("b`c", "string")])
    assert len(HASH) == 2
    body = one.removeprefix("XXHASH64(")
    assert two == f"XXHASH64('dt', {body}"
    assert "CAST(`b``c` AS BINARY)" in body


def test_a_mask_tells_which_values_are_null() -> None:
    one, _ = content_hash([("a", "int"), ("b", "int")])
    assert one.startswith(
        "XXHASH64(CONCAT(CASE WHEN `a` IS NULL THEN '1' ELSE '0' END, CASE WHEN `b`"
    )


@pytest.mark.parametrize(
    ("type_", "form"),
    [
        ("int", "`a`"), ("bigint", "`a`"), ("boolean", "`a`"), ("decimal(38,10)", "`a`"),
        ("date", "`a`"), ("timestamp_ntz", "`a`"), ("binary", "`a`"),
        ("double", "`a`, CASE WHEN `a` = CAST(0 AS double) THEN CAST(`a` AS STRING) END"),
        ("float", "`a`, CASE WHEN `a` = CAST(0 AS float) THEN CAST(`a` AS STRING) END"),
        ("string", "CAST(`a` AS BINARY)"), ("varchar(3)", "CAST(`a` AS BINARY)"),
        ("string collate UTF8_LCASE", "CAST(`a` AS BINARY)"),
    ],
)  # fmt: skip
def test_each_plain_type_has_exact_bytes(type_: str, form: str) -> None:
    one, _ = content_hash([("a", type_)])
    assert one.endswith(f", {form})")


def test_nothing_at_all_has_a_hash() -> None:
    assert content_hash([]) == ("XXHASH64('')", "XXHASH64('dt', '')")


@pytest.mark.parametrize(
    "type_",
    ["variant", "interval day", "array<variant>", "struct<a:int,b:variant>", "map<int,variant>"],
)
def test_a_type_without_exact_bytes_is_refused(type_: str) -> None:
    with pytest.raises(Refused) as e:
        content_hash([("a", type_)])
    assert e.value.reason.code == "TYPE"
    assert "column a" in e.value.reason.sentence


def test_a_missing_list_is_no_empty_list() -> None:
    one, _ = content_hash([("a", "struct<x:array<int>>")])
    assert "`a`.`x` IS NULL THEN 'N'" in one


TYPES = st.recursive(
    st.sampled_from(["int", "decimal(10,2)", "string"]),
    lambda t: st.one_of(
        t.map(lambda x: f"array<{x}>"),
        st.tuples(t, t).map(lambda x: f"map<{x[0]},{x[1]}>"),
        st.lists(t, min_size=1, max_size=3).map(
            lambda x: "struct<" + ",".join(f"f{i}:{y}" for i, y in enumerate(x)) + ">"
        ),
    ),
    max_leaves=5,
)


@given(st.lists(TYPES, min_size=1, max_size=4))
def test_types_are_split_at_the_commas_of_the_top_level(parts: list[str]) -> None:
    assert split_types(",".join(parts)) == parts
    named = [(f"n{i}", t) for i, t in enumerate(parts)]
    assert fields_of(",".join(f"{n}:{t}" for n, t in named)) == named


def test_a_column_that_came_later_adds_nothing_where_it_is_null() -> None:
    """XXHASH64 skips arguments that are NULL."""
    nested = exact_text(col("n"), "struct<p:int>", "n").sql(quote)
    base = [("a", "int"), ("s", "string")]
    later = [("x", "double"), ("n", "struct<p:int>"), ("t", "string")]
    for plain, more in zip(content_hash(base), content_hash(base, later), strict=True):
        assert more.startswith(f"{plain[:-1]}, ")
        added = more.removeprefix(f"{plain[:-1]}, ").removesuffix(")")
        assert added == ", ".join((
            "CASE WHEN `x` IS NOT NULL THEN '0' END",
            "`x`, CASE WHEN `x` = CAST(0 AS double) THEN CAST(`x` AS STRING) END",
            "CASE WHEN `n` IS NOT NULL THEN '1' END",
            f"CASE WHEN `n` IS NOT NULL THEN {nested} END",
            "CASE WHEN `t` IS NOT NULL THEN '2' END",
            "CAST(`t` AS BINARY)",
        ))  # fmt: skip
