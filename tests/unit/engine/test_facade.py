"""The facade passes calls on: it holds nothing of its own, and does little itself."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.engine import Engine, api
from dt_jupyter.engine.context import Context
from dt_jupyter.sources import Layout


def context() -> Context:
    """One whose services are missing."""
    services: dict[str, Any] = {f.name: None for f in dataclasses.fields(Context)}
    return Context(**{**services, "layout": Layout(Path("lake")), "spark": "spark"})


def test_an_engine_has_no_attributes_but_its_lake_session_and_context() -> None:
    found = vars(Engine(context()))
    assert found.keys() == {"context", "spark", "lake"}
    assert (found["spark"], found["lake"]) == ("spark", Path("lake"))


def test_a_service_is_never_exchanged() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        context().catalog = None  # type: ignore[assignment, misc]


def test_each_verb_is_a_few_statements() -> None:
    (engine,) = (n for n in ast.parse(inspect.getsource(api)).body if isinstance(n, ast.ClassDef))
    verbs = [n for n in engine.body if isinstance(n, ast.FunctionDef)]
    assert {v.name: _length(v) for v in verbs if _length(v) > 6} == {}
    assert len(verbs) > 40


def _length(verb: ast.FunctionDef) -> int:
    return len(verb.body) - (ast.get_docstring(verb) is not None)
