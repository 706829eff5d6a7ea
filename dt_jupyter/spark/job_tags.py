"""The tag by which the jobs of a group, and of those nested in it, are found and cancelled."""

from __future__ import annotations


def tag_of(group: str) -> str:
    """The group's name as a job tag, which may be neither empty nor hold a comma."""
    if not group:
        raise ValueError("a job group needs a name")
    return group.replace(",", ";")
