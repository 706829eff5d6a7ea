"""What the engine returns besides records: explanations and verifications, with a text each."""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.model import Frontier, Name, Reason, RefreshAction, RefreshMode, Timestamp


@dataclass(frozen=True)
class Step:
    """One statement that a refresh runs: `title` says what for, `text` is the SQL."""

    title: str
    text: str


@dataclass(frozen=True)
class Explanation:
    """How a dynamic table is kept, and what its next refresh does.

    `steps` are the statements, in order; `hint` the smallest rewrite that would make a FULL one
    incremental; `checked` what the check at creation compared.
    """

    name: Name
    mode: RefreshMode
    reason: Reason
    columns: tuple[tuple[str, str, str | None], ...]
    sources: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    action: RefreshAction | None = None
    action_reason: Reason | None = None
    hint: str = ""
    checked: str = ""

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.mode} ({self.reason})"]
        lines += [f"  hint: {self.hint}"] if self.hint else []
        lines += [f"  checked at creation on {self.checked}"] if self.checked else []
        lines.append("  columns: " + ", ".join(f"{n} {t}" for n, t, _ in self.columns))
        lines.append("  reads: " + ", ".join(f"{n} ({k})" for n, k in self.sources))
        if self.action is not None:
            lines.append(f"  next refresh: {self.action} ({self.action_reason})")
        for step in self.steps:
            lines += ["", f"-- {step.title}", step.text]
        return "\n".join(lines)


@dataclass(frozen=True)
class Verification:
    """Whether a dynamic table equals its query at its data timestamp (delayed view semantics).

    `difference` is None where it does, else a sentence about the first rows that differ; `rows`
    counts the table's rows, all of which were compared.
    """

    name: Name
    data_timestamp: Timestamp
    frontier: Frontier
    rows: int
    difference: str | None

    @property
    def equal(self) -> bool:
        return self.difference is None

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        if self.equal:
            return (
                f"{self.name} equals its query at {self.data_timestamp}: "
                f"all {self.rows:,} rows compared, no difference."
            )
        return f"{self.name} differs from its query at {self.data_timestamp}: {self.difference}."
