"""What this machine has to try combinations with; what it has not stays untried."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.spark.java import OLDEST_JAVA, installed, packaged

ROOT = Path(__file__).parents[2]
BROWSERS = {"chromium": ("chromium", "chromium-browser"), "firefox": ("firefox-esr", "firefox")}
FIREFOX_PLAYWRIGHT = "playwright==1.61.0"
"""The last that drives an unchanged Firefox ESR: newer ones send it what it does not know."""
PAGE_PACKAGES = ("@jupyter-widgets/html-manager@1", "anywidget@0.11", "requirejs@2.3.6")
OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@dataclass(frozen=True)
class Combination:
    """A Python with the package, installed by `installer`, with the newest of all that it needs or
    the oldest that it declares; and the Java that Spark is started with."""

    python: str
    installer: str
    java: int
    oldest: bool = False

    def __str__(self) -> str:
        age = "oldest" if self.oldest else "newest"
        return f"Python {self.python}, {self.installer}, Java {self.java}, {age} packages"

    @property
    def environment(self) -> str:
        return f"{self.python}-{self.installer}{'-oldest' * self.oldest}"


STORIES = (
    Combination("3.11", "pip", 17),
    Combination("3.11", "uv", 17, oldest=True),
    Combination("3.12", "uv", 21),
    Combination("3.13", "uv", 25),
    Combination("3.14", "uv", 21),
)
NEWEST, OLDEST = STORIES[2], STORIES[1]


def find_python(version: str) -> Path | None:
    """An interpreter of that version: on the PATH, of `DT_PYTHONS` (paths, parted as in PATH), or
    of pyenv."""
    named = os.environ.get("DT_PYTHONS", "").split(os.pathsep)
    found = [shutil.which(f"python{version}"), *named, *pyenv_pythons(version)]
    return next((Path(p) for p in found if p and version_of(p) == version), None)


def pyenv_pythons(version: str) -> Iterator[str]:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return map(str, root.glob(f"versions/{version}.*/bin/python"))


def version_of(program: str) -> str:
    """Such as 3.12; "" for what does not run."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([program, "-c", ask], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def find_java(version: int) -> Path | None:
    """The home of an installed Java of that version, else of the packaged one."""
    found = [*installed(os.environ), *filter(None, [packaged()])]
    return next((java.home for java in found if java.version == version >= OLDEST_JAVA), None)


def find_browser(name: str) -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS[name])), None)


def build_wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True)
    return next(folder.glob("dt_jupyter-*.whl"))


def install(combination: Combination, wheel: Path, folder: Path) -> Path:
    """A fresh environment with the wheel; gives its Python."""
    interpreter = find_python(combination.python)
    assert interpreter is not None
    python = folder / "bin" / "python"
    if combination.installer == "pip":
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
        return python
    uv = find_uv(folder.parent)
    subprocess.run([uv, "venv", "--quiet", "--python", interpreter, folder], check=True)
    add = [uv, "pip", "install", "--quiet", "--python", python]
    if combination.oldest:
        declared = [ROOT / "pyproject.toml", "--resolution", "lowest-direct"]
        subprocess.run([*add, "-r", *declared], check=True)
    subprocess.run([*add, wheel], check=True)
    return python


def find_uv(folder: Path) -> Path:
    """uv of the PATH, else one that is put below the folder."""
    if found := shutil.which("uv"):
        return Path(found)
    home = folder / "uv"
    if not home.is_dir():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", "uv"], check=True)
    return home / "bin" / "uv"
