"""Every statement has its handler, and there is none for anything else."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import pytest
from pyspark.errors import ParseException

from dt_jupyter.engine.execute import HANDLERS
from dt_jupyter.engine.execute.dynamic_table_statements import ALTER_HANDLERS
from dt_jupyter.engine.execute.spark_errors import place_failure
from dt_jupyter.sql.grammar import statement_values as S
from dt_jupyter.sql.grammar.parse import parse_script


def test_each_class_of_statements_has_exactly_one_handler() -> None:
    classes = {
        kind
        for _, kind in inspect.getmembers(S, inspect.isclass)
        if issubclass(kind, S.Statement) and kind is not S.Statement
    }
    assert set(HANDLERS) == classes
    assert len(classes) > 20


def test_a_handler_is_for_the_statement_that_it_says() -> None:
    """A row of the table that names another statement's handler is found."""
    for kind, handler in HANDLERS.items():
        parameters = inspect.signature(handler).parameters
        assert list(parameters) == ["context", "statement", "origin"], handler
        assert parameters["statement"].annotation == f"S.{kind.__name__}", handler
    assert len(set(HANDLERS.values())) == len(HANDLERS)


def test_each_change_of_a_dynamic_table_is_handled() -> None:
    """REFRESH has a result of its own, and is not among them."""
    assert {*ALTER_HANDLERS, S.Refresh} == set(typing.get_args(S.TableChange))
    for kind, change in ALTER_HANDLERS.items():
        annotation = list(inspect.signature(change).parameters.values())[2].annotation
        assert annotation == f"S.{kind.__name__}", change


class _Syntax(ParseException):
    """As Spark raises it: the place is in the message alone."""

    def getCondition(self) -> str:
        return "PARSE_SYNTAX_ERROR"

    def getQueryContext(self) -> list[Any]:  # type: ignore[override]
        return []


@pytest.mark.parametrize(
    ("line", "pos", "where"),
    [(2, 5, "item"), (1, 0, "SELECT"), (2, 9, ""), (7, 1, "")],
)
def test_a_syntax_error_stands_at_the_word_that_spark_names(
    line: int, pos: int, where: str
) -> None:
    script = "SELECT 1;\n\nSELECT id\nFORM item"
    said = _Syntax(f"Syntax error at or near 'item'. SQLSTATE: 42601 (line {line}, pos {pos})")
    statement = parse_script(script)[1]
    assert isinstance(statement, S.SparkStatement)
    sources: Any = None
    found = place_failure(said, sources, statement, script)
    assert (found.code, found.query) == ("DT-1001", script)
    assert "PARSE_SYNTAX_ERROR" not in found.sentence
    assert found.span is not None
    assert script[found.span.start : found.span.end] == where
