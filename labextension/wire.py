"""Writes `view/wire.ts`: the wire messages, which are defined in Python, as TypeScript types.

`python labextension/wire.py write` after a change of a message; `check` fails if it was forgotten.
"""

import sys
import types
import typing
from dataclasses import fields
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

from dt_jupyter.model import TargetLag
from dt_jupyter.wire.live_messages import LiveMessage, Reply, Request
from dt_jupyter.wire.schema import WIRE_VERSION

TARGET = Path(__file__).resolve().parent / "view" / "wire.ts"
HEAD = "// Written by labextension/wire.py from the messages in dt_jupyter/wire: do not edit.\n"


class Writer:
    """Types are written once each, in the order in which they are met."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}
        self.kinds: dict[type, str] = {}

    def name(self, kind: Any) -> str:
        """How TypeScript calls a Python type; what it consists of is written on the way."""
        if kind is None or kind is type(None):
            return "null"
        if isinstance(kind, types.UnionType):
            return " | ".join(self.name(k) for k in typing.get_args(kind))
        if typing.get_origin(kind) is tuple:
            item = self.name(typing.get_args(kind)[0])
            return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
        if kind is TargetLag:
            return self.alias("TargetLag", "number | 'DOWNSTREAM'", "Seconds, or DOWNSTREAM.")
        if kind is datetime:
            return self.alias("Instant", "string", "ISO 8601 in UTC.")
        plain = {str: "string", bool: "boolean", int: "number", float: "number"}.get(kind)
        if plain is not None:
            return plain
        if issubclass(kind, Enum):
            words = " | ".join(f"'{member.value}'" for member in kind)
            return self.alias(kind.__name__, words, "")
        return self.interface(kind)

    def alias(self, name: str, text: str, about: str) -> str:
        self.written[name] = f"{comment(about)}export type {name} = {text};\n"
        return name

    def interface(self, kind: Any) -> str:
        if not hasattr(kind, "__dataclass_fields__"):
            raise TypeError(f"{kind} is not part of a message")
        name: str = kind.__name__
        if name not in self.written:
            self.written[name] = ""
            hints = typing.get_type_hints(kind)
            tag = self.kinds.get(kind)
            lines = [f"  readonly type: '{tag}';", "  readonly version: number;"] if tag else []
            lines += [f"  readonly {f.name}: {self.name(hints[f.name])};" for f in fields(kind)]
            about = comment(kind.__doc__ if not (kind.__doc__ or "").startswith(name) else "")
            body = "\n".join(lines)
            del self.written[name]
            self.written[name] = f"{about}export interface {name} {{\n{body}\n}}\n"
        return name


def comment(text: str | None) -> str:
    words = " ".join((text or "").split())
    return f"/** {words} */\n" if words else ""


def typescript() -> str:
    """The whole file: deterministic, so that it can be compared."""
    writer = Writer()
    messages = typing.get_args(LiveMessage)
    for message in messages:
        writer.kinds[message] = tag(message)
    for kind in (*messages, Request, Reply):
        writer.name(kind)
    union = " | ".join(m.__name__ for m in messages)
    writer.written["LiveMessage"] = f"export type LiveMessage = {union};\n"
    version = f"export const WIRE_VERSION = {WIRE_VERSION};\n"
    return "\n".join([HEAD, version, *writer.written.values()])


def tag(message: type) -> str:
    """Its `type` in JSON: HelloMessage is `hello`."""
    return message.__name__.removesuffix("Message").lower()


def main(arguments: list[str]) -> int:
    """`write` the file, or `check` it: status 1 if it is of other messages."""
    if arguments == ["write"]:
        TARGET.write_text(typescript(), "utf-8")
        return 0
    if arguments != ["check"]:
        print("usage: wire.py write|check", file=sys.stderr)
        return 2
    if TARGET.read_text("utf-8") != typescript():
        print("view/wire.ts is stale; run `python labextension/wire.py write`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
