"""The Markdown pages that people read, and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RUN = (ROOT / "README.md", DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md")),
       *sorted((DOCS / "howto").glob("*.md")))  # fmt: skip
"""The pages whose blocks are run, each in order on a lake of its own."""
NOT_RUN = {
    "console": "commands of a shell, which install packages or do not end",
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
