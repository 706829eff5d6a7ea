"""An operator added along `docs/howto/add-an-operator.md`, and taken out again.

`Sample` keeps one row in so many, by the value of a column: whether a row is kept depends on it
alone, so that its change is the sample of the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from dt_jupyter.ivm import (
    DERIVATIVES,
    LAWS,
    TABLES,
    Bag,
    End,
    Filter,
    Generate,
    Infix,
    Join,
    Literal,
    Match,
    Project,
    Rel,
    Restrict,
    Scan,
    Stage,
    Top,
    Union,
    Window,
    at,
    col,
    compile_stages,
    differentiate,
    equality,
    expr,
    identified,
    missing_entries,
    restrict,
    rewrite,
    rule,
    simplify,
    walk,
)
from dt_jupyter.ivm.explain import Size, estimated, tree
from dt_jupyter.ivm.simplify import prune
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sql import AllColumns, Query, Select
from dt_jupyter.sql.emit.render import Renderer
from tests.unit.ivm.test_closed import load_tables
from tests.unit.ivm_lab import Law, Search, derivative, restricted, simplified_is_the_same
from tests.unit.small_worlds import Duck, World

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "add-an-operator.md"


# -- 1. the operator ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample(Rel):
    """The rows of which `by` is a multiple of `one_in`; NULL is none."""

    input: Rel
    by: str
    one_in: int

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


# -- 2. its derivative ----------------------------------------------------------------------------


def _sample(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Sample)
    delta = differentiate(rel.input, changed)
    return delta and replace(rel, input=delta)


def register() -> None:
    rule(Sample, law="Δ(sample(R)) = sample(ΔR)", source="DBSP, linear operators")(_sample)


# -- 3. its entries -------------------------------------------------------------------------------


def _rendered(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Sample)
    kept = equality(Infix(col(rel.by), "%", Literal(str(rel.one_in))), Literal("0"))
    return Select((AllColumns(),), r.nested(rel.input, "s"), kept)


def _by(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Sample)
    return frozenset({rel.by})


def _share(rel: Rel, sizes: Any) -> Size:
    assert isinstance(rel, Sample)
    below = estimated(rel.input, sizes)
    rows, changed = (n and n / rel.one_in for n in (below.rows, below.changed))
    return Size(rows, changed)


def _pushed(rel: Rel, keys: str | Rel, on: tuple[tuple[str, str], ...]) -> tuple[Rel, bool]:
    return rel.with_inputs((restrict(rel.inputs[0], keys, on),)), True


def _decided(rel: Rel, below: frozenset[str], types: object) -> frozenset[str]:
    assert isinstance(rel, Sample)
    assert rel.by not in below
    return below


def _line(rel: Rel, names: object) -> tuple[str, str]:
    assert isinstance(rel, Sample)
    return f"one row in {rel.one_in}", "sample(Δ)"


LIKE_A_FILTER = (
    "identified", "settles", "combines", "monotone", "aligned", "stages", "provenance",
    "keys of a change", "size of a change", "semi-join reduction", "row bound", "most rows",
    "compared columns", "prune", "what cancels", "added columns",
)  # fmt: skip
"""What a sample does as a filter does it: it leaves rows out, each by itself."""


def entries() -> dict[str, object]:
    """By the table, but for the derivative and its law."""
    same = {name: TABLES[name][Filter] for name in LIKE_A_FILTER}
    return same | {
        "render": _rendered,
        "reads": _by,
        "estimated": _share,
        "restrict": _pushed,
        "unstable": _decided,
        "line in EXPLAIN": _line,
        "types of columns": TABLES["types of columns"][Top],
        "calls looked up": TABLES["calls looked up"][Scan],  # it has no expression of its own
    }


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The operator with all its entries, which are gone afterwards."""
    load_tables()
    for name, entry in entries().items():
        monkeypatch.setitem(TABLES[name], Sample, entry)
    for table in (DERIVATIVES, LAWS):
        monkeypatch.setitem(table, Sample, None)
    register()
    yield
    monkeypatch.undo()
    assert not any(Sample in table for table in TABLES.values())


# -- the check of the closed set ------------------------------------------------------------------


def test_with_all_entries_nothing_is_missing(registered: None) -> None:
    assert missing_entries([Sample]) == ()
    assert entries().keys() | {"differentiate", "law"} == TABLES.keys()


def test_without_one_of_them_the_check_says_which(
    registered: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, table in TABLES.items():
        with monkeypatch.context() as m:
            m.delitem(table, Sample)
            wanted = f"`{name}` has no entry for the operator Sample"
            assert missing_entries([Sample]) == (wanted,)
            if table.otherwise is None:
                with pytest.raises(TypeError, match=wanted):
                    table[Sample]


def test_the_page_names_every_table() -> None:
    load_tables()
    page = PAGE.read_text("utf-8")
    assert [name for name in TABLES if f"`{name}`" not in page] == []


def test_the_page_has_the_code_of_this_test() -> None:
    """Its Python is here, so that what it says has been done."""
    here = Path(__file__).read_text("utf-8")
    blocks = [b.split("```")[0] for b in PAGE.read_text("utf-8").split("```python\n")[1:]]
    assert len(blocks) >= 3
    assert [b for b in blocks if b.strip() not in here] == []


# -- small tables, before and after ---------------------------------------------------------------

S = Scan("s", (("a", "a"), ("b", "b")))
EVEN = Sample(S, "a", 2)
WORLD = World(
    {"s": [(1, 1), (2, 2), (None, 3)], "t": [], "u": []},
    {"s": [(1, 1), (4, 2), (3, 5), (None, 3)], "t": [], "u": []},
)


def test_an_update_that_leaves_the_sample_is_a_delete(registered: None) -> None:
    duck = Duck(WORLD)
    assert duck.rows(at(EVEN, End.OLD)) == [(2, 2)]
    delta = differentiate(EVEN, WORLD.changed)
    assert duck.weights(delta) == {(2, 2): -1, (4, 2): 1}
    assert differentiate(EVEN, frozenset({"t"})) is None


def test_a_sample_has_what_the_others_have(registered: None) -> None:
    def types(rel: Rel) -> dict[str, str]:
        return dict.fromkeys(rel.columns, "int")

    (stage,) = compile_stages(EVEN, ("a", "b"), types)
    assert stage.input == EVEN
    assert prune(EVEN, frozenset({"b"})) == EVEN
    assert restrict(EVEN, "k", (("b", "k"),)) == replace(
        EVEN, input=Restrict(S, "k", (("b", "k"),))
    )
    assert identified(EVEN, lambda rel, keys: expr("''")).domains == {("scan", "s")}
    _, line = tree((Stage("stage:0", EVEN, Bag(), ()),), {"s": "t"}, {"s": Size(1000, 10)})[:2]
    assert str(line) == "  one row in 2: sample(Δ)  [≈ 500 rows, Δ ≈ 5]"
    assert line.law is LAWS[Sample]


# -- the oracle -----------------------------------------------------------------------------------


def sampled(rel: Rel, seed: int) -> Rel:
    """A relation with samples anywhere in it, and one on top."""
    rng = Random(seed)

    def sample(below: Rel) -> Rel:
        return Sample(below, rng.choice(below.columns), rng.choice((1, 2)))

    return sample(rewrite(rel, lambda node: sample(node) if rng.random() < 0.3 else node))


@dataclass(frozen=True)
class Sampled(Search):
    def relation(self, seed: int) -> Rel:
        return sampled(Search(self.seeds, self.depth, settled=True).relation(seed), seed)


SEARCH = Sampled(range(30), 3)


@pytest.mark.parametrize("law", [derivative, simplified_is_the_same, restricted])
def test_the_laws_hold_of_relations_with_samples(registered: None, law: Law) -> None:
    made = [n for seed in SEARCH.seeds for n in walk(SEARCH.relation(seed))]
    assert sum(isinstance(n, Sample) for n in made) > 2 * len(SEARCH.seeds)
    assert {type(n) for n in made} >= {Join, Match, Union, Window, Top, Generate}
    SEARCH(law)


def _of_all_rows(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Sample)
    return differentiate(rel.input, changed)


def _only_inserts(rel: Rel, changed: frozenset[str]) -> Rel | None:
    delta = _sample(rel, changed)
    inserted = (*((c, col(c)) for c in rel.columns), (WEIGHT, expr("1")))
    return delta and Project(delta, inserted)


@pytest.mark.parametrize("wrong", [_of_all_rows, _only_inserts])
def test_a_derivative_that_is_wrong_is_caught(
    registered: None,
    monkeypatch: pytest.MonkeyPatch,
    wrong: Callable[[Rel, frozenset[str]], Rel | None],
) -> None:
    monkeypatch.setitem(DERIVATIVES, Sample, wrong)
    with pytest.raises(AssertionError):
        SEARCH(derivative)


def test_a_sample_that_forgets_its_column_is_caught(
    registered: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TABLES["reads"], Sample, lambda rel: frozenset())
    forgotten = simplify(Project(EVEN, (("p", col("b")),)))
    with pytest.raises(duckdb.BinderException, match="a"):
        Duck(WORLD).rows(forgotten)
