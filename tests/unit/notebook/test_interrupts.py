"""What py4j logs of an interrupt is left out; what it logs of anything else is told."""

from __future__ import annotations

import logging
import sys

import pytest

from dt_jupyter.notebook.interrupts import _not_noise, was_interrupt


def sent(first: type[BaseException]) -> logging.LogRecord:
    """As py4j logs a command that finds its connection closed after a failure."""
    try:
        try:
            try:
                raise first
            except BaseException:
                raise BrokenPipeError("Broken pipe")  # noqa: B904
        except BrokenPipeError as e:
            raise RuntimeError("Error while sending") from e
    except RuntimeError:
        return logging.LogRecord(
            "root", logging.ERROR, "", 0, "Exception while sending command.", (), sys.exc_info()
        )


@pytest.mark.parametrize(("first", "told"), [(KeyboardInterrupt, False), (ConnectionError, True)])
def test_a_command_that_an_interrupt_cut_off(first: type[BaseException], told: bool) -> None:
    assert _not_noise(sent(first)) is told


def test_what_hides_its_context_hides_the_interrupt_too() -> None:
    failure = ValueError()
    failure.__context__ = KeyboardInterrupt()
    assert was_interrupt(failure)
    failure.__suppress_context__ = True
    assert not was_interrupt(failure)
