"""Functions of SQL, which queries have as the expressions that they return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.model import FunctionKind, FunctionUse, UserFunction
from dt_jupyter.sql import SqlFunction, created_function, expand_functions

if TYPE_CHECKING:
    from dt_jupyter.catalog import Catalog

FUNCTION_HOME = "default"
"""The schema whose functions are kept: a name is one word to the lake."""


def kept_sql_function(text: str, schema: str) -> UserFunction | None:
    """What is kept of CREATE FUNCTION, run in a schema; None of any other statement, and of
    functions that are of the session alone, of another schema, or read tables."""
    made = created_function(text)
    if made is None or made.temporary or (*made.parts[:-1], schema)[0] not in (
        FUNCTION_HOME, "spark_catalog",
    ):  # fmt: skip
        return None
    if len(made.parts) == 3 and made.parts[1] != FUNCTION_HOME:
        return None
    return UserFunction(
        made.parts[-1], FunctionKind.SQL, made.returns, True, made.body, parameters=made.parameters
    )


def definition_text(function: UserFunction, *, temporary: bool) -> str:
    """The statement that makes it in Spark's catalog, or in one session."""
    parameters = ", ".join(f"`{n}` {t}" for n, t in function.parameters)
    home = "TEMPORARY FUNCTION " if temporary else f"FUNCTION spark_catalog.{FUNCTION_HOME}."
    return (
        f"CREATE OR REPLACE {home}`{function.name}`({parameters})"
        f" RETURNS {function.returns} RETURN {function.source}"
    )


def expanded(catalog: Catalog, text: str) -> str:
    """A query with the calls of functions of SQL replaced. Refused where one cannot be."""
    known = {
        f.name: SqlFunction((f.name,), f.parameters, f.returns, f.source)
        for f in catalog.functions()
        if f.kind is FunctionKind.SQL
    }
    return expand_functions(text, known) if known else text


def calls_only_sql(catalog: Catalog, used: tuple[FunctionUse, ...]) -> bool:
    """Whether these are functions of SQL, which cost what their text costs."""
    if not used:
        return True
    kinds = {f.name: f.kind for f in catalog.functions()}
    return all(kinds.get(f.name) is FunctionKind.SQL for f in used)
