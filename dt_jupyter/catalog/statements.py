"""Statements over several objects on record, so that what a process leaves half done can be
completed or undone by another one; each step is one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump, storable
from dt_jupyter.catalog.owner import owner_columns
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.store import Shelf
from dt_jupyter.catalog.streams import StreamRows
from dt_jupyter.model import StatementIntent, StatementStep, error

_intent = schema.intent


def _from_step(step: StatementStep, root: LakeRoot) -> list[Any]:
    path = {"path": root.stored(step.facts["path"])} if "path" in step.facts else {}
    return [step.kind, {**step.facts, **path}]


def _to_step(value: list[Any], root: LakeRoot) -> StatementStep:
    kind, facts = value
    path = {"path": root.found(facts["path"])} if "path" in facts else {}
    return StatementStep(str(kind), {**facts, **path})


def _from_steps(
    steps: Iterable[StatementStep], forward: StatementStep | None, root: LakeRoot
) -> str:
    decided = None if forward is None else _from_step(forward, root)
    return dump({"steps": [_from_step(s, root) for s in steps], "forward": decided})


def _to_statement(row: RowMapping, root: LakeRoot) -> StatementIntent:
    value = json.loads(row["steps"])
    forward = None if value["forward"] is None else _to_step(value["forward"], root)
    steps = tuple(_to_step(step, root) for step in value["steps"])
    return StatementIntent(row["id"], row["statement"], steps, forward)


STATEMENT_SHELF = Shelf(
    _intent,
    "statement",
    (_intent.c.id,),
    _intent.c.id,
    _to_statement,
    "What it had done cannot be read: check its objects with SHOW.",
)


class StatementRows(StreamRows):
    """They are intents as those of streams are: renewed by their process while it is there."""

    def begin_statement(self, made: StatementIntent) -> None:
        with self._write() as connection:
            now = self.clock.now()
            connection.execute(
                _intent.insert().values(
                    id=made.id,
                    statement=storable(made.statement),
                    path="",
                    created=now,
                    at=now,
                    frontiers="{}",
                    steps=_from_steps(made.steps, made.forward, self.root),
                    expires=self._expiry(),
                    **owner_columns(self.owner),
                )
            )

    def record_steps(self, made: StatementIntent) -> None:
        """What it may have done from now on. DT-3210 where another process has ended it."""
        with self._write() as connection:
            own = _intent.update().where(_intent.c.id == made.id, self._runs_here())
            steps = _from_steps(made.steps, made.forward, self.root)
            if connection.execute(own.values(steps=steps)).rowcount != 1:
                raise error("DT-3210", statement=made.statement)

    def end_statement(self, intent_id: str) -> bool:
        """It is over, whole or undone. False where another process has ended it."""
        with self._write() as connection:
            own = _intent.delete().where(_intent.c.id == intent_id, self._runs_here())
            return connection.execute(own).rowcount == 1

    def statement(self, intent_id: str) -> StatementIntent | None:
        with self._read() as connection:
            query = select(_intent).where(_intent.c.id == intent_id)
            return self._one(connection, query, STATEMENT_SHELF)

    def unfinished(self) -> tuple[StatementIntent, ...]:
        """Those whose process is gone, as `orphans`: the last one first."""
        ours = (_intent.c.steps.is_not(None), _intent.c.path == "")
        query = select(_intent).where(*ours).order_by(_intent.c.created)

        def read(row: RowMapping) -> tuple[RowMapping, StatementIntent]:
            return row, _to_statement(row, self.root)

        with self._read() as connection:
            rows = self._listed_as(connection, query, STATEMENT_SHELF, read)
        return tuple(made for row, made in reversed(rows) if self._is_orphan(row))

    def take_statement(self, intent_id: str) -> bool:
        """This process ends it, and no other one. False where that was faster."""
        with self._write() as connection:
            row = self._statement_row(connection, intent_id)
            if row is None or not self._is_orphan(row):
                return False
            own = _intent.update().where(_intent.c.id == intent_id)
            values = {"expires": self._expiry(), **owner_columns(self.owner)}
            connection.execute(own.values(**values))
        self._let_go.discard(intent_id)
        return True

    def _statement_row(self, connection: Connection, intent_id: str) -> RowMapping | None:
        query = select(_intent).where(_intent.c.id == intent_id)
        return connection.execute(query).mappings().one_or_none()

    def _runs_here(self) -> ColumnElement[bool]:
        return _intent.c.uid == self.owner.uid


__all__ = ["STATEMENT_SHELF", "StatementRows"]
