"""A script laid out by its clauses: the same words in the same order, with other blanks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dt_jupyter.sql.text.lex import Token, TokenKind, tokens

_INDENT = "  "
_WIDE = 80
"""Characters of a list, or of what stands in parentheses, that stays in one line."""
_CLAUSES = frozenset(
    ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "QUALIFY",
     "WINDOW", "UNION", "EXCEPT", "INTERSECT", "VALUES", "SORT", "CLUSTER", "DISTRIBUTE", "LATERAL")
)  # fmt: skip
_JOINS = frozenset(
    ("JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "SEMI", "ANTI", "NATURAL")
)  # fmt: skip
_LISTS = frozenset(("SELECT", "GROUP", "ORDER", "WITH"))
_OPENS = re.compile(r"--|/\*")
_LINE = re.compile(r"(?:\\\n|[^\r\n])*")
_EDGE = re.compile(r"/\*|\*/")
_START = Token(TokenKind.END, "", 0, 0)
_OPTION = re.compile(r"(TARGET_LAG|WAREHOUSE|REFRESH_MODE|INITIALIZE|COMMENT|SCHEDULER)\Z")


def format_script(text: str) -> str | None:
    """The text with each clause on a line of its own, comments where they were; None where it
    cannot be laid out without becoming another text. DT-1001 for one that has no words."""
    made = _Layout(text, tokens(text)).text()
    return made if same_words(text, made) else None


def same_words(one: str, other: str) -> bool:
    """Whether two texts have the same words and comments in the same order."""
    return _words(one) == _words(other)


def _words(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    for word in [*tokens(text), Token(TokenKind.END, "", len(text), len(text))]:
        gap = text[at : word.start]
        found += [("comment", each.rstrip()) for each in _comments(gap)]
        found.append((word.kind.value, word.text))
        at = word.end
    return found


def _comments(gap: str) -> list[str]:
    """Of what stands between two words."""
    found, at = [], 0
    while (match := _OPENS.search(gap, at)) is not None:
        at = _end_of_comment(gap, match)
        found.append(gap[match.start() : at])
    return found


def _end_of_comment(gap: str, opened: re.Match[str]) -> int:
    """A block may hold blocks."""
    if opened[0] == "--":
        line = _LINE.match(gap, opened.start())
        return line.end() if line is not None else len(gap)
    depth = 0
    for edge in _EDGE.finditer(gap, opened.start()):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(gap)


@dataclass
class _Level:
    """What stands in one pair of parentheses: `indent` of its lines, and whether it is broken into
    lines; `clause` is the clause that it is in."""

    indent: int
    broken: bool
    clause: str = ""


@dataclass
class _Layout:
    source: str
    words: list[Token]
    out: list[str] = field(default_factory=list)
    levels: list[_Level] = field(default_factory=lambda: [_Level(0, True)])

    def text(self) -> str:
        last = 0
        for i, word in enumerate(self.words):
            self._gap(i, self.source[last : word.start])
            self.out.append(word.text)
            self._after(i)
            last = word.end
        self._comment(self.source[last:], 0)
        return "".join(self.out).strip() + "\n" * self.source.endswith("\n")

    def _gap(self, i: int, gap: str) -> None:
        """What comes before a word: its comments, then a line or a blank."""
        level = self.levels[-1]
        ended = self._comment(gap, level.indent)
        indent = self._break(i, gap)
        if ended and indent is None:
            indent = level.indent + (level.clause != "")
        if indent is not None and (i or ended):
            self._line(indent)
        elif gap:
            self._blank()

    def _comment(self, gap: str, indent: int) -> bool:
        """The comments before a word; whether the last one goes to the end of its line."""
        comments = _comments(gap)
        for comment in comments:
            if "\n" in gap.partition(comment)[0]:
                self._line(indent)
            else:
                self._blank()
            self.out.append(comment.rstrip())
        return bool(comments) and comments[-1].startswith("--")

    def _break(self, i: int, gap: str) -> int | None:
        """The indent of the line that begins with a word; None where none does. Where there was no
        blank none is put."""
        word, level = self.words[i], self.levels[-1]
        before = self.words[i - 1] if i else _START
        if before.sign(";"):
            return 0
        if word.sign(")") and level.broken and len(self.levels) > 1:
            return level.indent - 1
        if level.broken and before.sign("("):
            level.clause = word.upper
            return level.indent
        if not level.broken or not (gap or before.sign(",")):
            return None
        return self._break_in_clause(i, level)

    def _break_in_clause(self, i: int, level: _Level) -> int | None:
        word = self.words[i]
        if (word.upper in _CLAUSES and not self._continues(i)) or self._begins_join(i):
            level.clause = word.upper
            return level.indent
        if word.upper in ("AND", "OR") and level.clause in ("WHERE", "HAVING"):
            return None if self._in_between(i) else level.indent + 1
        if level.clause == "" and _OPTION.match(word.upper):
            return level.indent + 1
        if level.clause == "" and word.upper == "AS" and self._is_definition(i):
            return level.indent
        listed = i > 0 and self.words[i - 1].sign(",") and level.clause in _LISTS
        return level.indent + 1 if listed and self._long(i) else None

    def _after(self, i: int) -> None:
        word = self.words[i]
        if word.sign("("):
            inner = self.words[i + 1] if i + 1 < len(self.words) else word
            broken = inner.upper in ("SELECT", "WITH", "FROM", "VALUES") and self._wide(i)
            self.levels.append(_Level(self.levels[-1].indent + 1, broken))
        elif word.sign(")") and len(self.levels) > 1:
            self.levels.pop()
        elif word.sign(";"):
            self.levels = [_Level(0, True)]
        elif word.upper == "WITH":
            self.levels[-1].clause = "WITH"

    def _continues(self, i: int) -> bool:
        """A word of a clause that does not begin one: `DISTINCT FROM`, `UNION ALL SELECT` does."""
        before = self.words[i - 1].upper if i else ""
        word = self.words[i].upper
        return (
            (word == "FROM" and before in ("DISTINCT", "DELETE"))
            or (word == "GROUP" and before == "WITHIN")
            or (word == "VALUES" and before == "")
            or (word == "ORDER" and self.levels[-1].clause == "")
        ) and i > 0

    def _begins_join(self, i: int) -> bool:
        before = self.words[i - 1].upper if i else ""
        after = self.words[i + 1] if i + 1 < len(self.words) else None
        called = after is not None and after.sign("(")
        return (
            self.words[i].upper in _JOINS
            and not called
            and before not in _JOINS | {"OUTER", "LATERAL"}
            and self.levels[-1].clause in ("FROM", *_JOINS)
        )

    def _in_between(self, i: int) -> bool:
        """The AND of BETWEEN."""
        for word in reversed(self.words[max(0, i - 12) : i]):
            if word.upper in ("AND", "OR", "WHERE", "HAVING"):
                return False
            if word.upper == "BETWEEN":
                return True
        return False

    def _is_definition(self, i: int) -> bool:
        after = self.words[i + 1].upper if i + 1 < len(self.words) else ""
        return after in ("SELECT", "WITH", "FROM", "VALUES", "BEGIN")

    def _long(self, i: int) -> bool:
        """Whether the list around a word is too long for a line, as it stands in the text."""
        start, depth = i, 0
        while start > 0 and not (depth == 0 and self.words[start].upper in _LISTS):
            depth += self.words[start].sign(")") - self.words[start].sign("(")
            if depth < 0:
                break
            start -= 1
        end, depth = i, 0
        while end < len(self.words) - 1 and depth >= 0:
            word = self.words[end]
            depth += word.sign("(") - word.sign(")")
            if depth == 0 and word.upper in _CLAUSES and end > i:
                break
            end += 1
        return sum(len(word.text) + 1 for word in self.words[start:end]) > _WIDE

    def _wide(self, i: int) -> bool:
        """Whether what stands in the parentheses at a word is too long for a line."""
        depth, length = 0, 0
        for word in self.words[i:]:
            depth += word.sign("(") - word.sign(")")
            length += len(word.text) + 1
            if depth == 0:
                break
        return length > _WIDE // 2

    def _line(self, indent: int) -> None:
        while self.out and self.out[-1].isspace():
            self.out.pop()
        if self.out:
            self.out.append("\n" + _INDENT * max(indent, 0))

    def _blank(self) -> None:
        if self.out and not self.out[-1].isspace():
            self.out.append(" ")


__all__ = ["format_script", "same_words"]
