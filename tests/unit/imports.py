"""Who imports whom in the package, names of doors resolved to the modules that define them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = "dt_jupyter"
VOCABULARY = f"{ROOT}.model.hidden"
"""Names of columns, which whoever writes SQL may take from where they stand."""


@dataclass(frozen=True)
class Import:
    """`module` imports `name` of `source`, as it is written."""

    module: str
    source: str
    name: str

    @property
    def goes_past_a_door(self) -> bool:
        """Whether it names a module inside another package."""
        own, other = self.module.split(".")[1:2], self.source.split(".")[1:]
        if self.source == VOCABULARY:
            return False
        return len(other) > 1 and other[:1] != own


def read_modules(package: Path) -> dict[str, Path]:
    """The modules by their dotted name; a package is the module of its `__init__`."""
    found = {}
    for file in package.rglob("*.py"):
        parts = [ROOT, *file.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def read_imports(modules: Mapping[str, Path]) -> Iterator[Import]:
    """What each module imports of this package, in functions too, but not for types alone."""
    for module, file in modules.items():
        for node in _walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == ROOT:
                yield from (Import(module, str(node.module), alias.name) for alias in node.names)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.split(".")[0] == ROOT:
                        yield Import(module, alias.name, "")


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from _walk(child)


def read_doors(package: Path) -> dict[tuple[str, str], str]:
    """For each name that a package's stub exports, the module that defines it."""
    found = {}
    for stub in package.glob("*/__init__.pyi"):
        door = f"{ROOT}.{stub.parent.name}"
        for node in ast.parse(stub.read_text("utf-8")).body:
            assert isinstance(node, ast.ImportFrom)
            for alias in node.names:
                found[door, alias.name] = f"{door}.{node.module}"
    return found


def edges(package: Path) -> dict[str, set[str]]:
    """For each module, those that it imports."""
    modules, doors = read_modules(package), read_doors(package)
    found: dict[str, set[str]] = {module: set() for module in modules}
    for each in read_imports(modules):
        inner = f"{each.source}.{each.name}"
        target = inner if inner in modules else doors.get((each.source, each.name), each.source)
        if target != each.module:
            found[each.module].add(target)
    return found


def find_circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Sets of modules that each reach all others of the set (Tarjan, strongly connected)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            part = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            if len(part) > 1:
                circles.append(part)

    for node in graph:
        if node not in index:
            visit(node)
    return circles
