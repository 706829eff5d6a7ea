"""Files that magics read and write."""

from __future__ import annotations

from pathlib import Path

from dt_jupyter.model import error


def write_new(file: str, text: str) -> None:
    """DT-1003 for a file that is there."""
    try:
        with Path(file).open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        problem, hint = "the file already exists", "Name another file, or delete that one."
        raise error("DT-1003", option="FILE", value=file, problem=problem, hint=hint) from None


def read_script(file: str | None) -> str:
    """DT-1003 for one that cannot be read."""
    try:
        return Path(file or "").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        hint = "Name a script of definitions, as %dt export FILE writes it."
        problem = f"it cannot be read ({type(e).__name__})"
        raise error("DT-1003", option="FILE", value=file, problem=problem, hint=hint) from e
