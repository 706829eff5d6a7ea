"""Values of rows in errors, kept from a role that may not read the rows: code and kind stay."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import DTError, Named, Right, RightsBook, Securable, error
from dt_jupyter.spark import PlanRead
from dt_jupyter.sql import statement_values as S

_KEEPS_VALUES = re.compile(r"DT-(?:10(?!33)|11(?!12)|52)")
"""Errors about texts, names and rights, which no row has a part in."""
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\]")


def hidden_from(access: Access, reads: Iterable[PlanRead]) -> str | None:
    """The right that the role lacks to read all that a plan reads: what a view reads, it reads
    with the rights of its owner. None where it lacks none."""
    return _hidden_from(access.book, access.role, reads) if access.bound else None


def _hidden_from(book: RightsBook, role: str, reads: Iterable[PlanRead]) -> str | None:
    for read in reads:
        on = Securable.of(Named.TABLE, read.name) if read.name is not None else None
        if on is not None and not book.holds(role, Right.SELECT, on):
            return f"SELECT on {on}"
        if (need := _hidden_from(book, role, read.inner)) is not None:
            return need
    return None


def hidden_by(access: Access, statement: S.Statement, schema: str) -> str | None:
    """As `hidden_from`, of a statement that the engine runs by rights that are not the role's."""
    if not access.bound:
        return None
    match statement:
        case S.CreateDynamicTable(query=query):
            return access.hides_rows_of(query, schema)
        case S.AlterDynamicTable(name=name) | S.CloneDynamicTable(source=name):
            return access.hides_errors(name)
        case S.CreateSink(source=source):
            return access.hides_errors(source)
        case S.AlterSink(name=name):
            sink = access.catalog.find_sink(name)
            return access.hides_errors(sink.source) if sink is not None else None
        case S.ExecuteTask(name=name):
            owns = access.may_task(Right.OWNERSHIP, name)
            return None if owns else f"OWNERSHIP of the task {name}"
    return None


def has_values(failure: DTError) -> bool:
    """Whether a row may have a part in the error."""
    return not _KEEPS_VALUES.match(failure.code)


def concealed(access: Access, failure: DTError, need: str | None) -> DTError:
    """The error without its values, for who lacks the right that it takes to read them."""
    if need is None or not has_values(failure):
        return failure
    told = access.hidden_error(_kind(failure), need)
    if "problem" in failure.facts:
        facts = {**failure.facts, "problem": told.rstrip(".")}
        return DTError(failure.code, facts, failure.query, failure.span)
    made = error("DT-1033", what="The statement", problem=told, hint="")
    return DTError(made.code, made.facts, failure.query, failure.span)


def _kind(failure: DTError) -> str:
    """Spark's condition, or the code of the error that this one passes on; else its own code."""
    found = _CONDITION.search(str(failure.facts.get("problem", "")))
    inner = re.search(r"\[(DT-\d{4})\]", str(failure.facts.get("problem", "")))
    known = found or inner
    return known[0].strip("[]") if known is not None else failure.code


__all__ = ["concealed", "has_values", "hidden_by", "hidden_from"]
