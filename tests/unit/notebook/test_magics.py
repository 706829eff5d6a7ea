"""The magics in a real IPython shell, as far as they go without Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from dt_jupyter.dispatch import picture_of
from dt_jupyter.model import (
    CATALOGUE,
    LateCause,
    Lateness,
    Name,
    Remedy,
    RemedyKind,
    Sink,
    Timestamp,
)
from dt_jupyter.notebook import load, magics, unload
from dt_jupyter.notebook.magics import DynamicTableMagics
from dt_jupyter.notebook.session import Notebook
from dt_jupyter.reports import LintReport, SinkReport


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A fresh shell with the extension loaded; its colours and history are off."""
    made = InteractiveShell(colors="nocolor")
    made.history_manager.enabled = False
    load(made)
    yield made
    unload(made)


def shown(shell: InteractiveShell, source: str) -> str:
    """All that a cell prints, errors included."""
    with capture_output() as captured:
        shell.run_cell(source)
    return str(captured.stdout + captured.stderr)


def test_load_starts_and_imports_nothing_heavy() -> None:
    heavy = ("pyspark", "pandas", "pyarrow", "deltalake", "sqlalchemy", "sqlglot")
    program = (
        "import sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "before = set(sys.modules)\n"
        "InteractiveShell.instance().run_line_magic('load_ext', 'dt_jupyter')\n"
        f"print(sorted((set(sys.modules) - before) & set({heavy!r})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_help_of_dt_names_every_command(shell: InteractiveShell) -> None:
    text = shown(shell, "%dt -h")
    for command in ("connect", "graph", "lag", "frontiers", "history", "explain", "verify"):
        assert f"%dt {command}" in text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%dt history -h", "%dt history [NAME]"),
        ("%%dt -h\n \n", "script"),
        ("%dynamic_table -h", "--target-lag"),
        ("%%dynamic_table --help\nSELECT 1", "--no-alter-sources"),
    ],
)
def test_help_of_each_magic(shell: InteractiveShell, source: str, expected: str) -> None:
    assert expected in shown(shell, source)


CELL_MAGICS = sorted(DynamicTableMagics.magics["cell"])
ANY_HELP = re.compile(r"^  -h, --help  +show this help$", re.MULTILINE)


@pytest.mark.parametrize("name", CELL_MAGICS)
@pytest.mark.parametrize(
    "source",
    ["%{} -h", "%%{} -h", "%%{} --help", "%%{} -h\n", "%%{} -h\n\n", "\n%%{} -h", "  %%{} -h",
     "%%time\n%%{} -h", "%%{}  -h  "],
)  # fmt: skip
def test_each_cell_magic_helps_without_a_body(
    shell: InteractiveShell, source: str, name: str
) -> None:
    text = shown(shell, source.format(name))
    assert ANY_HELP.search(text)
    assert "Error" not in text
    assert not {"dt", "spark"} & shell.user_ns.keys()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("%dynamic_table a", "DT-1001: Syntax error: the query is missing."),
        ("%%dynamic_table a", "DT-1001: Syntax error: the query is missing."),
        ("%%dynamic_table", "DT-1001: Syntax error: NAME is missing."),
        ("%%changes", "DT-1001: Syntax error: the cell is empty."),
        ("%%dt", "Nothing to do."),
        ("%%dt -o x\n\n", "Nothing to do."),
    ],
)
def test_a_cell_magic_without_a_body_says_what_is_missing(
    shell: InteractiveShell, source: str, told: str
) -> None:
    text = shown(shell, source).replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert text.startswith(told)
    if "query" in told:
        assert "in the lines below" in text
    assert not {"dt", "spark"} & shell.user_ns.keys()


def test_other_cells_are_as_ever(shell: InteractiveShell) -> None:
    assert "cell body is empty" in shown(shell, "%%capture")
    assert shell.transform_cell("%%dt\nSELECT 1") == (
        "get_ipython().run_cell_magic('dt', '', 'SELECT 1\\n')\n"
    )
    assert "Docstring" in shown(shell, "%%dt?")
    assert shell.check_complete("%%dynamic_table a")[0] == "incomplete"


def test_help_connects_to_nothing(shell: InteractiveShell) -> None:
    shown(shell, "%dt status -h")
    assert not {"dt", "spark"} & shell.user_ns.keys()


@pytest.mark.parametrize(
    ("source", "code", "underlined"),
    [
        ("%dt hstory", "DT-1001", "^^^^^^"),
        ("%dt history a b", "DT-1001", "^"),
        ("%%dynamic_table a --lag 4\nSELECT 1", "DT-1002", "^^^^^"),
        ("%%dynamic_table a --refresh-mode fast\nSELECT 1", "DT-1003", "^^^^"),
        ("%%dynamic_table a --target-lag '0 seconds'\nSELECT 1", "DT-1003", "^^^^^^^^^^^"),
        ("%%dynamic_table a\nSELECT 1; SELECT 2", "DT-1001", "^^^^^^"),
        ("%dt -o 4x SELECT 1", "DT-1003", "^^"),
        ("%%dt\nSELECT :nowhere_set", "DT-1113", "^" * len(":nowhere_set")),
        ("box = {}\n%dt SELECT :box", "DT-1003", "^^^^"),
    ],
)
def test_bad_input_is_a_few_lines(
    shell: InteractiveShell, source: str, code: str, underlined: str
) -> None:
    text = shown(shell, source)
    assert text.startswith("\x1b[1m" + code)
    assert f" {underlined}\x1b" in text
    assert len(text.splitlines()) <= 8
    assert "Traceback" not in text


def test_braces_and_dollars_in_sql_mean_themselves(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = "spliced"
    text = shown(shell, "%dt SELECT '{x}', '$x', :nowhere")
    assert "{x}" in text
    assert "spliced" not in text


def test_other_errors_are_shown_as_ever(shell: InteractiveShell) -> None:
    text = shown(shell, "1 / 0")
    assert "Traceback" in text
    assert "ZeroDivisionError" in text


def test_interrupt_of_a_plain_cell_is_shown_as_ever(shell: InteractiveShell) -> None:
    text = shown(shell, "raise KeyboardInterrupt")
    assert "KeyboardInterrupt" in text
    assert "Traceback" in text


def test_an_error_raised_in_a_plain_cell_is_short_and_names_its_line(
    shell: InteractiveShell,
) -> None:
    source = "from dt_jupyter.model import TargetLag\nTargetLag.parse('soon')"
    text = shown(shell, source)
    assert "DT-1003" in text
    assert "In line 2 of the cell: TargetLag.parse('soon')" in text
    assert "Traceback" not in text


def test_unload_takes_everything_away(shell: InteractiveShell) -> None:
    matchers = len(shell.Completer.custom_matchers)
    transformers = len(shell.input_transformers_cleanup)
    unload(shell)
    assert len(shell.input_transformers_cleanup) == transformers - 1
    assert shell.find_line_magic("dt") is None
    assert shell.find_cell_magic("dynamic_table") is None
    assert shell.custom_exceptions == ()
    assert len(shell.Completer.custom_matchers) == matchers - 1


def test_loading_twice_registers_once(shell: InteractiveShell) -> None:
    matchers = len(shell.Completer.custom_matchers)
    transformers = len(shell.input_transformers_cleanup)
    load(shell)
    assert len(shell.input_transformers_cleanup) == transformers
    assert len(shell.Completer.custom_matchers) == matchers


def test_help_of_a_code_is_its_page_and_needs_no_engine(shell: InteractiveShell) -> None:
    text = shown(shell, "%dt help dt-1101")
    assert text.startswith("DT-1101: Statements, SQLSTATE 42P01\n")
    assert "Documentation: reference/errors.md#dt-1101" in text
    assert all(code in shown(shell, "%dt help") for code in CATALOGUE)
    wrong = shown(shell, "%dt help DT-1011")
    assert "code = DT-1011 is not valid" in wrong
    assert "Did you mean DT-" in wrong


def test_an_error_in_a_cell_names_its_page(shell: InteractiveShell) -> None:
    assert "About DT-1002: %dt help DT-1002" in shown(shell, "%dt history --wrong")


class Exported:
    """An engine of which only the definitions are asked for."""

    def export(self) -> str:
        return "-- Definitions\n"

    def plan(self, script: str) -> str:
        return f"plan of {script}"


def test_definitions_go_to_a_new_file_or_below_the_cell(
    shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Notebook, "require", lambda _: Exported())
    assert shown(shell, "%dt export -o script") == "-- Definitions\n"
    assert shell.user_ns["script"] == "-- Definitions\n"
    file = tmp_path / "all.sql"
    assert shown(shell, f"%dt export '{file}'") == f"Definitions written to {file}.\n"
    assert file.read_text() == "-- Definitions\n"
    assert "already exists" in shown(shell, f"%dt export '{file}'")
    assert shown(shell, f"%dt plan '{file}' -o plan").strip() == "plan of -- Definitions"
    assert shell.user_ns["plan"] == "plan of -- Definitions\n"
    assert "cannot be read (FileNotFoundError)" in shown(shell, "%dt plan nowhere.sql")


def test_the_lag_of_a_sink_is_told_below_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    at, shown = Timestamp(0), list[object]()
    sink = Sink("id", Name("default", "s"), Name("default", "t"), "TABLE", "file:///x", at)
    report = SinkReport(sink, "file", "file:///x", "t", lag=3.0)
    monkeypatch.setattr(magics, "show_below", shown.append)
    engine: Any = SimpleNamespace(lag=lambda name: report)
    notebook: Any = None
    assert magics._lag(notebook, engine, "s") is report
    assert shown == [report]
    assert "lag" in picture_of(report).text


def test_a_script_is_laid_out_in_its_cell_without_an_engine(
    shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, bool]] = []
    monkeypatch.setattr(
        shell, "set_next_input", lambda text, replace: written.append((text, replace))
    )
    assert shown(shell, "%%dt --format\nselect a from t where a > 1") == ""
    assert written == [("%%dt\nselect a\nfrom t\nwhere a > 1\n", True)]


class Looked:
    """An engine that is asked what is wrong."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []

    def lint(self, text: str, args: object = None) -> LintReport:
        self.asked.append((text, args))
        return LintReport(text, ())

    def why_late(self, name: str) -> Lateness:
        cause = LateCause("SUSPENDED", "It is suspended.", None, (Remedy(RemedyKind.RESUME, name),))
        return Lateness(Name("default", name), 12.0, 5.0, cause)


def test_a_cell_or_a_file_is_looked_at_and_not_run(
    shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, file = Looked(), tmp_path / "a.sql"
    monkeypatch.setattr(Notebook, "require", lambda self: engine)
    file.write_text("select 1")
    shell.user_ns["least"] = 3
    assert shown(shell, "%%dt --lint -o found\nSELECT :least, :other") == "No problems found.\n"
    assert shown(shell, f"%dt lint {file}") == "No problems found.\n"
    (cell, args), (script, _) = engine.asked
    assert (cell.strip(), args, script) == ("SELECT :least, :other", {"least": 3}, "select 1")
    assert isinstance(shell.user_ns["found"], LintReport)
    assert "DT-1003" in shown(shell, "%dt lint nowhere.sql")
    assert shown(shell, "%dt why daily") == (
        "daily: late (lag 12.0 s, target 5 s)\n  SUSPENDED: It is suspended.\n"
        "  What helps: Resume\n"
    )
