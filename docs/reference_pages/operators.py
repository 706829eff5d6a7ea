"""The operators with their laws, the aggregates, and what is refused."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import dt_jupyter.ivm as ivm
from docs.reference_pages.markdown import code, paragraphs, plain, table
from dt_jupyter.ivm import DERIVATIVES, OPERATORS, SETTLING, UNRULED, Rel, aggregates
from dt_jupyter.ivm.refusal import Refusal
from dt_jupyter.plans.scalar_reader import CONTEXT


@dataclass(frozen=True)
class Law:
    """How the change of an operator is derived, more about it, and where the rule comes from."""

    equation: str
    about: str
    source: str


def law_of(kind: type[Rel]) -> Law:
    """From the registration where it has a law, else from the rule's docstring, whose first line is
    the equation and whose end names the source."""
    registered = getattr(ivm, "LAWS", {}).get(kind)
    text, _, source = (inspect.getdoc(DERIVATIVES[kind]) or "").partition("Source:")
    if registered is not None:
        return Law(registered.equation, " ".join(text.split()), registered.source)
    first, _, rest = text.strip().partition("\n")
    equation, _, comment = first.partition(": ")
    about = " ".join(f"{comment} {rest}".split())
    return Law(equation.rstrip("."), about, " ".join(source.split()).rstrip("."))


def operators_page() -> str:
    rows = []
    for kind in OPERATORS:
        law = law_of(kind)
        does = " ".join((inspect.getdoc(kind) or "").split())
        rows.append((code(kind.__name__), does, plain(law.equation), law.about, law.source))
    state = frozenset(aggregates._RULES)
    refusals = (
        (
            code(r.name),
            plain(r.sentence.replace("{what}", "…").replace("{type}", "…")),
            plain(r.hint.replace("{known}", "its replacement above")),
        )
        for r in Refusal
    )
    return paragraphs(
        "# Operators, aggregates and refusals",
        "A query becomes a tree of these operators over bags of rows. Δ is the change over an "
        "interval as rows with a weight (+1 came, −1 went), ₀ its old end, ₁ its new end. "
        "Sources: CQ is *What's the Difference? Incremental Processing with Change Queries in "
        "Snowflake* (SIGMOD 2023), DT *Streaming Democratized: Ease Across the Latency Spectrum "
        "with Delayed View Semantics and Snowflake Dynamic Tables* (SIGMOD 2025), DBSP *Automatic "
        "Incremental View Maintenance for Rich Query Languages* (VLDB 2023).",
        table(("operator", "is", "its change", "how", "source"), rows),
        "## Aggregates",
        "Kept from state, where the types of their arguments have an exact sum: "
        + ", ".join(map(code, sorted(state)))
        + ". A minimum or maximum is read again where a "
        "deleted row reached it. The same of DISTINCT values are kept by a hidden table of the "
        "values that each group has, with how often, where the types of their arguments have an "
        "exact equality and all calls next to them are kept too.",
        "Computed again for the groups that a change touched: "
        + ", ".join(map(code, sorted(aggregates.SUPPORTED - state)))
        + "; also sums and averages of floating columns, and other calls with DISTINCT. Of those, "
        + ", ".join(map(code, sorted(SETTLING)))
        + " leave an order open, which is always the same here.",
        "Without a rule (`AGGREGATE`):",
        table(
            ("aggregate", "instead"),
            [(code(name), plain(UNRULED[name])) for name in sorted(UNRULED)],
        ),
        "## Refusals",
        "What a query has that no rule keeps: the reason's code in `REFRESH_MODE_REASON` of a "
        "table that is then recomputed (FULL), in DT-1107 where `REFRESH_MODE = INCREMENTAL` "
        "was requested, and in DT-3102 of a change query.",
        table(("code", "because", "what helps"), refusals),
        "Not deterministic (`NON_DETERMINISTIC`) is what Spark's plan says it of, as `rand()`, and "
        "`aes_encrypt` and `raise_error`. Functions of the moment "
        "(`CONTEXT_FUNCTION`): " + ", ".join(map(code, sorted(CONTEXT.values()))) + ".",
    )
