"""Which leaves of two plans read the same: by Spark's own comparison, since a document has
neither the versions of a table nor rows in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dt_jupyter.plans.no_form import NoForm


@dataclass
class LeafMarks:
    """A number for each relation that was seen in any of the plans."""

    relations: list[Any] = field(default_factory=list)

    def of(self, plan: Any) -> Mapping[int, int]:
        """The numbers of the leaves of a plan by that of their first column; NoForm where two
        relations have one column."""
        marks: dict[int, int] = {}
        for leaf in _leaves(plan):
            if leaf.output().isEmpty():
                continue
            column, number = leaf.output().head().exprId().id(), self._number(leaf)
            if marks.setdefault(column, number) != number:
                raise NoForm("a source that is read in two ways")
        return marks

    def _number(self, leaf: Any) -> int:
        for number, known in enumerate(self.relations):
            if leaf.sameResult(known):
                return number
        self.relations.append(leaf)
        return len(self.relations) - 1


def _leaves(plan: Any) -> Iterator[Any]:
    """Those of subqueries included."""
    inner = plan.subqueriesAll()
    for part in (plan, *(inner.apply(i) for i in range(inner.size()))):
        leaves = part.collectLeaves()
        yield from (leaves.apply(i) for i in range(leaves.size()))
