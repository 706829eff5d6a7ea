"""Dynamic tables defined from Python: the statement that CREATE DYNAMIC TABLE would be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.context import Context
from dt_jupyter.engine.created import Created
from dt_jupyter.engine.script import create_by_cell
from dt_jupyter.failures import (
    FromUser,
    coded_call,
    is_frame,
    is_local_frame,
    local_frame_error,
    shown,
)
from dt_jupyter.model import DTError, Name, TargetLag, error
from dt_jupyter.plans import ManyRows, NoForm, NotTheSame, PythonFunction, write_frame_query
from dt_jupyter.sql import TABLE_OPTIONS, CreateAction, CreateDynamicTable, unknown_option

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ACTIONS = {
    "replace": CreateAction.REPLACE,
    "if_not_exists": CreateAction.IF_NOT_EXISTS,
    "or_alter": CreateAction.ALTER,
}
_LISTS = ("columns", "cluster_by")
_REGION = ("frozen", "backfill")
_CODES: tuple[tuple[type[NoForm], str], ...] = (
    (ManyRows, "DT-1126"),
    (PythonFunction, "DT-1127"),
    (NotTheSame, "DT-1128"),
    (NoForm, "DT-1125"),
)


def create_from(
    context: Context,
    name: str | Name,
    query: DataFrame | str,
    args: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    subject: str = "The DataFrame",
) -> Created:
    """A dynamic table over a DataFrame or a text; `subject` is what errors call it."""
    known = context.name(name)
    require_of_spark(query, "The query", known.table)
    given = _options(options)
    if given.get("backfill") is not None:
        given["backfill"] = context.name(given["backfill"])
    text = query if isinstance(query, str) else query_of(context, query, subject)
    statement = CreateDynamicTable(text=text, name=known, query=text, **given)
    return create_by_cell(context, statement, args)


def query_of(context: Context, frame: DataFrame, subject: str = "The DataFrame") -> str:
    """The query of a DataFrame; DT-1125 to DT-1128 where it has none."""
    builtins = context.creator.definer.builtins
    try:
        functions = context.functions.renew(context.spark)
        return write_frame_query(context.spark, frame, builtins, functions=functions)
    except RecursionError:
        what = "operators that are nested as deeply"
        raise error("DT-1125", subject=subject, what=what) from None
    except NoForm as e:
        code = next(code for kind, code in _CODES if isinstance(e, kind))
        raise error(code, subject=subject, what=e.what) from e


def statement_of(context: Context, frame: DataFrame) -> CreateDynamicTable:
    """The statement that a DataFrame would be, under a name of no table."""
    text = query_of(context, frame)
    return CreateDynamicTable(text=text, name=context.name("the_dataframe"), query=text)


def define_by(
    context: Context, name: str | Name, options: Mapping[str, Any]
) -> Callable[[Callable[[], DataFrame]], Created]:
    """What `@dt.dynamic_table(…)` makes of the function below it."""
    _options(options)

    @coded_call("dt.dynamic_table")
    def define(function: Callable[[], DataFrame]) -> Created:
        subject = f"{function.__name__}(), line {_line(function)}"
        frame = _called(function)
        require_of_spark(frame, f"What {subject} returns", context.name(name).table)
        if not is_frame(frame):
            raise error("DT-1129", function=subject, given=shown(frame))
        return create_from(context, name, frame, None, options, subject)

    return define


def _called(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except DTError:
        raise
    except Exception as e:
        raise FromUser(e) from e


def _line(function: Callable[[], Any]) -> int:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return int(code.co_firstlineno) if code is not None else 0


def require_of_spark(value: Any, subject: str, name: str) -> None:
    """DT-1166 for a frame of pandas, Polars or Arrow that would be the dynamic table `name`."""
    if is_local_frame(value):
        raise local_frame_error(value, subject, name)


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the statement; DT-1002 and DT-1003 as SQL has them."""
    by_field = {o.field: o for o in TABLE_OPTIONS.values()}
    by_field |= {o.name.lower(): o for o in TABLE_OPTIONS.values()}
    found: dict[str, Any] = {"action": _action(given)}
    for key, value in given.items():
        if value is None or key in _ACTIONS:
            continue
        if key in _LISTS:
            found[key] = _named(key, value)
        elif key in _REGION:
            found[key] = _of_region(key, value)
        elif key in by_field:
            option = by_field[key]
            of_lag = option.field == "target_lag"
            parse = TargetLag.of if of_lag else option.parse
            found[option.field] = parse(value if of_lag else _text(value, option.values))
        else:
            known = (*(o.field for o in TABLE_OPTIONS.values()), *_LISTS, *_REGION, *_ACTIONS)
            raise unknown_option(key, "dt.create", known)
    if found.get("backfill") is not None and "frozen" not in found:
        raise error("DT-1141")
    return found


def _of_region(key: str, value: Any) -> Any:
    """The condition of FROZEN WHERE, or the table of BACKFILL FROM."""
    if key == "backfill" and isinstance(value, Name):
        return value
    if not isinstance(value, str) or not value.strip():
        problem = "it must be a condition" if key == "frozen" else "it must be a table's name"
        hint = 'Write frozen="day < \'2026-01-01\'", backfill="table".'
        raise error("DT-1003", option=key, value=shown(value), problem=problem, hint=hint)
    return value.strip()


def _text(value: Any, values: Sequence[str]) -> str:
    """An option's value as SQL writes it; True is what turns it on."""
    if isinstance(value, bool) and values:
        return values[0] if value else values[1]
    return str(value)


def _action(given: Mapping[str, Any]) -> CreateAction:
    wanted = [key for key in _ACTIONS if given.get(key)]
    if len(wanted) > 1:
        problem = f"{wanted[0]} is given too"
        raise error("DT-1003", option=wanted[1], value=True, problem=problem, hint="Give one.")
    return _ACTIONS[wanted[0]] if wanted else CreateAction.UNCHANGED


def _named(key: str, value: Any) -> tuple[Any, ...]:
    """Names of columns, with comments where a dict gives them."""
    if isinstance(value, str) or not isinstance(value, Sequence | Mapping):
        problem = "it must be a list of names"
        raise error("DT-1003", option=key, value=shown(value), problem=problem, hint="")
    if key == "cluster_by":
        return tuple(map(str, value))
    pairs = value.items() if isinstance(value, Mapping) else ((name, None) for name in value)
    return tuple((str(name), comment) for name, comment in pairs)
