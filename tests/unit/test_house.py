"""Rules of the house: a light import, layers that hold, and no trace of a machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import dt_jupyter
from tests.unit.imports import edges, find_circles, read_doors, read_imports, read_modules

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "dt_jupyter"
HEAVY = frozenset({"pyspark", "deltalake", "pandas", "pyarrow", "sqlalchemy", "sqlglot", "IPython"})
MACHINE = re.compile(
    r"(?:(?<![\w.:/*-])|(?<=file://))/(?:home|root|Users|work|mnt|workspace|opt/wheels)/[\w.~-]+|[A-Z]:\\Users\\"
)
BINARY = frozenset({".png", ".gif", ".jpg", ".parquet", ".zip", ".woff2", ".ico"})


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh Python has loaded after `statement`."""
    program = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("module", ["dt_jupyter", "dt_jupyter.model", "dt_jupyter.spark"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    loaded = loaded_by(f"import {module}")
    assert "dt_jupyter" in loaded
    assert not loaded & HEAVY


def test_the_probe_sees_a_heavy_module() -> None:
    assert "sqlglot" in loaded_by("import sqlglot")


def test_layers_hold() -> None:
    program = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as main; main()",
    ]
    run = subprocess.run(
        [*program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 broken" in run.stdout


def test_no_module_waits_for_itself() -> None:
    """Imports in functions count too; those for types alone do not."""
    assert find_circles(edges(PACKAGE)) == []


def test_a_circle_is_found() -> None:
    assert find_circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]


def test_nobody_goes_past_a_door() -> None:
    past = [i for i in read_imports(read_modules(PACKAGE)) if i.goes_past_a_door]
    assert past == []


@pytest.mark.parametrize(
    "stub", sorted(PACKAGE.glob("*/__init__.pyi")), ids=lambda p: p.parent.name
)
def test_a_door_opens_on_all_that_it_names(stub: Path) -> None:
    """And on no module: one of a name's own spelling would stand before it once it is loaded."""
    door = import_module(f"dt_jupyter.{stub.parent.name}")
    inner = {p.stem for p in stub.parent.iterdir()}
    names = [n for d, n in read_doors(PACKAGE) if d == door.__name__]
    assert names
    assert not {n for n in names if n in inner or not hasattr(door, n)}


def test_a_module_behind_a_door_needs_no_other_import_before_it() -> None:
    assert "dt_jupyter" in loaded_by("from dt_jupyter.sql import statement_values")


def test_every_package_says_what_it_promises() -> None:
    for init in sorted(PACKAGE.rglob("__init__.py")):
        assert ast.get_docstring(tree_of(init)), init.relative_to(ROOT)


def test_the_version_is_said_once() -> None:
    assert f'version = "{dt_jupyter.__version__}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def tracked() -> list[Path]:
    """The text files in git."""
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    paths = (ROOT / name for name in run.stdout.decode().split("\0") if name)
    return [path for path in paths if path.suffix not in BINARY and path.is_file()]


def test_no_file_names_a_folder_of_a_machine() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if path != Path(__file__).resolve()
        for match in MACHINE.finditer(path.read_text("utf-8", errors="replace"))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ('"/home/me/lake"', True),
        ("see /work/x", True),
        ("file:///root/data", True),
        ("https://host/home/page", False),
        ("tests/work/x", False),
    ],
)
def test_the_pattern_of_machine_paths(text: str, caught: bool) -> None:
    assert bool(MACHINE.search(text)) is caught


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(file)))


def texts_of(file: Path) -> str:
    """What a file says to people: the strings of a module, all of another."""
    text = file.read_text("utf-8")
    if file.suffix != ".py":
        return text
    constants = (n.value for n in nodes_of(file) if isinstance(n, ast.Constant))
    return "\n".join(c for c in constants if isinstance(c, str))


def methods_of_the_engine() -> set[str]:
    body = tree_of(PACKAGE / "engine" / "api.py").body
    (engine,) = (n for n in body if isinstance(n, ast.ClassDef) and n.name == "Engine")
    return {n.name for n in engine.body if isinstance(n, ast.FunctionDef)}


def hints(file: Path) -> str:
    """What a module says that is no pattern, prefix or name of another kind: it has a sentence."""
    if file.suffix != ".py":
        return ""
    return "\n".join(text for text in literals(file) if " " in text)


def test_what_a_hint_names_exists() -> None:
    """Every `dt.method` and `%dt command` in a message or a help text, and every call of one in
    the README."""
    from dt_jupyter.sql.grammar.magic_specs import DT

    methods, commands = methods_of_the_engine(), {c.name for c in DT}
    seen: dict[str, Path] = {}
    for file in [ROOT / "README.md", *PACKAGE.rglob("*.py")]:
        text = texts_of(file)
        seen |= {f"dt.{m}": file for m in re.findall(r"\bdt\.([a-z_]+)\(", text)}
        seen |= {f"dt.{m}": file for m in re.findall(r"(?<![\w./])dt\.([a-z_]+)\b", hints(file))}
        seen |= {f"%dt {c}": file for c in re.findall(r"(?<!%)%dt ([a-z]+)\b", text)}
    assert {"dt.sql", "dt.pin", "%dt history"} <= seen.keys(), "the probe sees them"
    known = {f"dt.{m}" for m in methods} | {f"%dt {c}" for c in commands}
    assert {k: f.name for k, f in seen.items() if k not in known} == {}


@cache
def literals(file: Path) -> set[str]:
    """The strings of a module that are no docstrings."""
    nodes = nodes_of(file)
    said = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    found = (n for n in nodes if isinstance(n, ast.Constant) and id(n) not in said)
    return {n.value for n in found if isinstance(n.value, str)}


ALLOWED_TWICE = {
    "T": "a type variable",
    "Column": "a message's column is called so in TypeScript too",
    "NAME": "the two writers are one interface",
    "Store": "a message of the sink protocol, by the protocol's own word",
    "write": "the two writers are one interface",
    "Frontier": "a message is called as the value that it shows, in TypeScript too",
    "GraphNode": "a message is called as the value that it shows, in TypeScript too",
    "Task": "a part of a sink, by the word of its protocol",
    "TaskState": "a message of the sink protocol, by the protocol's own word",
    "Statement": "a message is called as the value that it shows, in TypeScript too",
}
"""Public names that more than one module defines, and why."""


def defined(file: Path) -> set[str]:
    """The public classes, functions and constants of a module; what it imports is not its own."""
    found: set[str] = set()
    for node in tree_of(file).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
            found |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return {name for name in found if not name.startswith("_")}


def test_a_public_name_means_one_thing() -> None:
    homes: dict[str, list[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for name in defined(file):
            homes.setdefault(name, []).append(file.relative_to(PACKAGE).as_posix())
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert {n: f for n, f in twice.items() if n not in ALLOWED_TWICE} == {}
    assert ALLOWED_TWICE.keys() - twice.keys() == set(), "no longer needed"


def test_every_error_of_the_catalogue_is_raised() -> None:
    from dt_jupyter.model import CATALOGUE

    catalogue = PACKAGE / "model" / "errors.py"
    said = {t for f in PACKAGE.rglob("*.py") if f != catalogue for t in literals(f)}
    assert CATALOGUE.keys() - said == set()


def test_hidden_names_are_made_in_one_place() -> None:
    vocabulary = PACKAGE / "model" / "hidden.py"
    assert "__dt_" in literals(vocabulary)
    others = {f.relative_to(ROOT).as_posix(): literals(f) for f in PACKAGE.rglob("*.py")}
    del others[vocabulary.relative_to(ROOT).as_posix()]
    assert {f: t for f, texts in others.items() for t in texts if "__dt_" in t} == {}


def test_frames_of_rows_are_made_where_the_active_session_is_kept() -> None:
    makers = re.compile(r"(?<!_jsparkSession)(?<!self\.session)(?<!log)\.createDataFrame\(")
    found = [f for f in PACKAGE.rglob("*.py") if makers.search(f.read_text("utf-8"))]
    assert found == [PACKAGE / "spark" / "frames.py"]


def find_dead_code(source: str) -> list[str]:
    """What is never run: statements after one that leaves, and tests in functions."""
    found: list[str] = []

    def visit(node: ast.AST, in_function: bool) -> None:
        for block in ("body", "orelse", "finalbody"):
            lines = getattr(node, block, None)
            if isinstance(lines, list):
                found.extend(
                    f"line {after.lineno}"
                    for before, after in pairwise(lines)
                    if isinstance(before, ast.Return | ast.Raise | ast.Continue | ast.Break)
                )
                for line in lines:
                    visit(line, in_function or isinstance(node, FUNCTIONS))
        if isinstance(node, FUNCTIONS) and in_function and node.name.startswith("test_"):
            found.append(node.name)
        for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            visit(inner, in_function)

    visit(ast.parse(source), False)
    return found


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_no_code_is_dead() -> None:
    files = [f for f in tracked() if f.suffix == ".py"]
    found = {str(f.relative_to(ROOT)): find_dead_code(f.read_text("utf-8")) for f in files}
    assert {name: dead for name, dead in found.items() if dead} == {}


def test_dead_code_is_found() -> None:
    assert find_dead_code("def f():\n  return 1\n  g()") == ["line 3"]
    assert find_dead_code("def f():\n  def test_a(): ...") == ["test_a"]
    assert find_dead_code("def f():\n  if x:\n    def test_a(): ...") == ["test_a"]
    assert find_dead_code("try: f()\nexcept A:\n  raise\n  g()") == ["line 4"]
    assert find_dead_code("match x:\n  case 1:\n    raise A\n    g()") == ["line 4"]
    assert (
        find_dead_code("for x in y:\n  if x: break\n  else: f()\nclass T:\n  def test_a(s): ...")
        == []
    )


def parameters_of_fixtures(file: Path) -> dict[str, set[str]]:
    """What each fixture of a file asks for."""
    return {
        node.name: {a.arg for a in node.args.args}
        for node in tree_of(file).body
        if isinstance(node, ast.FunctionDef)
        and any("fixture" in ast.unparse(d) for d in node.decorator_list)
    }


@pytest.mark.parametrize("folder", ["faults", "nightly"])
def test_borrowed_fixtures_find_what_they_ask_for(folder: str) -> None:
    """pytest says so only when a test asks for one."""
    lent = parameters_of_fixtures(ROOT / "tests" / "spark" / "conftest.py")
    assert {"other_storage", "lake_dir"} <= lent["lab"]
    borrower = import_module(f"tests.{folder}.conftest")
    borrowed = lent.keys() & set(borrower.__all__)
    asked = set().union(*(lent[name] for name in borrowed))
    assert asked & lent.keys() - borrowed == set()
    assert borrowed <= vars(borrower).keys()
