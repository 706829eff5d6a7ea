"""Where a query names tables, and what it comes to once common tables are put in their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dt_jupyter.model import Span, error
from dt_jupyter.sql.grammar.relation_pass import FoundRelation, RelationPass
from dt_jupyter.sql.text.lex import Token, tokens
from dt_jupyter.sql.text.limits import MOST_RELATIONS
from dt_jupyter.sql.text.token_guard import DEFINITION, guard_length, guard_tokens

_MAKE_ROWS = frozenset({
    "range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline",
    "inline_outer", "stack", "json_tuple", "variant_explode", "variant_explode_outer",
    "sql_keywords", "collations",
})  # fmt: skip
"""Table functions of Spark that read no table."""
_VERSIONS = frozenset({"VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME"})


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A table that a query names: the parts of the name and its place.

    `fixed`: it is read as of a time of its own, or its changes between two. Of other ones `aliased`
    says whether an alias follows, and `alias` at which character one stands or would, behind
    options and TABLESAMPLE; `options` whether there are options. `table` is the place of `TABLE t`
    or `TABLE (t)`, where no subquery can stand for the name: a query, or an `argument`.
    """

    parts: tuple[str, ...]
    span: Span
    alias: int
    aliased: bool = False
    fixed: bool = False
    options: bool = False
    table: Span | None = None
    argument: bool = False


def named_tables(query: str) -> tuple[TablePlace, ...]:
    """The tables that a query names, from left to right: common tables are left out, and table
    functions. DT-1004 for a text that is too long or too deep.

    The text need not be a query: what is found of one that Spark cannot parse means nothing.
    """
    return tuple(_scanned(query).places)


def table_places(query: str, *, fixed: bool = True) -> list[tuple[tuple[str, ...], int, int, bool]]:
    """`named_tables` as (parts, start, end, whether an alias follows); without `fixed` those left
    out that the query reads as of a time of its own. Offsets in characters, end exclusive."""
    return [
        (place.parts, place.span.start, place.span.end, place.aliased)
        for place in named_tables(query)
        if fixed or not place.fixed
    ]


def reads_by_function(query: str) -> bool:
    """Whether a table function of the query may read tables: all but those that make their rows
    of their arguments alone."""
    return _scanned(query).reads_by_function


def require_bounded(query: str) -> None:
    """DT-1004 for a text whose common tables come to more relations than Spark analyses in a
    moment: twenty that each read the one before twice are a million."""
    if _scanned(query).whole.relations > MOST_RELATIONS:
        size = f"more than {MOST_RELATIONS:,} tables once common tables are put in their places"
        raise error("DT-1004", what="wide", size=size, limit=f"{MOST_RELATIONS:,}")


def _scanned(query: str) -> _Places:
    guard_length(query, DEFINITION)
    words = tokens(query)
    guard_tokens(query, words, DEFINITION)
    places = _Places(query, words)
    places.scan()
    return places


class _Places(RelationPass):
    def __init__(self, script: str, words: Sequence[Token]) -> None:
        super().__init__(script, words)
        self.places: list[TablePlace] = []
        self.reads_by_function = False

    def keep(self, found: FoundRelation) -> None:
        if found.query is not None or found.common:
            return
        fixed = self._is_fixed(found.after)
        place = TablePlace(found.parts, found.place, found.place.end, fixed=fixed)
        if found.table is not None:
            place = self._after_table(place, found, found.table)
        elif not fixed:
            place = self._at_present(place, found.after)
        self.places.append(place)

    def call(self, name: str, reads: bool) -> None:
        if reads or name not in _MAKE_ROWS:
            self.reads_by_function = True

    def _is_fixed(self, index: int) -> bool:
        """Whether VERSION AS OF, TIMESTAMP AS OF or CHANGES FROM stands there."""
        index += self.word(index) == "FOR"
        as_of = self.word(index + 1) == "AS" and self.word(index + 2) == "OF"
        changes = self.word(index) == "CHANGES" and self.word(index + 1) == "FROM"
        return changes or (self.word(index) in _VERSIONS and as_of)

    def _after_table(self, place: TablePlace, found: FoundRelation, table: int) -> TablePlace:
        bracketed = self.sign(table + 1, "(")
        argument = bracketed or self.is_argument
        return replace(place, table=self.span(table, found.after + bracketed), argument=argument)

    def _at_present(self, place: TablePlace, after: int) -> TablePlace:
        options = self.word(after) == "WITH" and self.sign(after + 1, "(")
        if options:
            after = self.closing(after + 1) + 1
        if self.word(after) == "TABLESAMPLE":
            after = self.closing(after + 1) + 1
            if self.word(after) == "REPEATABLE":
                after = self.closing(after + 1) + 1
        end = self.words[after - 1].end
        return replace(place, alias=end, aliased=self.has_alias(after), options=options)
