"""The stages of definitions, compiled once for the columns that their sources have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.definition import Compiled, Definer
from dt_jupyter.ivm import Refused
from dt_jupyter.model import Definition, Frontier, error
from dt_jupyter.sources import Logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        try:
            compiled = self.definer.compile(spark, definition, frontier)
        except Refused as e:
            reason = e.reason
            raise error(
                "DT-1107",
                name="the definition",
                reason=reason.code,
                sentence=reason.sentence + ".",
                hint=e.hint,
            ) from e
        self._known[dt_id] = (signature, compiled)
        return compiled

    def last(self, dt_id: str) -> Compiled | None:
        """The stages of a table that were compiled last; None before that."""
        found = self._known.get(dt_id)
        return found[1] if found is not None else None
