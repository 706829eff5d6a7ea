"""The log as JSON lines."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from pathlib import Path

from dt_jupyter.watching import log_as_json
from tests.unit.catalog_lab import Lab


def test_lines_of_events_and_of_other_records(tmp_path: Path) -> None:
    lab, to = Lab(tmp_path), io.StringIO()
    lab.make("a")
    level = logging.getLogger("dt_jupyter").level
    stop = log_as_json(to)
    lab.refresh(1)
    lab.fail(2)
    try:
        raise ValueError("a\nb")
    except ValueError:
        logging.getLogger("dt_jupyter.x").exception("no %s", "way")
    stop()
    lab.fail(3)
    done, failed, other = [json.loads(line) for line in to.getvalue().splitlines()]
    assert (done["kind"], done["name"], done["action"]) == ("REFRESH", "a", "INCREMENTAL")
    assert (done["level"], done["logger"]) == ("INFO", "dt_jupyter.event")
    assert (failed["level"], failed["code"]) == ("ERROR", "DT-2105")
    assert failed["message"] == "refresh a: FAILED (division by zero)"
    assert other["message"] == "no way"
    assert "ValueError: a\nb" in other["trace"]
    assert logging.getLogger("dt_jupyter").level == level


def test_nothing_is_shown_where_no_logging_is_set_up() -> None:
    """As in a notebook: Python shows warnings of loggers that nobody set up."""
    program = (
        "from dt_jupyter.catalog.event_log import log_events;"
        "from dt_jupyter.model import *;"
        "log_events([standing_event(EventKind.SINK, 'x', '', 'Y', None, Timestamp(0), bad=True)])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout + run.stderr == ""
