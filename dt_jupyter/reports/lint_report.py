"""What is wrong with a text before it runs: values that any view can show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dt_jupyter.model import Span, count_of
from dt_jupyter.sql import position


class LintSeverity(StrEnum):
    """ERROR: it would not run; WARNING: it would, but maybe not as it is meant."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class LintProblem:
    """At `span` of the text, in characters. `code` is one of the catalogue, or that of a reason."""

    severity: LintSeverity
    code: str
    sentence: str
    hint: str
    span: Span


@dataclass(frozen=True)
class LintReport:
    """The problems of a text by their places; `unchecked` says for which statements only the syntax
    was checked, and why."""

    text: str
    problems: tuple[LintProblem, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        """How many would keep it from running."""
        return sum(p.severity is LintSeverity.ERROR for p in self.problems)

    def __str__(self) -> str:
        lines = [self._line(p) for p in self.problems]
        lines += [f"not checked: {each}" for each in self.unchecked]
        if not self.problems:
            return "\n".join(["No problems found.", *lines])
        warnings = len(self.problems) - self.errors
        found = f"{count_of(self.errors, 'error')}, {count_of(warnings, 'warning')}"
        return "\n".join([*lines, f"{found}."])

    def _line(self, problem: LintProblem) -> str:
        line, column = position(self.text, problem.span.start)
        told = f"{line}:{column} {problem.severity} {problem.code}: {problem.sentence}"
        return f"{told}\n    Hint: {problem.hint}" if problem.hint else told


__all__ = ["LintProblem", "LintReport", "LintSeverity"]
