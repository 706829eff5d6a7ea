"""CHANGES (…), AT|BEFORE (…) and END (…) behind a relation."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.model import DTError, Span, error
from dt_jupyter.sql.grammar.clauses import time_point
from dt_jupyter.sql.grammar.options import unknown_option
from dt_jupyter.sql.grammar.relation_pass import FoundRelation
from dt_jupyter.sql.grammar.relation_words import RelationWords
from dt_jupyter.sql.grammar.statement_values import Information, TimedRelation, TimePoint
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.lex import Token, TokenKind

_AT = ("AT", "BEFORE")
_END = ("END",)
KEYWORDS = frozenset({"CHANGES", *_AT, *_END})
_PARTS = 3
_ORDER = "Write t CHANGES (INFORMATION => DEFAULT) AT (…) END (…), or t AT (…)."


class TimeClauses(RelationWords):
    """Reads the clauses of relations; `qualifiers` are the places of `changes.`."""

    def __init__(self, script: str, words: Sequence[Token], qualifiers: frozenset[int]) -> None:
        super().__init__(script, words)
        self.qualifiers = qualifiers

    def read(self, found: FoundRelation) -> TimedRelation | None:
        """The relation with its clauses; None where it has none. DT-1001 to DT-1003."""
        cursor = self.cursor(found.after)
        timed = self._timed(cursor, found)
        self._refuse_after(cursor, timed)
        return timed

    def refuse(self, what: str, index: int) -> None:
        """DT-1001 for a clause at `index`, behind `what`, which has none."""
        if not self.is_clause(index):
            return
        cursor = self.cursor(index)
        raise cursor.fail(
            f"{cursor.peek().text} stands after {what}",
            "Write it after a table's name, or after a subquery.",
        )

    def _timed(self, cursor: Cursor, found: FoundRelation) -> TimedRelation | None:
        information = None
        if self._is_changes(cursor.index, found):
            information = self._information(cursor, found.query is not None)
        at = self._point(cursor, _AT, common=information is None)
        end = self._point(cursor, _END, common=False) if information else None
        if information is None and at is None:
            return None
        if found.query is None:
            self._check_name(cursor, found)
        span = Span(found.place.start, self.words[cursor.index - 1].end)
        return TimedRelation(found.parts, information, at, end, span, found.place, found.query)

    def _check_name(self, cursor: Cursor, found: FoundRelation) -> None:
        place = found.place
        if found.common:
            raise cursor.fail(
                f"{found.parts[0]} is a common table expression",
                "Write it after the tables that it reads.",
                place,
            )
        if len(found.parts) > _PARTS or not all(found.parts):
            raise cursor.fail(
                f"{cursor.script[place.start : place.end]} is not the name of a table",
                "Write it as table, schema.table or spark_catalog.schema.table.",
                place,
            )

    def _information(self, cursor: Cursor, query: bool) -> Information:
        cursor.next()
        if not self._names(cursor.index):
            return Information.DEFAULT
        cursor.next()
        name = cursor.next()
        if name.upper != "INFORMATION":
            raise unknown_option(name.text, "CHANGES", ["INFORMATION"]).at(self.script, name.span)
        cursor.expect_sign("=>", _ORDER)
        value = cursor.peek()
        if value.kind is not TokenKind.WORD:
            raise cursor.expected(f"{', '.join(Information)}", _ORDER)
        if value.upper not in Information.__members__:
            problem = f"it must be one of {', '.join(Information)}"
            raise error(
                "DT-1003", option="INFORMATION", value=value.text, problem=problem, hint=_ORDER
            ).at(self.script, value.span)
        information = Information(cursor.next().upper)
        if information is Information.REDO and query:
            raise cursor.fail(
                "a query has no REDO, only tables and dynamic tables have",
                "Use INFORMATION => DEFAULT.",
                value.span,
            )
        cursor.expect_sign(")", _ORDER)
        return information

    def _point(self, cursor: Cursor, keywords: tuple[str, ...], common: bool) -> TimePoint | None:
        if not self._is_point(cursor.index, keywords):
            return None
        return time_point(cursor, keywords, common)

    def _refuse_after(self, cursor: Cursor, timed: TimedRelation | None) -> None:
        """DT-1001 for clauses in another order, given twice, or after the alias."""
        index = cursor.index
        alias = index + (self.word(index) == "AS")
        if self.is_clause(index):
            raise self._misplaced(cursor, timed)
        if self.has_alias(index) and self.is_clause(alias + 1):
            keyword = self.words[alias + 1]
            raise cursor.fail(
                f"{keyword.text} must be before the alias",
                f"{_ORDER} Then the alias.",
                keyword.span,
            )

    def _misplaced(self, cursor: Cursor, timed: TimedRelation | None) -> DTError:
        keyword = cursor.peek().upper
        if keyword == "END" and (timed is None or timed.information is None):
            return cursor.fail("END without CHANGES", "A snapshot has no end: write AT (…) alone.")
        if timed and keyword in _AT and timed.at and not timed.end:
            return cursor.fail("the start is given twice", _ORDER)
        if timed and keyword == "END" and timed.end:
            return cursor.fail("the end is given twice", _ORDER)
        return cursor.fail(f"{keyword} is not in its place", _ORDER)

    # -- what the words say -----------------------------------------------------------------------

    def is_clause(self, index: int) -> bool:
        """Whether a clause of time begins there, that no alias can be."""
        changes = self.word(index) == "CHANGES" and (
            self._names(index + 1) or self._is_point(index + 1, (*_AT, *_END))
        )
        return changes or self._is_point(index, (*_AT, *_END))

    def _is_changes(self, index: int, found: FoundRelation) -> bool:
        if self.word(index) != "CHANGES":
            return False
        if self.is_clause(index) or self.has_alias(index + 1):
            return True
        if self.sign(index + 1, "(") or self.word(index + 1) == "FROM":
            return False
        inside = range(found.first, found.after)
        return not found.common and all(i in inside for i in self.qualifiers)

    def _is_point(self, index: int, keywords: tuple[str, ...]) -> bool:
        common = self.word(index + 2) == "COMMON" and self.sign(index + 3, ")")
        return self.word(index) in keywords and (
            self._names(index + 1) or (self.sign(index + 1, "(") and common)
        )

    def _names(self, index: int) -> bool:
        """Whether `(word =>` stands there, or `(word =`, which nothing but a slip can mean."""
        named = self.sign(index + 2, "=>") or self.sign(index + 2, "=")
        return self.sign(index, "(") and self.word(index + 1) != "" and named
