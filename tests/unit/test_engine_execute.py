"""Every statement has its handler, and there is none for anything else."""

from __future__ import annotations

import inspect
import typing

from dt_jupyter.engine.execute import HANDLERS
from dt_jupyter.engine.execute.dynamic_table_statements import CHANGES
from dt_jupyter.sql import statements as S


def test_each_class_of_statements_has_exactly_one_handler() -> None:
    classes = {
        kind for _, kind in inspect.getmembers(S, inspect.isclass)
        if issubclass(kind, S.Statement) and kind is not S.Statement
    }  # fmt: skip
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
    assert {*CHANGES, S.Refresh} == set(typing.get_args(S.Change))
    for kind, change in CHANGES.items():
        annotation = list(inspect.signature(change).parameters.values())[2].annotation
        assert annotation == f"S.{kind.__name__}", change
