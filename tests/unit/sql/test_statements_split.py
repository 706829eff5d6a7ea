"""Splitting loses nothing, and semicolons count only between statements."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, strategies as st

from dt_jupyter.model import DTError, quote
from dt_jupyter.sql.grammar.functions import qualified_name
from dt_jupyter.sql.text.lex import TokenKind, tokens
from dt_jupyter.sql.text.literals import literal, unquote
from dt_jupyter.sql.text.split import split

BITS = st.sampled_from(
    ["SELECT", "BEGIN", "END", "CASE", "IF", "LOOP", ";", ";;", " ", "\n", "'a;b'", '"a;""b"',
     "r'\\'", "`a``;b`", "-- x;y\n", "/* ; /* ; */ */", "/*+ HINT */", "\\", "'", "`", "(", ")",
     "x", "1.5", "$$;$$", "$t$;$t$", ":p", "é", "日本", ".", "a.b", "R\"\\\"", "\r\n", "--", "*/"]
)  # fmt: skip
SCRIPTS = st.one_of(st.lists(BITS).map("".join), st.text())
IDENTIFIERS = st.text(min_size=1).filter(lambda s: "\0" not in s)


def statements(text: str) -> list[str]:
    return [piece.text.strip() for piece in split(text) if piece.tokens]


@given(SCRIPTS)
@example("BEGIN;;END")
@example("a:BEGIN END;")
def test_the_pieces_joined_are_the_script(script: str) -> None:
    try:
        pieces = split(script)
    except DTError:
        assume(False)  # a string or comment that does not end: see test_sql_statements_mutations
    assert ";".join(piece.text for piece in pieces) == script
    assert all(script[piece.start : piece.end] == piece.text for piece in pieces)


@given(SCRIPTS)
def test_every_character_is_in_a_token_or_between_two(script: str) -> None:
    try:
        words = tokens(script)
    except DTError:
        assume(False)
    ends = [0, *(word.end for word in words)]
    for word, end in zip(words, ends, strict=False):
        assert end <= word.start < word.end
        assert script[word.start : word.end] == word.text
        assert tokens(script[end : word.start]) == []
    assert tokens(script[ends[-1] :]) == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';', \"a;\"\"b\", 'it''s;', '\\';'; x",
         ["SELECT ';', \"a;\"\"b\", 'it''s;', '\\';'", "x"]),
        ("SELECT r'\\'; SELECT R\"\\\"; x", ["SELECT r'\\'", 'SELECT R"\\"', "x"]),
        ("SELECT bar'\\';' ; x", ["SELECT bar'\\';'", "x"]),
        ("SELECT `a``;b`; x", ["SELECT `a``;b`", "x"]),
        ("SELECT 1 -- a;\n+ 1; x", ["SELECT 1 -- a;\n+ 1", "x"]),
        ("SELECT 1 -- a\\\n;b\n; x", ["SELECT 1 -- a\\\n;b", "x"]),
        ("SELECT 1 /* ; /* ; */ ; */; x", ["SELECT 1 /* ; /* ; */ ; */", "x"]),
        ("SELECT /*+ COALESCE(1) */ 1; x", ["SELECT /*+ COALESCE(1) */ 1", "x"]),
        ("SELECT $$a;b$$, $t$;$$;$t$; x", ["SELECT $$a;b$$, $t$;$$;$t$", "x"]),
        ("SELECT (1; x", ["SELECT (1", "x"]),
        ("BEGIN; INSERT INTO t SELECT 1; COMMIT", ["BEGIN", "INSERT INTO t SELECT 1", "COMMIT"]),
        ("BEGIN TRANSACTION; x", ["BEGIN TRANSACTION", "x"]),
        ("BEGIN SELECT 1; SELECT 2; END; x", ["BEGIN SELECT 1; SELECT 2; END", "x"]),
        ("l: BEGIN SELECT 1; END l; x", ["l: BEGIN SELECT 1; END l", "x"]),
        ("BEGIN IF a THEN BEGIN SELECT 1; END; END IF; END; x",
         ["BEGIN IF a THEN BEGIN SELECT 1; END; END IF; END", "x"]),
        ("BEGIN SELECT CASE WHEN a THEN 1 END; END; x",
         ["BEGIN SELECT CASE WHEN a THEN 1 END; END", "x"]),
        ("BEGIN CASE WHEN a THEN SELECT 1; END CASE; END; x",
         ["BEGIN CASE WHEN a THEN SELECT 1; END CASE; END", "x"]),
        ("BEGIN WHILE a DO SELECT 1; END WHILE; LOOP SELECT 1; END LOOP; END; x",
         ["BEGIN WHILE a DO SELECT 1; END WHILE; LOOP SELECT 1; END LOOP; END", "x"]),
        ("BEGIN DECLARE EXIT HANDLER FOR NOT FOUND BEGIN SELECT 1; END; SELECT 2; END; x",
         ["BEGIN DECLARE EXIT HANDLER FOR NOT FOUND BEGIN SELECT 1; END; SELECT 2; END", "x"]),
        ("BEGIN SELECT t.begin, t.end, end FROM t; END; x",
         ["BEGIN SELECT t.begin, t.end, end FROM t; END", "x"]),
        ("SELECT begin FROM t; x", ["SELECT begin FROM t", "x"]),
    ],
)  # fmt: skip
def test_where_a_script_is_cut(script: str, expected: list[str]) -> None:
    assert statements(script) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5 2 10L 2024_x", ["1.5", "2", "10L", "2024_x"]),
        ("db.2024_x t.1a .5", ["db", ".", "2024_x", "t", ".", "1a", ".", "5"]),
        ("1.5r 'a'", ["1", ".", "5r", "'a'"]),
        ("a=>b::c->d", ["a", "=>", "b", "::", "c", "->", "d"]),
        (
            "$ACTION a$b /*+ H */ x*/**/y",
            ["$ACTION", "a$b", "/*+", "H", "*/", "x", "*/", "*", "*/", "y"],
        ),
    ],
)
def test_the_words_are_spark_s(text: str, expected: list[str]) -> None:
    assert [word.text for word in tokens(text)] == expected


@given(st.text())
@example("\\")
@example("it's")
@example("\\u0041")
@example("\\'\\\\")
@example("%_\\%\\_")
def test_a_string_survives_quoting(value: str) -> None:
    (token,) = tokens(literal(value))
    assert token.kind is TokenKind.STRING
    assert unquote(token.text) == value


@given(IDENTIFIERS)
@example("`")
@example("a`; DROP TABLE t; --")
def test_an_identifier_survives_quoting(value: str) -> None:
    (token,) = tokens(quote(value))
    assert token.kind is TokenKind.QUOTED
    assert unquote(token.text) == value


@given(IDENTIFIERS, IDENTIFIERS)
def test_a_quoted_name_survives(schema: str, table: str) -> None:
    text = f"{quote(schema)}.{quote(table)}"
    if any(part.lower().startswith("__dt_") for part in (schema, table)):
        with pytest.raises(DTError, match="DT-1114"):
            qualified_name(text)
        return
    name = qualified_name(text)
    assert (name.schema, name.table) == (schema.lower(), table.lower())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'a\nb\t\\'", "a\nb\t\\"),
        (r"'\u0041\U0001F600\101'", "A😀A"),
        (r"'\uD83D\uDE00'", "😀"),
        (r"'\UFFFFFFFF'", "\ufffd"),
        (r"'100\% \_'", r"100\% \_"),
        (r"'\q\0'", "q\0"),
        ("'it''s \"\" '", 'it\'s "" '),
        ('"a""b \'\'"', "a\"b ''"),
        (r"'\\''\x'", r"\'x"),
        (r"r'a\n'", r"a\n"),
        ('R"a\\"', "a\\"),
        ("$$a'b$$", "a'b"),
        ("$t$a$$b$t$", "a$$b"),
    ],
)
def test_what_a_literal_means(text: str, value: str) -> None:
    assert [token.text for token in tokens(text)] == [text]
    assert unquote(text) == value
