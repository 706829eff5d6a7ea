"""The package in environments of other versions, as a user sets them up; see docs/compatibility.md.

`python3 dev.py test compat` tries what the machine has; what it has not is skipped, with its name.
Each environment is made from the wheel of this checkout, which takes minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compat.conftest import REPORT, Install, told_versions
from tests.compat.machine import (
    FIREFOX_PLAYWRIGHT,
    NEWEST,
    OLDEST,
    OPTIONS,
    PAGE_PACKAGES,
    ROOT,
    STORIES,
    Combination,
    find_browser,
    find_java,
    find_python,
    find_uv,
)

STORY_SECONDS, PAGE_SECONDS = 900, 900
Tried = Callable[[str, str], None]


@pytest.mark.parametrize("combination", STORIES, ids=str)
def test_a_story(
    combination: Combination, environments: Install, tried: Tried, tmp_path: Path
) -> None:
    java = needed(find_java(combination.java), f"Java {combination.java}")
    needed(find_python(combination.python), f"Python {combination.python}")
    told = run_story(environments(combination), java, tmp_path)
    tried(str(combination), told_versions(told))


@pytest.mark.parametrize(
    ("combination", "browser"),
    [(NEWEST, "chromium"), (OLDEST, "chromium"), (NEWEST, "firefox")],
    ids=["newest JupyterLab, Chromium", "oldest JupyterLab, Chromium", "newest, Firefox"],
)
def test_jupyterlab(
    combination: Combination, browser: str, environments: Install, tried: Tried, tmp_path: Path
) -> None:
    needed(find_browser(browser), browser)
    needed(find_python(combination.python), f"Python {combination.python}")
    python = environments(combination)
    pictures = REPORT.parent / f"lab-{browser}{'-oldest' * combination.oldest}"
    seen = run_pages("lab", browser, python, tmp_path, with_playwright(browser, tmp_path))
    keep_pictures(tmp_path, pictures)
    version = run([python, "-m", "jupyterlab", "--version"], 60)
    tried(f"JupyterLab {version} in {browser}", seen)


def test_a_page_without_a_kernel(environments: Install, tried: Tried, tmp_path: Path) -> None:
    """The widget manager for pages stands for those of VS Code and Colab, which cannot be had."""
    npm = needed(shutil.which("npm"), "npm")
    needed(find_browser("chromium"), "chromium")
    needed(find_python(NEWEST.python), f"Python {NEWEST.python}")
    run_story(environments(NEWEST), needed(find_java(NEWEST.java), "Java"), tmp_path)
    options = ["--prefix", tmp_path, "--ignore-scripts", "--no-audit", "--silent"]
    run([npm, "install", *options, *PAGE_PACKAGES], 300)
    seen = run_pages("page", "chromium", tmp_path / "node_modules", tmp_path, Path(sys.executable))
    keep_pictures(tmp_path, REPORT.parent / "page")
    tried("a page of nbconvert", f"{', '.join(PAGE_PACKAGES[:2])}, {seen}")


def needed(found: object, name: str) -> Path:
    if found is None:
        pytest.skip(f"untried: there is no {name} on this machine")
    return Path(str(found))


def run_story(python: Path, java: Path, folder: Path) -> str:
    """The versions, as the story prints them."""
    set_ = {"JAVA_HOME": str(java), "IPYTHONDIR": str(folder / "ipython")}
    story = ROOT / "tests" / "compat" / "story.py"
    return run([python, story, folder], STORY_SECONDS, cwd=folder, **set_).splitlines()[-1]


def run_pages(what: str, browser: str, given: Path, folder: Path, python: Path) -> str:
    pages = ROOT / "tests" / "compat" / "pages.py"
    command = [python, pages, what, browser, given, folder]
    return run(command, PAGE_SECONDS, PYTHONPATH=str(ROOT))


def with_playwright(browser: str, folder: Path) -> Path:
    """A Python whose Playwright drives that browser."""
    if browser != "firefox":
        return Path(sys.executable)
    home = folder / "playwright"
    uv = find_uv(folder)
    run([uv, "venv", "--quiet", "--python", sys.executable, home], 60)
    python = home / "bin" / "python"
    packages = [FIREFOX_PLAYWRIGHT, "pytest", "nbclient", "nbconvert"]
    run([uv, "pip", "install", "--quiet", "--python", python, *packages], 300)
    return python


def keep_pictures(folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for picture in folder.glob("*.png"):
        shutil.copy(picture, target)


def run(command: list[object], seconds: int, cwd: Path | None = None, **set_: str) -> str:
    """What a program prints; its last lines where it fails."""
    words = [str(word) for word in command]
    others = ("PYTHONPATH", "PYSPARK_PYTHON", "SPARK_HOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in others}
    given = {"SPARK_SUBMIT_OPTS": OPTIONS, "JUPYTER_PREFER_ENV_PATH": "1", **set_}
    done = subprocess.run(
        words,
        cwd=cwd,
        env=kept | given,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout.strip()
