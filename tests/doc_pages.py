"""The Markdown pages that people read, the blocks of code in them, and how those are run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.utils.capture import capture_output

from dt_jupyter.model import DTError

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OTHERWISE = frozenset({"add-an-operator.md"})
"""Pages for contributors, whose code is of the project and has tests of its own."""
RUN = tuple(
    page
    for page in (
        ROOT / "README.md",
        DOCS / "index.md",
        *sorted((DOCS / "guide").glob("*.md")),
        *sorted((DOCS / "howto").glob("*.md")),
    )
    if page.name not in OTHERWISE
)
"""The pages whose blocks are run, each in order on a lake of its own."""
NOT_RUN = {
    "console": "commands of a shell, which install packages or do not end",
    "toml": "the packaging of a driver, which tests/sinks installs from examples/",
    "text": "what the block above it gives; after `sql` it is compared with it",
}
"""The languages of blocks that are not run, and why."""
_BLOCK = re.compile(
    r"(?:^<!-- raises (?P<code>DT-\d{4}) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$"
    r"(?P<gives>\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block at `line` of its page; `output` is what it says that it gives, `code` the
    error that it ends in."""

    page: Path
    line: int
    language: str
    text: str
    output: str | None = None
    code: str | None = None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order; one with its output is one."""
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text"))
        yield Block(page, line, found["language"], found["text"], found["output"], found["code"])


def run(shell: Any, block: Block) -> None:
    """A block as a cell of the shell, or as a script of its `dt`; AssertionError where it fails,
    gives something else than the page says, or raises no error where it should."""
    if block.language == "python":
        _run_cell(shell, block)
    elif block.code is not None:
        _require_error(shell.user_ns["dt"], block, block.code)
    elif block.language == "sql":
        _run_sql(shell.user_ns["dt"], block)


def _run_cell(shell: Any, block: Block) -> None:
    with capture_output() as said:
        result = shell.run_cell(block.text)
    problem = result.error_in_exec or result.error_before_exec
    assert result.success, f"{block}: {problem!r}\n{said.stdout}{said.stderr}"


def _require_error(dt: Any, block: Block, code: str) -> None:
    found = "no error"
    try:
        dt.sql(block.text)
    except DTError as problem:
        found = problem.code
    assert found == code, f"{block}: {found}, not {code}"


def _run_sql(dt: Any, block: Block) -> None:
    try:
        frame = dt.sql(block.text)
    except DTError as problem:
        raise AssertionError(f"{block}: {problem}") from problem
    if block.output is not None:
        given = [[_shown(value) for value in row] for row in (frame.columns, *frame.collect())]
        said = [[c.strip() for c in line.split("|")] for line in block.output.splitlines()]
        assert given == said, f"{block}: {given}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
