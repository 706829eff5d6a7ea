"""The statements of a script in an order in which each finds what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dt_jupyter.model import Name
from dt_jupyter.sql.grammar.statement_values import (
    CreateDynamicTable,
    SparkKind,
    SparkStatement,
    Statement,
)
from dt_jupyter.sql.grammar.timed_relations import relations_in

InSchema = tuple[Statement, str]
"""A statement with the schema in which it looks for names that say none."""


@dataclass(frozen=True)
class Cycle:
    """Definitions of a script that would read each other: the first of them is a dynamic table,
    `path` its name, those in between, and its name again."""

    statement: CreateDynamicTable
    path: tuple[Name, ...]

    def __str__(self) -> str:
        return " → ".join(map(str, self.path))


def order_by_dependencies(statements: Sequence[InSchema]) -> tuple[InSchema, ...] | Cycle:
    """The same statements, those of each run of CREATE DYNAMIC TABLE and CREATE VIEW after what
    they read; of those that could come next the one that stands first. All others stay where
    they are, and end a run, as does a name that is created a second time.
    """
    ordered: list[InSchema] = []
    for run in _runs(statements):
        reads = _reads(run)
        if cycle := _cycle(run, reads):
            return cycle
        ordered += [run[i] for i in _in_order(reads)]
    return tuple(ordered)


def _runs(statements: Sequence[InSchema]) -> Iterable[list[InSchema]]:
    run: list[InSchema] = []
    names: set[Name | None] = set()
    for placed in statements:
        name = _made(placed[0])
        if run and (name is None or None in names or name in names):
            yield run
            run, names = [], set()
        run.append(placed)
        names.add(name)
    if run:
        yield run


def _made(statement: Statement) -> Name | None:
    """What a definition is called; None for any other statement."""
    if isinstance(statement, CreateDynamicTable):
        return statement.name
    if not isinstance(statement, SparkStatement) or statement.temporary:
        return None
    named = statement.kind is SparkKind.CREATE_VIEW and statement.targets
    return statement.targets[0] if named else None


def _reads(run: Sequence[InSchema]) -> Mapping[int, tuple[int, ...]]:
    """For each definition those of the others that it reads, by their index."""
    if len(run) == 1:
        return {0: ()}
    index = {_made(statement): i for i, (statement, _) in enumerate(run)}
    found = {}
    for i, (statement, schema) in enumerate(run):
        text = statement.query if isinstance(statement, CreateDynamicTable) else statement.text
        names = (_name(parts, schema) for parts, _ in relations_in(text))
        own = (index[n] for n in names if n is not None and n in index)
        found[i] = tuple(dict.fromkeys(n for n in own if n != i))
    return found


def _name(parts: tuple[str, ...], schema: str) -> Name | None:
    """None for what can be no name."""
    if not all(parts) or "\0" in "".join(parts):
        return None
    return Name(parts[-2] if len(parts) > 1 else schema, parts[-1])


def _in_order(reads: Mapping[int, tuple[int, ...]]) -> Iterable[int]:
    waiting, done = list(reads), set[int]()
    while waiting:
        ready = next((i for i in waiting if done.issuperset(reads[i])), waiting[0])
        waiting.remove(ready)
        done.add(ready)
        yield ready


def _cycle(run: Sequence[InSchema], reads: Mapping[int, tuple[int, ...]]) -> Cycle | None:
    """The first one in the text. Views alone are Spark's to refuse."""
    for i, (statement, _) in enumerate(run):
        if isinstance(statement, CreateDynamicTable) and (path := _back_to(i, reads)):
            names = (_made(run[j][0]) for j in path)
            return Cycle(statement, tuple(n for n in names if n is not None))
    return None


def _back_to(start: int, reads: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """The shortest path from a definition to itself; () where there is none."""
    paths: list[tuple[int, ...]] = [(start,)]
    seen: set[int] = set()
    for path in paths:
        for read in reads[path[-1]]:
            if read == start:
                return (*path, start)
            if read not in seen:
                seen.add(read)
                paths.append((*path, read))
    return ()
