"""What the check at creation may cost, counted before Spark sees any of it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from pyspark.sql import types as T

from dt_jupyter.definition.change_size import (
    operators,
    refuse_large_change,
    size,
    too_wide,
)
from dt_jupyter.definition.validate.check_plan import (
    HARDEST,
    MOST_OPERATORS,
    Rung,
    joined_columns,
    rounds,
    rungs,
)
from dt_jupyter.definition.validate.generated_rows import sample_rows
from dt_jupyter.definition.validate.row_bound import MOST_ROWS, RowBound, TooManyRows
from dt_jupyter.ivm import (
    Refused,
    Rel,
    Restrict,
    Scan,
    Stage,
    at,
    compile_stages,
    differentiate,
    key_relations,
    scans,
    with_keys,
)
from dt_jupyter.ivm.rel import End, walk
from tests.cases import nightly, some
from tests.recorded_plans import RecordedPlans
from tests.unit.ivm_lab import Search
from tests.unit.small_worlds import SOURCES, Duck, random_world

# -- shapes of joins ------------------------------------------------------------------------------

FACT = "f"
PLANS = RecordedPlans.of(__file__)


def columns(n: int) -> dict[str, tuple[str, ...]]:
    dims = {f"d{i}": ("k", "k2", "name") for i in range(n)}
    return {FACT: ("v", *(f"k{i}" for i in range(n))), **dims}


def star(n: int, kind: str = "JOIN") -> str:
    joins = " ".join(f"{kind} d{i} ON f.k{i} = d{i}.k" for i in range(1, n))
    return f"SELECT f.v{_names(n)} FROM f {joins}"


def one_key(n: int, kind: str = "JOIN") -> str:
    joins = " ".join(f"{kind} d{i} ON d0.k = d{i}.k" for i in range(1, n))
    return f"SELECT d0.k{_names(n)} FROM d0 {joins}"


def chain(n: int, kind: str = "JOIN") -> str:
    joins = " ".join(f"{kind} d{i} ON d{i - 1}.k2 = d{i}.k" for i in range(1, n))
    return f"SELECT d0.k{_names(n)} FROM d0 {joins}"


def self_join(n: int, kind: str = "JOIN") -> str:
    joins = " ".join(f"{kind} d0 s{i} ON s{i - 1}.k2 = s{i}.k" for i in range(1, n))
    return f"SELECT s0.k{''.join(f', s{i}.name n{i}' for i in range(1, n))} FROM d0 s0 {joins}"


def _names(n: int) -> str:
    return "".join(f", d{i}.name n{i}" for i in range(1, n))


def stages(query: str, n: int) -> tuple[Stage, ...]:
    tables = {t: ", ".join(f"{c} INT" for c in names) for t, names in columns(n).items()}
    rel = PLANS.relation(query, tables)
    names = tuple(f"c{i}" for i in range(len(rel.columns)))
    return compile_stages(rel, names, lambda r: dict.fromkeys(r.columns, "int"))


def sources(made: tuple[Stage, ...]) -> list[str]:
    return sorted({s.source for stage in made for s in scans(stage.input)})


WIDTHS = (5, 9, 40, nightly(7), nightly(20))
SHAPES = (star, one_key, chain, self_join)


# -- the size of derivatives ----------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
def test_a_derivative_grows_with_the_square_of_its_joins_at_most(shape: object, kind: str) -> None:
    """Twice the joins, four times the operators, and the same as statements of a refresh."""
    assert callable(shape)
    sizes = []
    for n in (10, 20):
        sizes.append(_sizes(str(shape(n, kind)), n))
    (inline, apart), (inline2, apart2) = sizes
    assert inline2 <= 6 * inline
    assert apart2 <= 6 * apart


@pytest.mark.parametrize("kind", ["LEFT SEMI JOIN", "LEFT ANTI JOIN"])
def test_the_same_for_partners_that_are_asked_for_alone(kind: str) -> None:
    def query(n: int) -> str:
        return "SELECT f.v FROM f " + " ".join(
            f"{kind} d{i} ON f.k{i} = d{i}.k" for i in range(1, n)
        )

    assert _sizes(query(20), 20)[0] <= 6 * _sizes(query(10), 10)[0]


def _sizes(query: str, n: int) -> tuple[int, int]:
    """Of the derivative as it is written, and with its keys computed first."""
    (stage,) = stages(query, n)
    delta = differentiate(stage.input, frozenset(columns(n)))
    assert delta is not None
    return sum(1 for _ in _with_keys(delta)), _with_statements(delta)


def _with_keys(rel: Rel) -> Iterator[Rel]:
    for node in walk(rel):
        yield node
        if isinstance(node, Restrict) and isinstance(node.keys, Rel):
            yield from _with_keys(node.keys)


def _with_statements(delta: Rel) -> int:
    names: dict[Rel, str] = {}
    total = 0
    for keys in key_relations(delta):
        total += size(with_keys(keys, names))
        names[keys] = "k"
    return total + size(with_keys(delta, names))


@pytest.mark.parametrize(("query", "n"), [(star(7, "FULL JOIN"), 7), (star(40, "LEFT JOIN"), 40)])
def test_a_change_that_is_too_wide_is_computed_anew_and_a_narrow_one_moved(
    query: str, n: int
) -> None:
    made = stages(query, n)
    refuse_large_change(made)
    reason = too_wide(made, frozenset(sources(made)))
    assert reason is not None
    assert reason.code == "WIDE_CHANGE"
    assert too_wide(made, frozenset({FACT})) is None or "FULL" in query
    assert too_wide(made, frozenset({"d1"})) is None or "FULL" in query
    assert any(too_wide(made, frozenset({s})) is None for s in sources(made))


def test_an_inner_join_of_forty_is_moved_where_all_of_it_changed() -> None:
    made = stages(star(40), 40)
    assert too_wide(made, frozenset(sources(made))) is None


def test_what_no_change_is_small_of_is_refused() -> None:
    made = stages(self_join(40, "LEFT JOIN"), 40)
    with pytest.raises(Refused) as refused:
        refuse_large_change(made)
    assert "its change has more than 2,000 operators" in refused.value.reason.sentence


# -- rounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize("n", WIDTHS)
def test_rounds_are_bounded_and_each_source_changes_once(shape: object, kind: str, n: int) -> None:
    assert callable(shape)
    if shape is self_join and kind == "LEFT JOIN" and n > 9:
        pytest.skip("its one source changes twenty times: more than one round may have")
    made = stages(str(shape(n, kind)), n)
    found = []
    for each, _ in zip(rounds(made, sources(made), Random(1)), range(4), strict=False):
        found += sorted(each)
        most = MOST_OPERATORS if len(each) > 1 else HARDEST
        assert operators(made, each) <= most
    assert len(set(found)) == len(found)
    assert found
    if operators(made, frozenset(sources(made))) <= MOST_OPERATORS:
        assert sorted(found) == sources(made)


def test_what_is_small_changes_all_at_once() -> None:
    made = stages(star(9), 9)
    assert list(rounds(made, sources(made), Random(1))) == [frozenset(sources(made))]


# -- rows -----------------------------------------------------------------------------------------


def generated(made: tuple[Stage, ...], n: int, rung: Rung) -> dict[str, list[dict[str, object]]]:
    rng = Random(1)
    joined = joined_columns(made)
    found = {}
    for source in sources(made):
        schema = T.StructType([T.StructField(c, T.IntegerType()) for c in columns(n)[source]])
        keys = {c for s, c in joined if s == source}
        found[source] = sample_rows(schema, "", rung.made, rng, keys, rung.drift)
    return found


def fitting(made: tuple[Stage, ...], n: int) -> Iterator[tuple[Rung, int]]:
    """The rungs whose rows are few enough, with the bound of the rows of the whole."""
    for rung in rungs(made):
        data = generated(made, n, rung)
        try:
            yield rung, len(RowBound(lambda s, d=data: d[s.source])(made[-1].input))
        except TooManyRows:
            continue


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize("n", WIDTHS)
def test_wide_joins_have_forty_rows_a_source_and_still_meet(
    shape: object, kind: str, n: int
) -> None:
    assert callable(shape)
    made = stages(str(shape(n, kind)), n)
    rung, meeting = next(fitting(made, n))
    assert rung.made == 40
    assert 8 <= meeting <= MOST_ROWS


def test_joined_columns_have_matches_misses_copies_and_nulls() -> None:
    made = stages(star(9), 9)
    rung, _ = next(fitting(made, 9))
    data = generated(made, 9, rung)
    wanted = [r["k1"] for r in data[FACT]]
    there = [r["k"] for r in data["d1"]]
    assert set(wanted) & set(there)
    assert set(wanted) - set(there)
    assert len(set(there)) < len(there)
    assert any(v is None for v in wanted + there)


def test_columns_are_joined_through_stages_and_in_conditions_of_any_kind() -> None:
    made = stages(
        "SELECT x.c FROM (SELECT k, count(*) c FROM d0 GROUP BY k) x JOIN d1 ON x.k = d1.k"
        " JOIN d2 ON lower(d1.name) = d2.name",
        3,
    )
    assert len(made) == 2
    expected = {("d0", "k"), ("d1", "k"), ("d1", "name"), ("d2", "name")}
    assert joined_columns(made) == expected


def test_free_combination_of_what_generators_make_has_three_rows() -> None:
    made = stages(
        "SELECT e, name FROM (SELECT e FROM d0 LATERAL VIEW explode(array(k, 2)) t AS e) x, d1", 2
    )
    assert {r.made for r in rungs(made)} <= {1, 2, 3}


SEARCH = Search(range(60), aggregates=True)


@pytest.mark.parametrize("seeds", some(1, [range(20), range(20, 60)]), ids=str)
def test_the_bound_is_never_below_the_rows_that_there_are(seeds: range) -> None:
    """Every operator of random relations, at both ends and of their changes, asked of DuckDB."""
    for seed in seeds:
        rng = Random(seed)
        rel = SEARCH.relation(seed)
        world = random_world(rng, frozenset(SOURCES))

        def read(scan: Scan, world=world) -> list[dict[str, object]]:  # type: ignore[no-untyped-def]
            names = (*SOURCES[scan.source], "__dt_w")
            return [dict(zip(names, r, strict=False)) for r in world.rows(scan.source, scan.end)]

        delta = differentiate(rel, world.changed)
        for each in (at(rel, End.OLD), at(rel, End.NEW), *([delta] if delta else [])):
            found = len(Duck(world).rows(each))
            assert len(RowBound(read, left=10**6)(each)) >= found, (seed, each)


def test_the_search_reaches_every_operator() -> None:
    reached = {type(n) for s in SEARCH.seeds for n in walk(SEARCH.relation(s))}
    assert len(reached) >= 10


def test_equal_columns_join_and_other_conditions_are_taken_to_hold() -> None:
    data = {"d0": [{"k": i, "k2": i, "name": i} for i in range(100)]}
    data |= {f"d{i}": data["d0"] for i in range(1, 5)}

    def bound(query: str) -> int:
        (stage,) = stages(query, 5)
        return len(RowBound(lambda s: data[s.source])(stage.input))

    assert bound(chain(5)) == 100
    assert bound("SELECT d0.k FROM d0 JOIN d1 ON d0.k < d1.k") == 10_000
    with pytest.raises(TooManyRows):
        bound("SELECT d0.k FROM d0, d1, d2 WHERE d0.k < d1.k AND d1.k < d2.k")
    assert bound("SELECT d0.k FROM d0, d1, d2 WHERE d0.k = d2.k AND d2.k2 = d1.k2") == 100
