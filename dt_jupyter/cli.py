"""A lake from a terminal: one-shot commands, and a scheduler that outlives the browser tab.

Exit codes: 0 done, 1 an error (a few lines on stderr) or a table that differs from its query, 2 a
command line that makes no sense.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, TextIO

from dt_jupyter.model import RefreshAction, RefreshRecord, RefreshState, count_of, page_of_code

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine

_HISTORY = 50
_LOOK_SECONDS = 1.0
_EPILOG = """examples:
  python -m dt_jupyter lake run
  python -m dt_jupyter lake run --log json --metrics-port 9464
  python -m dt_jupyter lake sql "SHOW DYNAMIC TABLES"
  python -m dt_jupyter lake refresh daily
  python -m dt_jupyter help DT-1101"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    command = "help"
    try:
        if given[:1] == ["help"] and len(given) <= 2:
            return _help(given[1] if given[1:] else None)
        asked = _parser().parse_args(given)
        command = asked.command
        return _run(asked)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 1
    except BrokenPipeError:  # who read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushed at the end
        return 1
    except Exception as failure:
        return _fail(failure, f"The command {command}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dt_jupyter",
        description="Dynamic tables of a lake folder.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lake", metavar="LAKE", help="the lake: a folder, or hdfs://…")
    parser.add_argument("--memory", default="2g", help="heap of the local Spark (default: 2g)")
    parser.add_argument(
        "--catalog", metavar="URL",
        help="postgresql+psycopg://user@host/database, for a lake that several machines open "
        "(default: where the lake's catalog is)",
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_run(commands.add_parser("run", help="run the scheduler until SIGINT or SIGTERM"))
    commands.add_parser("sql", help="run a script").add_argument("script", metavar="SQL")
    commands.add_parser("status", help="the engine and its graph at a glance")
    commands.add_parser("history", help="refreshes, newest first").add_argument(
        "name", metavar="NAME", nargs="?"
    )
    for command, about in (
        ("refresh", "refresh a dynamic table and what is upstream of it now"),
        ("verify", "compare a dynamic table with its query"),
        ("explain", "how a dynamic table is refreshed, and why"),
    ):
        commands.add_parser(command, help=about).add_argument("name", metavar="NAME")
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--log", choices=("text", "json"), default="text",
        help="lines for people, or all that happens as JSON lines (default: text)",
    )  # fmt: skip
    run.add_argument(
        "--metrics-port", type=int, metavar="PORT",
        help="serve metrics for Prometheus at http://HOST:PORT/metrics",
    )  # fmt: skip
    run.add_argument(
        "--metrics-host", default="127.0.0.1", metavar="HOST",
        help="the address that they are served at (default: 127.0.0.1, this machine alone)",
    )  # fmt: skip
    run.add_argument("--alerts-to", metavar="ADDRESS", help="POST each alert to https://host/path")


def _run(asked: argparse.Namespace) -> int:
    from dt_jupyter.engine import Engine

    opened = Engine.connect(asked.lake, scheduler=False, memory=asked.memory, catalog=asked.catalog)
    with opened as engine:
        code: int = _COMMANDS[asked.command](engine, asked)
        return code


def _fail(failure: Exception, what: str) -> int:
    """A few lines of it on stderr; for an unexpected error the trace too. The exit code."""
    from dt_jupyter.dispatch import error_message
    from dt_jupyter.failures import UNFORESEEN, catalogued
    from dt_jupyter.widgets import error_text

    made = catalogued(failure, what)
    print(error_text(error_message(made)), file=sys.stderr)
    print(f"About {made.code}: python -m dt_jupyter help {made.code}", file=sys.stderr)
    if made.code == UNFORESEEN and made.details:
        print(f"Details:\n{made.details}", file=sys.stderr)
    return 1


def _help(code: str | None) -> int:
    print(page_of_code(code))
    return 0


def _sql(engine: Engine, asked: argparse.Namespace) -> int:
    from dt_jupyter.dispatch import outcome_message
    from dt_jupyter.engine import read_outcome, run_script

    context = engine.context
    for done in run_script(context, asked.script):
        _say(outcome_message(done, read_outcome(context, done)))
    return 0


def _status(engine: Engine, _: argparse.Namespace) -> int:
    from dt_jupyter.dispatch import status_message

    _say(status_message(engine.status()))
    _say(engine.graph())
    return 0


def _history(engine: Engine, asked: argparse.Namespace) -> int:
    from dt_jupyter.dispatch import history_message

    if asked.name is not None:
        engine.table(asked.name)
    _say(history_message(engine.records(asked.name, _HISTORY)))
    return 0


def _refresh(engine: Engine, asked: argparse.Namespace) -> int:
    record = engine.refresh(asked.name)
    for done in (*record.upstream, record):
        print(done, file=sys.stdout if done.state is RefreshState.SUCCEEDED else sys.stderr)
    return 0 if record.state is RefreshState.SUCCEEDED else 1


def _verify(engine: Engine, asked: argparse.Namespace) -> int:
    found = engine.verify(asked.name)
    print(found)
    return 0 if found.equal else 1


def _explain(engine: Engine, asked: argparse.Namespace) -> int:
    _say(engine.explain(asked.name))
    return 0


def _scheduler(engine: Engine, asked: argparse.Namespace) -> int:
    """Refreshes on schedule until a signal, and prints what it did, from this thread alone."""
    from dt_jupyter.watching import log_as_json, serve_metrics

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as ends:
        if asked.log == "json":
            ends.callback(log_as_json(sys.stdout))
        if asked.metrics_port is not None:
            catalog, place = engine.context.catalog, (asked.metrics_host, asked.metrics_port)
            ends.callback(serve_metrics(catalog, *place))
        if asked.alerts_to is not None:
            ends.callback(engine.on_alert(asked.alerts_to))
        return _until(engine, stop) if asked.log == "json" else _telling(engine, stop)


def _until(engine: Engine, stop: threading.Event) -> int:
    engine.start_scheduler()
    while not stop.wait(_LOOK_SECONDS):
        pass
    engine.stop_scheduler()
    return 0


def _telling(engine: Engine, stop: threading.Event) -> int:
    told = _Told(engine)
    engine.start_scheduler()
    tables = count_of(len(engine.context.catalog.list()), "dynamic table")
    print(f"The scheduler runs on {engine.lake}, {tables}; Ctrl-C stops it.", flush=True)
    while not stop.wait(_LOOK_SECONDS):
        told.tell(sys.stdout)
    print("Stopping …", flush=True)
    engine.stop_scheduler()
    told.tell(sys.stdout)
    return 0


class _Told:
    """Which refreshes have been printed already; NO_DATA and skips are not worth a line."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known = {self._key(r) for r in engine.records(limit=_HISTORY)}

    def tell(self, to: TextIO) -> None:
        records = [r for r in reversed(self._engine.records(limit=_HISTORY)) if r.state.final]
        for record in records:
            if self._key(record) not in self._known and _worth_telling(record):
                print(record, file=to, flush=True)
        self._known = {self._key(r) for r in records}

    @staticmethod
    def _key(record: RefreshRecord) -> tuple[object, ...]:
        return (record.query_id, record.name, record.data_timestamp, record.state)


def _worth_telling(record: RefreshRecord) -> bool:
    return record.action is not RefreshAction.NO_DATA and record.state is not RefreshState.SKIPPED


def _say(value: object) -> None:
    if isinstance(value, str):
        print(value)
        return
    from dt_jupyter.dispatch import picture_of

    print(picture_of(value).text)


_COMMANDS: dict[str, Callable[[Engine, argparse.Namespace], int]] = {
    "run": _scheduler,
    "sql": _sql,
    "status": _status,
    "history": _history,
    "refresh": _refresh,
    "verify": _verify,
    "explain": _explain,
}
