"""Writes `docs/reference`, `docs/images` and a page of the guide from the data that the program and
its tests use.

    python docs/generate.py            write what has changed
    python docs/generate.py --check    say what is not current, and end with status 1

A unit test holds that the files in the repository are what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
if __name__ == "__main__":  # run as a file: the packages are those next to this folder
    sys.path.insert(0, str(ROOT))

from docs.reference_pages import (  # noqa: E402
    catalog_tables,
    operators,
    pictures,
    python_api,
    statements,
    upstream_changes,
)
from docs.reference_pages.markdown import GENERATED  # noqa: E402

PAGES: Mapping[str, Callable[[], str]] = {
    "guide/upstream-changes.md": upstream_changes.upstream_page,
    "reference/statements.md": statements.statements_page,
    "reference/magics.md": statements.magics_page,
    "reference/command-line.md": statements.command_line_page,
    "reference/python.md": python_api.python_page,
    "reference/tuning.md": python_api.tuning_page,
    "reference/operators.md": operators.operators_page,
    "reference/history.md": catalog_tables.history_page,
    "reference/errors.md": catalog_tables.errors_page,
    "reference/packages.md": python_api.packages_page,
}
IMAGES: Mapping[str, Callable[[], str]] = {
    "images/graph.svg": pictures.graph,
    "images/lag.svg": pictures.lag,
}


def generated() -> dict[Path, str]:
    """The text of each file, by its path."""
    pages = {DOCS / name: f"{GENERATED}\n\n{make().strip()}\n" for name, make in PAGES.items()}
    return {**pages, **{DOCS / name: make().strip() + "\n" for name, make in IMAGES.items()}}


def outdated(files: Mapping[Path, str]) -> list[Path]:
    """The files that are missing or hold something else."""
    return [p for p, text in files.items() if not p.is_file() or p.read_text("utf-8") != text]


def main(arguments: Iterable[str]) -> int:
    files = generated()
    stale = outdated(files)
    for path in stale:
        print(path.relative_to(ROOT))
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], "utf-8")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
