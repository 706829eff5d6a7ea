"""What a user function raised, in its own words: the exception and its line."""

from __future__ import annotations

import linecache
import re

from dt_jupyter.failures.signs import everything
from dt_jupyter.functions import ARGUMENTS, file_of
from dt_jupyter.model import DTError, error

_PLACE = re.compile(r'File "<function (\w+)>", line (\d+), in ')
_RAISED = re.compile(r"^\s*(?:\w+\.)*(\w+(?::[^\n]*)?)$", re.MULTILINE)
_NOT_HERE = re.compile(r"RuntimeError: The function (\w+) cannot be called here: ([^\n]*)")
_CALLED = re.compile(rf"^{ARGUMENTS} (\(.*\))$", re.MULTILINE)
_TRACE = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n|\n)*(\S[^\n]*)")
_LONGEST = 300


def function_error(failure: BaseException) -> DTError | None:
    """DT-1134 where a user function raised it, DT-1132 where it could not be made; None
    for any other failure."""
    told = everything(failure)
    if found := _NOT_HERE.search(told):
        problem, _, hint = found[2].partition(". ")
        return error("DT-1132", name=found[1], problem=problem, hint=hint.strip())
    places = list(_PLACE.finditer(told))
    if not places:
        return None
    name, number = places[0][1], int(places[0][2])
    last = _last_of_trace(places, told)
    line = linecache.getline(file_of(name), number).strip()
    hint = f"Line {number} of it: {line}" if line else f"It is line {number} of it."
    if called := _CALLED.search(told, places[-1].end()):
        hint = f"{ARGUMENTS} {called[1][:_LONGEST]}. {hint}"
    return error("DT-1134", name=name, problem=last, hint=hint)


def raised_in_worker(text: str) -> str | None:
    """What Python raised in a worker outside of a user function, as its trace ends; None
    where the text has no trace."""
    found = [match[1] for match in _TRACE.finditer(text)]
    return f"{found[-1].strip().rstrip('.')[:_LONGEST]}." if found else None


def _last_of_trace(places: list[re.Match[str]], told: str) -> str:
    """The line of a trace with what was raised: the first after the places that is not one of
    them."""
    lines = told[places[0].end() :].splitlines()[1:]
    for line in lines:
        if line and not line.startswith((" ", "\t")) and (found := _RAISED.match(line)):
            return found[1].rstrip(".")[:_LONGEST]
    return "an exception"
