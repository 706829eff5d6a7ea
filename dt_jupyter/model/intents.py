"""Statements that change several objects: recorded step by step, so that they end whole or not at
all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class StatementStep:
    """One thing that a statement does, by its `kind` and by the `facts` that undo or repeat it:
    JSON values. `path` among the facts is a path in the lake."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StatementIntent:
    """A statement on record: the `steps` that it may have done, in order, each recorded before it
    is done. With `forward` it is decided: that step is completed, and nothing is undone."""

    id: str
    statement: str
    steps: tuple[StatementStep, ...] = ()
    forward: StatementStep | None = None


__all__ = ["StatementIntent", "StatementStep"]
