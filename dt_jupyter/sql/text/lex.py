"""The words of Spark SQL: one linear pass, no recursion, every character accounted for.

Follows Spark's own lexer rules: strings with backslash escapes and doubled quotes, raw strings,
dollar-quoted strings, backquoted identifiers, line comments, nested block comments, hints.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from dt_jupyter.model import DTError, Span, error


class TokenKind(Enum):
    WORD = "word"  # keyword or identifier, `$` allowed
    QUOTED = "quoted"  # `identifier`
    STRING = "string"  # '…', "…", r'…', $$…$$
    NUMBER = "number"  # unsigned
    PUNCT = "punct"  # one sign, or => :: -> /*+ */
    END = "end"  # after the last token of a statement


class Token(NamedTuple):
    """A word of the text: `text` is exact, `start` and `end` are offsets in the whole text.

    `upper` is the keyword that it may be, "" when it is no bare word.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    upper: str = ""

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def sign(self, text: str) -> bool:
        return self.kind is TokenKind.PUNCT and self.text == text


_TOKEN = re.compile(
    r"""\s*+(?:
     (?P<word>(?!\d+(?:\.\d+)?(?!\w)|[rR]['"]|\$[A-Za-z]*\$)[\w$]+)
    |(?P<punct>=>|::|->|/\*\+|\*/|(?!--|/\*)[^\w$'"`\s])
    |(?P<number>\d+(?:\.\d+(?!\w))?)
    |(?P<string>[rR]'[^']*+'|[rR]"[^"]*+"
        |'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+")
    |(?P<quoted>`(?:[^`]++|``)*+`)
    |(?P<dollar>\$[A-Za-z]*\$)
    |(?P<line>--(?:\\\n|[^\r\n])*+)
    |(?P<block>/\*)
    |(?P<open>[rR]?['"`])
    |(?P<end>\Z))""",
    re.DOTALL | re.VERBOSE,
)
_HALF = re.compile("[\ud800-\udfff]")
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
_KINDS = {
    "punct": TokenKind.PUNCT,
    "number": TokenKind.NUMBER,
    "string": TokenKind.STRING,
    "quoted": TokenKind.QUOTED,
}
_OPENERS = {"'": "string", '"': "string", "`": "backquoted name"}


def tokens(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """The tokens of text[start:end], without space and comments.

    DT-1001 for a string, name or comment that does not end, and for half a character.
    """
    found: list[Token] = []
    at, stop = start, len(text) if end is None else end
    if half := _HALF.search(text, at, stop):
        raise _half(text, half)
    while at < stop:
        match = _TOKEN.match(text, at, stop)
        assert match is not None  # every character is the beginning of one of the rules
        group = match.lastgroup or ""
        first, at = match.span(group)
        if group == "word":
            word = match[group]
            found.append(Token(TokenKind.WORD, word, first, at, word.upper()))
        elif group in _KINDS:
            found.append(Token(_KINDS[group], match[group], first, at))
        elif group == "block":
            at = _comment_end(text, first, stop)
        elif group == "dollar":
            at = _dollar_end(text, match[group], first, stop)
            found.append(Token(TokenKind.STRING, text[first:at], first, at))
        elif group == "open":
            raise _unterminated(_OPENERS[match[group][-1]], text, first, stop)
    return found


def _comment_end(text: str, at: int, stop: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, at, stop):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise _unterminated("comment", text, at, stop)


def _dollar_end(text: str, tag: str, at: int, stop: int) -> int:
    close = text.find(tag, at + len(tag), stop)
    if close < 0:
        raise _unterminated("dollar-quoted string", text, at, stop)
    return close + len(tag)


def _half(text: str, half: re.Match[str]) -> DTError:
    """The text is shown with a ? in its place: it cannot be written as it is."""
    problem = f"U+{ord(half[0]):04X} is half of a character"
    shown = text.encode("utf-8", "replace").decode()
    return error("DT-1001", problem=problem, hint="Write the whole character.").at(
        shown, Span(half.start(), half.end())
    )


def _unterminated(what: str, text: str, at: int, stop: int) -> DTError:
    closing = {"comment": "*/", "backquoted name": "a backquote"}.get(what, "its closing quote")
    line_end = text.find("\n", at, stop)
    span = Span(at, stop if line_end < 0 else line_end)
    return error("DT-1001", problem=f"a {what} does not end", hint=f"Close it with {closing}.").at(
        text, span
    )
