"""The page of each code of the catalogue: what `%dt help DT-1101` prints, and a panel shows."""

from __future__ import annotations

from dt_jupyter.model.errors import CATALOGUE, did_you_mean, error

FAMILIES = {
    "1": "Statements",
    "2": "Refreshes",
    "3": "Changes, streams and transactions",
    "4": "Time travel and retention",
    "5": "Catalog, lake and set-up",
    "6": "Sinks",
}
"""By the first digit of a code."""
ERRORS_PAGE = "reference/errors.md"
"""In the documentation; its anchors are the codes in lower case."""


def help_command(code: str) -> str:
    """What shows the page in a cell."""
    return f"%dt help {code}"


def error_page(code: str) -> str | None:
    """The page of a code, None where it is not one of the catalogue."""
    entry = CATALOGUE.get(code)
    if entry is None:
        return None
    facts = [f for f in sorted(entry.fields) if f not in ("hint", "problem")]
    lines = [
        f"{code}: {FAMILIES[code[3]]}, SQLSTATE {entry.sqlstate}",
        "",
        f"It says:   {entry.message}",
        f"What helps: {entry.hint}" if entry.hint not in ("", "{hint}") else "",
        f"Its facts: {', '.join(facts)} (error.facts)" if facts else "",
        f"Documentation: {ERRORS_PAGE}#{code.lower()}",
    ]
    return "\n".join(line for i, line in enumerate(lines) if line or i == 1)


def page_of_code(code: str | None) -> str:
    """The page of a code as a user typed it, or the list of all; DT-1003."""
    if code is None:
        listed = (f"{e.code}  {e.message}" for e in CATALOGUE.values())
        return "\n".join(["Codes, each with a page: %dt help DT-1101", "", *listed])
    page = error_page(code.upper())
    if page is None:
        hint = did_you_mean(code.upper(), list(CATALOGUE), f"{help_command('')}lists all.")
        problem = "it is not a code of the catalogue"
        raise error("DT-1003", option="code", value=code, problem=problem, hint=hint)
    return page
