"""IDENTIFIER with a text, SET, and texts that no variable is replaced in."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sql import literal, resolve_identifiers, set_by
from dt_jupyter.sql.text.literals import unquote

RESOLVED = {
    "SELECT * FROM IDENTIFIER('t')": "SELECT * FROM `t`",
    "SELECT * FROM identifier ( 'a.b' ) x": "SELECT * FROM `a`.`b` x",
    "SELECT IDENTIFIER('abs')(IDENTIFIER('t' || '.f'))": "SELECT `abs`(`t`.`f`)",
    "SELECT * FROM IDENTIFIER('`odd name`.\"')": None,
    "SELECT * FROM IDENTIFIER('`odd.name`')": "SELECT * FROM `odd.name`",
    "SELECT t.identifier, 'IDENTIFIER(x)' -- IDENTIFIER(y)": (
        "SELECT t.identifier, 'IDENTIFIER(x)' -- IDENTIFIER(y)"
    ),
    "SELECT * FROM IDENTIFIER(concat('a', 'b'))": None,
    "SELECT * FROM IDENTIFIER('a' || lower('B'))": None,
    "SELECT * FROM IDENTIFIER('')": None,
    "SELECT * FROM IDENTIFIER()": None,
}


@pytest.mark.parametrize("text", RESOLVED)
def test_a_text_becomes_the_name_that_it_is(text: str) -> None:
    wanted = RESOLVED[text]
    if wanted is not None:
        assert resolve_identifiers(text) == wanted
        return
    with pytest.raises(DTError) as caught:
        resolve_identifiers(text)
    assert caught.value.code in ("DT-1156", "DT-1001")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT * FROM IDENTIFIER(:t)", "SELECT * FROM `a`.`b`"),
        ("SELECT * FROM IDENTIFIER('x.' || :c) y", "SELECT * FROM `x`.`c` y"),
        ("INSERT INTO IDENTIFIER(:c) VALUES (:c)", "INSERT INTO `c` VALUES (:c)"),
        ("SELECT * FROM IDENTIFIER(:gone)", "SELECT * FROM IDENTIFIER(:gone)"),
        ("SELECT * FROM IDENTIFIER(:number)", "SELECT * FROM IDENTIFIER(:number)"),
        ("SELECT * FROM IDENTIFIER(c)", "SELECT * FROM IDENTIFIER(c)"),
        ("SELECT * FROM IDENTIFIER('c' || d)", "SELECT * FROM IDENTIFIER('c' || d)"),
        ("SELECT * FROM IDENTIFIER(:odd)", "SELECT * FROM IDENTIFIER(:odd)"),
    ],
)
def test_a_parameter_is_the_name_that_is_its_value(text: str, wanted: str) -> None:
    values = {"t": "a.b", "c": "c", "number": 3, "odd": "it's"}
    assert resolve_identifiers(text, values, strict=False) == wanted


def test_a_view_keeps_what_only_spark_resolves() -> None:
    text = "SELECT * FROM IDENTIFIER(lower('A')) JOIN IDENTIFIER('b')"
    found = resolve_identifiers(text, strict=False)
    assert found == "SELECT * FROM IDENTIFIER(lower('A')) JOIN `b`"


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SET a.b = 1", {"a.b": "1"}), ("set `x`=two words ", {"x": "two words"}),
        ("SET x", {}), ("SET -v", {}), ("SELECT 1 = 1", {}), ("SET x =", {"x": ""}),
    ],
)  # fmt: skip
def test_what_a_set_statement_sets(statement: str, wanted: dict[str, str]) -> None:
    assert set_by(statement) == wanted


@pytest.mark.parametrize("value", ["${x}", "$${x}", "\\${x}", "'${env:HOME}'", "$", "{x}"])
def test_a_literal_of_ours_holds_no_variable(value: str) -> None:
    assert "${" not in literal(value)
    assert unquote(literal(value)) == value
