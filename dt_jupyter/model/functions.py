"""User functions, as the catalog keeps them: by source text, never by pickle."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum

from dt_jupyter.model.time import Timestamp


class FunctionKind(StrEnum):
    PYTHON = "PYTHON"  # called for each row
    PANDAS = "PANDAS"  # called for batches, from Series to Series
    ARROW = "ARROW"  # called for batches, from Arrow arrays to an Arrow array
    SQL = "SQL"  # an expression, which is put in the place of each call


class CapturedKind(StrEnum):
    """What a name outside of a function refers to."""

    MODULE = "MODULE"
    MEMBER = "MEMBER"  # `module:qualified.name`
    VALUE = "VALUE"  # a literal of Python
    FUNCTION = "FUNCTION"  # the source of another function


@dataclass(frozen=True, slots=True)
class Captured:
    """A name that a function reads from around it, and the text that gives it again."""

    name: str
    kind: CapturedKind
    text: str


@dataclass(frozen=True)
class FunctionUse:
    """A function that a definition calls, as it was then."""

    name: str
    digest: str


@dataclass(frozen=True)
class UserFunction:
    """A user function, known to all processes of a lake.

    `source` is its text; `place` (`module:name`) where it is imported instead of compiled.
    `on_change`: its values are those of the time at which a row came, and kept with the row.
    `captured` are the names that it reads from around it, `packages` the versions that it was
    registered with, `parameters` (name, type) those of a SQL function.
    """

    name: str
    kind: FunctionKind
    returns: str
    immutable: bool
    source: str
    place: str = ""
    captured: tuple[Captured, ...] = ()
    packages: tuple[tuple[str, str], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    comment: str | None = None
    created: Timestamp = field(default=Timestamp(0), compare=False)
    on_change: bool = False

    @property
    def digest(self) -> str:
        """Distinguishes functions that may give other values: 16 hexadecimal digits. The version of
        a package counts where the function itself is in it."""
        home = self.place.partition(".")[0].partition(":")[0]
        said = [
            self.kind, self.returns, self.immutable, self.source, self.place,
            [[c.name, c.kind, c.text] for c in self.captured],
            [p for p in self.packages if p[0] == home], [list(p) for p in self.parameters],
        ]  # fmt: skip
        if self.on_change:
            said.append("on change")
        return hashlib.blake2b(json.dumps(said).encode(), digest_size=8).hexdigest()

    @property
    def use(self) -> FunctionUse:
        return FunctionUse(self.name, self.digest)


@dataclass(frozen=True)
class FunctionInfo:
    """A function as `dt.udfs()` lists it: `used_by` are the dynamic tables that call it, `problem`
    why it cannot be called in this process, if it cannot."""

    function: UserFunction
    used_by: tuple[str, ...]
    problem: str | None = None

    def __str__(self) -> str:
        f = self.function
        kept = "immutable" if f.immutable else "not immutable"
        kept = "on change" if f.on_change else kept
        used = f", used by {', '.join(self.used_by)}" if self.used_by else ""
        broken = f"; {self.problem}" if self.problem else ""
        return f"{f.name} → {f.returns} ({f.kind.lower()}, {kept}{used}{broken})"
