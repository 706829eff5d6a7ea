"""Statements that change several objects happen whole or not at all.

Each step is on record in the catalog before it is done. A statement that fails undoes its steps at
once, the last one first; of a process that is gone, the next one that opens the lake or runs a
statement does. A statement that cannot be undone from some point on says so before it passes that,
and is completed instead. What undoes or completes a step finds by its facts whether it was done.
"""

from __future__ import annotations

import threading
import uuid
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dt_jupyter.catalog import STATEMENT_SHELF, Catalog
from dt_jupyter.model import StatementIntent, StatementStep, error, run_all
from dt_jupyter.streams.rollforward import TransactionWarning, kept_alive

StepHandler = Callable[[Mapping[str, Any]], object]
"""Undoes or completes a step of a kind, by its facts; it may be called again."""


@dataclass
class StatementRecord:
    """A statement that runs, and what it may have done so far."""

    catalog: Catalog
    intent: StatementIntent

    def will(self, kind: str, **facts: Any) -> None:
        """On record before it is done. DT-3210 where another process has ended the statement."""
        self._record(replace(self.intent, steps=(*self.intent.steps, StatementStep(kind, facts))))

    def decide(self, kind: str, **facts: Any) -> None:
        """From now on the statement is completed, by that step, and not undone. DT-3210."""
        self._record(replace(self.intent, forward=StatementStep(kind, facts)))

    def undone(self, upto: int) -> None:
        """The steps from that number on are undone."""
        self._record(replace(self.intent, steps=self.intent.steps[:upto]))

    def closed(self, step: StatementStep) -> None:
        """What follows a part of the statement has been done."""
        rest = tuple(s for s in self.intent.steps if s != step)
        self._record(replace(self.intent, steps=rest))

    def _record(self, made: StatementIntent) -> None:
        self.catalog.record_steps(made)
        self.intent = made


@dataclass
class StatementLog:
    """The statements of an engine that are on record. `handlers` undo the steps of each kind, or
    complete those that a statement is decided by; those of the kinds `late` run statements, for
    which the lake must be open. Steps of the kinds `closing` follow what the statement did, and
    are handled last, however it ended, once the lake is open. To undo one of the kinds
    `quiet` undoes nothing that the statement did."""

    catalog: Catalog
    handlers: dict[str, StepHandler] = field(default_factory=dict)
    late: Collection[str] = ()
    closing: Collection[str] = ()
    quiet: Collection[str] = ()
    _running: threading.local = field(default_factory=threading.local)

    @contextmanager
    def begin(self, statement: str, *steps: StatementStep) -> Iterator[StatementRecord]:
        """The block is the statement. One that is part of another is undone alone where it fails,
        and with that one where that fails. DT-3210."""
        outer = self.current
        block = self._whole(statement, steps) if outer is None else self._part(outer, steps)
        with block as record:
            yield record

    @property
    def current(self) -> StatementRecord | None:
        """The statement that this thread runs."""
        record: StatementRecord | None = getattr(self._running, "record", None)
        return record

    @contextmanager
    def within(self, record: StatementRecord | None) -> Iterator[None]:
        """What this thread runs in the block is part of that statement, of another thread."""
        before, self._running.record = self.current, record
        try:
            yield
        finally:
            self._running.record = before

    @contextmanager
    def _whole(self, statement: str, steps: Sequence[StatementStep]) -> Iterator[StatementRecord]:
        made = StatementIntent(uuid.uuid4().hex, statement, tuple(steps))
        record = StatementRecord(self.catalog, made)
        try:
            self.catalog.begin_statement(made)
            self._running.record = record
            with kept_alive(self.catalog, made.id):
                yield record
                self._close(record)
                self._complete(record.intent)
                if not self.catalog.end_statement(made.id):
                    raise error("DT-3210", statement=statement)
        except BaseException as e:
            self._running.record = None
            self.catalog.let_go(made)
            self.catalog.leftovers.undo(e, lambda: self._settle(made.id))
            raise
        finally:
            self._running.record = None

    def _close(self, record: StatementRecord) -> None:
        """From now on what the statement did stays, and what follows it is completed."""
        closing = self._closing(record.intent)
        if closing and record.intent.forward is None:
            record.decide(closing[0].kind, **closing[0].facts)

    def _closing(self, intent: StatementIntent) -> tuple[StatementStep, ...]:
        return tuple(s for s in intent.steps if s.kind in self.closing)

    def _apart(self, intent: StatementIntent) -> tuple[StatementStep, ...]:
        """The steps that are undone or completed."""
        return tuple(s for s in intent.steps if s.kind not in self.closing)

    @contextmanager
    def _part(
        self, outer: StatementRecord, steps: Sequence[StatementStep]
    ) -> Iterator[StatementRecord]:
        before = len(outer.intent.steps)
        try:
            for step in steps:
                outer.will(step.kind, **step.facts)
            yield outer
            for step in steps:
                if step.kind in self.closing:
                    self._handle(step)
                    outer.closed(step)
        except BaseException as e:
            self.catalog.leftovers.undo(e, lambda: self._undo_part(outer, before))
            raise

    def _undo_part(self, outer: StatementRecord, before: int) -> None:
        self._undo(outer.intent.steps[before:])
        outer.undone(before)

    def recover(self, *, late: bool = True) -> None:
        """Ends the statements whose processes are gone; one that cannot be ended now is in
        quarantine until it can."""
        for intent in self.catalog.unfinished():
            waits = not late and any(step.kind in self.late for step in intent.steps)
            if not waits and self.catalog.take_statement(intent.id):
                self._recover(intent, late=late)

    def _recover(self, intent: StatementIntent, *, late: bool) -> None:
        kind, quarantine = STATEMENT_SHELF.kind, self.catalog.quarantine
        try:
            with kept_alive(self.catalog, intent.id):
                waits = self._settle(intent.id, late=late)
        except BaseException as e:
            self.catalog.let_go(intent)
            hint = "It is tried again before the next statement, and when the lake is opened."
            quarantine.put(kind, intent.statement, e, hint)
            if isinstance(e, Exception):
                return
            raise
        quarantine.lift(kind, intent.statement)
        if waits:
            self.catalog.let_go(intent)
        forward = intent.forward
        said = any(s.kind not in self.quiet for s in self._apart(intent))
        if said or (forward is not None and forward.kind not in self.closing):
            done = "undone" if forward is None else "completed"
            told = f"{intent.statement} was interrupted by the end of its process"
            warnings.warn(f"{told}, and has been {done}.", TransactionWarning, stacklevel=2)

    def _settle(self, intent_id: str, *, late: bool = True) -> bool:
        """Whether what follows the statement waits until the lake is open."""
        intent = self.catalog.statement(intent_id)
        if intent is None:  # another process has ended it
            return False
        closing = self._closing(intent)
        if closing and not late:
            self._settle_steps(replace(intent, steps=self._apart(intent)))
            self.catalog.record_steps(replace(intent, steps=closing, forward=closing[0]))
            return True
        self._settle_steps(intent)
        self.catalog.end_statement(intent_id)
        return False

    def _settle_steps(self, intent: StatementIntent) -> None:
        if intent.forward is not None:
            self._complete(intent)
        else:
            self._undo(intent.steps)

    def _complete(self, intent: StatementIntent) -> None:
        forward = intent.forward
        if forward is not None and forward.kind not in self.closing:
            self._handle(forward)
        for step in self._closing(intent):
            self._handle(step)

    def _handle(self, step: StatementStep) -> None:
        self.handlers[step.kind](step.facts)

    def _undo(self, steps: Sequence[StatementStep]) -> None:
        """Each, whatever the outcome of the others."""
        run_all(partial(self._handle, s) for s in reversed(steps))


__all__ = ["StatementLog", "StatementRecord", "StepHandler"]
