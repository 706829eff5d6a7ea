"""What is said of a text that Spark's parser refuses: a sign, a word or a keyword that helps."""

from __future__ import annotations

import pytest

from dt_jupyter.failures import syntax_error

HINTS = {
    # what Spark reads until the ¦, where it stops
    "SELECT a count¦(*) FROM t GROUP BY a": "Is a comma missing between a and count?",
    "SELECT count(*) sum¦(v) FROM t": "Is a comma missing between ) and sum?",
    "SELECT a b ¦c FROM t": "Is a comma missing between b and c?",
    "SELECT t.a t¦.b FROM t": "Is a comma missing between a and t?",
    "SELECT f(a, b ¦c) FROM t": "Is a comma missing between b and c?",
    "SELECT id FROM t ORDER BY id DESC ¦a": "Is a comma missing between DESC and a?",
    "SELECT id FROM t WHERE id IN (1 ¦2)": "Is a comma missing between 1 and 2?",
    "INSERT INTO t VALUES (1 ¦'x')": "Is a comma missing between 1 and 'x'?",
    "INSERT INTO t VALUES (1) ¦(2)": "Is a comma missing between ) and (?",
    "UPDATE t SET a = 1 ¦b = 2": "Is a comma missing between 1 and b?",
    "WITH x AS (SELECT 1) ¦y AS (SELECT 2) TABLE x": "Is a comma missing between ) and y?",
    "CREATE TABLE t (id INT ¦name STRING)": "Is a comma missing between INT and name?",
    "CREATE TABLE t (id STRING ¦price INT)": "Is a comma missing between STRING and price?",
    "SELECT id FROM t WHERE a = 3 ¦b = 4": "Is AND or OR missing between 3 and b?",
    "SELECT id FROM t JOIN u ON t.a = u.a ¦t.b = u.b": "Is AND or OR missing between a and t?",
    "SELECT id FROM t WHERE (a = 1 ¦b = 2)": "Is AND or OR missing between 1 and b?",
    "SELECT id¦, FROM t": "",
    "SELECT id FROM t,¦": "Leave out the comma at the end, or write what follows it.",
    "SELECT id FROM t, WHERE ¦id = 1": "Leave out the comma before WHERE.",
    "SELECT f(a, ¦) FROM t": "Leave out the comma before ).",
    "SELECT count(* ¦FROM t": "A ) is missing: the ( after count is not closed.",
    "SELECT sum(round(v, 1) ¦AS x FROM t": "A ) is missing: the ( after sum is not closed.",
    "SELECT id FROM t WHERE (a = 1¦": "A ) is missing: the ( after WHERE is not closed.",
    "SELECT id FROM (SELECT id FROM t¦": "A ) is missing: the ( after FROM is not closed.",
    "SELECT CAST(id AS INT ¦FROM t": "A ) is missing: the ( after CAST is not closed.",
    "SELECT sum(v) OVER (ORDER BY a ¦FROM t": "A ) is missing: the ( after OVER is not closed.",
    "SELECT id FROM t WHERE id = 1¦)": "No ( is open there: leave out the ).",
    "SELECT id FROM t LIMIT 1 ¦WHERE id = 1": "WHERE comes before LIMIT.",
    "SELECT id FROM t HAVING n > 1 ¦GROUP BY id": "GROUP BY comes before HAVING.",
    "SELECT id FROM (SELECT id FROM t ORDER BY id) ¦WHERE = 1": "",
    "SELECT id FROM t GROUP ¦id": "Write GROUP BY.",
    "INSERT ¦t VALUES (1)": "Write INSERT INTO.",
    "SELECT TOP ¦10 id FROM t": "Write LIMIT 10 at the end of the query, with your number.",
    "SELECT * FROM ¦{name}": "Write IDENTIFIER(:name), whose value is the name of the table.",
    "SELECT * FROM ¦:name": "Write IDENTIFIER(:name), whose value is the name of the table.",
    "SELECT * FROM t WHERE id = ¦{x}": "Write :x, a parameter.",
    "SELECT * FROM ¦'t'":
        "A table's name has no quotes: IDENTIFIER(:x) reads the one that a parameter names.",
    # a keyword that is misspelled comes before a sign
    "SELECT id FORM ¦t": "Did you mean FROM?",
    "SELECT id FROM t WERE ¦id = 1": "Did you mean WHERE?",
    "SELECT id FROM t WEHRE (id ¦= 1)": "Did you mean WHERE?",
    "SELECT id FROM t WHERE a = 1 ¦AN b = 2": "Did you mean AND?",
    "SELECT a FROM t GRUOP ¦BY a": "Did you mean GROUP?",
    "INSERT ¦INT t VALUES (1)": "Did you mean INTO?",
    "SELECT CAST(a + ¦AS INT) FROM t": "",
    "SELECT a FROM t LIMIT 1 UNION SELECT b FROM u ¦WHERE = 1": "",
    "SELECT CASE WHEN ¦id = 1 THEN 2 FROM t": "",
    "SELECT a FROM t WHERE a =¦! 1": "",
}  # fmt: skip


@pytest.mark.parametrize("marked", HINTS)
def test_a_text_is_explained_by_the_words_where_spark_stops(marked: str) -> None:
    script, at = marked.replace("¦", ""), marked.index("¦")
    said = f"[PARSE_SYNTAX_ERROR] Syntax error at or near X. SQLSTATE: 42601 (line 1, pos {at})"
    found = syntax_error(Exception(f"{said}\n\n== SQL ==\n{script}\n{'-' * at}^^^\n"), script)
    assert found.hint == HINTS[marked]
    assert found.span is not None
    assert found.span.start == at


@pytest.mark.parametrize(
    ("marked", "hint"),
    [
        ("SELECT b, a FROM t GROUP BY a ¦b", "Is a comma missing between a and b?"),
        ("SELECT count(*) n, a FROM t GROUP BY a ¦n", "Is a comma missing between a and n?"),
    ],
)
def test_a_word_that_spark_names_without_its_place_is_found(marked: str, hint: str) -> None:
    script, at = marked.replace("¦", ""), marked.index("¦")
    word = script[at:].split()[0]
    what = f"at or near '{word}': extra input '{word}'"
    said = f"[PARSE_SYNTAX_ERROR] Syntax error {what}. SQLSTATE: 42601"
    found = syntax_error(Exception(f"\n{said}\n== SQL ==\n{script}"), script)
    assert found.span is not None
    assert (found.span.start, found.hint) == (at, hint)
    assert found.sentence == f"Syntax error: at or near '{word}'."
