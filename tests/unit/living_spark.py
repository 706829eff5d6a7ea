"""A stand-in for a Spark session that is there, for what asks nothing else of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def living_spark(**more: Any) -> Any:
    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: False))
    context = SimpleNamespace(_gateway=None, _jsc=java)
    return SimpleNamespace(sparkContext=context, **more)
