"""Relations read at another time, and the names that a query reads, found in its tokens.

One pass follows brackets and clauses to where a relation may stand: after FROM, JOIN, a comma of
a FROM clause, USING of MERGE, and TABLE t; in subqueries too. What it finds of a text does not
overlap, so that all of it can be replaced at once: within a timed relation, look again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dt_jupyter.model import Span, quote
from dt_jupyter.sql.grammar.functions import qualified_name, replace_spans
from dt_jupyter.sql.grammar.relation_words import ENDS, RelationWords, part_of
from dt_jupyter.sql.grammar.statement_values import HasData, Information, TimedRelation
from dt_jupyter.sql.grammar.time_clauses import KEYWORDS, FoundRelation, TimeClauses
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens
from dt_jupyter.sql.text.token_guard import SET_OPERATIONS

__all__ = [
    "HasData", "Information", "TimedRelation", "find_current_role", "find_has_data",
    "find_last_query_id", "find_timed",
    "has_alias", "has_data_in", "quote_change_columns", "relations_in", "timed_in",
]  # fmt: skip

CHANGE_COLUMNS = frozenset({"$ACTION", "$ISUPDATE", "$ROW_ID"})
_HAS_DATA = "SYSTEM$STREAM_HAS_DATA"
_LAST_QUERY_ID = "LAST_QUERY_ID"
_CURRENT_ROLE = "CURRENT_ROLE"
_QUERY = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"})
_NO_READS = frozenset({"SHOW", "DESCRIBE", "DESC", "DELETE", "UPDATE", "MERGE", "USE", "SET",
                       "ANALYZE", "COPY", "FETCH", "GRANT", "REVOKE"})  # fmt: skip
_BEFORE_VERB = frozenset(
    {"BEGIN", "THEN", "ELSE", "DO", "EXPLAIN", "EXTENDED", "FORMATTED", "CODEGEN", "COST"}
)
_BEFORE_TABLE = SET_OPERATIONS | {"ALL", "DISTINCT", "AS", "QUERY", "CACHE"} | _BEFORE_VERB
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


@dataclass(slots=True)
class _Frame:
    """A bracket, or the statement around all of them."""

    query: bool  # FROM begins a clause in it
    opened: int = -1  # the index of its bracket
    relation: str = ""  # what stands there as a relation: "bracket", "function", "" for none
    in_from: bool = False
    joins: bool = False  # a FROM clause has been seen
    inserts: bool = False  # INSERT has been seen
    using: bool = False  # MERGE's USING is to come
    cte: str = ""  # the common table expression whose body it is
    ctes: set[str] = field(default_factory=set)
    inner: int = -1  # where a query in brackets ends that begins it


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


class _Scan(RelationWords):
    """The pass over the tokens of a statement, or of a script.

    `qualifiers` are the places of `changes.`; `names` those of them that begin a relation's name.
    """

    def __init__(self, script: str, words: Sequence[Token], qualifiers: frozenset[int]) -> None:
        super().__init__(script, words)
        self.qualifiers = qualifiers
        self.clauses = TimeClauses(script, words, qualifiers)
        self.names: set[int] = set()
        self.timed: list[TimedRelation] = []
        self.reads: list[tuple[tuple[str, ...], Span]] = []
        self._stack = [self._statement(0)]
        self._expected = -1  # the index at which a relation stands
        self._bodies: dict[int, str] = {}  # common table expressions by their bracket

    def run(self) -> _Scan:
        index = 0
        while index < len(self.words):
            index = self._step(index)
        return self

    def _step(self, index: int) -> int:
        word, frame = self.words[index], self._stack[-1]
        if index == self._expected:
            return self._relation(index)
        if word.sign("("):
            self._open(index)
        elif word.sign(")"):
            self._close(index)
        elif word.sign(";") and len(self._stack) == 1:
            self._stack = [self._statement(index + 1)]
        elif word.sign(",") and frame.in_from:
            self._expected = index + 1
        elif word.sign("|") and self.sign(index + 1, ">"):
            frame.in_from = False
        elif word.kind is TokenKind.WORD and not self.sign(index - 1, "."):
            self._keyword(index)
        return index + 1

    # -- brackets ---------------------------------------------------------------------------------

    def _statement(self, index: int) -> _Frame:
        first = self.word(index)
        return _Frame(first not in _NO_READS, using=first == "MERGE")

    def _open(self, index: int, relation: str = "") -> None:
        frame = _Frame(self.word(index + 1) in _QUERY, index, relation)
        frame.cte = self._bodies.pop(index, "")
        self._stack.append(frame)

    def _close(self, index: int) -> None:
        if len(self._stack) == 1:
            return
        frame, parent = self._stack.pop(), self._stack[-1]
        query = frame.query or frame.inner == index - 1
        if query and frame.opened == parent.opened + 1:
            parent.inner = index
        if frame.cte:
            parent.ctes.add(frame.cte)
            if self.sign(index + 1, ","):
                self._cte(index + 2)
        if frame.relation and query:
            inside = Span(self.words[frame.opened].end, self.words[index].start)
            place = self.span(frame.opened, index + 1)
            self._keep(FoundRelation(frame.opened, index + 1, place, query=inside))
        elif frame.relation == "function":
            self.clauses.refuse("a function", index + 1)
        elif frame.relation:
            self.clauses.refuse("brackets without a query", index + 1)

    # -- where relations stand --------------------------------------------------------------------

    def _keyword(self, index: int) -> None:
        frame, keyword = self._stack[-1], self.words[index].upper
        if keyword in ENDS or (keyword == "LATERAL" and self.word(index + 1) == "VIEW"):
            frame.in_from = False
            frame.query = frame.query or keyword == "SELECT" or keyword in SET_OPERATIONS
            frame.inserts = frame.inserts or keyword == "INSERT"
        elif keyword == "FROM" and self._begins_from(index):
            frame.in_from = frame.joins = True
            self._expected = index + 1
        elif keyword == "JOIN" and frame.joins:
            frame.in_from = True
            self._expected = index + 1
        elif keyword == "USING" and frame.using:
            frame.using = False
            self._expected = index + 1
        elif keyword == "MERGE" and self.word(index + 1) in ("INTO", "WITH"):
            frame.using = frame.using or self._begins_verb(index)
        elif keyword == "TABLE" and self._begins_table(index):
            self._expected = index + 1
        elif keyword == "WITH":
            self._cte(index + 1 + (self.word(index + 1) == "RECURSIVE"))

    def _begins_from(self, index: int) -> bool:
        """Not EXTRACT(… FROM …), IS DISTINCT FROM, DELETE FROM, Spark's CHANGES FROM."""
        before, second, frame = self.word(index - 1), self.word(index - 2), self._stack[-1]
        if before == "DISTINCT" and second in ("IS", "NOT"):
            return False
        if before == "DELETE" and self._begins_verb(index - 1):
            return False
        return frame.query and not (before == "CHANGES" and frame.in_from)

    def _begins_verb(self, index: int) -> bool:
        """Whether a change may begin there, after WITH …, EXPLAIN, or in a script."""
        return self.sign(index - 1, ")") or self.word(index - 1) in _BEFORE_VERB

    def _begins_table(self, index: int) -> bool:
        """Whether TABLE is the query TABLE t, or the argument TABLE t or TABLE (t)."""
        opens = self.sign(index + 1, "(")
        name = index + 1 + opens
        if not self.is_name(name) or (opens and not self.sign(self.name_end(name), ")")):
            return False
        before = self.words[index - 1] if index else None
        if before is None or before.text in ("(", ")", "=>", ";"):
            return True
        if before.sign(","):
            return any(frame.relation == "function" for frame in self._stack[-2:])
        after_target = self._stack[-1].inserts and before.upper not in ("INTO", "OVERWRITE")
        return before.upper in _BEFORE_TABLE or (after_target and not opens)

    def _cte(self, index: int) -> None:
        """The head of a common table expression: name [(columns)] [AS] (query)."""
        if not self.is_name(index):
            return
        name, at = part_of(self.words[index]), index + 1
        if self.sign(at, "(") and self.word(at + 1) not in _QUERY:
            while at < len(self.words) and not self.words[at].sign(")"):
                at += 1
            at += 1
        while self.word(at) in ("MAX", "RECURSION", "LEVEL") or self.is_number(at):
            at += 1
        at += self.word(at) == "AS"
        if self.sign(at, "("):
            self._bodies[at] = name.lower()
            if self.word(index - 1) == "RECURSIVE":
                self._stack[-1].ctes.add(name.lower())

    def _relation(self, index: int) -> int:
        """The relation that begins at `index`, if one does; the index to go on from."""
        index += self.word(index) == "LATERAL"
        if self.sign(index, "("):
            self._open(index, "bracket")
            frame = self._stack[-1]
            if not frame.query:
                frame.in_from = frame.joins = True
                self._expected = index + 1
            return index + 1
        if self.word(index) == "VALUES":
            self._stack[-1].in_from = False
            return index + 1
        if not self.is_name(index):
            self._expected = -1
            return index
        after = self.name_end(index)
        if index in self.qualifiers:
            self.names.add(index)
        if self.sign(after, "("):
            self._open(after, "function")
            return after + 1
        parts = tuple(map(part_of, self.words[index:after:2]))
        place, common = self.span(index, after), self._is_cte(parts)
        self._keep(FoundRelation(index, after, place, parts, common=common))
        return after

    def _keep(self, found: FoundRelation) -> None:
        """Keeps a relation as a read or as timed, by what follows it."""
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

    def _is_cte(self, parts: tuple[str, ...]) -> bool:
        return len(parts) == 1 and any(parts[0].lower() in frame.ctes for frame in self._stack)
