"""The widest and the deepest queries: each is compiled, or refused with a code, in bounded work."""

from __future__ import annotations

import pytest

from dt_jupyter.definition.change_size import MOST_CHANGED, operators, refuse_large_change
from dt_jupyter.ivm import Refused, Stage, compile_stages
from dt_jupyter.model import DTError
from dt_jupyter.sql import require_bounded
from dt_jupyter.sql.grammar.parse import parse_script
from tests.recorded_plans import RecordedPlans
from tests.unit.monsters import MONSTERS, TABLES

PLANS = RecordedPlans.of(__file__)
SLOW = frozenset({
    "500 branches", "500 distinct branches", "300 branches of joins", "200 subqueries",
    "100 common tables", "doubling aliases", "300 grouping sets", "a cube of 10",
})  # fmt: skip
"""Those that Spark analyses for more than a moment: tests/nightly/test_monsters.py has them."""


def stages_of(query: str) -> tuple[Stage, ...]:
    """What a CREATE makes of a query before any of it runs."""
    (statement,) = parse_script(f"CREATE DYNAMIC TABLE x TARGET_LAG = '1 hour' AS {query}")
    tables = {t: ", ".join(f"{c} INT" for c in names) for t, names in TABLES.items()}
    require_bounded(statement.query)  # type: ignore[attr-defined]
    rel = PLANS.relation(statement.query, tables)  # type: ignore[attr-defined]
    names = tuple(f"c{i}" for i in range(len(rel.columns)))
    made = compile_stages(rel, names, lambda r: dict.fromkeys(r.columns, "int"))
    refuse_large_change(made)
    return made


@pytest.mark.parametrize("name", [name for name in MONSTERS if name not in SLOW])
def test_a_monster_is_compiled_or_refused_with_a_code(name: str) -> None:
    """In what is compiled, the change of one source at least is small enough to be moved."""
    made, code = _made_or_code(MONSTERS[name])
    assert code.isupper() if made is None else not code
    sources = {s for stage in made or () for s in stage.sources} - {s.id for s in made or ()}
    assert made is None or any(operators(made, frozenset({s})) <= MOST_CHANGED for s in sources)


def _made_or_code(query: str) -> tuple[tuple[Stage, ...] | None, str]:
    try:
        return stages_of(query), ""
    except Refused as e:
        return None, e.reason.code
    except DTError as e:
        return None, e.code
