"""DT-3108, raised by Spark where a declared key is not one, and found again in what it says."""

from __future__ import annotations

import re

from dt_jupyter.model import CATALOGUE, DTError, error

CODE = "DT-3108"


def _pattern(message: str) -> str:
    """Of what an error of the catalogue says, with its facts as groups."""
    return re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(message))


_TOLD = re.compile(rf"\[{CODE}\] {_pattern(CATALOGUE[CODE].message)}(?: SQLSTATE|$)", re.MULTILINE)


def broken_key(keys: str, example: str) -> DTError:
    return error(CODE, keys=keys, example=example)


def raised(keys: str, example: str) -> str:
    """SQL that fails as `broken_key` says; `example` is SQL for a text."""
    before, after = str(broken_key(keys, "\0").sentence).split("\0")
    text = "RAISE_ERROR(CONCAT({before}, {example}, {after}))"
    literals = {"before": sql_text(f"[{CODE}] {before}"), "after": sql_text(after)}
    return text.format(example=example, **literals)


def find_broken_key(message: str) -> DTError | None:
    """The error that `raised` made Spark fail with, from what it says."""
    found = _TOLD.search(message)
    return broken_key(found["keys"], found["example"]) if found else None


def sql_text(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"
