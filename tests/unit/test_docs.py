"""The pages: what is generated is current, links lead somewhere, every block is run or listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from docs.generate import PAGES, generated, outdated
from dt_jupyter.model import error
from dt_jupyter.notebook import load, unload
from tests import experiments
from tests.doc_pages import DOCS, NOT_RUN, ROOT, RUN, Block, blocks, run

OURS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
WRITTEN = (*(ROOT / name for name in OURS), *sorted(DOCS.rglob("*.md")))
MOST_LINES = 150
_LINK = re.compile(r"""(?:\]\(|src=")([^)"\s]+)[)"]""")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_ANCHOR = re.compile(r'<a id="([^"]+)">')


def prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The ids of a page's headings, as Markdown makes them, and those that are written."""
    text = prose(page)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", t).strip().lower().replace(" ", "-") for t in titles}
    return made | set(_ANCHOR.findall(text))


def broken(page: Path) -> list[str]:
    """The links of a page to files or headings that there are not."""
    found = []
    for link in _LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


def test_the_reference_is_current() -> None:
    stale = [str(path.relative_to(ROOT)) for path in outdated(generated())]
    assert not stale, "run python docs/generate.py"


def test_a_file_that_was_edited_is_outdated() -> None:
    page = DOCS / "reference" / "errors.md"
    assert outdated({page: page.read_text("utf-8") + "more"}) == [page]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '# One two\n[a](page.md#one-two) [b](page.md#three) [c](gone.md) <img src="no.svg">',
        "utf-8",
    )
    assert broken(page) == ["page.md#three", "gone.md", "no.svg"]


def test_every_page_is_in_the_nav() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    listed = re.findall(r"[\w/-]+\.md", nav)
    pages = [str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md"))]
    assert sorted(listed) == pages
    assert set(PAGES) <= set(pages)


def test_the_first_page_links_every_page() -> None:
    index = DOCS / "index.md"
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", index.read_text("utf-8")))
    assert linked == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"}


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_or_listed(page: Path) -> None:
    strange = [str(b) for b in blocks(page) if b.language not in {"sql", "python", *NOT_RUN}]
    assert not strange, f"run it, or say in {NOT_RUN.keys()} why not"
    assert page.read_text("utf-8").count("\n```") % 2 == 0, "a fence is open"


def test_what_is_not_run_is_used() -> None:
    used = {b.language for b in chain.from_iterable(map(blocks, RUN))}
    outputs = any(b.output for b in chain.from_iterable(map(blocks, RUN)))
    assert set(NOT_RUN) - {"text"} <= used
    assert outputs


def test_each_experiment_with_faults_is_described_and_tried() -> None:
    known = {
        name: mark.args[0]
        for name, mark in vars(experiments).items()
        if isinstance(mark, pytest.MarkDecorator)
    }
    page = (DOCS / "design" / "reliability.md").read_text("utf-8")
    assert set(known.values()) <= set(re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE))
    tests = "".join(f.read_text("utf-8") for f in (ROOT / "tests").rglob("test_*.py"))
    assert {name for name in known if not re.search(rf"\b{name}\b", tests)} == set()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= MOST_LINES


def test_what_pages_call_exists() -> None:
    """Every `dt.method(`, `%dt command` and error code in the pages."""
    from dt_jupyter.engine import Engine
    from dt_jupyter.model.errors import CATALOGUE
    from dt_jupyter.sql.grammar.magic_specs import DT

    commands = {spec.name for spec in DT}
    unknown = set()
    for page in (*RUN, *(ROOT / name for name in OURS)):
        text = page.read_text("utf-8")
        unknown |= {m for m in re.findall(r"\bdt\.([a-z_]+)\(", text) if not hasattr(Engine, m)}
        unknown |= {c for c in re.findall(r"(?<!%)%dt ([a-z]+)\b", text) if c not in commands}
        unknown |= set(re.findall(r"DT-\d{4}", text)) - CATALOGUE.keys()
    assert unknown == set()


@pytest.fixture
def shell() -> Iterator[Any]:
    """A notebook's shell with an engine that knows one statement."""
    made = InteractiveShell(colors="nocolor")
    made.history_manager.enabled = False
    load(made)

    def sql(text: str) -> Any:
        if text != "SELECT 1 AS a, true AS b":
            raise error("DT-1101", name="nowhere", hint="")
        return SimpleNamespace(columns=["a", "b"], collect=lambda: [(1, True)])

    made.user_ns["dt"] = SimpleNamespace(sql=sql)
    yield made
    unload(made)


README = ROOT / "README.md"
KNOWN = "SELECT 1 AS a, true AS b"


@pytest.mark.parametrize(
    "block",
    [
        Block(README, 1, "python", "assert 1 < 2"),
        Block(README, 1, "sql", KNOWN, "a | b\n1 | true\n"),
        Block(README, 1, "sql", "SELECT * FROM nowhere", None, "DT-1101"),
        Block(README, 1, "console", "rm -r lake"),
    ],
)
def test_a_block_that_is_right_passes(shell: Any, block: Block) -> None:
    run(shell, block)


@pytest.mark.parametrize(
    "block",
    [
        Block(README, 1, "python", "assert 1 > 2"),
        Block(README, 1, "python", "1 +"),
        Block(README, 1, "python", "%dt hstory"),
        Block(README, 1, "sql", "SELECT * FROM nowhere"),
        Block(README, 1, "sql", KNOWN, "a | b\n1 | false\n"),
        Block(README, 1, "sql", KNOWN, "a | b\n"),
        Block(README, 1, "sql", KNOWN, None, "DT-1101"),
        Block(README, 1, "sql", "SELECT * FROM nowhere", None, "DT-1107"),
    ],
)
def test_a_block_that_is_wrong_is_found(shell: Any, block: Block) -> None:
    with pytest.raises(AssertionError, match=r"README\.md:1"):
        run(shell, block)


def test_blocks_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n```sql\nSELECT 1 AS a\n```\n```text\na\n1\n```\n\n"
        "<!-- raises DT-1101 -->\n```sql\nSELECT 2\n```\n\n```console\nls\n```\n",
        "utf-8",
    )
    first, second, third = blocks(page)
    assert (first.line, first.text, first.output) == (2, "SELECT 1 AS a\n", "a\n1\n")
    assert (second.code, second.output) == ("DT-1101", None)
    assert (third.language, third.text) == ("console", "ls\n")
