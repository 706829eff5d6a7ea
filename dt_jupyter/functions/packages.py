"""Which installed package a module is of, and its version."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from functools import cache


def is_installed(module: str) -> bool:
    """Whether a package, or Python itself, has the module: it is there in any process."""
    top = module.partition(".")[0]
    if top == "__main__":
        return False
    return top in sys.builtin_module_names or top in sys.stdlib_module_names or top in _packages()


def distribution_of(module: str) -> tuple[str, str] | None:
    """The package with the module and its version; None for Python's own."""
    names = _packages().get(module.partition(".")[0])
    return (names[0], importlib.metadata.version(names[0])) if names else None


@cache
def _packages() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()
