"""String literals and quoted identifiers of Spark SQL, to and fro."""

from __future__ import annotations

import re

from dt_jupyter.sql.text.lex import TokenKind, tokens

_ESCAPE = re.compile(
    r"\\u(?P<u>[0-9a-fA-F]{4})|\\U(?P<w>[0-9a-fA-F]{8})|\\(?P<o>[01][0-7]{2})|\\(?P<c>.)|''|\"\"",
    re.DOTALL,
)
_DOUBLED = {
    "'": re.compile(r"(\\.)|''", re.DOTALL),
    '"': re.compile(r'(\\.)|""', re.DOTALL),
}
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a",
          "%": "\\%", "_": "\\_"}  # fmt: skip
_LAST = 0x10FFFF


def literal(value: str) -> str:
    """A string literal that Spark reads as `value`, whatever it contains: `${name}` too, which
    Spark would replace before it parses."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("${", "$\\u007b") + "'"


def unquote(text: str) -> str:
    """What a quoted token means: '…', "…", r'…', $$…$$ or `…`.

    As Spark's parser does it (escapes, doubled quotes); raw and dollar-quoted text is taken as is.
    """
    if text[0] == "`":
        return text[1:-1].replace("``", "`")
    if text[0] == "$":
        tag = text.index("$", 1) + 1
        return text[tag:-tag]
    if text[0] in "rR":
        return text[2:-1]
    quote, body = text[0], text[1:-1]
    if "\\" not in body:
        return body.replace(quote * 2, quote)
    value = _ESCAPE.sub(lambda match: _unescape(match, quote), body)
    if any("\ud800" <= c <= "\udfff" for c in value):  # two \u escapes may make one character
        value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return value


def escape_quotes(sql: str) -> str:
    """A statement whose strings have no doubled quote: `'it''s'` as `'it\\'s'`, which has as many
    characters. Spark 4.0, and later ones that are set so, drop a doubled quote. DT-1001."""
    if not any(quote * 2 in sql for quote in _DOUBLED):
        return sql
    parts, end = list[str](), 0
    for token in tokens(sql):
        quote = token.text[0]
        if token.kind is TokenKind.STRING and quote in _DOUBLED:
            parts += (sql[end : token.start], quote, _escaped(token.text[1:-1], quote), quote)
            end = token.end
    return "".join((*parts, sql[end:]))


def _escaped(inner: str, quote: str) -> str:
    return _DOUBLED[quote].sub(lambda match: match[1] or f"\\{quote}", inner)


def _unescape(match: re.Match[str], quote: str) -> str:
    if code := match["u"] or match["w"]:
        number = int(code, 16)
        return chr(number) if number <= _LAST else "\ufffd"
    if match["o"]:
        return chr(int(match["o"], 8))
    if match["c"] is not None:
        return _NAMED.get(match["c"], match["c"])
    return quote if match[0][0] == quote else match[0]
