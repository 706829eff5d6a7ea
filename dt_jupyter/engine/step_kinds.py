"""The steps of statements over several objects; `statement_steps` undoes and completes them."""

from __future__ import annotations

from enum import StrEnum


class StepKind(StrEnum):
    """As they are on record in the catalog of a lake: their values stay."""

    TABLE_MADE = "table made"
    TABLE_ASIDE = "table aside"
    TABLE_BACK = "table back"
    TABLE_RENAMED = "table renamed"
    VIEW_MADE = "view made"
    STREAM_MADE = "stream made"
    DYNAMIC_TABLE_MADE = "dynamic table made"
    DYNAMIC_TABLE_ALTERED = "dynamic table altered"
    DYNAMIC_TABLE_BACK = "dynamic table back"
    SCHEMA_MADE = "schema made"
    SCHEMA_DROPPED = "schema dropped"
    FILE_MADE = "file made"
    FILE_REMOVED = "file removed"
    DEFINITIONS_APPLIED = "definitions applied"
    NAMES_KNOWN = "names known"
    SCHEMAS_KNOWN = "schemas known"
    RIGHTS_FOLLOW = "rights follow"
    FORGET_SCHEMA = "forget schema"


QUIET_STEPS = (StepKind.NAMES_KNOWN, StepKind.SCHEMAS_KNOWN)
"""To undo them makes the session know what the catalog has."""
LATE_STEPS = (StepKind.DEFINITIONS_APPLIED, *QUIET_STEPS)
"""They are undone once the lake is open."""
CLOSING_STEPS = (StepKind.RIGHTS_FOLLOW,)
"""They follow the statement, however it ended."""

__all__ = ["CLOSING_STEPS", "LATE_STEPS", "QUIET_STEPS", "StepKind"]
