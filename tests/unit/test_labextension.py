"""The committed JupyterLab bundle and the widgets' module are of the committed sources, small, and
get into the wheel as they are."""

import gzip
import json
import re
import runpy
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

CHECKOUT = Path(__file__).parents[2]
EXTENSION = CHECKOUT / "labextension"
INSTALLED = "share/jupyter/labextensions/dt-jupyter/"
LARGEST = 350_000
"""Bytes of all that a page loads for the panel, gzipped."""
LARGEST_WIDGET = 250_000
"""Bytes of the widgets' module, gzipped: every notebook that holds a widget holds it."""
stamp = runpy.run_path(str(EXTENSION / "stamp.py"))
wire = runpy.run_path(str(EXTENSION / "wire.py"))
hatch_build = runpy.run_path(str(CHECKOUT / "hatch_build.py"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the build hook looks at."""
    unbuilt = shutil.ignore_patterns("node_modules", "build")
    shutil.copytree(EXTENSION, tmp_path / "labextension", ignore=unbuilt)
    (tmp_path / stamp["WIDGET"]).parent.mkdir(parents=True)
    shutil.copy(CHECKOUT / stamp["WIDGET"], tmp_path / stamp["WIDGET"])
    return tmp_path


def hook(root: Path) -> Any:
    return hatch_build["LabExtensionHook"](str(root), {}, None, None, str(root), "wheel")


def test_the_committed_bundle_is_of_the_committed_sources() -> None:
    assert stamp["stale"](EXTENSION) == [], "run `npm run build` in labextension/"


def test_a_good_bundle_needs_no_node(checkout: Path) -> None:
    assert hook(checkout).dependencies() == []
    hook(checkout).initialize("standard", {})
    assert not (checkout / "labextension" / "node_modules").exists()


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("editor/sqlCell.ts", ["sources"]),
        ("editor/index.ts", ["sources"]),
        ("index.ts", ["sources"]),
        ("style/panel.css", ["sources"]),
        ("style/sheets.mjs", ["sources"]),
        ("view/dag/dag.raw.css", ["sources"]),
        ("schema/panel.json", ["sources"]),
        ("widget/build.mjs", ["sources"]),
        ("package-lock.json", ["sources"]),
        ("bundle/package.json", ["bundle"]),
        ("../dt_jupyter/widgets/static/widget.js", ["bundle"]),
        ("editor/sqlCell.test.ts", []),
        ("panel/board.test.ts", []),
        ("testing/graphs.ts", []),
        ("install.json", []),
    ],
)
def test_what_makes_the_bundle_stale(checkout: Path, file: str, stale: list[str]) -> None:
    with (checkout / "labextension" / file).open("a") as changed:
        changed.write("\n")
    assert stamp["stale"](checkout / "labextension") == stale
    assert bool(hook(checkout).dependencies()) == bool(stale)


def test_new_removed_and_renamed_sources_make_it_stale(checkout: Path) -> None:
    root = checkout / "labextension"
    new = root / "newer" / "index.ts"
    new.parent.mkdir()
    new.write_text("")
    assert stamp["stale"](root) == ["sources"]
    new.unlink()
    assert stamp["stale"](root) == []
    (root / "editor" / "index.ts").rename(root / "editor" / "main.ts")
    assert stamp["stale"](root) == ["sources"]


def test_line_endings_of_a_checkout_do_not_matter(checkout: Path) -> None:
    for path in (checkout / "labextension").rglob("*.*s*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert stamp["stale"](checkout / "labextension") == []


def test_without_the_widgets_the_bundle_is_stale(checkout: Path) -> None:
    (checkout / stamp["WIDGET"]).unlink()
    assert stamp["stale"](checkout / "labextension") == ["bundle"]


def test_without_a_stamp_everything_is_stale_until_it_is_written(checkout: Path) -> None:
    root = checkout / "labextension"
    (root / "bundle.json").unlink()
    assert stamp["stale"](root) == ["sources", "bundle"]
    stamp["write"](root)
    assert stamp["stale"](root) == []


def test_the_lock_file_names_no_host() -> None:
    packages = json.loads((EXTENSION / "package-lock.json").read_text("utf-8"))["packages"]
    assert [name for name, package in packages.items() if "resolved" in package] == []


def built_code() -> list[Path]:
    return [path for path in stamp["built"](EXTENSION) if path.suffix in {".js", ".json"}]


def test_what_is_built_is_small() -> None:
    def size(paths: list[Path]) -> int:
        return sum(len(gzip.compress(path.read_bytes())) for path in paths)

    widget = CHECKOUT / stamp["WIDGET"]
    bundle = sorted((EXTENSION / "bundle" / "static").glob("*.js"))
    assert len(bundle) >= 3
    assert size(bundle) < LARGEST
    assert size([widget]) < LARGEST_WIDGET


def test_what_is_built_names_no_machine_and_loads_nothing_from_elsewhere() -> None:
    for path in built_code():
        text = path.read_text("utf-8")
        assert not re.search(r"//# sourceMappingURL=", text), path
        assert not re.search(r"/(work|home|root|tmp)/", text), path
        assert not re.search(r"""(import\(|from|fetch\(|src=)\s*["'`]https?:""", text), path


def test_the_wheel_installs_the_bundle_for_jupyterlab_once(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(CHECKOUT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        shared = {
            name.partition(".data/data/")[2]: name
            for name in archive.namelist()
            if ".data/data/" in name
        }
        package = json.loads(archive.read(shared[INSTALLED + "package.json"]))
        install = json.loads(archive.read(shared[INSTALLED + "install.json"]))
        names = archive.namelist()
    entry = package["jupyterlab"]["_build"]["load"]
    assert INSTALLED + entry in shared
    assert install["packageName"] == "dt_jupyter"
    assert len([name for name in names if name.endswith(entry)]) == 1
    assert INSTALLED + "schemas/dt-jupyter/panel.json" in shared
    assert names.count(stamp["WIDGET"].as_posix()) == 1


def test_the_types_of_the_wire_are_those_of_the_messages() -> None:
    written = (EXTENSION / "view" / "wire.ts").read_text("utf-8")
    assert written == wire["typescript"](), "run `python labextension/wire.py write`"
