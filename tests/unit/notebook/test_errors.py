"""Errors in words: what is shown of one, and where it is underlined."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dt_jupyter.dispatch.spark_errors import error_message
from dt_jupyter.model import DTError, Span, error
from dt_jupyter.notebook import errors
from dt_jupyter.notebook.errors import Interrupted, render, was_interrupt
from dt_jupyter.notebook.line_places import placed_on_line
from dt_jupyter.wire import ErrorMessage, Underline


def plain(lines: list[str]) -> list[str]:
    for code in ("\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"):
        lines = [line.replace(code, "") for line in lines]
    return lines


def test_an_error_of_the_catalogue_is_code_sentence_place_and_hint() -> None:
    problem = error("DT-1101", name="odrers", hint="Did you mean orders?")
    message = error_message(problem.at("SELECT *\nFROM odrers\n", Span(14, 20)))
    assert plain(render(message)) == [
        "DT-1101: Table, view or dynamic table odrers does not exist.",
        "  1 | SELECT *",
        "  2 | FROM odrers",
        "    |      ^^^^^^",
        "Hint: Did you mean orders?",
    ]


def test_the_trace_is_kept_for_a_click_and_not_in_the_lines() -> None:
    made = DTError("DT-1001", {"problem": "p", "hint": ""}, details="at org.apache.spark" * 99)
    message = error_message(made)
    assert message.details == made.details
    assert not any("org.apache" in line for line in render(message))


def test_a_pipe_that_is_no_caret_is_not_painted() -> None:
    message = ErrorMessage("X", "s", None, "a || b", Underline(1, 3, 2))
    assert [line for line in render(message) if "\x1b[1m" in line][1:] == [
        "\x1b[1m    |   ^^\x1b[0m"
    ]


def test_any_other_exception_has_its_class_and_its_first_line() -> None:
    assert error_message(OSError("disk\nmore")) == ErrorMessage("OSError", "disk")


def test_an_interrupt_is_one_line_and_an_interrupt_for_python() -> None:
    failure = Interrupted("nothing was changed.")
    assert isinstance(failure, KeyboardInterrupt)
    assert plain(failure._render_traceback_()) == ["Interrupted: nothing was changed."]


def test_an_error_that_is_its_own_cause_is_shown() -> None:
    problem = error("DT-1113", name="x")
    problem.__cause__ = problem
    assert error_message(problem).code == "DT-1113"
    assert not was_interrupt(problem)


def test_a_network_error_that_py4j_made_of_an_interrupt_is_one() -> None:
    made = OSError("Answer from Java side is empty")
    made.__context__ = KeyboardInterrupt()
    assert was_interrupt(made)


def test_an_error_said_in_place_of_an_interrupt_is_itself() -> None:
    said = error("DT-2106", name="daily")
    said.__context__, said.__suppress_context__ = KeyboardInterrupt(), True
    assert not was_interrupt(said)


def test_details_stand_below_the_error_that_they_are_of(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(errors, "show_below", lambda value: shown.append(value.summary))
    shell = SimpleNamespace(
        kernel=True,
        compile=SimpleNamespace(),
        user_ns={},
        _get_exc_info=lambda _: None,
        _showtraceback=lambda kind, failure, lines: shown.append(lines[0]),
    )
    failure = DTError("DT-1001", {"problem": "p", "hint": ""}, details="at org.apache.spark")
    errors._show(lambda: None, shell, DTError, failure, None)
    assert [line.partition(":")[0] for line in plain(shown)] == ["DT-1001", "Details"]


@pytest.mark.parametrize(
    ("line", "name", "place"),
    [
        ("lag dayly", "dayly", "dayly"),
        ("ordesr --at -3600", "ordesr", "ordesr"),
        ("new --warehouse=Smal --replace", "smal", "Smal"),
        ("history `sales`.`dayly` -o x", "sales.dayly", "dayly"),
        ("refresh at --attic", "at", "at"),
        ("", "dayly", None),
        ("lag dayly2", "dayly", None),
    ],
)
def test_a_name_is_underlined_on_the_line_of_a_magic(
    line: str, name: str, place: str | None
) -> None:
    with pytest.raises(DTError) as e, placed_on_line(line):
        raise error("DT-1108", name=name, hint="")
    span = e.value.span
    assert (span and line[span.start : span.end]) == place


def test_an_error_that_has_a_place_keeps_it() -> None:
    made = error("DT-1101", name="a", hint="").at("SELECT * FROM a", Span(14, 15))
    with pytest.raises(DTError) as e, placed_on_line("a"):
        raise made
    assert e.value is made
