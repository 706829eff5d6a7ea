"""What is no query, or more than one, and text that is none."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, did_you_mean
from dt_jupyter.sql.grammar.parse import parse_script
from dt_jupyter.sql.grammar.table_places import reads_by_function, table_places
from dt_jupyter.sql.text.lex import tokens
from dt_jupyter.sql.text.one_query import require_one_query

QUERIES = ("SELECT 1", "SELECT 1;", " -- so\nVALUES (1) ; ", "TABLE t", "FROM t |> SELECT a",
           "(SELECT 1)", "WITH a AS (SELECT 1) SELECT * FROM a", "SELECT ';' AS a")  # fmt: skip
OTHERS = ("", ";", "SELECT 1; SELECT 2", "SELECT 1;; DROP TABLE t", "INSERT INTO t SELECT 1",
          "DROP TABLE t", "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
          "BEGIN SELECT 1; END", "CREATE TABLE t AS SELECT 1")  # fmt: skip


@pytest.mark.parametrize("text", QUERIES)
def test_one_query(text: str) -> None:
    require_one_query(text)


@pytest.mark.parametrize("text", OTHERS)
def test_anything_else_is_refused_before_it_could_run(text: str) -> None:
    with pytest.raises(DTError) as raised:
        require_one_query(text)
    assert raised.value.code == "DT-1001"


@pytest.mark.parametrize("half", [chr(0xD800), chr(0xDFFF)])
def test_half_a_character_is_no_text(half: str) -> None:
    script = f"SELECT 1; SELECT '{half}' AS a"
    for read in (tokens, parse_script, require_one_query):
        with pytest.raises(DTError) as raised:
            read(script)
        assert raised.value.code == "DT-1001"
        assert raised.value.span is not None
        assert raised.value.span.start == script.index(half)
        assert str(raised.value).encode()
        assert (raised.value.query or "").encode(), "what is shown can be written"
    assert tokens("SELECT '\U0001f600' AS a"), "a pair is a character"


def test_a_name_is_not_what_was_meant_instead_of_itself() -> None:
    assert did_you_mean("s2.tt", ["s2.tt", "s2.tu"]) == "Did you mean s2.tu?"
    assert did_you_mean("s2.tt", ["s2.tt"], "Look.") == "Look."


@pytest.mark.parametrize(
    ("query", "named", "more"),
    [
        ("SELECT * FROM range(5)", [], False),
        ("SELECT * FROM t JOIN range(3) r ON r.id = t.id", ["t"], False),
        ("SELECT * FROM explode(array(1, 2))", [], False),
        ("SELECT * FROM stack(2, 1, 2) AS s(a)", [], False),
        ("SELECT * FROM inline_outer(array(struct(1 AS a)))", [], False),
        ("SELECT * FROM explode((SELECT collect_list(a) FROM t))", ["t"], True),
        ("SELECT * FROM table_changes('t', 0)", [], True),
        ("SELECT * FROM IDENTIFIER('t')", [], True),
        ("SELECT * FROM mine(TABLE(t))", ["t"], True),
        ("SELECT * FROM t VERSION AS OF 1", ["t"], False),
        ("SELECT * FROM range", ["range"], False),
    ],
)
def test_functions_are_no_tables(query: str, named: list[str], more: bool) -> None:
    assert [parts[-1] for parts, *_ in table_places(query)] == named
    assert reads_by_function(query) is more


def test_what_is_read_at_a_time_of_its_own_stays_where_it_is() -> None:
    query = "SELECT * FROM t a, t VERSION AS OF 1 b, t TIMESTAMP AS OF '2026-01-01' c"
    assert len(table_places(query)) == 3
    ((parts, start, end, _),) = table_places(query, fixed=False)
    assert (parts, query[start:end], start) == (("t",), "t", 14)


@pytest.mark.parametrize("text", ["INSERT INTO t SELECT 1", "SELECT 1; SELECT 2", "SELECT ,,) x"])
def test_a_text_need_not_be_a_query(text: str) -> None:
    """Spark's parser is the judge of that."""
    assert table_places(text) == []
