"""Bombs get a named error before any recursive parser sees them."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sql.grammar.parse import parse_script
from dt_jupyter.sql.text.token_guard import DEFINITION, SCRIPT, Limits, guard

DEFINE = "CREATE DYNAMIC TABLE t AS SELECT "


@pytest.mark.parametrize(
    ("bomb", "what"),
    [
        ("(" * 3000 + "1" + ")" * 3000, "deeply nested"),
        ("1 UNION ALL SELECT " * 20_000 + "1", "wide"),
        ("a[" * 300 + "0" + "]" * 300, "deeply nested"),
        ("CASE WHEN a THEN " * 300 + "1" + " END" * 300, "deeply nested"),
        ("NOT " * 300 + "a", "deeply nested"),
        ("- " * 300 + "1", "deeply nested"),
        ("CAST(a AS " + "ARRAY<" * 300 + "INT" + ">" * 300 + ")", "deeply nested"),
        ("a + " * 2000 + "1", "wide"),
        ("a" + ".a" * 2000, "wide"),
        ("a" + "::int" * 2000, "wide"),
        ("a" + "[0]" * 2000, "wide"),
        ("a = 1 AND " * 6000 + "TRUE", "wide"),
    ],
)
def test_bombs(bomb: str, what: str) -> None:
    for text in (DEFINE + bomb, "SELECT " + bomb):
        with pytest.raises(DTError) as caught:
            parse_script(text)
        assert caught.value.code == "DT-1004"
        assert caught.value.facts["what"] == what
        assert caught.value.span is not None
        assert caught.value.span.end <= len(text)


@pytest.mark.parametrize(
    "query",
    [
        "(" * 200 + "1" + ")" * 200,
        ", ".join(f"CASE WHEN a = {i} THEN -{i} END AS c{i}" for i in range(1000)),
        ", ".join(f"t.a + t.b * {i} AS c{i}" for i in range(1000)),
        "1 UNION ALL SELECT " * 4000 + "1",
        "a FROM t WHERE " + " OR ".join(f"t.a = {i}" for i in range(1000)),
        "a FROM t WHERE a IN (" + ", ".join(map(str, range(20_000))) + ")",
        "a FROM " + " ".join(f"t{i} JOIN u{i} ON t{i}.a < u{i}.b" for i in range(600)),
        "'" + "(" * 3000 + "' -- " + "(" * 3000,
    ],
)
def test_honest_queries(query: str) -> None:
    guard("SELECT " + query)


def test_length() -> None:
    long = DEFINE + "'" + "x" * DEFINITION.characters + "'"
    with pytest.raises(DTError) as caught:
        parse_script(long)
    assert caught.value.code == "DT-1004"
    assert caught.value.facts["what"] == "long"
    data = f"INSERT INTO t VALUES ('{'x' * DEFINITION.characters}')"
    assert len(parse_script(data)) == 1  # only a definition must be short
    with pytest.raises(DTError, match="too long"):
        parse_script(" " * (SCRIPT.characters + 1))


def test_the_limit_itself_is_allowed() -> None:
    limits = Limits(characters=20, levels=2, set_operations=1, conditions=1, chain=2)
    for text in ("x" * 20, "((1))", "a UNION b", "a AND b", "1+1+1"):
        guard(text, limits)
    for text in ("x" * 21, "(((1)))", "a UNION b MINUS c", "a AND b OR c", "1+1+1+1"):
        with pytest.raises(DTError, match="DT-1004"):
            guard(text, limits)
