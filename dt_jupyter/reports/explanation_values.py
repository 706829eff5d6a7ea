"""What the engine returns besides records: explanations and verifications, with a text each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dt_jupyter.evaluation import WayDecision
from dt_jupyter.ivm import PlanNode, list_laws
from dt_jupyter.model import Frontier, Name, Reason, RefreshAction, RefreshMode, Timestamp, count_of

if TYPE_CHECKING:
    from dt_jupyter.refresh import StagePlan
    from dt_jupyter.reports.script_plan import PlannedChange

TREE = "how it is kept"
LAWS_TITLE = "Incremental rules"


@dataclass(frozen=True)
class PlanStep:
    """One statement that a refresh runs: `title` says what for, `text` is the SQL; `few_rows` where
    it is computed, in a sentence; empty where that is not known."""

    title: str
    text: str
    few_rows: str = ""


def few_rows_sentence(decision: WayDecision) -> str:
    """Whether a statement needs Spark, and why: by what of it is not evaluated without it, or by
    its size."""
    if decision.is_here:
        return "With few rows, all in memory, this is evaluated without Spark."
    few = "With few rows, too, this" if decision.for_any_rows else "This"
    return f"{few} is evaluated by Spark: {decision.reason}."


def validation_sentence(checked: str) -> str:
    """What the check at creation has found, by what it was run on: `no rows` and why, if none."""
    if checked.startswith(_UNCHECKED):
        return f"Not validated: {checked.removeprefix(_UNCHECKED).lstrip(':; ')}."
    return f"Validated: incremental equals full on {checked}."


_UNCHECKED = "no rows"


@dataclass(frozen=True)
class Explanation:
    """How a dynamic table is kept, and what its next refresh does.

    `tree` is the definition as it is kept, empty in FULL mode; `steps` are the statements, in
    order, none where nothing changed; `hint` the smallest rewrite that would make a FULL one
    incremental; `checked` what the check at creation compared; `plan` what a refresh now would
    execute (None of a table that is not created); `change` what a CREATE statement would change of
    the table that has its name.
    """

    name: Name
    mode: RefreshMode
    reason: Reason
    columns: tuple[tuple[str, str, str | None], ...]
    sources: tuple[tuple[str, str], ...]
    steps: tuple[PlanStep, ...]
    action: RefreshAction | None = None
    action_reason: Reason | None = None
    hint: str = ""
    checked: str = ""
    tree: tuple[PlanNode, ...] = ()
    plan: StagePlan | None = field(default=None, repr=False)
    change: PlannedChange | None = None

    @property
    def parts(self) -> tuple[PlanStep, ...]:
        """The tree as a text, the statements, and the laws of the tree's operators."""
        if not self.tree:
            return self.steps
        drawn = PlanStep(TREE, "\n".join(map(str, self.tree)))
        return (drawn, *self.steps, PlanStep(LAWS_TITLE, list_laws(self.tree)))

    def __str__(self) -> str:
        lines = [str(self.change), ""] if self.change is not None else []
        lines.append(f"{self.name}: {self.mode} ({self.reason})")
        lines += [f"  hint: {self.hint}"] if self.hint else []
        lines += [f"  {validation_sentence(self.checked)}"] if self.checked else []
        lines.append("  columns: " + ", ".join(f"{n} {t}" for n, t, _ in self.columns))
        reads = ", ".join(f"{n} ({k})" for n, k in self.sources)
        lines.append(f"  reads: {reads or 'no table'}")
        if self.action is not None:
            lines.append(f"  next refresh: {self.action} ({self.action_reason})")
        for step in self.parts:
            lines += ["", f"-- {step.title}"]
            lines += [f"-- {step.few_rows}"] if step.few_rows else []
            lines.append(step.text)
        return "\n".join(lines)


@dataclass(frozen=True)
class Verification:
    """Whether a dynamic table equals its query at its data timestamp (delayed view semantics).

    `difference` is None where it does, else a sentence about the first rows that differ; `rows`
    counts the table's rows, which were all compared. `wrong` is the first row that is not as
    it should be: "too many" or "missing", and its values. `tolerance` is the relative one within
    which floats were found equal, 0 where all rows are equal exactly. `note` says why the next
    refresh cannot do what this one did, where a source has lost a column since.
    """

    name: Name
    data_timestamp: Timestamp
    frontier: Frontier
    rows: int
    difference: str | None
    version: int | None = None
    wrong: tuple[str, tuple[Any, ...]] | None = None
    tolerance: float = 0.0
    note: str = ""

    @property
    def equal(self) -> bool:
        return self.difference is None

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        return f"{self._verdict} {self.note}".rstrip()

    @property
    def _verdict(self) -> str:
        at = self.data_timestamp.words
        if self.equal:
            compared = f"{'all ' if self.rows > 1 else ''}{count_of(self.rows, 'row')} compared"
            return f"{self.name} equals its query at {at}: {compared}, no difference" + (
                f" beyond {self.tolerance:g} of floats." if self.tolerance else "."
            )
        return f"{self.name} differs from its query at {at}: {self.difference}."


@dataclass(frozen=True)
class Verifications:
    """Every retained version of a dynamic table against the defining query of its time."""

    name: Name
    found: tuple[Verification, ...]

    @property
    def equal(self) -> bool:
        return all(self.found)

    def __bool__(self) -> bool:
        return self.equal

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        wrong = [str(v) for v in self.found if not v.equal]
        if not wrong:
            versions = count_of(len(self.found), "retained version")
            all_of = (
                f"all {versions} equal their" if len(self.found) > 1 else f"{versions} equals its"
            )
            return f"{self.name}: {all_of} query."
        return "\n".join([f"{self.name}: {len(wrong)} of {len(self.found)} differ.", *wrong])
