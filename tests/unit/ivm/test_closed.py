"""The set of operators is closed: each has a derivative, a row id, what rewrites it, a rendering, a
line in EXPLAIN, and something broken that its oracle catches. The operators are found by looking
for the classes, so that a new one fails here until it has all of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import dt_jupyter
from dt_jupyter.definition.validate.row_bound import RowBound
from dt_jupyter.ivm import (
    DERIVATIVES,
    IDENTIFIED,
    LAWS,
    OPERATORS,
    TABLES,
    Aggregate,
    AggregateCall,
    Bag,
    Call,
    End,
    Filter,
    Generate,
    Group,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Stage,
    Top,
    Union,
    Window,
    WindowCall,
    at,
    col,
    compile_stages,
    differentiate,
    equality,
    equivalent,
    expr,
    missing_entries,
    monotone,
    operator_table,
    origins,
    places,
    restrict,
    scans,
    settles,
    simplify,
    walk,
)
from dt_jupyter.ivm.explain import Size, estimated, tree
from dt_jupyter.ivm.simplify import prune
from dt_jupyter.ivm.stages import align_types
from dt_jupyter.ivm.unstable import unstable
from dt_jupyter.model import Name, Reason, RefreshMode
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.refresh.semijoin_reduction import Reduction
from dt_jupyter.reports.explanation_values import LAWS_TITLE, Explanation
from dt_jupyter.sql.emit.render import RENDERED, Renderer
from tests.unit.ivm import test_groups, test_mutants
from tests.unit.ivm_lab import Search
from tests.unit.small_worlds import Duck, World

A = Scan("s", (("a", "a"), ("b", "b")))
B = Scan("t", (("c", "a"), ("d", "b")))
SAME = equality(col("a"), col("c"))
NUMBER = WindowCall("w", expr("ROW_NUMBER()"), (col("b"),), "", True, True)
SAMPLES: dict[type[Rel], Rel] = {
    Scan: A,
    Rows: Rows("(VALUES (1, 2))", ("r", "q")),
    Project: Project(A, (("p", expr("{x} + 1", x=col("a"))), ("b", col("b")))),
    Filter: Filter(A, (expr("{x} > 0", x=col("b")),)),
    Join: Join((A, B), (SAME,)),
    Match: Match(A, B, MatchKind.LEFT, (("a", "c"),)),
    Union: Union((A, B), ("u", "v")),
    Generate: Generate(A, Call("EXPLODE", (expr("ARRAY({x}, 1)", x=col("a")),)), ("e",)),
    Window: Window(A, ("a",), (NUMBER,)),
    Top: Top(A, (col("a"),), 2),
    Aggregate: Aggregate(A, ("a",), (("n", AggregateCall("count", (), expr("COUNT(*)"))),)),
    Restrict: Restrict(A, B, (("a", "c"),)),
}
WORLD = World(
    {"s": [(1, 1), (1, None), (None, 2)], "t": [(1, 1), (2, 2)], "u": []},
    {"s": [(1, 1), (2, 1), (2, 1), (None, 3)], "t": [(2, 2)], "u": []},
)
SEARCH = Search(range(0), aggregates=True)
KINDS = pytest.mark.parametrize("kind", OPERATORS)


def operators(kind: type[Rel] = Rel) -> Iterator[type[Rel]]:
    """The classes of operators that the package has, however they come by it."""
    for found in kind.__subclasses__():
        if found.__module__.startswith("dt_jupyter."):
            yield found
        yield from operators(found)


@dataclass(frozen=True)
class Odd(Rel):
    """An operator that nothing knows."""

    input: Rel

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return Odd(*inputs)


def test_every_operator_of_the_package_is_in_every_list() -> None:
    found = set(operators())
    assert found
    assert found == set(OPERATORS) == set(SAMPLES)
    assert found == set(DERIVATIVES) == set(RENDERED) == set(IDENTIFIED)


@cache
def sources() -> dict[Path, ast.Module]:
    """The modules of the package."""
    files = Path(dt_jupyter.__file__).parent.rglob("*.py")
    return {f: ast.parse(f.read_text("utf-8")) for f in sorted(files)}


def load_tables() -> None:
    """Imports every module that has a table with an entry for each operator."""
    root = Path(dt_jupyter.__file__).parents[1]
    for file, module in sources().items():
        if "PerOperator" in {n.id for n in ast.walk(module) if isinstance(n, ast.Name)}:
            import_module(".".join(file.relative_to(root).with_suffix("").parts))


def test_every_table_has_an_entry_for_every_operator() -> None:
    load_tables()
    assert {"differentiate", "render", "monotone", "unstable", "provenance"} <= TABLES.keys()
    assert missing_entries(operators()) == ()
    assert all(set(table) == set(OPERATORS) for table in TABLES.values())


def test_what_lacks_an_entry_is_named() -> None:
    load_tables()
    found = missing_entries([Odd])
    assert "`monotone` has no entry for the operator Odd" in found
    assert len(found) == len(TABLES)


TELLING = {
    "same": "equality of all fields; a scan and a union have columns by name and by position",
    "_conditions": "None of others than these: nothing is known to exclude",
    "filter_into_join": "others stay as they are",
    "filter_below_projection": "others stay as they are",
    "filter_below_match": "others stay as they are",
    "flatten_joins": "others stay as they are",
    "_opposite": "no for others: nothing is known to exclude",
    "_peel": "ends at others",
    "_peeled": "ends at others, which are the same in both or nothing is derived",
    "_cut_project": "ends at others",
    "_is_stage": "no for others, which are then put into a stage",
    "bounded": "others are not bounded",
    "_each_narrowing": "of others nothing is narrowed",
    "_first_rows": "ends at others, below which all rows count",
    "explosive": "how many rows the check at creation tries first",
    "_untracked": "an error for others",
    "_few": "no for others",
    "null_before": "others stay as they are",
    "_restriction": "of others no rows are shared",
    "_in_query": "of others a column has the name that it has",
}
"""Functions that tell operators apart by their classes, and why others are safe there."""


def told_apart(function: ast.FunctionDef) -> set[str]:
    """The operators that a function asks for, but in what it asserts."""
    names = {kind.__name__ for kind in OPERATORS}
    asserted = {n for a in ast.walk(function) if isinstance(a, ast.Assert) for n in ast.walk(a)}
    asked: set[str] = set()
    for node in set(ast.walk(function)) - asserted:
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            asked.add(node.cls.id)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            asked |= {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
    return asked & names


def functions(modules: Sequence[ast.Module]) -> Iterator[ast.FunctionDef]:
    """Functions and methods, with what is defined inside them."""
    for module in modules:
        for node in module.body:
            inside = node.body if isinstance(node, ast.ClassDef) else [node]
            yield from (n for n in inside if isinstance(n, ast.FunctionDef))


def test_functions_that_tell_operators_apart_have_a_table_or_a_safe_rest() -> None:
    found = {f.name for f in functions(list(sources().values())) if len(told_apart(f)) > 1}
    assert found == TELLING.keys()


def test_a_function_with_a_default_is_seen() -> None:
    (module,) = [ast.parse("def f(r):\n match r:\n  case Scan() | Top():\n   return 1\n return 2")]
    assert [told_apart(f) for f in functions([module])] == [{"Scan", "Top"}]


def test_every_operator_has_a_law_with_its_source() -> None:
    rows = {row.operator: row for row in operator_table()}
    assert list(rows) == [kind.__name__ for kind in OPERATORS]
    for kind in operators():
        row = rows[kind.__name__]
        assert (row.law, row.source) == (LAWS[kind].equation, LAWS[kind].source)
        assert row.law.startswith("Δ(")
        assert row.source
        assert row.meaning


def test_every_operator_has_something_broken_that_its_oracle_catches() -> None:
    broken = {kind for kind, _ in test_mutants.RULES.values()}
    broken |= {Restrict} if test_mutants.restriction_dropped else set()
    broken |= {Aggregate} if test_groups.MUTANTS else set()
    assert broken == set(operators())


def test_the_random_relations_are_made_of_every_operator_of_a_query() -> None:
    """What rules make, not queries, is searched by laws of its own."""
    made = {type(n) for seed in range(200) for n in walk(SEARCH.relation(seed))}
    assert made == set(operators()) - {Restrict}


@KINDS
def test_an_operator_gives_back_what_it_is_made_of(kind: type[Rel]) -> None:
    rel = SAMPLES[kind]
    assert rel.with_inputs(rel.inputs) == rel
    assert len(set(rel.columns)) == len(rel.columns)
    assert at(at(rel, End.OLD), End.NEW) == rel
    assert all(s.end is End.OLD for s in scans(at(rel, End.OLD)))


@KINDS
def test_an_operator_has_a_derivative_with_weights(kind: type[Rel]) -> None:
    rel = SAMPLES[kind]
    assert differentiate(rel, frozenset()) is None
    if kind is Rows:
        assert differentiate(rel, WORLD.changed) is None
        return
    delta = differentiate(rel, WORLD.changed)
    assert delta is not None
    assert delta.columns == (*rel.columns, WEIGHT)
    duck = Duck(WORLD)
    before, after = (duck.bag(at(rel, end)) for end in (End.OLD, End.NEW))
    gone = {r: -n for r, n in (before - after).items()}
    assert duck.weights(delta) == dict(after - before) | gone


@KINDS
def test_an_operator_is_pruned_and_simplified_to_the_same_rows(kind: type[Rel]) -> None:
    rel, duck = SAMPLES[kind], Duck(WORLD)
    assert simplify(rel).columns == rel.columns
    assert duck.bag(simplify(rel)) == duck.bag(rel)
    for column in rel.columns:
        pruned = prune(rel, frozenset({column}))
        assert column in pruned.columns
        shown = ((column, col(column)),)
        assert duck.bag(Project(pruned, shown)) == duck.bag(Project(rel, shown))


@KINDS
def test_an_operator_is_restricted_to_keys(kind: type[Rel]) -> None:
    rel, duck = SAMPLES[kind], Duck(WORLD)
    for place, column in enumerate(rel.columns):
        restricted = restrict(rel, Rows("(VALUES (1), (NULL))", ("k",)), ((column, "k"),))
        assert restricted.columns == rel.columns
        wanted = [r for r in duck.rows(rel) if r[place] in (1, None)]
        assert sorted(map(str, duck.rows(restricted))) == sorted(map(str, wanted))
        assert any(isinstance(n, Restrict) for n in walk(restricted))


@KINDS
def test_an_operator_is_kept_by_stages(kind: type[Rel]) -> None:
    """Restrictions are made after the stages are cut."""
    rel = SAMPLES[kind]
    if kind is Restrict:
        return
    stages = compile_stages(rel, rel.columns, lambda r: dict.fromkeys(r.columns, "int"))
    assert [n for n, _ in stages[-1].outputs] == list(rel.columns)
    assert isinstance(stages[-1].top, Group if kind is Aggregate else Bag)
    assert not any(isinstance(n, Aggregate) for s in stages for n in walk(s.input))


@KINDS
def test_an_operator_has_a_line_in_explain(kind: type[Rel]) -> None:
    rel = SAMPLES[kind]
    nodes = tree((Stage("stage:0", rel, Bag(), ()),), {}, {"s": Size(9, 1)})
    assert len(nodes) == 1 + len(list(walk(rel)))
    assert nodes[1].operator
    assert nodes[1].law is LAWS[kind]
    shown = Explanation(
        Name("s", "d"), RefreshMode.INCREMENTAL, Reason("c", "s"), (), (), (), tree=nodes
    )
    last = shown.parts[-1]
    assert last.title == LAWS_TITLE
    assert f"{LAWS[kind].equation}  [{LAWS[kind].source}]" in last.text.splitlines()


@KINDS
def test_values_are_followed_only_to_where_they_come_from(kind: type[Rel]) -> None:
    """What `places` and `origins` tell of a column holds of its rows."""
    rel, duck = SAMPLES[kind], Duck(WORLD)
    for at_, column in enumerate(rel.columns):
        held = {v for scan, name in origins(rel, column) or () for v in values(duck, scan, name)}
        shown = {row[at_] for row in duck.rows(rel)}
        assert origins(rel, column) is None or shown <= held | {None}
        assert set(places(rel, column)) <= set(origins(rel, column) or ())


def values(duck: Duck, scan: Scan, name: str) -> set[int | None]:
    return {v for (v,) in duck.rows(Scan(scan.source, (("v", name),), scan.end))}


@KINDS
def test_an_operator_is_equivalent_to_itself_alone(kind: type[Rel]) -> None:
    rel = SAMPLES[kind]
    others = [other for name, other in SAMPLES.items() if name is not kind]
    assert equivalent(rel, rel)
    assert not any(equivalent(rel, other) for other in others)


def test_rows_that_are_added_take_none_away_but_of_what_is_not_monotone() -> None:
    more = {"s": [*WORLD.old["s"], (1, 2), (None, 1)], "t": [*WORLD.old["t"], (None, 3), (0, 0)]}
    duck = Duck(World(WORLD.old, {**WORLD.old, **more}))
    shrunk = {
        kind
        for kind, rel in SAMPLES.items()
        if duck.bag(at(rel, End.OLD)) - duck.bag(at(rel, End.NEW))
    }
    assert {Aggregate, Top} <= shrunk
    assert not any(monotone(SAMPLES[kind]) for kind in shrunk)


def types(rel: Rel) -> dict[str, str]:
    return dict.fromkeys(rel.columns, "int")


UNKNOWN: dict[str, Callable[[Rel], object]] = {
    "derivative": lambda rel: differentiate(rel, WORLD.changed),
    "pruning": lambda rel: prune(rel, frozenset(rel.columns)),
    "simplifying": simplify,
    "rendering": Renderer(lambda s: s.source),
    "line in EXPLAIN": lambda rel: tree((Stage("stage:0", rel, Bag(), ()),), {}, {}),
    "monotone": monotone,
    "settles": settles,
    "aligning": lambda rel: align_types(rel, types),
    "unstable": lambda rel: unstable(rel, types),
    "origins": lambda rel: origins(rel, "a"),
    "places": lambda rel: places(rel, "a"),
    "counting rows": RowBound(lambda scan: []),
    "reduction": lambda rel: Reduction._without_empty(Reduction(None), rel),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_an_operator_that_nothing_knows_does_not_pass_unseen(what: str) -> None:
    UNKNOWN[what](A)
    with pytest.raises((KeyError, AssertionError, TypeError)):
        UNKNOWN[what](Odd(A))


def test_an_operator_that_nothing_knows_is_restricted_from_above() -> None:
    odd = Odd(A)
    assert restrict(odd, "keys", (("a", "k"),)) == Restrict(odd, "keys", (("a", "k"),))
    assert estimated(odd, {"s": Size(3, 1)}) == Size(3, 1)
