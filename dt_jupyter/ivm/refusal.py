"""Why a query is not incremental: a code, a sentence, and the smallest rewrite that would help."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dt_jupyter.model import Reason, Span


class Refusal(Enum):
    """code = (sentence, hint); fields in braces are filled where the fact is known."""

    NON_EQUI_JOIN = (
        "it has a {what} without a pair of equal columns",
        "Correlate it on equal columns as well.",
    )
    LATERAL = ("it has {what}", "Explode in an upstream table.")
    SUBQUERY = ("it has {what}", "Join with the subquery in FROM.")
    SET_OPERATION = ("it has {what}", "Name the columns in the same order on both sides.")
    WINDOW = ("it has the window function {what}", "Use GROUP BY instead, if possible.")
    TIES = (
        "{what} depends on which of the rows that tie comes first",
        "Write ROWS BETWEEN …: rows that tie are then in the order of their contents.",
    )
    TIME_WINDOW = (
        "it has {what}",
        "Write window() once, as an item or in GROUP BY, with a slide that divides its length.",
    )
    SESSION_WINDOW = (
        "it has session_window(), whose windows merge and split with single rows",
        "Mark the first row of a session by lag(…) OVER, and sum the marks OVER as its number.",
    )
    GROUPING_SETS = ("it has {what}", "Write one dynamic table for each grouping.")
    LIMIT = ("it has {what}", "Give it an ORDER BY and a number.")
    SAMPLE = (
        "it has a TABLESAMPLE that differs in each refresh",
        "Add REPEATABLE (a number): a hash of each row then says whether it is in.",
    )
    TIME_TRAVEL = ("it reads a source as of a fixed time", "Read the source's current rows.")
    PIVOT = ("it has {what}", "Write the pivot as aggregates over CASE.")
    TABLE_FUNCTION = ("it calls the table function {what}", "Put its rows into a table.")
    CONTEXT_FUNCTION = (
        "{what} has another value in each refresh",
        "Use it in the query that reads the table.",
    )
    NON_DETERMINISTIC = (
        "{what} is not deterministic",
        "Store its value when inserting rows, or use a function registered with on_change=True.",
    )
    UNKNOWN_FUNCTION = (
        "{what} is not a built-in function",
        "Use built-in functions, or register it by dt.register_udf.",
    )
    NOT_IMMUTABLE = (
        "the function {what} was not declared immutable",
        "Register it with immutable=True if equal arguments always give it equal values, else with "
        "on_change=True: a row then keeps the value of when it came.",
    )
    TWO_PLACES = (
        "{what} is called for the same rows in two places, and would have two values for one row",
        "Put that part of the query into a separate dynamic table, and read it twice.",
    )
    AGGREGATE = ("the aggregate {what} has no incremental rule", "Use {known}.")
    FLOATING_AGGREGATE_DECIDES = (
        "{what} depends on a floating-point aggregate, which is exact only within a tolerance",
        "Cast the argument to DECIMAL before it is aggregated.",
    )
    OVERLAPPING_IDS = (
        "branches of a UNION ALL may return the same source row more than once",
        "Filter the branches by conditions that exclude each other.",
    )
    RECURSIVE = (
        "the common table expression {what} is recursive",
        "Write out its steps, each as a dynamic table or a subquery.",
    )
    FOREIGN_SOURCE = (
        "{what} has no versions: it is neither a Delta table nor files with a recorded list",
        "Convert it to Delta, or read a folder of files by its path: parquet.`/folder`.",
    )
    OTHER_STORAGE = (
        "{what} is on {storage}, where this session does not let its log be read",
        "Without Spark Connect, and where no other program keeps its commits, it is; mount the "
        "storage and read it by that path, or all is recomputed.",
    )
    NO_ANALYSER = (
        "it is read by an analyser with the client of Spark Connect, which does not run ({what})",
        "Install Java 17 or newer where the client runs (pip install 'dt-jupyter[java]'), and the "
        "package pyspark in the server's release.",
    )
    TYPE = ("column {what} has type {type}, which has no exact hash", "Cast it to STRING.")
    UNSTORABLE = (
        "it has to keep values of type {type}, which no Delta table takes",
        "Use values of a type that it takes: lower(…) for a collation, a number of seconds for an "
        "interval or a time.",
    )
    MAP_KEY = (
        "it groups by values of type {type}, and maps do not compare",
        "Group by array_sort(map_entries(…)).",
    )
    UNORDERED = (
        "{what} has to put values of type {type} in an order, and they have none",
        "Give it what has one: array_sort(map_entries(…)) of a map, the text of a VARIANT.",
    )
    EXPRESSION = ("{what}", "Simplify the expression, or put it into an upstream table.")
    GUARD_MISMATCH = (
        "the check at creation found a difference ({what})",
        "Please report the query; full refreshes are correct.",
    )
    REQUESTED = ("REFRESH_MODE = FULL was requested", "")

    @property
    def sentence(self) -> str:
        return str(self.value[0])

    @property
    def hint(self) -> str:
        return str(self.value[1])


@dataclass(eq=False)
class Refused(Exception):  # not frozen: a context manager sets the traceback of what passes it
    """Raised where a rule finds that a query cannot be kept incrementally. `place` is that of what
    it names, where it is known, in the text that Spark read, or in the user's, see `read_meaning`.
    """

    refusal: Refusal
    facts: tuple[tuple[str, str], ...]
    place: Span | None = None

    @property
    def reason(self) -> Reason:
        return Reason(self.refusal.name, self.refusal.sentence.format(**dict(self.facts)))

    @property
    def hint(self) -> str:
        return self.refusal.hint.format(**dict(self.facts))


def refuse(refusal: Refusal, **facts: str) -> Refused:
    """The exception for a refusal with its facts; raise the result."""
    return Refused(refusal, tuple(facts.items()))
