"""Where a statement comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dt_jupyter.engine.created import Announce, say_nothing


@dataclass(frozen=True)
class StatementOrigin:
    """The script that a statement's places and errors count in, and the values of its
    `:parameters`; `announce` hears what it changes of a table that is there."""

    script: str
    args: Mapping[str, Any] = field(default_factory=dict)
    announce: Announce = say_nothing
