"""User functions, registered, listed and dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, StructType

from dt_jupyter.engine.context import Context
from dt_jupyter.failures import first_line
from dt_jupyter.functions import checked_function_name, keep_function, kept_sql_function
from dt_jupyter.model import FunctionInfo, FunctionKind, error
from dt_jupyter.sql import dropped_function


def register_function(
    context: Context,
    name: str,
    fn: Callable[..., Any],
    returns: str | DataType,
    kind: str,
    *,
    immutable: bool,
    on_change: bool,
) -> FunctionInfo:
    """The function kept with the lake, and known to this session. DT-1003, DT-1130 to DT-1133."""
    known = checked_function_name(name, context.refresher.definer.builtins)
    wanted = _kind(kind)
    if immutable and on_change:
        raise error("DT-1133", name=known)
    type_ = _type_text(context, returns)
    made = keep_function(known, fn, type_, wanted, immutable=immutable, on_change=on_change)
    context.catalog.put_function(made)
    context.functions.install(context.spark)
    return next(f for f in context.functions.infos() if f.function.name == known)


def drop_function(context: Context, name: str) -> None:
    """DT-1115 while a dynamic table calls it, DT-1117 where there is none."""
    context.catalog.drop_function(name.lower())
    context.functions.install(context.spark)


def _kind(kind: str) -> FunctionKind:
    known = [k.value.lower() for k in FunctionKind if k is not FunctionKind.SQL]
    if kind.lower() not in known:
        problem = f"it must be {', '.join(known[:-1])} or {known[-1]}"
        raise error("DT-1003", option="kind", value=kind, problem=problem, hint="")
    return FunctionKind(kind.upper())


def _type_text(context: Context, returns: str | DataType) -> str:
    """The type as Spark writes it. DT-1003 for what is none."""
    text = returns if isinstance(returns, str) else returns.simpleString()
    try:
        struct = StructType.fromDDL(f"x {text}")
        assert isinstance(struct, StructType)
        (found,) = struct.fields
    except (PySparkException, ValueError) as e:
        hint = "Use a type as in CREATE TABLE: int, string, array<float>."
        problem = f"it is not a type ({first_line(e)})"
        raise error("DT-1003", option="returns", value=text, problem=problem, hint=hint) from e
    return found.dataType.simpleString()


def follow_function(context: Context, statement: str) -> None:
    """What CREATE FUNCTION made is kept with the lake, what DROP FUNCTION dropped is not; any
    other statement is passed."""
    if (made := kept_sql_function(statement, context.schema())) is not None:
        context.catalog.put_function(made)
    elif (dropped := _kept_and_dropped(context, statement)) is not None:
        context.catalog.drop_function(dropped)


def require_droppable(context: Context, statement: str) -> None:
    """DT-1115 for a DROP FUNCTION of one that a dynamic table calls; any other statement is
    passed."""
    if (dropped := _kept_and_dropped(context, statement)) is not None:
        context.catalog.require_unused_function(dropped)


def _kept_and_dropped(context: Context, statement: str) -> str | None:
    name = dropped_function(statement)
    known = {f.name for f in context.catalog.functions() if f.kind is FunctionKind.SQL}
    home = name and name[-1] in known and (len(name) > 1 or context.schema() == "default")
    return name[-1] if home else None
