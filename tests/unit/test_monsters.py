"""The widest and the deepest queries: each is compiled, or refused with a code, in bounded work."""

from __future__ import annotations

import pytest

from dt_jupyter.definition.change_size import MOST_CHANGED, operators, refuse_large_change
from dt_jupyter.ivm import Refused, Stage, compile_stages
from dt_jupyter.model import DTError
from dt_jupyter.sql.binding.binder import Table, bind
from dt_jupyter.sql.grammar.parse import parse_script
from tests.unit.monsters import MONSTERS, TABLES

BUILTINS = frozenset({"abs", "sum", "count", "array", "sequence", "explode"})


def stages_of(query: str) -> tuple[Stage, ...]:
    """What a CREATE makes of a query before any of it runs."""
    (statement,) = parse_script(f"CREATE DYNAMIC TABLE x TARGET_LAG = '1 hour' AS {query}")
    rel = bind(statement.query, lambda p: Table(p[-1], TABLES[p[-1]], None), BUILTINS)  # type: ignore[attr-defined]
    names = tuple(f"c{i}" for i in range(len(rel.columns)))
    made = compile_stages(rel, names, lambda r: dict.fromkeys(r.columns, "int"))
    refuse_large_change(made)
    return made


@pytest.mark.parametrize("name", MONSTERS)
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
