"""A plan of Spark's as a value that is equal for two plans where they give the same rows: what only
names a column anew, or stands in another place of a conjunction, is not in it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_facts import ONE_SIDED
from dt_jupyter.plans.plan_tree import SparkNode, read_plan, tree_of
from dt_jupyter.spark import confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ADDING = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{name}"
    for name in (
        "InferFiltersFromConstraints",
        "InferFiltersFromGenerate",
        "InferWindowGroupLimit",
        "OptimizeIn",
    )
)
Form = str
"""The digest of an operator or an expression with all that is below it."""
_MUTE = frozenset({
    "class", "num-children", "exprId", "resultId", "qualifier", "metadata", "origin", "nullable",
    "hints", "hint", "nonInheritableMetadataKeys", "explicitMetadata", "replacement", "stats",
    "mayHaveCountBug", "needSingleJoin", "generatorOutput", "unrequiredChildIndex", "output",
})  # fmt: skip
"""Fields by which the rows of a plan do not differ."""
_MOVABLE = frozenset({
    "EqualTo", "EqualNullSafe", "And", "Or", "Add", "Multiply", "BitwiseAnd", "BitwiseOr",
})  # fmt: skip
_MIRRORED = {"GreaterThan": "LessThan", "GreaterThanOrEqual": "LessThanOrEqual"}
_EXTENDING = frozenset({"LeftOuter", "FullOuter", "LeftSingle"})
"""Joins whose columns are NULL where there is no partner."""
_SILENT = {"LocalRelation": "rows", "Expand": "projections", "InSet": "hset"}
"""What the JSON of a plan says of these is not all; without the field nothing is known."""
_LAMBDA = "λ"
_SAME = frozenset({
    "SubqueryAlias", "View", "LocalLimit", "ResolvedHint", "Repartition", "RepartitionByExpression",
})  # fmt: skip
"""Operators that change no row."""


@dataclass(frozen=True)
class _Read:
    """The rows of an operator, and what each of its columns is."""

    rows: Form
    columns: Mapping[int, Form]


def same_form(spark: SparkSession, one: Any, other: Any) -> bool:
    """Whether two analysed plans over marked tables have the same form; not where one has none."""
    try:
        return bool(optimized_form(spark, one) == optimized_form(spark, other))
    except NoForm:
        return False


def optimized_form(spark: SparkSession, analysed: Any) -> Any:
    """The form of what Spark's optimizer makes of an analysed plan of classic Spark, without the
    rules that only add to it what follows from it. Tables are told from each other by what
    `standing_tables` notes. NoForm where Spark does not tell all of it."""
    session: Any = spark
    with confs(spark, {"spark.sql.optimizer.excludedRules": _ADDING}):
        plan = session._jsparkSession.sessionState().optimizer().execute(analysed)
    tries = plan.toString().count("try_")  # the JSON does not tell TRY_CAST from CAST
    return plan_form(read_plan(plan.toJSON())), tries


def plan_form(plan: SparkNode) -> tuple[Form, tuple[Form, ...]]:
    """The rows of a plan, and each of its columns in order."""
    found = _Reader()
    read = found.read(plan)
    return read.rows, tuple(read.columns[c] for c in _outputs(plan))


def _outputs(plan: SparkNode) -> tuple[int, ...]:
    """The columns of an operator, by number."""
    for name in ("output", "projectList", "aggregateExpressions"):
        if name in plan.fields:
            return tuple(n.id for n in plan.trees(name))
    extra = {"Generate": "generatorOutput", "Window": "windowExpressions"}.get(plan.kind)
    if extra is not None:
        return (*_outputs(plan.child), *(n.id for n in plan.trees(extra)))
    if plan.kind == "Join":
        kind = plan.word("joinType")
        sides = plan.children[:1] if kind in ONE_SIDED else plan.children
        mark = (plan.fields["joinType"]["exists"],) if kind == "ExistenceJoin" else ()
        return (*(c for s in sides for c in _outputs(s)), *(m for m in mark))
    return _outputs(plan.child)


@dataclass
class _Reader:
    """Reads a tree from below; each leaf is told from others like it by the order of reading."""

    seen: Counter[Form] = field(default_factory=Counter)

    def read(self, plan: SparkNode) -> _Read:
        if plan.kind in _SILENT and not plan.fields.get(_SILENT[plan.kind]):
            raise NoForm(f"what {plan.kind} holds")
        if not plan.children and plan.kind not in ("CTERelationRef",):
            return self._leaf(plan)
        below = [self.read(c) for c in plan.children]
        known = {i: f for b in below for i, f in b.columns.items()}
        rule = _RULES.get(plan.kind)
        if rule is not None:
            return rule(self, plan, below, known)
        if plan.kind in _SAME:
            return below[0]
        rows = _digest(plan.kind, self._fields(plan, known), [b.rows for b in below])
        return self._made(plan, rows, known)

    def _made(self, plan: SparkNode, rows: Form, known: Mapping[int, Form]) -> _Read:
        """Columns of an operator's own, by their places."""
        own = {i: _digest(rows, at) for at, i in enumerate(_outputs(plan)) if i not in known}
        return _Read(rows, {**known, **own})

    def _leaf(self, plan: SparkNode) -> _Read:
        outputs = plan.trees("output") if "output" in plan.fields else ()
        named = [(n.name, n.fields["dataType"], n.fields.get("metadata")) for n in outputs]
        other = {k: v for k, v in plan.fields.items() if k not in _MUTE and k != "output"}
        what = _digest(plan.kind, named, other)
        self.seen[what] += 1
        rows = _digest(what, self.seen[what])
        return _Read(rows, {n.id: _digest(rows, n.name) for n in outputs})

    def _project(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        (only,) = below
        made = {n.id: self.form(n, known) for n in plan.trees("projectList")}
        return _Read(only.rows, {**known, **made})

    def _filter(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        condition = plan.tree("condition")
        assert condition is not None
        rows = _digest("Filter", self.form(condition, known), below[0].rows)
        return _Read(rows, known)

    def _join(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        condition = plan.tree("condition")
        test = self.form(condition, known) if condition is not None else ""
        kind = plan.word("joinType")
        left, right = below
        if kind == "RightOuter":
            kind, left, right = "LeftOuter", right, left
        rows = _digest("Join", "Inner" if kind == "Cross" else kind, test, left.rows, right.rows)
        if kind in _EXTENDING:
            outer = known if kind == "FullOuter" else right.columns
            known = {**known, **{i: _digest(rows, f) for i, f in outer.items()}}
        if kind in ONE_SIDED:
            known = left.columns
        if kind == "ExistenceJoin":
            mark = plan.fields["joinType"]["exists"]
            known = {**left.columns, **{i: _digest(rows) for i in _ids(mark)}}
        return _Read(rows, known)

    def _aggregate(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        given = plan.trees("groupingExpressions")
        keys = {self.form(k, known) for k in given if k.kind != "Literal"} or {"" for _ in given}
        rows = _digest("Aggregate", sorted(keys), below[0].rows)
        made = {
            n.id: _digest(rows, self.form(n, known)) for n in plan.trees("aggregateExpressions")
        }
        return _Read(rows, made)

    def _window(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        rows = below[0].rows
        made = {n.id: _digest(rows, self.form(n, known)) for n in plan.trees("windowExpressions")}
        return _Read(rows, {**known, **made})

    def _distinct(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        shown = {i: known[i] for i in _outputs(plan.child)}
        rows = _digest("Aggregate", sorted(set(shown.values())), below[0].rows)
        return _Read(rows, {i: _digest(rows, f) for i, f in shown.items()})

    def _set(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        """A set operation: its columns are those of its first side, by place."""
        sides = [
            [b.rows, [b.columns[i] for i in _outputs(c)]]
            for b, c in zip(below, plan.children, strict=True)
        ]
        rows = _digest(plan.kind, plan.fields.get("isAll"), sides)
        outputs = _outputs(plan)
        return _Read(rows, {i: _digest(rows, at) for at, i in enumerate(outputs)})

    def _sort(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        terms = list(dict.fromkeys(self.form(n, known) for n in plan.trees("order")))
        return _Read(_digest("Sort", plan.fields["global"], terms, below[0].rows), known)

    # -- expressions ------------------------------------------------------------------------------

    def form(self, node: SparkNode, known: Mapping[int, Form]) -> Form:
        if node.kind == "AttributeReference":
            return known.get(node.id, f"#{node.name}")
        if node.kind == "NamedLambdaVariable":
            return known[node.id]
        if node.kind == "LambdaFunction":
            return self._lambda(node, known)
        if node.kind in _SILENT or node.kind == "PivotFirst":
            raise NoForm(f"what {node.kind} holds")
        if node.kind in ("Alias", "PipeExpression", "KnownNotNull"):
            return self.form(node.child, known)
        if node.kind == "Coalesce" and len(node.children) == 1:
            return self.form(node.child, known)
        if node.kind in ("And", "Or"):
            parts = sorted({self.form(n, known) for n in _parts(node, node.kind)})
            return parts[0] if len(parts) == 1 else _digest(node.kind, parts)
        inner = [self.form(c, known) for c in node.children]
        kind = _MIRRORED.get(node.kind, node.kind)
        if node.kind in _MIRRORED:
            inner.reverse()
        if node.kind in _MOVABLE:
            inner.sort()
        return _digest(kind, self._fields(node, known), inner)

    def _lambda(self, node: SparkNode, known: Mapping[int, Form]) -> Form:
        body, *arguments = node.children
        level = sum(str(f).startswith(_LAMBDA) for f in known.values())
        own = {a.id: f"{_LAMBDA}{level + i}" for i, a in enumerate(arguments)}
        return _digest("Lambda", len(own), self.form(body, {**known, **own}))

    def _fields(self, node: SparkNode, known: Mapping[int, Form]) -> list[Any]:
        """What an operator or an expression says besides its children."""
        fields = ((k, v) for k, v in node.fields.items() if k not in _MUTE)
        return [[k, self._value(v, known)] for k, v in sorted(fields)]

    def _value(self, value: Any, known: Mapping[int, Form]) -> Any:
        if isinstance(value, list) and value and _is_tree(value[0]):
            return self._tree(tree_of(value), known)
        if isinstance(value, list):
            return [self._value(v, known) for v in value]
        if isinstance(value, dict):
            return {k: self._value(v, known) for k, v in value.items() if k not in _MUTE}
        return value

    def _tree(self, tree: SparkNode, known: Mapping[int, Form]) -> Any:
        if ".plans." not in str(tree.fields["class"]) and ".execution." not in str(
            tree.fields["class"]
        ):
            return self.form(tree, known)
        found = self.read(tree)
        return [found.rows, [found.columns[i] for i in _outputs(tree)]]


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict) and "num-children" in value


def _ids(mark: Any) -> Iterable[int]:
    nodes = mark if isinstance(mark, list) else [mark]
    return [n["exprId"]["id"] for n in nodes if isinstance(n, dict) and "exprId" in n]


def _parts(node: SparkNode, kind: str) -> list[SparkNode]:
    if node.kind != kind:
        return [node]
    return [p for c in node.children for p in _parts(c, kind)]


def _digest(*parts: Any) -> Form:
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


_Rule = Callable[[_Reader, SparkNode, list[_Read], Mapping[int, Form]], _Read]
_RULES: dict[str, _Rule] = {
    "Project": _Reader._project, "Filter": _Reader._filter, "Join": _Reader._join,
    "Aggregate": _Reader._aggregate, "Window": _Reader._window, "Distinct": _Reader._distinct,
    "Union": _Reader._set, "Intersect": _Reader._set, "Except": _Reader._set,
    "Sort": _Reader._sort,
}  # fmt: skip
