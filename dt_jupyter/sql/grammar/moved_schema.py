"""The text of a query whose tables are in another schema."""

from __future__ import annotations

from collections.abc import Iterator

from dt_jupyter.model import Span, plain
from dt_jupyter.sql.grammar.functions import replace_spans
from dt_jupyter.sql.grammar.relation_words import part_of
from dt_jupyter.sql.grammar.table_places import named_tables
from dt_jupyter.sql.grammar.timed_relations import find_has_data, relations_in
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens


def move_schema(query: str, old: str, new: str) -> str:
    """The query, reading from schema `new` what it names in schema `old`; names without a schema
    stay. Refused where a name cannot be told from a column's."""
    moved = []
    for parts, span in _named(query):
        if len(parts) > 1 and parts[-2].lower() == old.lower():
            moved.append((span, f"{plain(new)}.{plain(parts[-1])}"))
    return replace_spans(query, moved)


def move_schema_in_statement(text: str, old: str, new: str) -> str:
    """A statement or a block, or a condition of a task, that reads and writes in schema `new` what
    it names in schema `old`: tables, and streams that it asks for data."""
    places = [span for parts, span in relations_in(text) if _is_of(parts, old)]
    places += [s for s in _written(tokens(text), old) if s not in places]
    moved = [(span, _renamed(text[span.start : span.end], new)) for span in places]
    for call in find_has_data(text):
        schema, dot, table = call.stream.rpartition(".")
        if dot and schema.strip("`").lower() == old.lower():
            told = f"'{plain(new)}.{table}'"
            moved.append((call.span, f"SYSTEM$STREAM_HAS_DATA({told})"))
    return replace_spans(text, moved)


def _is_of(parts: tuple[str, ...], schema: str) -> bool:
    return len(parts) > 1 and parts[-2].lower() == schema.lower()


def _renamed(written: str, new: str) -> str:
    """A name as it was written, its catalog left out, in another schema."""
    return f"{plain(new)}.{plain(part_of(tokens(written)[-1]))}"


_WRITES = frozenset(("INTO", "TABLE", "UPDATE", "OVERWRITE", "EXISTS", "VIEW"))


def _written(words: list[Token], schema: str) -> Iterator[Span]:
    """Where what a statement changes is named with the schema."""
    names = (TokenKind.WORD, TokenKind.QUOTED)
    for i, first in enumerate(words[1:-2], start=1):
        before, dot, last = words[i - 1], words[i + 1], words[i + 2]
        deletes = before.upper == "FROM" and i > 1 and words[i - 2].upper == "DELETE"
        named = dot.sign(".") and first.kind in names and last.kind in names
        follows = deletes or before.upper in _WRITES
        if named and follows and part_of(first).lower() == schema.lower():
            yield Span(first.start, last.end)


def columns_by_schema(query: str, schema: str) -> str | None:
    """A column that the query names by schema, table and name, as it is written; None: none."""
    places = [span for _, span in _named(query)]
    for span in _dotted(tokens(query), schema):
        if not any(p.start <= span.start and span.end <= p.end for p in places):
            return query[span.start : span.end]
    return None


def dotted_names(text: str) -> Iterator[tuple[tuple[str, str], Span]]:
    """Of names of three parts or more the first two, in lower case, and the place of the first with
    its dot."""
    words, names = tokens(text), (TokenKind.WORD, TokenKind.QUOTED)
    for i in range(len(words) - 4):
        first, dot, second, more, last = words[i : i + 5]
        dotted = dot.sign(".") and more.sign(".") and not (i and words[i - 1].sign("."))
        if dotted and first.kind in names and second.kind in names and last.kind in names:
            yield (part_of(first).lower(), part_of(second).lower()), Span(first.start, dot.end)


def _named(query: str) -> list[tuple[tuple[str, ...], Span]]:
    return [(place.parts, place.span) for place in named_tables(query) if not place.fixed]


def _dotted(words: list[Token], schema: str) -> Iterator[Span]:
    """Where three parts with dots between begin with the schema's name."""
    names = (TokenKind.WORD, TokenKind.QUOTED)
    for i in range(len(words) - 4):
        five = words[i : i + 5]
        dotted = five[1].sign(".") and five[3].sign(".")
        if dotted and all(w.kind in names for w in five[::2]):
            before = i > 0 and words[i - 1].sign(".")
            if not before and part_of(five[0]).lower() == schema.lower():
                yield Span(five[0].start, five[4].end)


__all__ = ["columns_by_schema", "dotted_names", "move_schema", "move_schema_in_statement"]
