"""The pass over the tokens of a text that finds where relations stand.

It follows brackets and clauses: a relation stands after FROM, JOIN, a comma of a FROM clause, USING
of MERGE, and TABLE; in subqueries too. A common table expression is seen in the brackets, or the
statement, in which its WITH stands, from the end of its query on, and in its own by WITH RECURSIVE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dt_jupyter.model import Span
from dt_jupyter.sql.grammar.relation_words import ENDS, OPERATORS, RelationWords, part_of
from dt_jupyter.sql.text.lex import Token, TokenKind
from dt_jupyter.sql.text.token_guard import SET_OPERATIONS

_QUERY = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"})
_NO_READS = frozenset({"SHOW", "DESCRIBE", "DESC", "DELETE", "UPDATE", "MERGE", "USE", "SET",
                       "ANALYZE", "COPY", "FETCH", "GRANT", "REVOKE"})  # fmt: skip
_BEFORE_VERB = frozenset(
    {"BEGIN", "THEN", "ELSE", "DO", "EXPLAIN", "EXTENDED", "FORMATTED", "CODEGEN", "COST"}
)
_BEFORE_TABLE = SET_OPERATIONS | {"ALL", "DISTINCT", "AS", "QUERY", "CACHE"} | _BEFORE_VERB
_FROM_INSIDE = frozenset({"EXTRACT", "TRIM", "SUBSTR", "SUBSTRING", "OVERLAY"})
"""Functions with FROM between their arguments."""
_OPERANDS = frozenset({",", "+", "-", "/", "%", "=", "<", "&", "^", "~"})
_IN_VALUES = OPERATORS | {"VALUES", "CASE", "WHEN", "THEN", "ELSE", "INTERVAL", "COLLATE", "ESCAPE",
                          "OVER", "WITHIN", "TO"}  # fmt: skip
"""Words of an expression, between which no alias stands."""
_UNITS = frozenset(
    f"{unit}{s}"
    for unit in ("NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY",
                 "WEEK", "MONTH", "YEAR")
    for s in ("", "S")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FoundRelation:
    """A relation: its tokens from `first`, the index after them, its place, its name or query, and
    whether it is a common table expression. `table` is the index of the TABLE before it, which
    makes a query or an argument of a name."""

    first: int
    after: int
    place: Span
    parts: tuple[str, ...] = ()
    query: Span | None = None
    common: bool = False
    table: int | None = None


@dataclass(slots=True)
class CommonTable:
    """What a WITH names; `relations` is how many come of its query, those of other common tables
    put in their places."""

    name: str
    relations: int = 0
    ended: bool = False


@dataclass(slots=True)
class _Frame:
    """A bracket, or the statement around all of them."""

    query: bool  # FROM begins a clause in it
    opened: int = -1  # the index of its bracket
    relation: str = ""  # what stands there as a relation: "bracket", "function", "" for none
    clause: str = ""  # "select", "from", "values" in a FROM clause, "after" it, "" before a query
    inserts: bool = False  # INSERT has been seen
    using: bool = False  # MERGE's USING is to come
    recursive: bool = False  # its WITH is one
    cte: CommonTable | None = None  # whose body it is
    ctes: dict[str, CommonTable] = field(default_factory=dict)
    inner: int = -1  # where a query in brackets ends that begins it
    reads: bool = False  # a query stands in it, or in its brackets


class RelationPass(RelationWords):
    """The pass over the tokens of a query, a statement or a script. What it finds is handed to the
    methods `keep`, `call` and `refuse`."""

    def __init__(self, script: str, words: Sequence[Token]) -> None:
        super().__init__(script, words)
        self.whole = CommonTable("")
        self._stack = [self._statement(0)]
        self._expected = -1  # the index at which a relation stands
        self._table: int | None = None  # the index of the TABLE before it
        self._bodies: dict[int, CommonTable] = {}  # common table expressions by their bracket

    def keep(self, found: FoundRelation) -> None:
        """A name, or a query in brackets, that is read."""

    def call(self, name: str, reads: bool) -> None:
        """A function's call as a relation; `reads`: a query stands in its arguments."""

    def refuse(self, what: str, index: int) -> None:
        """A relation ends before `index` that is neither a name nor a query."""

    @property
    def is_argument(self) -> bool:
        """Whether what is found stands between the brackets of a table function."""
        return self._stack[-1].relation == "function"

    def is_timed(self, index: int) -> bool:
        """Whether a clause of ours stands there, behind a name."""
        return False

    def scan(self) -> None:
        index = 0
        while index < len(self.words):
            index = self._step(index)

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
        elif word.sign(",") and frame.clause == "from":
            self._expected = index + 1
        elif word.sign("|") and self.sign(index + 1, ">"):
            self._pipe(index + 2)
        elif word.kind is TokenKind.WORD:
            self._keyword(index)
        elif frame.clause == "values" and self._names_values(index):
            frame.clause = "from"
        return index + 1

    # -- brackets ---------------------------------------------------------------------------------

    def _statement(self, index: int) -> _Frame:
        first = self.word(index)
        return _Frame(first not in _NO_READS, using=first == "MERGE")

    def _open(self, index: int, relation: str = "") -> None:
        frame = _Frame(self._begins_query(index), index, relation)
        frame.cte = self._bodies.pop(index, None)
        frame.reads = frame.query
        self._stack.append(frame)

    def _begins_query(self, opening: int) -> bool:
        first, before = self.word(opening + 1), opening - 1
        if first not in _QUERY or not self.is_keyword(opening + 1):
            return False
        function = self.word(before) in _FROM_INSIDE and not self.sign(before - 1, ".")
        return not function or opening in self._bodies

    def _close(self, index: int) -> None:
        if len(self._stack) == 1:
            return
        frame, parent = self._stack.pop(), self._stack[-1]
        query = frame.query or frame.inner == index - 1
        parent.reads = parent.reads or frame.reads or query
        if query and frame.opened == parent.opened + 1:
            parent.inner = index
        if frame.cte is not None:
            self._end_common(frame.cte, parent, index)
        if frame.relation == "function":
            self.call(self.words[frame.opened - 1].text.strip("`").lower(), frame.reads)
            self.refuse("a function", index + 1)
        elif frame.relation and query:
            self._count(1, of=None)
            inside = Span(self.words[frame.opened].end, self.words[index].start)
            place = self.span(frame.opened, index + 1)
            self.keep(FoundRelation(frame.opened, index + 1, place, query=inside))
        elif frame.relation:
            self.refuse("brackets without a query", index + 1)

    def _end_common(self, common: CommonTable, parent: _Frame, index: int) -> None:
        common.ended = True
        parent.ctes[common.name] = common
        if self.sign(index + 1, ","):
            self._cte(index + 2)

    # -- clauses ----------------------------------------------------------------------------------

    def _keyword(self, index: int) -> None:
        frame, keyword = self._stack[-1], self.words[index].upper
        if self.word(index - 1) == "AS" and frame.clause:
            self._expect_more(frame)  # an alias
        elif frame.clause == "values" and self._names_values(index):
            frame.clause = "from"
        elif not self.is_keyword(index):
            return
        elif keyword == "LATERAL" and self.word(index + 1) == "VIEW":
            frame.clause = "after"
        elif keyword in ENDS:
            self._end_from(index)
        elif keyword == "FROM" and self._begins_from(index):
            frame.clause = "from"
            self._expected = index + 1
        elif keyword == "JOIN" and frame.clause == "from" and not self._is_operand(index):
            self._expected = index + 1
        elif keyword == "USING" and frame.using:
            frame.using = False
            self._expected = index + 1
        elif keyword == "MERGE" and self.word(index + 1) in ("INTO", "WITH"):
            frame.using = frame.using or self._begins_verb(index)
        elif keyword == "TABLE" and self._begins_table(index):
            self._expected, self._table = index + 1, index
        elif keyword == "WITH":
            frame.recursive = self.word(index + 1) == "RECURSIVE"
            self._cte(index + 1 + frame.recursive)

    @staticmethod
    def _expect_more(frame: _Frame) -> None:
        """After the alias of literal rows a comma is the FROM clause's."""
        if frame.clause == "values":
            frame.clause = "from"

    def _end_from(self, index: int) -> None:
        frame, keyword = self._stack[-1], self.words[index].upper
        if keyword == "EXCEPT" and self.sign(index - 1, "*") and self.sign(index + 1, "("):
            return  # columns that a * leaves out
        if keyword in SET_OPERATIONS:
            frame.clause = ""
        elif keyword in ("SELECT", "MAP", "REDUCE"):
            frame.clause = "select"
        elif keyword != "INSERT":
            frame.clause = "after"
        else:
            frame.clause, frame.inserts = "", True
        frame.query = frame.query or keyword == "SELECT" or keyword in SET_OPERATIONS

    def _pipe(self, index: int) -> None:
        """What stands behind |> may be a join, or a set operation."""
        frame = self._stack[-1]
        frame.clause = "after"
        if joined := self.joins_at(index):
            frame.clause = "from"
            self._expected = joined

    def _begins_from(self, index: int) -> bool:
        """Not IS DISTINCT FROM, DELETE FROM, Spark's CHANGES FROM, and no column `from`."""
        before, second, frame = self.word(index - 1), self.word(index - 2), self._stack[-1]
        if before == "DISTINCT" and second in ("IS", "NOT"):
            return False
        if before == "DELETE" and self._begins_verb(index - 1):
            return False
        if not frame.query or frame.clause not in ("", "select"):
            return False
        following = self.words[index + 1]
        if following.kind is TokenKind.WORD or following.kind is TokenKind.QUOTED:
            return not self._is_column(index)
        return following.sign("(")

    def _is_column(self, index: int) -> bool:
        """Whether the FROM there is a column's name, or an alias: another one follows, or only an
        operand can stand there."""
        if self._stack[-1].clause != "select":
            return False
        again = self.word(index + 1) == "FROM" and self.is_keyword(index + 1)
        again = again or self.word(index + 1) == "AS"
        return again or self.text(index - 1) in _OPERANDS or self._is_operand(index)

    def _is_operand(self, index: int) -> bool:
        """Whether the word there is compared with something: `join IS NULL`."""
        operator = self.word(index + 1) in OPERATORS
        return operator and self.is_keyword(index + 1) and not self.sign(index + 2, ".")

    def _begins_verb(self, index: int) -> bool:
        """Whether a change may begin there, after WITH …, EXPLAIN, or in a script."""
        return self.sign(index - 1, ")") or self.word(index - 1) in _BEFORE_VERB

    def _begins_table(self, index: int) -> bool:
        """Whether TABLE is the query TABLE t, or the argument TABLE t or TABLE (t)."""
        opens = self.sign(index + 1, "(")
        name = index + 1 + opens
        if not self.is_name(name) or (opens and not self.sign(self.name_end(name), ")")):
            return False
        if self._is_operand(index):
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
        if not self.is_relation(index) and not self._is_named_so(index):
            return
        frame, at = self._stack[-1], index + 1
        common = CommonTable(part_of(self.words[index]).lower())
        nested = self.sign(at + 1, "(")
        if self.sign(at, "(") and not nested and not self._begins_query(at):
            at = self.closing(at) + 1
        while self.word(at) in ("MAX", "RECURSION", "LEVEL") or self.is_number(at):
            at += 1
        at += self.word(at) == "AS"
        if self.sign(at, "("):
            self._bodies[at] = common
            if frame.recursive:
                frame.ctes[common.name] = common

    def _is_named_so(self, index: int) -> bool:
        """Whether a keyword is the name of a common table expression."""
        word = index < len(self.words) and self.words[index].kind is TokenKind.WORD
        return word and self.word(index + 1) == "AS" and self.sign(index + 2, "(")

    # -- relations --------------------------------------------------------------------------------

    def _relation(self, index: int) -> int:
        """The relation that begins at `index`, if one does; the index to go on from."""
        table, self._table = self._table, None
        index = self._after_words(index)
        if self.sign(index, "("):
            self._open(index, "bracket")
            frame = self._stack[-1]
            if not frame.query:
                frame.clause = "from"
                self._expected, self._table = index + 1, table
            return index + 1
        if self.word(index) == "VALUES" and self.is_keyword(index):
            self._stack[-1].clause = "values"
            return index + 1
        self._expected = -1
        if not self.is_relation(index):
            if self._stack[-1].clause == "from":
                self._stack[-1].clause = "after"
            return index
        after = self.name_end(index)
        if self.sign(after, "("):
            self._count(1, of=None)
            self._open(after, "function")
            return after + 1
        self._name(index, after, table)
        return after

    def _after_words(self, index: int) -> int:
        """The index after LATERAL, and after the STREAM of a table that is read as one."""
        following = index + 1
        if self.word(index) == "LATERAL" and not self._ends_at(following):
            return self._after_words(following)
        if self.word(index) != "STREAM" or self.is_timed(following):
            return index
        bracketed = self.sign(following, "(") and self.is_name(following + 1)
        bracketed = bracketed and self.sign(self.name_end(following + 1), ")")
        return following if bracketed or self.is_name(following) else index

    def _ends_at(self, index: int) -> bool:
        return self.text(index) in ("", ",", ")", ".", ";")

    def _name(self, index: int, after: int, table: int | None) -> None:
        parts = tuple(map(part_of, self.words[index:after:2]))
        common = self._common(parts)
        self._count(1, of=common)
        place = self.span(index, after)
        found = FoundRelation(index, after, place, parts, common=common is not None, table=table)
        self.keep(found)

    def _common(self, parts: tuple[str, ...]) -> CommonTable | None:
        """The common table expression of that name that is the nearest around."""
        if len(parts) > 1:
            return None
        name = parts[0].lower()
        return next((f.ctes[name] for f in reversed(self._stack) if name in f.ctes), None)

    def _count(self, relations: int, of: CommonTable | None) -> None:
        """Counts a relation for the common table in whose query it stands, or for the text."""
        home = next((f.cte for f in reversed(self._stack) if f.cte is not None), self.whole)
        home.relations += of.relations if of is not None and of.ended else relations

    def _names_values(self, index: int) -> bool:
        """Whether an alias of literal rows stands there: a name behind a whole value."""
        word, before = self.words[index], self.words[index - 1]
        named = word.kind is TokenKind.QUOTED or word.upper not in _IN_VALUES | {"", "END"}
        if before.kind in (TokenKind.NUMBER, TokenKind.STRING):
            return named and word.upper not in _UNITS
        if before.kind is TokenKind.PUNCT:
            return named and before.text in (")", "]")
        return named and before.upper not in _IN_VALUES
