"""Whether this process may take more memory."""

from __future__ import annotations

from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")
_FREE = 0.1
"""The part of the memory that others are left."""


def is_memory_short(group: Path = _GROUP) -> bool:
    """Whether less than a tenth of the memory is free, of the machine's or of what the process's
    control group (`group`) allows."""
    import psutil

    found = psutil.virtual_memory()
    return found.available < _FREE * found.total or _is_group_full(group)


def _is_group_full(group: Path) -> bool:
    """By Linux's control groups of version 2; the system releases cached files when needed."""
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        facts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no limit, "max", or no such groups
        return False
    return limit - (used - int(facts.get("inactive_file", 0))) < _FREE * limit
