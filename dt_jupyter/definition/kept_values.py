"""What a definition gives with the values that its rows have, where no query gives them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dt_jupyter.definition.compile import Compiled, CompiledStage
from dt_jupyter.ivm import Scan
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import COUNT, public_rows
from dt_jupyter.sql import BagSql, GroupSql, Renderer

RowsOf = Callable[[str], str]
"""The relation with the rows of a source, or of a stage, by its id."""


@dataclass(frozen=True)
class KeptValues:
    """The stages of a definition over what they read; the values of functions on change are read
    from the stages that keep them, and nothing calls such a function."""

    compiled: Compiled
    read: RowsOf

    @property
    def functions(self) -> tuple[str, ...]:
        """Whose values are read, by name."""
        return tuple(
            sorted({n for s in self.compiled.values_of_rows for n in kept_functions(s.sql)})
        )

    def text(self, frozen: str | None) -> str:
        """The rows of the definition as a query, without those of a frozen region."""
        public = self.compiled.public
        text = f"SELECT * FROM {public_rows(self._computed(public), public.schema.names)}"
        return text if frozen is None else f"{text} WHERE NOT {frozen}"

    def differences(self) -> Iterator[tuple[str, str]]:
        """For each function a query for the rows that have no value, or more than they are, and
        for the values of rows that are not there."""
        for stage in self.compiled.values_of_rows:
            assert isinstance(stage.sql, GroupSql)
            columns = ", ".join((*stage.sql.keys, quote(COUNT)))
            kept = f"SELECT {columns} FROM {self.read(stage.stage.id)}"
            wanted = stage.sql.counted(Renderer(self._place))
            wrong = f"({wanted} EXCEPT ALL {kept}) UNION ALL ({kept} EXCEPT ALL {wanted})"
            yield from ((name, wrong) for name in kept_functions(stage.sql))

    def _place(self, scan: Scan) -> str:
        stages = {s.stage.id: s for s in self.compiled.stages}
        stage = stages.get(scan.source)
        if stage is None or stage in self.compiled.values_of_rows:
            return self.read(scan.source)
        return self._computed(stage)

    def _computed(self, stage: CompiledStage) -> str:
        rows = stage.sql.initial(Renderer(self._place))
        return f"(\n{rows if isinstance(stage.sql, GroupSql) else stage.sql.numbered(rows, 1)}\n)"


def kept_functions(sql: GroupSql | BagSql) -> tuple[str, ...]:
    """The functions whose values a stage keeps, by name."""
    once = sql.once if isinstance(sql, GroupSql) else ()
    return tuple(a.function for _, a in once)
