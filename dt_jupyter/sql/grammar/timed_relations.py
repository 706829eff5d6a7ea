"""Relations read at another time, and the names that a statement reads, found in its tokens.

What is found of a text does not overlap, so that all of it can be replaced at once: within a timed
relation, look again.
"""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.model import Span, quote
from dt_jupyter.sql.grammar.functions import qualified_name, replace_spans
from dt_jupyter.sql.grammar.relation_pass import FoundRelation, RelationPass
from dt_jupyter.sql.grammar.relation_words import RelationWords, part_of
from dt_jupyter.sql.grammar.statement_values import HasData, Information, TimedRelation
from dt_jupyter.sql.grammar.time_clauses import KEYWORDS, TimeClauses
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens

__all__ = [
    "HasData", "Information", "TimedRelation", "find_current_role", "find_has_data",
    "find_last_query_id", "find_timed",
    "has_alias", "has_data_in", "quote_change_columns", "relations_in", "timed_in",
]  # fmt: skip

CHANGE_COLUMNS = frozenset({"$ACTION", "$ISUPDATE", "$ROW_ID"})
_HAS_DATA = "SYSTEM$STREAM_HAS_DATA"
_LAST_QUERY_ID = "LAST_QUERY_ID"
_CURRENT_ROLE = "CURRENT_ROLE"
_BEFORE_TARGET = frozenset({"INTO", "TABLE", "OVERWRITE", "UPDATE", "EXISTS", "VIEW"})


def find_timed(text: str) -> tuple[TimedRelation, ...]:
    """The relations of a query or DML that are followed by CHANGES … or AT|BEFORE (…).

    A relation is a name or a subquery where one is read; the alias comes after the clause. Of
    nested ones only the outermost is given. CHANGES alone is ours too, and means DEFAULT from the
    oldest version that is kept: wherever it follows a relation as an unquoted word, but for
    `CHANGES FROM …` and `changes (a, b)`, which are Spark's, for a common table expression, which
    has no past, and for a statement that says `changes.a` or `changes.*` outside of the relation,
    which shows it to be an alias. Before AS, an alias, `(INFORMATION =>` and AT|BEFORE|END (kind =>
    it is ours in any case, for an alias has no alias. `t at` alone is an alias: AT and BEFORE are
    ours before `(kind =>` and `(COMMON)`.
    DT-1001 to DT-1003 for one that is ours and malformed, placed in `text`.
    """
    return timed_in(text, tokens(text))


def timed_in(script: str, words: Sequence[Token]) -> tuple[TimedRelation, ...]:
    """`find_timed` for tokens of `script` that are at hand."""
    if not any(word.upper in KEYWORDS for word in words):
        return ()
    return tuple(_scanned(script, words).timed)


def relations_in(text: str) -> tuple[tuple[tuple[str, ...], Span], ...]:
    """The names that a query or DML reads, as (parts, place), from left to right.

    After FROM, JOIN, a comma of a FROM clause, USING of MERGE, and TABLE, in subqueries and
    common table expressions, in views' and tables' queries, in EXPLAIN and in scripts. Not among
    them: what INSERT, UPDATE, DELETE and MERGE change, common table expressions, functions'
    results, IDENTIFIER(…), and all that stands within a timed relation of `find_timed`.
    """
    return tuple(_scanned(text, tokens(text)).reads)


def has_alias(text: str, end: int) -> bool:
    """Whether the relation that ends at character `end` has an alias; where it has none, the
    name put in its place needs one."""
    return RelationWords(text, tokens(text, end)).has_alias(0)


def find_has_data(text: str) -> tuple[HasData, ...]:
    """The calls of SYSTEM$STREAM_HAS_DATA('s'); DT-1001 for other arguments than a name."""
    return has_data_in(text, tokens(text))


def has_data_in(script: str, words: Sequence[Token]) -> tuple[HasData, ...]:
    """`find_has_data` for tokens of `script` that are at hand."""
    return tuple(_has_data(script, words, i) for i, w in enumerate(words) if w.upper == _HAS_DATA)


def find_last_query_id(text: str) -> tuple[Span, ...]:
    """The places of LAST_QUERY_ID() in a text; with arguments it is not ours."""
    return _calls_of(text, _LAST_QUERY_ID)


def find_current_role(text: str) -> tuple[Span, ...]:
    """The places of CURRENT_ROLE() in a text."""
    return _calls_of(text, _CURRENT_ROLE)


def _calls_of(text: str, function: str) -> tuple[Span, ...]:
    if function not in text.upper():
        return ()
    words = tokens(text)
    calls = zip(words, words[1:], words[2:], strict=False)
    return tuple(
        Span(name.start, close.end)
        for name, opened, close in calls
        if name.upper == function and opened.sign("(") and close.sign(")")
    )


def quote_change_columns(text: str) -> str:
    """The text with bare $ACTION, $ISUPDATE, $ROW_ID in backquotes, as Spark wants them.

    It moves what follows: replace what `find_timed` found first.
    """
    found = [w for w in tokens(text) if w.upper in CHANGE_COLUMNS]
    return replace_spans(text, [(w.span, quote(w.text)) for w in found])


def _has_data(script: str, words: Sequence[Token], index: int) -> HasData:
    cursor = Cursor(script, words, "default")
    cursor.index = index + 1
    hint = f"Write {_HAS_DATA}('the name of a stream')."
    cursor.expect_sign("(", hint)
    place = cursor.peek().span
    stream = cursor.string("the name of a stream in quotes", hint)
    cursor.placed(place, lambda: qualified_name(stream))
    last = cursor.expect_sign(")", hint)
    return HasData(stream, Span(words[index].start, last.end))


def _scanned(script: str, words: Sequence[Token]) -> _Scan:
    """The pass, once more where a schema is called `changes`: that qualifies no column."""
    qualifiers = frozenset(i for i in range(len(words)) if _qualifies(words, i))
    scan = _Scan(script, words, qualifiers).run()
    return _Scan(script, words, qualifiers - scan.names).run() if scan.names else scan


def _qualifies(words: Sequence[Token], index: int) -> bool:
    """Whether `changes.` stands there, and is not the schema of what a statement writes."""
    word, before = words[index], words[index - 1] if index else None
    name = word.kind in (TokenKind.WORD, TokenKind.QUOTED) and part_of(word).upper() == "CHANGES"
    if not name or index + 1 >= len(words) or not words[index + 1].sign("."):
        return False
    return before is None or not (before.sign(".") or before.upper in _BEFORE_TARGET)


class _Scan(RelationPass):
    """The pass with the clauses of time.

    `qualifiers` are the places of `changes.`; `names` those of them that begin a relation's name.
    """

    def __init__(self, script: str, words: Sequence[Token], qualifiers: frozenset[int]) -> None:
        super().__init__(script, words)
        self.qualifiers = qualifiers
        self.clauses = TimeClauses(script, words, qualifiers)
        self.names: set[int] = set()
        self.timed: list[TimedRelation] = []
        self.reads: list[tuple[tuple[str, ...], Span]] = []

    def run(self) -> _Scan:
        self.scan()
        return self

    def is_timed(self, index: int) -> bool:
        return self.clauses.is_clause(index)

    def refuse(self, what: str, index: int) -> None:
        """DT-1001 for a clause of time that stands there."""
        self.clauses.refuse(what, index)

    def keep(self, found: FoundRelation) -> None:
        """Keeps a relation as a read or as timed, by what follows it."""
        if found.first in self.qualifiers:
            self.names.add(found.first)
        timed, start = self.clauses.read(found), found.place.start
        if self.timed and self.timed[-1].span.start <= start < self.timed[-1].span.end:
            return  # in the point's expression
        if timed:
            while self.timed and self.timed[-1].span.start > start:
                self.timed.pop()
            while self.reads and self.reads[-1][1].start > start:
                self.reads.pop()
            self.timed.append(timed)
        elif found.query is None and not found.common:
            self.reads.append((found.parts, found.place))
