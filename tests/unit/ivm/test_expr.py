"""Expressions: a closed set of nodes, what is asked of each, and how columns are replaced."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import reduce
from pathlib import Path

import pytest

import dt_jupyter
from dt_jupyter.ivm import (
    EXPRESSIONS,
    NULL,
    Between,
    Bracketed,
    Call,
    Case,
    Cast,
    Column,
    Element,
    Expr,
    Filter,
    Infix,
    InList,
    Literal,
    Postfix,
    Prefix,
    Raw,
    Reference,
    Scan,
    SortOrder,
    case,
    chain,
    col,
    equality,
    equivalent,
    expr,
    innermost_calls,
    with_results,
)
from dt_jupyter.ivm.continuity import decider_in, only_null_tests
from dt_jupyter.model import quote
from tests.unit.expressions import read, read_term

A, B, ONE = col("a"), col("b"), Literal("1")
SAMPLES: dict[type[Expr], tuple[Expr, str]] = {
    Column: (A, "`a`"),
    Literal: (ONE, "1"),
    Call: (Call("F", (A, B), distinct=True), "F(DISTINCT `a`, `b`)"),
    Cast: (Cast(A, "INT", "TRY_CAST"), "TRY_CAST(`a` AS INT)"),
    Case: (
        Case(ONE, ((A, B), (B, ONE)), A),
        "CASE 1 WHEN `a` THEN `b` WHEN `b` THEN 1 ELSE `a` END",
    ),
    Infix: (Infix(A, "IS DISTINCT FROM", B), "`a` IS DISTINCT FROM `b`"),
    Prefix: (Prefix("-", Prefix("-", A)), "- -`a`"),
    Postfix: (Postfix(A, "IS NULL"), "`a` IS NULL"),
    InList: (InList(A, (ONE, B)), "`a` IN (1, `b`)"),
    Between: (Between(A, ONE, B), "`a` BETWEEN 1 AND `b`"),
    Bracketed: (Bracketed(A), "(`a`)"),
    Element: (Element(A, B), "`a`[`b`]"),
    SortOrder: (
        SortOrder(A, descending=True, nulls_first=True), "`a` DESC NULLS FIRST",
    ),
    Reference: (Reference("t", "n", "`n`"), "t.`n`"),
    Raw: (Raw(("EXTRACT(YEAR FROM ", A, ") + ", B)), "EXTRACT(YEAR FROM `a`) + `b`"),
}  # fmt: skip
KINDS = pytest.mark.parametrize("kind", EXPRESSIONS)
DEPTH = 10_000


def kinds(of: type[Expr] = Expr) -> Iterator[type[Expr]]:
    for found in of.__subclasses__():
        if found.__module__.startswith("dt_jupyter."):
            yield found
        yield from kinds(found)


@dataclass(frozen=True, eq=False)
class Odd(Expr):
    """A node that does not say how it is printed."""

    value: Expr


# -- every class ----------------------------------------------------------------------------------


def test_every_class_of_the_package_is_in_the_list() -> None:
    assert set(kinds()) == set(EXPRESSIONS) == set(SAMPLES)


def test_a_class_without_a_printer_does_not_pass_unseen() -> None:
    for ask in (lambda e: e.sql(quote), lambda e: e.columns, lambda e: e.renamed({}), hash):
        with pytest.raises(KeyError, match="Odd"):
            ask(Odd(A))


@KINDS
def test_a_node_prints_what_it_is_made_of(kind: type[Expr]) -> None:
    e, text = SAMPLES[kind]
    assert type(e) is kind
    assert e.sql(quote) == text
    assert e.columns == {c for c in "ab" if f"`{c}`" in text}
    assert (e.column == "a") is (kind is Column)
    own = [v for f in fields(e) for v in flat(getattr(e, f.name))]
    assert sorted(map(repr, own)) == sorted(map(repr, e.children))


def flat(value: object) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from flat(part)


@KINDS
def test_a_node_is_made_again_of_other_children(kind: type[Expr]) -> None:
    e, text = SAMPLES[kind]
    again = e.with_children(e.children)
    assert (type(again), again) == (kind, e)
    renamed = e.renamed({"a": "x", "b": "y"})
    assert type(renamed) is kind
    assert renamed.sql(quote) == text.replace("`a`", "`x`").replace("`b`", "`y`")
    assert renamed.renamed({"x": "a", "y": "b"}) == e
    assert e.matches(renamed, lambda i, j: (i, j) in {("a", "x"), ("b", "y")})
    assert not e.matches(renamed, lambda i, j: False) or not e.columns


def test_expressions_that_print_the_same_are_equal() -> None:
    made, written = equality(A, B), expr("{a} = {b}", a=A, b=B)
    assert type(made) is not type(written)
    assert made == written
    assert {made: 1}[written] == 1
    assert made != equality(B, A)
    assert made != expr("a = b"), "a column is no text"
    assert equivalent(Filter(S, (made,)), Filter(S, (written,)))
    assert not equivalent(Filter(S, (made,)), Filter(S, (equality(A, A),)))


S = Scan("s", (("a", "a"), ("b", "b")))


# -- columns replaced -----------------------------------------------------------------------------

OR = read("a OR b")


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("x", "a OR b"),
        ("x AND c", "(a OR b) AND c"),
        ("NOT x", "NOT (a OR b)"),
        ("x = c", "(a OR b) = c"),
        ("f(x, c)", "F((a OR b), c)"),
        ("(x)", "((a OR b))"),
        ("x IS NULL", "(a OR b) IS NULL"),
        ("CASE WHEN x THEN c END", "CASE WHEN (a OR b) THEN c END"),
        ("CAST(x AS INT)", "CAST((a OR b) AS INT)"),
        ("c[x]", "c[(a OR b)]"),
        ("x BETWEEN c AND x", "(a OR b) BETWEEN c AND (a OR b)"),
        ("c + y", "c + c"),
    ],
)
def test_an_expression_for_a_column_is_in_brackets(text: str, replaced: str) -> None:
    assert read(text).replaced({"x": OR, "y": col("c")}).sql(str) == replaced


@pytest.mark.parametrize(
    ("text", "descending", "nulls_first"),
    [
        ("x", False, True),
        ("x ASC", False, True),
        ("x DESC", True, False),
        ("x NULLS LAST", False, False),
        ("x ASC NULLS LAST", False, False),
        ("x DESC NULLS FIRST", True, True),
    ],
)
def test_a_term_says_its_direction(text: str, descending: bool, nulls_first: bool) -> None:
    term = read_term(text)
    assert isinstance(term, SortOrder)
    assert (term.descending, term.nulls_first) == (descending, nulls_first)
    assert term.sql(str) == text


def test_a_term_of_an_order_stays_one() -> None:
    term = read_term("x DESC NULLS FIRST").replaced({"x": OR})
    assert isinstance(term, SortOrder)
    assert term.sql(str) == "(a OR b) DESC NULLS FIRST"


# -- depth ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["AND", "OR", "+"])
def test_a_long_chain_does_not_overflow(op: str) -> None:
    assert sys.getrecursionlimit() <= DEPTH
    parts = [col(f"c{i}") for i in range(DEPTH)]
    one, other = (reduce(lambda a, b: Infix(a, op, b), parts) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert len(one.columns) == DEPTH
    assert one.sql(str) == f" {op} ".join(c.sql(str) for c in parts)
    assert one.renamed({"c0": "x"}).sql(str).startswith(f"x {op} c1 ")
    assert one.replaced({"c0": OR}).sql(str).startswith(f"(a OR b) {op} c1 ")
    assert one.matches(other, lambda i, j: i == j)
    assert len(chain(one, frozenset({op}))) == DEPTH
    assert decider_in(one, frozenset({"c0"})) == (None if op == "+" else "a condition")


def test_deep_brackets_do_not_overflow() -> None:
    deep: Expr = A
    for _ in range(DEPTH):
        deep = Bracketed(deep)
    assert deep.columns == {"a"}
    assert deep.renamed({"a": "b"}).sql(str).strip("()") == "b"
    assert innermost_calls(deep, frozenset({"f"})) == ()


def test_a_long_condition_is_judged() -> None:
    tests = [Postfix(col(f"c{i}"), "IS NULL") for i in range(DEPTH)]
    assert only_null_tests(reduce(lambda a, b: Infix(a, "AND", b), tests), frozenset({"c1"}))


# -- calls of the user's functions ----------------------------------------------------------------

NAMES = frozenset({"f", "g"})


@pytest.mark.parametrize(
    ("text", "innermost"),
    [
        ("f(a)", ["f(a)"]),
        ("`f`(a) + F(a)", ["f(a)", "f(a)"]),
        ("f(g(a), b)", ["g(a)"]),
        ("COALESCE(f(a), g())", ["f(a)", "g()"]),
        ("CASE WHEN f(a) > 1 THEN 'f(b)' END", ["f(a)"]),
        ("transform(c, x -> g(x + a))", ["g(x + a)"]),
        ("h(f(a, ','))", ["f(a, ',')"]),
        ("upper(a)", []),
    ],
)
def test_innermost_calls_are_found(text: str, innermost: list[str]) -> None:
    calls = innermost_calls(read(text), NAMES)
    assert [c.sql(str) for c in calls] == innermost


def test_calls_are_replaced_by_columns() -> None:
    e = read("f(a) + f(g(a)) + `f`(a)")
    results = {call: call.function.upper() for call in innermost_calls(e, NAMES)}
    once = with_results(e, results)
    assert once.sql(quote) == "`F` + F(`G`) + `F`"
    assert [c.sql(str) for c in innermost_calls(once, NAMES)] == ["f(G)"]


# -- nobody takes an expression apart -------------------------------------------------------------


def test_only_its_own_module_reads_what_an_expression_prints() -> None:
    package = Path(dt_jupyter.__file__).parent
    modules = {f.relative_to(package).as_posix(): f for f in package.rglob("*.py")}
    trees = {name: ast.parse(file.read_text("utf-8")) for name, file in modules.items()}
    readers = {name for name, tree in trees.items() if has_expressions(tree) and reads_text(tree)}
    assert has_expressions(trees["ivm/unstable.py"])
    assert reads_text(trees["ivm/expr.py"])
    assert readers == set()


def has_expressions(module: ast.Module) -> bool:
    """Whether it imports a name of nodes, or what makes them."""
    known = {"Expr", "expr", *(k.__name__ for k in EXPRESSIONS)}
    imports = (n for n in ast.walk(module) if isinstance(n, ast.ImportFrom))
    ours = (n for n in imports if (n.module or "").startswith("dt_jupyter.ivm"))
    return any(a.name in known for n in ours for a in n.names)


def reads_text(module: ast.Module) -> bool:
    read = {n.attr for n in ast.walk(module) if isinstance(n, ast.Attribute)}
    return not read.isdisjoint({"printed", "pieces", "_text"})


def test_nobody_recognises_an_expression_by_its_text() -> None:
    package = Path(dt_jupyter.__file__).parent
    modules = {f.relative_to(package).as_posix(): f for f in package.rglob("*.py")}
    trees = {name: ast.parse(file.read_text("utf-8")) for name, file in modules.items()}
    judging = {n for n, tree in trees.items() if has_expressions(tree) and judges_text(tree)}
    assert judging == set()


@pytest.mark.parametrize(
    ("text", "judges"),
    [
        ("e.sql(str).startswith('-')", True),
        ("x = e.sql(quote)\nif 'AVG(' in x: pass", True),
        ("re.search('a', e.sql(quote))", True),
        ("f(e.sql(quote))", False),
        ("x = e.sql(quote)\ny = f'{x} AS a'", False),
    ],
)
def test_what_judges_a_text(text: str, judges: bool) -> None:
    assert judges_text(ast.parse(text)) is judges


LOOKS = frozenset({
    "startswith", "endswith", "find", "index", "partition", "rpartition", "split", "count",
    "removeprefix", "removesuffix",
})  # fmt: skip
MATCHES = frozenset({"search", "match", "fullmatch", "findall", "finditer", "parse_one"})


def judges_text(module: ast.Module) -> bool:
    """Whether what an expression prints is compared, searched or parsed."""
    named = {
        t.id
        for n in ast.walk(module)
        if isinstance(n, ast.Assign) and prints(n.value, set())
        for t in n.targets
        if isinstance(t, ast.Name)
    }
    return any(judges(n, named) for n in ast.walk(module))


def judges(node: ast.AST, named: set[str]) -> bool:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=[*others]):
            tests = any(isinstance(o, ast.In | ast.NotIn) for o in ops)
            return any(prints(o, named) for o in (others if tests else (left, *others)))
        case ast.Attribute(value=value, attr=attr):
            return attr in LOOKS and prints(value, named)
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args):
            return name in MATCHES and any(prints(a, named) for a in args)
    return False


def prints(node: ast.AST, named: set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="sql"), args=[ast.Name(id="str" | "quote")]):
            return True
        case ast.Name(id=name):
            return name in named
    return False


def test_null_is_one() -> None:
    assert read("NULL") == NULL
    assert case(read("a IS NULL"), NULL) == read("CASE WHEN a IS NULL THEN NULL END")
