"""Whether a text means what it meant, over sources whose columns have changed.

What a query reads by name it follows by name. `*`, positions in a set operation, a column list
over `*`, NATURAL and PIVOT take what is there: a column that comes, goes, moves or changes its
name may change what they mean, and then the rows are recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.ivm import Rel, equivalent
from dt_jupyter.model import Definition, Reason
from dt_jupyter.spark import type_text

Outputs = tuple[tuple[str, str], ...]
"""The columns of a query, names with types, in order."""

_CODE = "SCHEMA_EVOLVED"


def outputs_of(fields: Sequence[object]) -> Outputs:
    """The outputs of a Spark schema's fields."""
    return tuple((f.name, type_text(f.dataType)) for f in fields)  # type: ignore[attr-defined]


def public_outputs(definition: Definition) -> Outputs:
    """The public columns of a dynamic table."""
    return tuple((n, t) for n, t, _ in definition.columns)


def expected(definition: Definition) -> Outputs:
    """The outputs of its query when a definition was made."""
    names = definition.query_columns or tuple(n for n, _, _ in definition.columns)
    return tuple(zip(names, (t for _, t, _ in definition.columns), strict=True))


def changed_outputs(before: Outputs, now: Outputs) -> Reason | None:
    """The evolution of a query whose columns have other names, types or places than before."""
    if before == now:
        return None
    return Reason(_CODE, f"the query's columns are {in_words(now)}, and were {in_words(before)}")


def changed_meaning(meant: Rel | None, means: Rel | None) -> Reason | None:
    """The evolution of a query that takes other columns than before for what it shows.

    `meant` and `means` are what its text came to over the columns that its sources had and have;
    None where the algebra has no form of it: then any change of them may be one of meaning.
    """
    if meant is None or means is None:
        return Reason(_CODE, "the columns of a source changed")
    if not equivalent(meant, means):
        return Reason(_CODE, "the query takes columns by position or by *, and their order changed")
    return None


def in_words(outputs: Outputs) -> str:
    """Columns in one line."""
    text = ", ".join(f"{n} {t}" for n, t in outputs)
    return f"({text if len(text) <= 200 else text[:197] + '...'})"
