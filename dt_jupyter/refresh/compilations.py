"""The stages of definitions, compiled once for the columns that their sources have."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from dt_jupyter.definition import Compiled, Definer, SparkAnswers
from dt_jupyter.ivm import Refused
from dt_jupyter.model import Definition, Frontier, error
from dt_jupyter.sources import Logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("dt_jupyter.refresh")


@dataclass(frozen=True)
class Compilations:
    """What was compiled last of each dynamic table, by its id."""

    definer: Definer
    logs: Logs
    _known: dict[str, tuple[tuple[Definition, tuple[str, ...]], Compiled]] = field(
        default_factory=dict
    )

    def compile(
        self, spark: SparkSession, dt_id: str, definition: Definition, frontier: Frontier
    ) -> Compiled:
        """The stages of a definition over the columns that its sources have at a frontier, kept
        until it or they change."""
        signature = (
            definition,
            tuple(
                self.logs[s.path].metadata(frontier.versions[s.table_id]).schema_string
                for s in definition.sources
                if s.path
            ),
        )
        known = self._known.get(dt_id)
        if known is not None and known[0] == signature:
            return known[1]
        stored = partial(self.definer.sources.catalog.stored_plan, dt_id)
        answers = SparkAnswers(stored)
        try:
            compiled = self.definer.compile(spark, definition, frontier, answers)
        except Refused as e:
            self._store(dt_id, answers)
            reason = e.reason
            raise error(
                "DT-1107",
                name="the definition",
                reason=reason.code,
                sentence=reason.sentence + ".",
                hint=e.hint,
            ) from e
        self._store(dt_id, compiled.answers)
        compiled = replace(compiled, answers=SparkAnswers())
        self._known[dt_id] = (signature, compiled)
        return compiled

    def _store(self, dt_id: str, answers: SparkAnswers) -> None:
        """Stores what Spark was asked, so that another process need not ask it."""
        plan = answers.to_stored() if answers.problem else None
        if plan is not None:
            _log.info("Spark has analysed the query of %s: %s", dt_id, answers.problem)
            self.definer.sources.catalog.store_plan(dt_id, plan)

    def last(self, dt_id: str) -> Compiled | None:
        """The stages of a table that were compiled last; None before that."""
        found = self._known.get(dt_id)
        return found[1] if found is not None else None
