"""The right that each public method of the engine needs. The table is closed: a method that is not
in it is open to admin alone, and a test fails until it is."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from dt_jupyter.engine.compared import all_definitions
from dt_jupyter.engine.rights.needs import require_statement
from dt_jupyter.model import DTError, Name, Right, error
from dt_jupyter.sql import CreateDynamicTable, SinkSource, statement_values as S

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context

T = TypeVar("T")
GivenArguments = Mapping[str, Any]
MethodNeed = Callable[["Context", GivenArguments], None]


def guarded(cls: type[T]) -> type[T]:
    """Each public method of a class with a `context` asks first whether the session's role may; of
    `admin` nothing is asked."""
    for name, member in list(vars(cls).items()):
        if not name.startswith("_") and isinstance(member, types.FunctionType):
            setattr(cls, name, _asking(name, member))
    return cls


def _asking(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def asking(self: Any, *args: Any, **kwargs: Any) -> Any:
        access = self.context.access
        if access.shared is not None and name in OUTSIDE:
            problem = "it writes or reads outside of the lake"
            raise error("DT-5211", what=f"dt.{name}", problem=problem)
        if not access.bound:
            return function(self, *args, **kwargs)
        try:
            given = signature.bind(self, *args, **kwargs).arguments
            METHODS.get(name, _admin(f"dt.{name}"))(self.context, given)
            return function(self, *args, **kwargs)
        except DTError as e:
            told = access.discreet(e)
            if told is e:
                raise
            raise told from e

    return asking


def _nothing(context: Context, given: GivenArguments) -> None:
    """It shows only what the role sees, or what it does is checked where it is done."""


def _admin(what: str) -> MethodNeed:
    return lambda context, given: context.access.require_admin(what)


def _named(right: Right, argument: str = "name") -> MethodNeed:
    return lambda context, given: context.access.require(right, context.name(given[argument]))


def _read(argument: str = "name") -> MethodNeed:
    return lambda context, given: context.access.require_read(context.name(given[argument]))


def _seen(context: Context, given: GivenArguments) -> None:
    context.access.require_sees(context.name(given["name"]))


def _query(context: Context, given: GivenArguments) -> None:
    context.spark_rights.judge(context.spark, given["query"])
    context.access.require_query(given["query"], context.schema())


def _explain(context: Context, given: GivenArguments) -> None:
    """Of a statement, what its query reads is required where it is analysed."""
    subject = given["subject"]
    if isinstance(subject, str | Name):
        context.access.require(Right.SELECT, context.name(subject))
    elif not isinstance(subject, CreateDynamicTable):
        context.spark_rights.require_frame(subject)


def _recomputed(context: Context, given: GivenArguments) -> None:
    """What shows the rows that a dynamic table's query gives: they are its sources'."""
    name = context.name(given["name"])
    context.access.require(Right.SELECT, name)
    table = context.catalog.get(name)
    if table is not None:
        context.access.require_definition(table.definition)


def _stream(context: Context, given: GivenArguments) -> None:
    context.access.require_stream(context.name(given["stream"]))


def _replay(context: Context, given: GivenArguments) -> None:
    name = context.name(given["name"])
    if context.catalog.find_stream(name) is not None:
        context.access.require_stream(name)
    else:
        context.access.require_read(name)


def _compare(context: Context, given: GivenArguments) -> None:
    """Both tables; or all that the definitions of one read, whose rows it shows."""
    name, other = context.name(given["name"]), given.get("other")
    context.access.require_read(name)
    if other is not None:
        context.access.require_read(context.name(other))
        return
    for definition in all_definitions(context, context.table(name)):
        context.access.require_definition(definition)


def _check_history(context: Context, given: GivenArguments) -> None:
    """The lake's own history names whatever is in it."""
    if given.get("events") is None:
        context.access.require_admin("dt.check_history of the lake")


def _create_stream(context: Context, given: GivenArguments) -> None:
    if isinstance(given["subject"], Name):
        context.access.require_read(given["subject"])


def _create_sink(context: Context, given: GivenArguments) -> None:
    source = context.name(given["source"])
    kind = SinkSource.STREAM if context.catalog.find_stream(source) else SinkSource.TABLE
    statement = S.CreateSink(context.name(given["name"]), kind, source, given["url"])
    require_statement(context.access, statement)


def _on_alert(context: Context, given: GivenArguments) -> None:
    """It gets only what the role may see; an address may belong to anyone."""
    if isinstance(given["handler"], str):
        context.access.require_admin("dt.on_alert of an address")


OUTSIDE = frozenset(("archive", "attach_archive", "create_sink", "load"))
"""What a shared engine refuses to all."""
METHODS: Mapping[str, MethodNeed] = {
    "sql": _nothing,
    "run": _nothing,
    "create": _nothing,
    "dynamic_table": _nothing,
    "load": _admin("dt.load"),
    "tasks": _nothing,
    "isolation": _nothing,
    "explain": _explain,
    "refresh": _named(Right.OPERATE),
    "start_refresh": _named(Right.OPERATE),
    "cancel": _named(Right.OPERATE),
    "verify": _recomputed,
    "changes": _read(),
    "change_rows": _read(),
    "query_changes": _query,
    "create_stream": _create_stream,
    "transaction": _nothing,
    "consume": _stream,
    "create_sink": _create_sink,
    "sinks": _nothing,
    "register_udf": _admin("dt.register_udf"),
    "udfs": _admin("dt.udfs"),
    "drop_udf": _admin("dt.drop_udf"),
    "replay": _replay,
    "replay_refresh": _recomputed,
    "diff": _read(),
    "compare": _compare,
    "definitions": _named(Right.MONITOR),
    "pin": _read("table"),
    "archive": _read(),
    "archives": _admin("dt.archives"),
    "attach_archive": _admin("dt.attach_archive"),
    "detach_archive": _admin("dt.detach_archive"),
    "plan": _admin("dt.plan"),
    "apply": _admin("dt.apply"),
    "unpin": _admin("dt.unpin"),
    "pins": _admin("dt.pins"),
    "vacuum": _admin("dt.vacuum"),
    "storage": _admin("dt.storage"),
    "table": _seen,
    "history": _nothing,
    "records": _nothing,
    "events": _nothing,
    "alerts": _nothing,
    "on_alert": _on_alert,
    "graph": _nothing,
    "lag": _named(Right.MONITOR),
    "frontier": _named(Right.MONITOR),
    "stream_reports": _nothing,
    "health": _nothing,
    "lint": _nothing,
    "format": _nothing,
    "why_late": _named(Right.MONITOR),
    "profile": _read(),
    "rows": _read(),
    "lineage": _seen,
    "foretell": _named(Right.MONITOR),
    "export": _admin("dt.export"),
    "check_history": _check_history,
    "status": _nothing,
    "start_scheduler": _admin("dt.start_scheduler"),
    "stop_scheduler": _admin("dt.stop_scheduler"),
    "close": _nothing,
}


__all__ = ["METHODS", "guarded"]
