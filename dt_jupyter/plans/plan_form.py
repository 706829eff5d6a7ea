"""A plan of Spark's as a value that is equal for two plans where they give the same rows: what only
names a column anew, or stands in another place of a conjunction, is not in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dt_jupyter.plans.join_blocks import Form, JoinBlocks, digest
from dt_jupyter.plans.leaf_marks import LeafMarks
from dt_jupyter.plans.leaf_numbers import number_leaves
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_document import read_java_plan
from dt_jupyter.plans.plan_facts import (
    EXISTENCE,
    ONE_SIDED,
    conditions,
    existence_marks,
    plan_columns,
)
from dt_jupyter.plans.plan_tree import SparkNode, Unknown
from dt_jupyter.spark import as_active, confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ADDING = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{name}"
    for name in (
        "InferFiltersFromConstraints",
        "InferFiltersFromGenerate",
        "InferWindowGroupLimit",
        "MergeSubplans",
        "OptimizeIn",
    )
)
_MUTE = frozenset({
    "exprId", "resultId", "qualifier", "metadata", "origin", "nullable",
    "containsNull", "valueContainsNull",
    "hints", "hint", "nonInheritableMetadataKeys", "explicitMetadata", "replacement", "stats",
    "mayHaveCountBug", "needSingleJoin", "generatorOutput", "unrequiredChildIndex", "output",
    "originStats", "originConstraints", "statsOpt",
})  # fmt: skip
"""Fields by which the rows of a plan do not differ."""
_MOVABLE = frozenset({
    "EqualTo", "EqualNullSafe", "And", "Or", "Add", "Multiply", "BitwiseAnd", "BitwiseOr",
})  # fmt: skip
_MIRRORED = {"GreaterThan": "LessThan", "GreaterThanOrEqual": "LessThanOrEqual"}
_EXTENDING = frozenset({"LeftOuter", "FullOuter", "LeftSingle"})
"""Joins whose columns are NULL where there is no partner."""
_WITHOUT_SOURCE = frozenset({"OneRowRelation", "Range"})
_LAMBDA = "λ"
_CHILD = "child"
"""What stands in a field for a child, which stands among the children."""
_COLUMN = re.compile(r"#\d+L?")
_UNORDERED = frozenset({
    "Sum", "Count", "Average", "Min", "Max", "StddevSamp", "StddevPop", "VarianceSamp",
    "VariancePop", "BoolAnd", "BoolOr",
})  # fmt: skip
"""Aggregates of rows in any order."""
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
    """Whether two analysed plans have the same form; not where one has none."""
    marks = LeafMarks()
    try:
        return bool(optimized_form(spark, one, marks) == optimized_form(spark, other, marks))
    except NoForm:
        return False


def optimized_form(spark: SparkSession, analysed: Any, marks: LeafMarks | None = None) -> Any:
    """The form of what Spark's optimizer makes of an analysed plan of classic Spark, without the
    rules that only add to it what follows from it. Tables are told from each other by `marks`, or
    by the marks of their columns. NoForm where Spark does not tell all of it."""
    plan = _optimized(spark, analysed)
    return plan_form(read_java_plan(spark, plan), marks.of(plan) if marks is not None else None)


def _optimized(spark: SparkSession, analysed: Any) -> Any:
    session: Any = spark
    with as_active(spark), confs(spark, {"spark.sql.optimizer.excludedRules": _ADDING}):
        return session._jsparkSession.sessionState().optimizer().execute(analysed)


def plan_form(
    plan: SparkNode, marks: Mapping[int, int] | None = None
) -> tuple[Form, tuple[Form, ...]]:
    """The rows of a plan, and each of its columns in order."""
    alike = _Reader(marks)
    alike.read(plan)
    read = _Reader(marks, number_leaves(plan, alike.forms)).read(plan)
    return read.rows, tuple(read.columns[c] for c in _outputs(plan))


def _outputs(plan: SparkNode) -> tuple[int, ...]:
    """The columns of an operator, by number."""
    return tuple(n.id for n in plan_columns(plan))


class _Grouped(dict[int, Form]):
    """The columns of groups: `rows` are these, and `below` the columns of what is grouped."""

    def __init__(self, columns: Mapping[int, Form], rows: Form, below: Mapping[int, Form]) -> None:
        super().__init__(columns)
        self.rows, self.below = rows, below


@dataclass
class _Reader:
    """Reads a tree from below; each leaf is told from others like it by its number, those in
    subqueries by the order of reading. `marks` say which relation a leaf is, by its first column.
    `forms` are the rows of the operators, by `id`, `shared` the columns and the form of each
    expression by its own and their `id`."""

    marks: Mapping[int, int] | None = None
    numbers: Mapping[int, int] | None = None
    seen: Counter[Form] = field(default_factory=Counter)
    forms: dict[int, Form] = field(default_factory=dict)
    blocks: JoinBlocks = field(default_factory=JoinBlocks)
    shared: dict[tuple[int, int], tuple[Mapping[int, Form], Form]] = field(default_factory=dict)

    def read(self, plan: SparkNode) -> _Read:
        found = self._read(plan)
        self.forms[id(plan)] = found.rows
        return found

    def _read(self, plan: SparkNode) -> _Read:
        if plan.unknown and (plan.children or plan.kind == "LocalRelation"):
            raise NoForm(f"what {plan.kind} holds")
        if not plan.children:
            return self._leaf(plan)
        below = [self.read(c) for c in plan.children]
        known = {i: f for b in below for i, f in b.columns.items()}
        rule = _RULES.get(plan.kind)
        if rule is not None:
            return rule(self, plan, below, known)
        if plan.kind in _SAME:
            return below[0]
        rows = digest(plan.kind, self._fields(plan, known), [b.rows for b in below])
        return self._made(plan, rows, known)

    def _made(self, plan: SparkNode, rows: Form, known: Mapping[int, Form]) -> _Read:
        """Columns of an operator's own, by their places."""
        made = [i for i in _outputs(plan) if i not in known]
        own = {i: digest(rows, at) for at, i in enumerate(made)}
        return _Read(rows, {**known, **own})

    def _leaf(self, plan: SparkNode) -> _Read:
        outputs = plan.trees("output") if "output" in plan.fields else ()
        by_place = plan.kind == "LocalRelation"  # its columns may have any names
        names = [str(i) if by_place else n.name for i, n in enumerate(outputs)]
        named = [(n.fields["dataType"], n.fields.get("metadata")) for n in outputs]
        what = digest(plan.kind, names, named, self._fields(plan, {}), self._mark(plan, outputs))
        rows = digest(what, self._number(plan, what))
        return _Read(rows, {n.id: digest(rows, m) for n, m in zip(outputs, names, strict=True)})

    def _mark(self, plan: SparkNode, outputs: tuple[SparkNode, ...]) -> int | None:
        if self.marks is None or plan.kind in _WITHOUT_SOURCE:
            return None
        if not outputs or outputs[0].id not in self.marks:
            raise NoForm(f"what {plan.kind} reads")
        return self.marks[outputs[0].id]

    def _number(self, plan: SparkNode, what: Form) -> Any:
        if self.numbers is None:
            return ""
        if id(plan) in self.numbers:
            return self.numbers[id(plan)]
        self.seen[what] += 1
        return ("subquery", self.seen[what])

    def _project(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        (only,) = below
        made = {n.id: self.form(n, known) for n in plan.trees("projectList")}
        return _Read(only.rows, {**known, **made})

    def _filter(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        return _Read(self.blocks.keep(below[0].rows, self._tests(plan, known)), known)

    def _tests(self, plan: SparkNode, known: Mapping[int, Form]) -> set[Form]:
        condition = plan.tree("condition")
        return {self.form(c, known) for c in conditions(condition)} if condition else set()

    def _join(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        tests, kind = self._tests(plan, known), plan.word("joinType")
        left, right = below
        if kind in ("Inner", "Cross"):
            self._match(plan, below, right.columns)
            return _Read(self.blocks.join(left.rows, right.rows, tests), known)
        if kind in ONE_SIDED:
            test = digest(kind, sorted(tests), right.rows)
            return _Read(self.blocks.keep(left.rows, [test]), left.columns)
        if kind == EXISTENCE:
            test = digest(kind, sorted(tests), right.rows)
            marks = dict.fromkeys((m.id for m in existence_marks(plan)), test)
            return _Read(left.rows, {**left.columns, **marks})
        if kind == "RightOuter":
            kind, left, right = "LeftOuter", right, left
        rows = digest("Join", kind, sorted(tests), left.rows, right.rows)
        if kind in _EXTENDING:
            outer = known if kind == "FullOuter" else right.columns
            columns = {i: digest(rows, f) for i, f in outer.items()}
            if kind == "LeftOuter" and left is below[0]:
                self._match(plan, below, columns)
            known = {**known, **columns}
        return _Read(rows, known)

    def _match(self, plan: SparkNode, below: list[_Read], right: Mapping[int, Form]) -> None:
        """Notes which columns of the right side are, where they are anything, those of the left."""
        condition, left = plan.tree("condition"), below[0].columns
        for test in conditions(condition) if condition else ():
            if test.kind == "EqualTo" and all(
                c.kind == "AttributeReference" for c in test.children
            ):
                for one, other in (test.children, test.children[::-1]):
                    if one.id in left and other.id in right:
                        self.blocks.matched.add((left[one.id], right[other.id]))

    def _aggregate(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        given = plan.trees("groupingExpressions")
        keys = {self.form(k, known) for k in given if k.kind != "Literal"} or {"" for _ in given}
        rows = digest("Aggregate", sorted(keys), below[0].rows)
        grouped = _Grouped({i: digest(rows, f) for i, f in known.items()}, rows=rows, below=known)
        made = {n.id: self.form(n, grouped) for n in plan.trees("aggregateExpressions")}
        return _Read(rows, made)

    def _window(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        rows = below[0].rows
        made = {n.id: digest(rows, self.form(n, known)) for n in plan.trees("windowExpressions")}
        return _Read(rows, {**known, **made})

    def _distinct(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        shown = {i: known[i] for i in _outputs(plan.child)}
        rows = digest("Aggregate", sorted(set(shown.values())), below[0].rows)
        return _Read(rows, {i: digest(rows, f) for i, f in shown.items()})

    def _set(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        """A set operation: its columns are those of its first side, by place."""
        sides = [
            [b.rows, [b.columns[i] for i in _outputs(c)]]
            for b, c in zip(below, plan.children, strict=True)
        ]
        if plan.kind == "Union":
            sides.sort()
        rows = digest(plan.kind, plan.fields.get("isAll"), sides)
        outputs = _outputs(plan)
        return _Read(rows, {i: digest(rows, at) for at, i in enumerate(outputs)})

    def _sort(self, plan: SparkNode, below: list[_Read], known: Mapping[int, Form]) -> _Read:
        terms = list(dict.fromkeys(self.form(n, known) for n in plan.trees("order")))
        return _Read(digest("Sort", plan.fields["global"], terms, below[0].rows), known)

    # -- expressions ------------------------------------------------------------------------------

    def form(self, node: SparkNode, known: Mapping[int, Form]) -> Form:
        """Of an expression over these columns; one that several share is read once."""
        key = (id(node), id(known))
        if key not in self.shared:
            self.shared[key] = (known, self._form(node, known))
        return self.shared[key][1]

    def _form(self, node: SparkNode, known: Mapping[int, Form]) -> Form:
        if node.kind == "AttributeReference":
            return known.get(node.id, f"#{node.name}")
        if node.kind == "AggregateExpression" and isinstance(known, _Grouped):
            return digest(known.rows, self.form(node, known.below))
        if node.kind == "NamedLambdaVariable":
            return known[node.id]
        if node.kind == "LambdaFunction":
            return self._lambda(node, known)
        if node.kind in ("Alias", "PipeExpression", "KnownNotNull"):
            return self.form(node.child, known)
        if node.kind == "Coalesce":
            return self._coalesce(node, known)
        if node.kind == "WindowExpression" and _is_whole(node):
            return self._over_all(node, known)
        if node.kind in ("And", "Or"):
            parts = sorted({self.form(n, known) for n in _parts(node, node.kind)})
            return parts[0] if len(parts) == 1 else digest(node.kind, parts)
        inner = [self.form(c, known) for c in node.children]
        kind = _MIRRORED.get(node.kind, node.kind)
        if node.kind in _MIRRORED:
            inner.reverse()
        if node.kind in _MOVABLE:
            inner.sort()
        return digest(kind, self._fields(node, known), inner)

    def _coalesce(self, node: SparkNode, known: Mapping[int, Form]) -> Form:
        first, *rest = (self.form(c, known) for c in node.children)
        rest = [c for c in rest if (first, c) not in self.blocks.matched]
        return digest("Coalesce", first, rest) if rest else first

    def _over_all(self, node: SparkNode, known: Mapping[int, Form]) -> Form:
        """An aggregate of a whole partition, whose rows may have any order."""
        call, spec = node.children
        partition = sorted({self.form(p, known) for p in spec.trees("partitionSpec")})
        return digest("Whole", self.form(call, known), partition)

    def _lambda(self, node: SparkNode, known: Mapping[int, Form]) -> Form:
        body, *arguments = node.children
        level = sum(str(f).startswith(_LAMBDA) for f in known.values())
        own = {a.id: f"{_LAMBDA}{level + i}" for i, a in enumerate(arguments)}
        return digest("Lambda", len(own), self.form(body, {**known, **own}))

    def _fields(self, node: SparkNode, known: Mapping[int, Form]) -> list[Any]:
        """What an operator or an expression says besides its children."""
        fields = ((k, v) for k, v in node.fields.items() if k not in _MUTE)
        below = {id(c) for c in node.children}
        return [[k, self._value(v, known, below)] for k, v in sorted(fields)]

    def _value(self, value: Any, known: Mapping[int, Form], below: Container[int]) -> Any:
        if isinstance(value, list):
            return [self._value(v, known, below) for v in value]
        if isinstance(value, dict):
            return {k: self._value(v, known, below) for k, v in value.items() if k not in _MUTE}
        if isinstance(value, SparkNode):
            return _CHILD if id(value) in below else self._node(value, known)
        return _COLUMN.sub("#", value.text) if isinstance(value, Unknown) else value

    def _node(self, node: SparkNode, known: Mapping[int, Form]) -> Any:
        if not node.is_plan:
            return self.form(node, known)
        found = self.read(node)
        return [found.rows, [found.columns[i] for i in _outputs(node)]]


def _is_whole(window: SparkNode) -> bool:
    """Whether a window is an aggregate of all rows of a partition that their order changes
    nothing of, but for the last digit of a floating sum."""
    call, spec = window.children
    *_, frame = spec.children
    bounds = [b.kind for b in frame.children]
    ends = ["UnboundedPreceding", "UnboundedFollowing"]
    unordered = call.kind == "AggregateExpression" and call.child.kind in _UNORDERED
    return unordered and (bounds == ends or not spec.trees("orderSpec"))


def _parts(node: SparkNode, kind: str) -> list[SparkNode]:
    if node.kind != kind:
        return [node]
    return [p for c in node.children for p in _parts(c, kind)]


_Rule = Callable[[_Reader, SparkNode, list[_Read], Mapping[int, Form]], _Read]
_RULES: dict[str, _Rule] = {
    "Project": _Reader._project, "Filter": _Reader._filter, "Join": _Reader._join,
    "Aggregate": _Reader._aggregate, "Window": _Reader._window, "Distinct": _Reader._distinct,
    "Union": _Reader._set, "Intersect": _Reader._set, "Except": _Reader._set,
    "Sort": _Reader._sort,
}  # fmt: skip
