"""What undoes each step of a statement over several objects, and what completes a decided one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.applied_definitions import return_definitions
from dt_jupyter.engine.dropped_schemas import forget_schema, restore_schema
from dt_jupyter.engine.rights.lives import follow_rights
from dt_jupyter.engine.schema_names import make_schemas_known, unmake_schema
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.engine.unmade_tables import UnmadeTables
from dt_jupyter.lake import write_durable
from dt_jupyter.model import Name

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context

StepFacts = Mapping[str, Any]


def handle_steps(context: Context) -> None:
    """The engine's log of statements knows what to do for each kind of step."""
    creator, tables = context.creator, context.lake_tables
    context.log.handlers |= {
        StepKind.TABLE_MADE: tables.unmake,
        StepKind.TABLE_ASIDE: tables.return_aside,
        StepKind.TABLE_BACK: tables.put_back,
        StepKind.TABLE_RENAMED: tables.follow_rename,
        StepKind.DYNAMIC_TABLE_MADE: UnmadeTables(creator.sources, creator.publisher).unmake,
        StepKind.DYNAMIC_TABLE_ALTERED: creator.unalter,
        StepKind.STREAM_MADE: lambda facts: context.catalog.purge_stream(facts["id"]),
        StepKind.NAMES_KNOWN: context.names.make_known,
        StepKind.RIGHTS_FOLLOW: partial(follow_rights, context.access),
        StepKind.FILE_MADE: _remove_file,
        StepKind.FILE_REMOVED: _write_file,
        **{kind: partial(handler, context) for kind, handler in _OF_CONTEXT.items()},
    }


def _unmake_view(context: Context, facts: StepFacts) -> None:
    name = Name(*facts["name"])
    context.catalog.forget(name)
    context.publisher.unmake_view(name)


def _drop_again(context: Context, facts: StepFacts) -> None:
    """A dynamic table that was brought back is dropped as it was."""
    table = context.catalog.by_id(facts["id"])
    if table is not None and table.dropped is None:
        context.catalog.drop(table.name)
        context.names.unpublish(table.name)


def _remove_file(facts: StepFacts) -> None:
    Path(facts["path"]).unlink(missing_ok=True)


def _write_file(facts: StepFacts) -> None:
    file = Path(facts["path"])
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_durable(file, facts["text"])


_OF_CONTEXT: Mapping[StepKind, Callable[[Context, StepFacts], object]] = {
    StepKind.VIEW_MADE: _unmake_view,
    StepKind.DYNAMIC_TABLE_BACK: _drop_again,
    StepKind.SCHEMA_MADE: unmake_schema,
    StepKind.SCHEMA_DROPPED: restore_schema,
    StepKind.SCHEMAS_KNOWN: make_schemas_known,
    StepKind.DEFINITIONS_APPLIED: return_definitions,
    StepKind.FORGET_SCHEMA: forget_schema,
}

__all__ = ["handle_steps"]
