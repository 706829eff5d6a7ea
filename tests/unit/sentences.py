"""Every sentence that the program can show, and all prose about it, read from the sources.

What it shows is in the strings of its modules, with the names of what is put in between braces; the
prose is in docstrings, comments and pages.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, EXTENSION = ROOT / "dt_jupyter", ROOT / "labextension"
VIEWS = ("view", "panel", "widget", "client", "editor")
"""The folders of the extension that show something."""
UNSHOWN = frozenset({"compile", "debug", "TypeVar", "NewType", "getLogger", "AssertionError"})
"""Calls whose texts nobody sees: patterns, the log, types."""
_WORDS = re.compile(r"[A-Za-z{}][\w'’{}…,:()-]*[ ·]+[\w{}%(…'\"-]")
_STATEMENTS = "SELECT|WITH|INSERT INTO|MERGE INTO|PRAGMA|UPDATE|DELETE FROM|USE {|DESCRIBE TABLE"
_SQL = (
    r"(?:^|\()\s*(?:" + _STATEMENTS + r")\b",
    r"\b(?:AS|FROM|BY|NOT|WHERE|AND|WHEN|BETWEEN|OF|TABLE|VIEW|EXISTS) [({]",
    r"\b(?:CASE WHEN|UNION ALL|UNIQUE INDEX|CREATE INDEX|VALID_TO|bigint|IS (?:NOT )?NULL)\b",
    r"^[A-Z][A-Z ]+(?:['{]|$)",
    r"\b(?:CAST|COALESCE|CONCAT|COUNT|SUM|FIRST|MIN|MAX|CONCAT|LEAST|json_array|TRANSFORM)\(",
)
_CODE = (
    *_SQL,
    r"[<>]\w+[^>]*>",
    r"\\[wsdbnN]",
    r"\(\?",
    "__dt_",
    r"^\w+=",
    "^#",
    r"px\b",
    "var\\(",
    r"(?:^| )[MQCHLZ] ?[-\d{]",
    r"rgba?\(",
    r"dtj-",
    r"\{p\[",
    r"viewBox|translate",
    r"%[sHmd]\b",
)
_NOT_SAID = re.compile("|".join(_CODE), re.MULTILINE)
_SENTENCE = re.compile(r"[A-Z{][^<>]* [^<>]*[a-z}A-Z)'][.?]\Z")
_TEMPLATE = r"`(?:\\.|\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\}|[^`\\])*`"
_QUOTED = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_PATTERN = r"(?<=[(,=:!?&|] )/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/"
_PATTERN += "|" + _PATTERN.replace("] )", "])")
_TYPESCRIPT = re.compile(rf"//[^\n]*|/\*.*?\*/|{_PATTERN}|{_QUOTED}|{_TEMPLATE}", re.DOTALL)


@dataclass(frozen=True, order=True)
class Sentence:
    """A text that the program can show; facts in it stand as `{expression}`."""

    file: str
    line: int
    text: str


@cache
def sentences() -> tuple[Sentence, ...]:
    """Those of the package and of the extension, by file and line."""
    found = [s for file in sorted(PACKAGE.rglob("*.py")) for s in _python(file)]
    scripts = (f for name in VIEWS for f in sorted((EXTENSION / name).rglob("*.ts")))
    found += [s for f in scripts if not f.name.endswith(".test.ts") for s in _typescript(f)]
    return tuple(sorted(set(found)))


def page() -> str:
    """All of them, below the file that says them."""
    lines = ["# Every sentence that the program can show"]
    last = ""
    for sentence in sentences():
        if sentence.file != last:
            lines += ["", f"## {sentence.file}", ""]
            last = sentence.file
        lines.append(f"- {sentence.line}: {' '.join(sentence.text.split())}")
    return "\n".join(lines) + "\n"


def _python(file: Path) -> Iterator[Sentence]:
    tree = ast.parse(file.read_text("utf-8"))
    name = file.relative_to(ROOT).as_posix()
    for line, text in _shown(tree):
        if is_sentence(text):
            yield Sentence(name, line, text)


def _shown(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts below a node, but for docstrings and what nobody sees."""
    if isinstance(node, ast.Call) and _called(node) in UNSHOWN:
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.lineno, node.value
        return
    if isinstance(node, ast.JoinedStr):
        yield node.lineno, "".join(map(_part, node.values))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant):
            continue
        yield from _shown(child)


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _part(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return str(value.value)
    return "{" + ast.unparse(value.value if isinstance(value, ast.FormattedValue) else value) + "}"


def _typescript(file: Path) -> Iterator[Sentence]:
    text = file.read_text("utf-8")
    name = file.relative_to(ROOT).as_posix()
    for match in _TYPESCRIPT.finditer(text):
        said = match[0]
        told = said[1:-1].replace("${", "{")
        if said.startswith("/") or not is_sentence(told):
            continue
        yield Sentence(name, text.count("\n", 0, match.start()) + 1, told)


def is_sentence(text: str) -> bool:
    """Whether a text is for people: words with a space between, and no SQL, markup or pattern."""
    if not _WORDS.search(text):
        return False
    return bool(_SENTENCE.match(text)) or not _NOT_SAID.search(text)


_COMMENT = re.compile(r"(?:^|(?<=  ))# (?!fmt:|noqa|type:)(.+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_OURS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")


def prose() -> Iterator[Sentence]:
    """The docstrings and comments of the package and the extension, and the pages."""
    for file in (*sorted(PACKAGE.rglob("*.py")), *sorted(EXTENSION.glob("*.py"))):
        yield from _prose_of_module(file)
    for file in sorted(EXTENSION.rglob("*.ts")):
        if not {"node_modules", "bundle", "build"} & set(file.relative_to(EXTENSION).parts):
            yield from _prose_of_script(file)
    for file in (*(ROOT / name for name in _OURS), *sorted((ROOT / "docs").rglob("*.md"))):
        text = _FENCED.sub(lambda m: "\n" * m[0].count("\n"), file.read_text("utf-8"))
        yield Sentence(file.relative_to(ROOT).as_posix(), 1, text)


def _prose_of_module(file: Path) -> Iterator[Sentence]:
    text = file.read_text("utf-8")
    name = file.relative_to(ROOT).as_posix()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(said))):
                yield Sentence(name, node.lineno, said)
    for match in _COMMENT.finditer(text):
        yield Sentence(name, text.count("\n", 0, match.start()) + 1, match[1])


def _prose_of_script(file: Path) -> Iterator[Sentence]:
    text = file.read_text("utf-8")
    name = file.relative_to(ROOT).as_posix()
    for match in _TYPESCRIPT.finditer(text):
        if match[0].startswith(("//", "/*")):
            yield Sentence(name, text.count("\n", 0, match.start()) + 1, match[0])


if __name__ == "__main__":
    print(page())
