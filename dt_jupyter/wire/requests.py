"""Requests as a browser sends them, read strictly: what is not one is an error of the catalogue."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from dt_jupyter.model import did_you_mean, error
from dt_jupyter.wire.live_messages import Ask, Request

_LONGEST = 2_000
"""Characters of a text in a request."""
_LONGEST_CELL = 200_000
"""Characters of a cell."""
_LARGEST = 1e12
NEEDS: Mapping[Ask, tuple[str, ...]] = {
    Ask.LAG: ("name",), Ask.DETAIL: ("name",), Ask.SINK: ("name",), Ask.TASK: ("name",),
    Ask.SOURCE: ("name",),
    Ask.LINEAGE: ("name",), Ask.PROFILE: ("name",), Ask.REPLAY: ("name",),
    Ask.ROWS: ("replay", "step"), Ask.TABLE_ROWS: ("name",), Ask.COMPARE: ("name",),
    Ask.COMPARE_DEFINITION: ("name",), Ask.SIMULATE: ("name",),
    Ask.REFRESH: ("name",),
    Ask.REFRESH_FULL: ("name",),
    Ask.CANCEL: ("name",), Ask.STOP: ("name",), Ask.SUSPEND: ("name",), Ask.RESUME: ("name",),
    Ask.PIN: ("name", "pin"), Ask.ALTER: ("name",), Ask.DROP: ("name",), Ask.RESET: ("name",),
    Ask.RETRY_DEAD_LETTERS: ("name",), Ask.DEFINITION: ("name",), Ask.FAILURE: ("name",),
    Ask.VERIFY: ("name",), Ask.RESUME_WAREHOUSE: ("name",), Ask.LINT: ("text",),
}  # fmt: skip
"""The fields without which an ask means nothing."""
_POSITIVE = ("target_lag", "refresh_seconds", "interval", "concurrency", "limit")


def request_id(value: object) -> int:
    """Of what may be a request, for the reply to it; 0 where it has none."""
    found = value.get("id") if isinstance(value, dict) else None
    return int(found or 0) if _whole(found) else 0


def parse_request(value: object) -> Request:
    """DT-5110 for an invalid request: an unknown ask or field, a wrong type, a missing field."""
    if not isinstance(value, dict):
        raise _bad("it is not an object")
    kinds = _kinds()
    for key, field in value.items():
        if key not in kinds:
            hint = did_you_mean(str(key), list(kinds))
            raise _bad(f"there is no field {str(key)[:40]!r}", hint)
        longest = _LONGEST_CELL if key == "text" else _LONGEST
        if not _fits(field, kinds[key], longest):
            raise _bad(f"{key} is not a {_word(kinds[key])}")
    for key in ("id", "ask"):
        if key not in value:
            raise _bad(f"it lacks {key}")
    ask = value["ask"]
    if ask not in tuple(Ask):
        raise _bad(f"there is no request {ask[:40]!r}", did_you_mean(ask, [a.value for a in Ask]))
    for key in NEEDS.get(Ask(ask), ()):
        if value.get(key) in (None, ""):
            raise _bad(f"{ask} needs {key}")
    for key in _POSITIVE:
        number = value.get(key)
        if number is not None and not 0 < number <= _LARGEST:
            raise _bad(f"{key} is not positive, or too large")
    for key in ("step", "against", "version"):
        if value.get(key) is not None and value[key] < 0:
            raise _bad(f"{key} is negative")
    return Request(**{**value, "ask": Ask(ask)})


@cache
def _kinds() -> dict[str, tuple[type, ...]]:
    """The types that each field may have."""
    hints = typing.get_type_hints(Request)
    return {f.name: _types(hints[f.name]) for f in fields(Request)}


def _types(hint: Any) -> tuple[type, ...]:
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return tuple(str if p is Ask else p for p in parts)


def _fits(value: object, kinds: tuple[type, ...], longest: int) -> bool:
    if value is None:
        return type(None) in kinds
    if isinstance(value, str):
        return str in kinds and len(value) <= longest
    if float in kinds:
        return _whole(value) or (isinstance(value, float) and math.isfinite(value))
    return int in kinds and _whole(value)


def _whole(value: object) -> bool:
    """No bool is an int here, and no int is wider than JavaScript's."""
    return type(value) is int and abs(value) < 2**53


def _word(kinds: tuple[type, ...]) -> str:
    words = {str: "text", int: "whole number", float: "number"}
    return next(words[k] for k in kinds if k in words)


def _bad(problem: str, more: str = "") -> Exception:
    return error("DT-5110", problem=f"{problem}. {more}".strip().rstrip("."))
