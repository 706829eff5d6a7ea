"""What of a lake could not be restored: each object with why, while all others work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from dt_jupyter.model import DTError, error

_log = logging.getLogger("dt_jupyter.catalog")
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An object that cannot be used as it is. `kind` in words ("dynamic table", "pin"), `name` as
    statements write it, `problem` one line; `hint` says how it comes back, or goes. `row`: it is
    its row in the catalog that cannot be read."""

    kind: str
    name: str
    problem: str
    hint: str
    row: bool = False

    @property
    def error(self) -> DTError:
        """What a request for it raises: DT-5112."""
        return error(
            "DT-5112", kind=self.kind, name=self.name, problem=self.problem, hint=self.hint
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.problem}"


@dataclass
class Quarantine:
    """Of one process: searched again whenever a lake is opened, and whenever rows are read."""

    _found: dict[tuple[str, str], Quarantined] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(
        self, kind: str, name: object, problem: object, hint: str, *, row: bool = False
    ) -> Quarantined:
        """The object is in quarantine; logged when it is put there."""
        made = Quarantined(kind, _text(name), _text(problem_line(problem)), _text(hint), row)
        with self._lock:
            known = self._found.get((kind, made.name))
            self._found[kind, made.name] = made
        if known != made:
            _log.warning("in quarantine: %s. %s", made, hint)
        return made

    def lift(self, kind: str, name: object) -> None:
        """The object is as it should be, or gone."""
        with self._lock:
            self._found.pop((kind, _text(name)), None)

    def rows(self, kind: str, broken: Iterable[Quarantined]) -> None:
        """All rows of that kind were read: these alone could not be."""
        made = {(b.kind, b.name): b for b in broken}
        with self._lock:
            if not made and not self._found:
                return
            for key, known in tuple(self._found.items()):
                if known.kind == kind and known.row and key not in made:
                    del self._found[key]
        for each in made.values():
            self.put(each.kind, each.name, each.problem, each.hint, row=True)

    def find(self, name: object, *kinds: str) -> Quarantined | None:
        """Of any of the kinds, else of any kind."""
        with self._lock:
            found = [q for (_, n), q in self._found.items() if n == _text(name)]
        return next((q for q in found if not kinds or q.kind in kinds), None)

    def all(self) -> tuple[Quarantined, ...]:
        """By kind and name."""
        with self._lock:
            return tuple(self._found[key] for key in sorted(self._found))


def _text(value: object) -> str:
    """What can be written anywhere: the name of a file may be no UTF-8."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def problem_line(problem: object) -> str:
    """The sentence of an error, or of what was given; without the stop at its end."""
    text = problem.sentence if isinstance(problem, DTError) else str(problem)
    if isinstance(problem, BaseException) and not text.strip():
        text = type(problem).__name__
    line = next((x.strip() for x in text.splitlines() if x.strip()), "")
    return line[:_LONGEST].rstrip(".")


__all__ = ["Quarantine", "Quarantined", "problem_line"]
