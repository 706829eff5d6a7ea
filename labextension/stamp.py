"""The stamp of what is built here: from which sources it was built, and what came out.

`bundle.json` next to this file holds both digests. While they match, installing the Python package
needs no Node: `hatch_build.py` takes the committed bundle and the committed module of the widgets.
Standard library only, for it runs before anything is installed.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUNDLE = "bundle"
WIDGET = Path("dt_jupyter", "widgets", "static", "widget.js")
"""The widgets' module, next to the folder of the extension."""
STAMP = "bundle.json"
CONFIGURATION = ("package.json", "package-lock.json", "tsconfig.json")
CODE = frozenset({".ts", ".mjs", ".css", ".json"})
BUILT = frozenset({"node_modules", "build", BUNDLE})
TESTING = "testing"
"""The folder of what only tests use."""


def sources(root: Path) -> list[Path]:
    """The files of the extension at `root` that determine what is built: all but tests."""
    others = {*BUILT, TESTING}
    folders = [path for path in root.iterdir() if path.is_dir() and path.name not in others]
    inside = (path for folder in folders for path in folder.rglob("*") if path.suffix in CODE)
    code = [*root.glob("*.ts"), *inside]
    return [
        *(root / name for name in CONFIGURATION),
        *(path for path in code if not path.name.endswith(".test.ts")),
    ]


def built(root: Path) -> list[Path]:
    """The files that were built from them, as far as they are there."""
    widget = root.parent / WIDGET
    found = [path for path in (root / BUNDLE).rglob("*") if path.is_file()]
    return [*found, widget] if widget.is_file() else found


def digest(root: Path, files: Iterable[Path]) -> str:
    """SHA-256 (hex) of the names and contents of `files`, whatever their order and line endings."""
    total = hashlib.sha256()
    for name, path in sorted((path.relative_to(root.parent).as_posix(), path) for path in files):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def current(root: Path) -> dict[str, str]:
    """The digests of the sources and of what was built, as they are on the disk now."""
    return {"sources": digest(root, sources(root)), "bundle": digest(root, built(root))}


def stale(root: Path) -> list[str]:
    """Which of `sources` and `bundle` differ from the stamp; empty if the bundle is good."""
    stamp = root / STAMP
    recorded = json.loads(stamp.read_text("utf-8")) if stamp.is_file() else {}
    return [name for name, value in current(root).items() if recorded.get(name) != value]


def write(root: Path) -> None:
    """Record that what is built on the disk now was built from the sources on the disk now."""
    (root / STAMP).write_text(json.dumps(current(root), indent=2) + "\n", "utf-8")


def main(arguments: list[str]) -> int:
    """`write` the stamp after a build, or `check` it: status 1 if what is built is stale."""
    if arguments == ["write"]:
        write(HERE)
        return 0
    if arguments != ["check"]:
        print("usage: stamp.py write|check", file=sys.stderr)
        return 2
    if changed := stale(HERE):
        print(f"stale: {', '.join(changed)}; run `npm run build`", file=sys.stderr)
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
