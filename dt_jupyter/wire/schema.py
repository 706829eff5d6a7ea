"""What all wire messages share: their JSON, their version, and what they never carry.

`to_json()` gives plain JSON values: instants as ISO 8601 in UTC, enums as their words, a target
lag as seconds or "DOWNSTREAM". Texts of errors and reasons lose passwords in URLs here, so that
neither a picture nor a browser can show one.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import TargetLag

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WIRE_VERSION = 1
"""Kernel and browser say it to each other first; they talk only if it is the same."""
_PASSWORD = re.compile(r"(\w://[^\s:/@]*):[^\s/]*@")
_REFERENCE = r"'?secret://(?:env|keyring)/"
_SECRET_OPTION = re.compile(
    rf"(?i)\b(password|passwd|pwd|secret|token)(\s*[=:]\s*)(?!{_REFERENCE}|//(?:env|keyring)/)"
    r"[^\s,;&'\"]+"
)


def redact(text: str) -> str:
    """Without the passwords of `scheme://user:password@host` and `password=…`; what names one by
    reference, `secret://env/NAME`, stays."""
    return _SECRET_OPTION.sub(r"\1\2***", _PASSWORD.sub(r"\1:***@", text))


def message_json(kind: str, message: DataclassInstance) -> dict[str, Any]:
    """The whole message, under the name of its kind."""
    return {"type": kind, "version": WIRE_VERSION, **_fields(message)}


def plain_json(value: Any) -> Any:
    """A value of a message as JSON has it."""
    if isinstance(value, TargetLag):
        return "DOWNSTREAM" if value.seconds is None else value.seconds
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value.value if isinstance(value, Enum) else value


def _fields(message: Any) -> dict[str, Any]:
    return {f.name: plain_json(getattr(message, f.name)) for f in fields(message)}


def check_instants(message: DataclassInstance) -> None:
    """ValueError for a time without a zone."""
    for field in fields(message):
        value = getattr(message, field.name)
        if isinstance(value, datetime) and value.tzinfo is None:
            raise ValueError(f"{field.name} needs a time zone")


def redact_fields(message: DataclassInstance, *names: str) -> None:
    """Take passwords out of these texts of a message that is being made."""
    for name in names:
        text = getattr(message, name)
        if text is not None:
            object.__setattr__(message, name, redact(text))
