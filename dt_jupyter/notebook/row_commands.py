"""The commands that show rows: of a table as it is refreshed, and what differs between two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.model import error
from dt_jupyter.notebook.display import show_below, shown_live
from dt_jupyter.notebook.session import Notebook
from dt_jupyter.spark import activity
from dt_jupyter.sql import TimePoint, parse_time_point

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine
    from dt_jupyter.replay import Diff, QueryDiff, TableRows


def show_rows(
    notebook: Notebook, engine: Engine, name: str | None, limit: str = "200", chart: str = ""
) -> TableRows:
    """`%dt rows`."""
    many, axes = _number("--limit", limit, "50"), _axes(chart) if chart else None
    return shown_live(notebook, engine.rows(name or "", limit=many, chart=axes))


def _axes(chart: str) -> tuple[str, str]:
    x, comma, y = (part.strip() for part in chart.partition(","))
    if not (x and comma and y):
        problem, hint = "it is not two columns", "For example: --chart day,total."
        raise error("DT-1003", option="--chart", value=chart, problem=problem, hint=hint)
    return x, y


def _number(option: str, text: str, example: str) -> int:
    try:
        return int(text)
    except ValueError:
        problem, hint = "it is not a whole number", f"For example: {option} {example}."
        raise error("DT-1003", option=option, value=text, problem=problem, hint=hint) from None


def show_comparison(
    notebook: Notebook, engine: Engine, name: str | None, **options: str
) -> Diff | QueryDiff:
    """`%dt compare`: what differs in words, and the rows below."""
    from dt_jupyter.dispatch import compared_message, report_message

    with activity(f"Comparing {name}"):
        found = _compared(engine, name or "", options)
    message = compared_message(found)
    show_below(report_message(message.title, "\n".join(message.lines)))
    if message.rows.rows:
        show_below(message.rows)
    return found


def _compared(engine: Engine, name: str, options: dict[str, str]) -> Diff | QueryDiff:
    from dt_jupyter.engine import diff_versions

    ways = [way for way in ("with", "definition") if way in options]
    if len(ways) + bool({"from", "to"} & options.keys()) > 1:
        problem = "it is one of three ways to compare"
        hint = "Give --from and --to, --with, or --definition."
        raise error("DT-1003", option=f"--{ways[0]}", value=options[ways[0]], problem=problem,
                    hint=hint)  # fmt: skip
    if "with" in options:
        return engine.compare(name, options["with"])
    number = options.get("definition", "before")
    if "definition" in options and number.lower() != "before":
        return engine.compare(name, definition=_number("--definition", number, "0"))
    if "definition" in options:
        return engine.compare(name)
    return diff_versions(engine, name, _point("from", options), _point("to", options))


def _point(end: str, options: dict[str, str]) -> TimePoint | None:
    return parse_time_point(f"--{end}", options[end]) if end in options else None
