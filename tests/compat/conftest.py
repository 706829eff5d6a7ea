"""Environments that combinations are tried in, made once; and the table of what was tried."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.compat.machine import ROOT, Combination, build_wheel, install

REPORT = ROOT / "artifacts" / "compat" / "tried.md"
SHOWN = ("Python", "Java", "pyspark", "delta-spark", "jupyterlab", "ipywidgets", "anywidget")

Install = Callable[[Combination], Path]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environments(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Gives the Python of a combination's environment."""
    folder, made = tmp_path_factory.mktemp("environments"), dict[str, Path]()

    def environment(of: Combination) -> Path:
        if of.environment not in made:
            made[of.environment] = install(of, wheel, folder / of.environment)
        return made[of.environment]

    return environment


@pytest.fixture(scope="session")
def tried() -> Iterator[Callable[[str, str], None]]:
    """Notes what a trial was of; the notes are a table in `artifacts/compat` at the end."""
    rows: dict[str, str] = {}
    yield rows.__setitem__
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"| {name} | {told} |" for name, told in rows.items()]
    REPORT.write_text("\n".join(["| tried | versions |", "| --- | --- |", *lines, ""]), "utf-8")


def told_versions(line: str) -> str:
    """The story's line of JSON, in words."""
    versions: dict[str, str] = json.loads(line)
    return ", ".join(f"{name} {versions[name]}" for name in SHOWN)
