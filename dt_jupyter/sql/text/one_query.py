"""A text that is to be one query and nothing else, whoever hands it over."""

from __future__ import annotations

from dt_jupyter.model import Span, error
from dt_jupyter.sql.grammar.statement_values import SparkKind
from dt_jupyter.sql.text.spark_kind import kind_of
from dt_jupyter.sql.text.split import split

ONE_QUERY = "A dynamic table is defined by one query: SELECT …, WITH …, VALUES … or FROM …"


def require_one_query(text: str, hint: str = f"{ONE_QUERY}.") -> None:
    """DT-1001 for a text without a query, for several statements, and for one that is no query:
    analysing it would run it."""
    pieces = [piece for piece in split(text) if piece.tokens]
    if not pieces:
        raise error("DT-1001", problem="the query is missing", hint=hint)
    if len(pieces) > 1:
        place = pieces[1].tokens[0].span
        problem = "there is more than one statement"
        raise error("DT-1001", problem=problem, hint=hint).at(text, place)
    words = pieces[0].tokens
    if kind_of(words).kind is not SparkKind.QUERY:
        problem = f"{words[0].text} does not begin a query"
        place = Span(words[0].start, words[0].end)
        raise error("DT-1001", problem=problem, hint=hint).at(text, place)
