"""Spark's analysed plans as relations: the meaning of a query, by Spark's own reading of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from dt_jupyter.ivm import (
    NO_VALUE,
    Aggregate,
    Call,
    Case,
    Cast,
    ColumnType,
    Expr,
    Filter,
    Generate,
    Ids,
    Join,
    Literal,
    MatchKind,
    Prefix,
    Project,
    Refusal,
    Refused,
    Rel,
    RelationTypes,
    Rows,
    Scan,
    Split,
    Top,
    Union,
    Window,
    WindowCall,
    ask_for_rows,
    col,
    count_sides,
    has_all,
    join_fully,
    mark_partners,
    match,
    one_row_each,
    refuse,
    row_count,
    sample_condition,
    with_columns,
)
from dt_jupyter.plans.function_names import sql_function
from dt_jupyter.plans.group_reader import GroupReader, aggregate_calls_in, columns_of_calls
from dt_jupyter.plans.join_reader import (
    ReadPlan,
    compares_null,
    keep_others,
    not_in_pair,
    read_conjuncts,
    split_condition,
)
from dt_jupyter.plans.literal_sql import ddl_type
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_facts import plan_columns, view_source
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.plans.plan_tree import SparkNode, find_origin, place_refusals, read_facts
from dt_jupyter.plans.scalar_reader import ColumnValues
from dt_jupyter.plans.time_windows import TimeWindow
from dt_jupyter.plans.window_reader import read_window

_MOST_SETS = 1_024
_GENERATORS = {"Explode": "EXPLODE", "PosExplode": "POSEXPLODE", "Inline": "INLINE",
               "Stack": "STACK", "JsonTuple": "JSON_TUPLE"}  # fmt: skip


@dataclass
class RelationReader:
    """Reads one plan, whose subqueries are joins. `tables` are its sources by the marks of their
    columns, or by the names of the views that stand for them; `builtins` are Spark's functions,
    `functions` the user's."""

    tables: Mapping[str, PlanSource]
    builtins: Collection[str]
    functions: Collection[str] = ()
    ids: Ids = field(default_factory=Ids)
    _ctes: dict[int, SparkNode] = field(default_factory=dict)
    _columns: dict[str, dict[str, ColumnType]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scalars = ColumnValues(self.builtins, self.functions)
        self.types = RelationTypes(self._columns.__getitem__)

    def read(self, plan: SparkNode) -> Rel:
        """The rows of a plan; Refused where an operator or an expression has no form."""
        try:
            return self._read(plan).exact
        except NoForm as e:
            raise refuse(Refusal.EXPRESSION, what=e.what) from None

    def _read(self, plan: SparkNode) -> ReadPlan:
        rule = _RULES.get(plan.kind)
        if rule is None:
            raise refuse(Refusal.EXPRESSION, what=f"the operator {plan.kind}")
        return rule(self, plan)

    def _below(self, plan: SparkNode) -> ReadPlan:
        return self._read(plan.child)

    # -- leaves -----------------------------------------------------------------------------------

    def _view(self, plan: SparkNode) -> ReadPlan:
        source = view_source(plan)
        return self._scan(plan, source) if source in self.tables else self._below(plan)

    def _scan(self, plan: SparkNode, source: str) -> ReadPlan:
        table = self.tables[source]
        outputs = plan_columns(plan)
        by_name = {o.name: o.id for o in outputs}
        reads = tuple((self.ids.new(c.lower()), c) for c in table.columns)
        columns = tuple((by_name[n], i) for i, n in reads)
        known = self._columns.setdefault(table.source, {})
        known.update((o.name, ColumnType(o.type_text)) for o in outputs)
        if table.visible is None:
            return ReadPlan(Scan(table.source, reads, casts=table.casts), columns)
        hidden = self.ids.new("visible")
        known[table.visible] = ColumnType("boolean")
        scan = Scan(table.source, (*reads, (hidden, table.visible)), casts=table.casts)
        rows = Filter(scan, (col(hidden),))
        return ReadPlan(Project(rows, tuple((i, col(i)) for i, _ in reads)), columns)

    def _local(self, plan: SparkNode) -> ReadPlan:
        outputs = plan.trees("output")
        made = tuple(self.ids.new(o.name.lower()) for o in outputs)
        return ReadPlan(
            Rows(_values(plan), made, tuple(o.type_text for o in outputs)),
            tuple((o.id, i) for o, i in zip(outputs, made, strict=True)),
        )

    def _one_row(self, plan: SparkNode) -> ReadPlan:
        return ReadPlan(Rows("(SELECT 1)", (self.ids.new("one"),), ("int",)), ())

    def _range(self, plan: SparkNode) -> ReadPlan:
        facts, (output,) = plan.fields, plan.trees("output")
        text = f"RANGE({facts['start']}, {facts['end']}, {facts['step']})"
        made = self.ids.new("id")
        return ReadPlan(Rows(text, (made,), ("bigint",)), ((output.id, made),))

    def _common(self, plan: SparkNode) -> ReadPlan:
        for definition in plan.trees("cteDefs"):
            self._ctes[definition.fields["id"]] = definition.child
        return self._read(plan.tree("plan") or plan.children[0])

    def _reference(self, plan: SparkNode) -> ReadPlan:
        found = self._read(self._ctes[plan.fields["cteId"]])
        pairs = zip(plan.trees("output"), found.columns, strict=True)
        return ReadPlan(found.rel, tuple((o.id, i) for o, (_, i) in pairs))

    # -- operators of one input -------------------------------------------------------------------

    def _filter(self, plan: SparkNode) -> ReadPlan:
        below = self._below(plan)
        condition = plan.tree("condition")
        rel = self._with_values(below.rel, [condition] if condition else [])
        found = read_conjuncts(condition, self.scalars, below.known)
        return ReadPlan(Filter(rel, tuple(found)) if found else rel, below.columns)

    def _project(self, plan: SparkNode) -> ReadPlan:
        below = self._below(plan)
        nodes = plan.trees("projectList")
        rel = self._with_values(below.rel, nodes)
        known, taken = below.known, set[str]()
        items: list[tuple[str, Expr]] = []
        columns: list[tuple[int, str]] = []
        for node in nodes:
            if node.id in below.pivots:
                continue
            value = self._picked(node, below) or self.scalars.read(node, known)
            made = value.column
            if node.kind == "Alias" or made is None or made in taken:
                made = self.ids.new(node.name.lower())
            taken.add(made)
            items.append((made, value))
            columns.append((node.id, made))
        if tuple(i for i, _ in items) == rel.columns and all(e.column == i for i, e in items):
            return ReadPlan(rel, tuple(columns))
        return ReadPlan(Project(rel, tuple(items)), tuple(columns), below.pivots)

    def _picked(self, node: SparkNode, below: ReadPlan) -> Expr | None:
        """The value of a pivot's column, which Spark takes from an array by its place."""
        inner = node.child if node.kind == "Alias" else node
        if inner.kind != "GetArrayItem" or inner.child.kind != "AttributeReference":
            return None
        values, place = below.pivots.get(inner.child.id), inner.children[1]
        return col(values[int(place.fields["value"])]) if values else None

    def _aggregate(self, plan: SparkNode) -> ReadPlan:
        below = self._below(plan)
        keys, nodes = plan.trees("groupingExpressions"), plan.trees("aggregateExpressions")
        rel = self._with_values(below.rel, (*keys, *aggregate_calls_in(nodes)))
        above = self._values(nodes)
        groups = GroupReader(self.scalars, self.ids, below.known)
        key_ids = tuple(dict.fromkeys(groups.key(k) for k in keys))
        pivots = {n.id: p for n in nodes if (p := groups.pivot(n)) is not None}
        items = [(n, groups.item(n)) for n in nodes if n.id not in pivots]
        calls = groups.calls()
        for column, value in columns_of_calls(calls):
            groups.carried.setdefault(column, value)
        if not calls and not key_ids:
            calls = ((self.ids.new("n"), row_count()),)
        carried = tuple(groups.carried.items())
        made: Rel = Aggregate(Project(rel, carried) if carried else rel, key_ids, calls)
        made = Join((made, *above), ()) if above else made
        _require_known([e for _, e in items], made)
        named = [(n, self.ids.new(n.name.lower()), e) for n, e in items]
        shown = [(i, e) for _, i, e in named]
        shown += [(i, col(i)) for p in pivots.values() for i in p]
        return ReadPlan(Project(made, tuple(shown)), tuple((n.id, i) for n, i, _ in named), pivots)

    def _numbered(self, plan: SparkNode) -> ReadPlan:
        """Rows numbered in the order of a Sort below, as Spark's rules have the LIMIT of a
        correlated subquery: with the columns that the Sort reads, which are left out above."""
        node, projects = plan.child, []
        while node.kind != "Sort":
            projects += [node] if node.kind == "Project" else []
            node = node.child
        inner = self._below(node)
        reader, known = self.scalars.over(inner.known), inner.known
        (item,) = plan.trees("windowExpressions")
        terms = tuple(map(reader.order, node.trees("order")))
        keys = [known[_plain(p).id] for p in item.child.children[1].trees("partitionSpec")]
        made = self.ids.new("n")
        call = WindowCall(made, Call("ROW_NUMBER", ()), terms, "", total=True, settles=True)
        rel = Window(inner.exact, tuple(sorted(keys)), (call,))
        for project in reversed(projects):
            known = {n.id: known[_plain(n).id] for n in project.trees("projectList")}
        return ReadPlan(rel, (*known.items(), (item.id, made)))

    def _window(self, plan: SparkNode) -> ReadPlan:
        if _takes_order_below(plan):
            return self._numbered(plan)
        below = self._below(plan)
        rel = below.exact
        reader = self.scalars.over(below.known)
        groups: dict[tuple[str, ...], list[WindowCall]] = {}
        values: list[tuple[SparkNode, Expr]] = []
        columns: dict[Expr, str] = {}
        for node in plan.trees("windowExpressions"):
            if node.kind == "AttributeReference":  # what a subquery is correlated by
                continue
            with place_refusals(node.child):
                found = read_window(node.child, reader, self.ids)
            spec = node.child.children[1]
            terms = [self.scalars.read(p, below.known) for p in spec.trees("partitionSpec")]
            for each in (*terms, *found.more):
                rel = self._with_column(rel, each, columns)
            keys = tuple(sorted({columns[e] for e in (*terms, *found.more)}))
            groups.setdefault(keys, []).extend(found.calls)
            values.append((node, found.value))
        for keys, calls in groups.items():
            rel = _add_calls(rel, keys, tuple(calls))
        items = [(n, v.column or self.ids.new("w"), v) for n, v in values]
        more = tuple((i, v) for _, i, v in items if v.column is None)
        return ReadPlan(
            with_columns(rel, more), (*below.columns, *((n.id, i) for n, i, _ in items))
        )

    def _with_column(self, rel: Rel, value: Expr, columns: dict[Expr, str]) -> Rel:
        """The relation with a column of this value, which is noted."""
        if value in columns:
            return rel
        columns[value] = value.column or self.ids.new("k")
        return rel if value.column else with_columns(rel, ((columns[value], value),))

    def _distinct(self, plan: SparkNode) -> ReadPlan:
        below = self._below(plan)
        rel = below.exact
        return ReadPlan(Aggregate(rel, tuple(dict.fromkeys(rel.columns)), ()), below.columns)

    def _generate(self, plan: SparkNode) -> ReadPlan:
        below = self._below(plan)
        call = plan.tree("generator")
        assert call is not None
        name = _GENERATORS.get(call.kind)
        if name is None:
            raise self._refused_generator(plan, call)
        given = tuple(self.scalars.read(c, below.known) for c in call.children)
        outputs = plan.trees("generatorOutput")
        made = tuple(self.ids.new(o.name.lower()) for o in outputs)
        types = tuple(o.type_text for o in outputs)
        outer = bool(plan.fields["outer"])
        rel = Generate(below.rel, Call(name, given, facts=read_facts(call)), made, outer, types)
        own = tuple((o.id, i) for o, i in zip(outputs, made, strict=True))
        return ReadPlan(rel, (*below.columns, *own))

    def _refused_generator(self, plan: SparkNode, call: SparkNode) -> Refused:
        name = sql_function(call.kind, self.builtins) or call.kind
        if plan.child.kind == "OneRowRelation":
            refused = refuse(Refusal.TABLE_FUNCTION, what=f"{name}()")
        else:
            refused = refuse(Refusal.LATERAL, what=f"a row generator ({name})")
        refused.place = find_origin(call)
        return refused

    def _recursive(self, plan: SparkNode) -> ReadPlan:
        named = (n for n in plan.walk() if n.kind == "SubqueryAlias")
        own = next((n for n in named if n.child.kind == "UnionLoopRef"), None)
        name = "?" if own is None else str(own.fields["identifier"]["name"])
        raise refuse(Refusal.RECURSIVE, what=name)

    def _expand(self, plan: SparkNode) -> ReadPlan:
        """Each row once for each projection, told apart by a number."""
        below = self._below(plan)
        if any(map(TimeWindow.of, plan.fields["projections"][0])):
            return self._slide(plan, below)
        outputs, projections = plan.trees("output"), plan.fields["projections"]
        if len(projections) > _MOST_SETS:
            raise refuse(Refusal.GROUPING_SETS, what=f"more than {_MOST_SETS:,} grouping sets")
        rows = [[self.scalars.read(e, below.known) for e in row] for row in projections]
        number = self.ids.new("set")
        places = Call("ARRAY", tuple(Literal(str(i)) for i in range(len(rows))))
        rel = Generate(
            below.rel, Call("EXPLODE", (places,), facts=NO_VALUE), (number,), types=("int",)
        )
        items, columns = [], []
        for at, output in enumerate(outputs):
            made = self.ids.new(output.name.lower())
            items.append((made, _of_each([row[at] for row in rows], number, output)))
            columns.append((output.id, made))
        return ReadPlan(Project(rel, tuple(items)), tuple(columns))

    def _slide(self, plan: SparkNode, below: ReadPlan) -> ReadPlan:
        """Each row once for each window of time that it falls into."""
        rel, items, columns = below.exact, list[tuple[str, Expr]](), list[tuple[int, str]]()
        for output, cell in zip(plan.trees("output"), plan.fields["projections"][0], strict=True):
            window = TimeWindow.of(cell)
            if window is None:
                value = self.scalars.read(cell, below.known)
            else:
                time = self.scalars.read(window.time, below.known)
                windows = {self.ids.new("window"): w for w in window.each(time)}
                for named in windows.items():  # Spark takes one in each SELECT
                    rel = with_columns(rel, (named,))
                number = self.ids.new("window")
                listed = Call("ARRAY", tuple(map(col, windows)))
                rel = Generate(
                    rel,
                    Call("EXPLODE", (listed,), facts=NO_VALUE),
                    (number,),
                    types=(cell.type_text,),
                )
                value = col(number)
            made = self.ids.new(output.name.lower())
            items.append((made, value))
            columns.append((output.id, made))
        return ReadPlan(Project(rel, tuple(items)), tuple(columns))

    def _sample(self, plan: SparkNode) -> ReadPlan:
        """A share of the rows, by a hash of each row's contents and the seed."""
        facts, below = plan.fields, self._below(plan)
        if facts["seed"] is None:
            raise refuse(Refusal.SAMPLE)
        if facts["withReplacement"] or facts["lowerBound"]:
            raise refuse(Refusal.EXPRESSION, what="a sample with replacement")
        rel = below.exact
        share = Decimal(str(facts["upperBound"]))
        test = sample_condition(rel.columns, int(facts["seed"]), share)
        return ReadPlan(Filter(rel, (test,)), below.columns)

    # -- order ------------------------------------------------------------------------------------

    def _limit(self, plan: SparkNode) -> ReadPlan:
        count: int | None = None
        skip = 0
        node = plan
        while node.kind in ("GlobalLimit", "LocalLimit"):
            found = _number(node, "limitExpr")
            count = found if count is None else min(count, found)
            node = node.child
        while node.kind == "Offset":
            skip += _number(node, "offsetExpr")
            node = node.child
        return self._first(node, count, skip)

    def _first(self, plan: SparkNode, count: int | None, skip: int) -> ReadPlan:
        """The first rows of a plan, in its order."""
        if plan.kind in _NAMING and _sorted_below(plan):
            return self._first(plan.child, count, skip)
        if plan.kind == "Project" and _sorted_below(plan) and not _computes(plan):
            inner = self._first(plan.child, count, skip)
            known = inner.known
            columns = tuple((n.id, known[_plain(n).id]) for n in plan.trees("projectList"))
            return ReadPlan(inner.rel, columns)
        if plan.kind == "Sort" and plan.fields["global"]:
            below = self._below(plan)
            reader = self.scalars.over(below.known)
            terms = tuple(map(reader.order, plan.trees("order")))
            return self._top(below, terms, count, skip)
        below = self._read(plan)
        if _is_ordered(plan) and not has_all(below.exact, count, skip):
            raise refuse(Refusal.LIMIT, what="a LIMIT over rows with an order of their own")
        return self._top(below, (), count, skip)

    def _top(
        self, below: ReadPlan, terms: tuple[Expr, ...], count: int | None, skip: int
    ) -> ReadPlan:
        rel = below.exact
        if has_all(rel, count, skip):
            return below
        return ReadPlan(Top(rel, terms, count, skip), below.columns)

    # -- operators of several ---------------------------------------------------------------------

    def _join(self, plan: SparkNode) -> ReadPlan:
        kind, (one, other) = plan.word("joinType"), plan.children
        left, right = self._read(one), self._read(other)
        rule = _JOINS.get(kind)
        if rule is None:
            raise refuse(Refusal.EXPRESSION, what=f"a join of the kind {kind}")
        return rule(self, plan, left, right)

    def _split(self, condition: SparkNode | None, left: ReadPlan, right: ReadPlan) -> Split:
        return split_condition(condition, self.scalars, left, right, self.types)

    def _inner(self, plan: SparkNode, left: ReadPlan, right: ReadPlan) -> ReadPlan:
        columns = (*left.columns, *right.columns)
        known = {**left.known, **right.known}
        on = tuple(read_conjuncts(plan.tree("condition"), self.scalars, known))
        members = left.rel.members if isinstance(left.rel, Join) else (left.rel,)
        before = left.rel.on if isinstance(left.rel, Join) else ()
        return ReadPlan(Join((*members, right.rel), (*before, *on)), columns)

    def _outer(self, plan: SparkNode, left: ReadPlan, right: ReadPlan) -> ReadPlan:
        on = self._split(plan.tree("condition"), left, right)
        rel = match(self.ids, left.exact, right.exact, MatchKind.LEFT, on)
        return ReadPlan(rel, (*left.columns, *right.columns))

    def _right(self, plan: SparkNode, left: ReadPlan, right: ReadPlan) -> ReadPlan:
        turned = self._outer(plan, right, left)
        return ReadPlan(turned.rel, (*left.columns, *right.columns))

    def _full(self, plan: SparkNode, left: ReadPlan, right: ReadPlan) -> ReadPlan:
        on = self._split(plan.tree("condition"), left, right)
        rel, renamed = join_fully(self.ids, left.exact, right.exact, on)
        columns = (*left.columns, *right.columns)
        return ReadPlan(rel, tuple((n, renamed[i]) for n, i in columns))

    def _semi(self, plan: SparkNode, left: ReadPlan, right: ReadPlan) -> ReadPlan:
        condition = plan.tree("condition")
        if condition is None:
            return self._exists(left, right, negated=False)
        on = self._split(condition, left, right)
        rel = match(self.ids, left.rel, right.exact, MatchKind.SEMI, on)
        return ReadPlan(rel, left.columns)

    def _exists(self, left: ReadPlan, right: ReadPlan, *, negated: bool) -> ReadPlan:
        fact, some = ask_for_rows(self.ids, right.exact)
        joined = Join((left.rel, fact), ())
        test = Prefix("NOT", col(some)) if negated else col(some)
        return ReadPlan(Filter(joined, (test,)), left.columns)

    def _anti(self, plan: SparkNode, left: ReadPlan, right: ReadPlan) -> ReadPlan:
        condition = plan.tree("condition")
        if condition is None:
            return self._exists(left, right, negated=True)
        pair = not_in_pair(condition)
        if pair is not None:
            return self._not_in(plan, pair, left, right)
        on = self._split(condition, left, right)
        rel = match(self.ids, left.rel, right.exact, MatchKind.ANTI, on)
        return ReadPlan(rel, left.columns)

    def _not_in(
        self, plan: SparkNode, pair: SparkNode, left: ReadPlan, right: ReadPlan
    ) -> ReadPlan:
        """NOT IN of one column without a correlation."""
        again = self._read(plan.children[1])
        x, y = pair.children
        value = self.scalars.read(x, left.known)
        item, other = (self.scalars.read(y, side.known) for side in (right, again))
        rel = keep_others(self.ids, left.rel, value, right.exact, item, again.exact, other)
        return ReadPlan(rel, left.columns)

    def _existence(self, plan: SparkNode, left: ReadPlan, right: ReadPlan) -> ReadPlan:
        condition = plan.tree("condition")
        if condition is not None and compares_null(condition):
            raise refuse(Refusal.SUBQUERY, what="IN of a constant NULL in this place")
        on = self._split(condition, left, right)
        rel, mark = mark_partners(self.ids, left.exact, right.exact, on)
        exists: SparkNode = plan.fields["joinType"]["exists"]
        return ReadPlan(rel, (*left.columns, (exists.id, mark)))

    def _single(self, plan: SparkNode, left: ReadPlan, right: ReadPlan) -> ReadPlan:
        """The one row that a subquery has for each row: an error where it has two."""
        on = self._split(plan.tree("condition"), left, right)
        if on.rest or not all(b.column for _, b in on.pairs):
            raise refuse(Refusal.NON_EQUI_JOIN, what="scalar subquery")
        rel, keys = right.exact, tuple(dict.fromkeys(str(b.column) for _, b in on.pairs))
        items = tuple(c for c in rel.columns if c not in keys)
        groups, values = one_row_each(self.ids, rel, keys, items)
        rel = match(self.ids, left.exact, groups, MatchKind.LEFT, on)
        made = {c: self.ids.new("value") for c in values}
        rel = with_columns(rel, tuple((made[c], e) for c, e in values.items()))
        own = tuple((n, made.get(i, i)) for n, i in right.columns)
        return ReadPlan(rel, (*left.columns, *own))

    def _union(self, plan: SparkNode) -> ReadPlan:
        members = [self._read(c) for c in _members(plan)]
        outputs = plan_columns(plan.child)
        made = tuple(self.ids.new(o.name.lower()) for o in outputs)
        rel = Union(tuple(m.exact for m in members), made)
        return ReadPlan(rel, tuple((o.id, i) for o, i in zip(outputs, made, strict=True)))

    def _set_operation(self, plan: SparkNode) -> ReadPlan:
        left, right = (self._read(c) for c in plan.children)
        outputs = plan_columns(plan.child)
        made = tuple(self.ids.new(o.name.lower()) for o in outputs)
        minus, distinct = plan.kind == "Except", not plan.fields["isAll"]
        rel = count_sides(self.ids, left.exact, right.exact, made, minus=minus, distinct=distinct)
        return ReadPlan(rel, tuple((o.id, i) for o, i in zip(outputs, made, strict=True)))

    # -- subqueries that read nothing of what is around them --------------------------------------

    def _with_values(self, rel: Rel, nodes: Collection[SparkNode | None]) -> Rel:
        """The relation with the values of subqueries in expressions joined in as one row."""
        values = self.scalars.values
        wanted = (n for node in nodes if node is not None for n in _inner(node))
        for inner in wanted:
            if values.get(inner.id) not in rel.columns:
                fact, values[inner.id] = self._value(inner)
                rel = Join((rel, fact), ())
        return rel

    def _values(self, nodes: Collection[SparkNode]) -> list[Rel]:
        """One row each with the values of the subqueries in items that have none yet."""
        found, values = [], self.scalars.values
        for inner in (n for node in nodes for n in _inner(node)):
            if inner.id not in values:
                fact, values[inner.id] = self._value(inner)
                found.append(fact)
        return found

    def _value(self, node: SparkNode) -> tuple[Rel, str]:
        """One row with the value of a subquery, and its column."""
        plan = node.tree("plan")
        assert plan is not None
        read = self._read(plan)
        if node.kind == "Exists":
            return ask_for_rows(self.ids, read.exact)
        if len(read.columns) != 1:
            raise refuse(Refusal.SUBQUERY, what="a scalar subquery with several columns")
        ((_, item),) = read.columns
        if _is_one_row(plan):
            return read.exact, item
        groups, values = one_row_each(self.ids, read.exact, (), (item,))
        made = self.ids.new("value")
        return Project(groups, ((made, values[item]),)), made


def _values(plan: SparkNode) -> str:
    """The rows that a plan holds. NoForm where they are too many."""
    rows = plan.fields.get("data")
    if not isinstance(rows, list):
        raise NoForm("more rows than a definition may hold" if rows else f"the rows of {plan.kind}")
    if rows:
        return "(VALUES " + ", ".join(f"({', '.join(row)})" for row in rows) + ")"
    nulls = (f"CAST(NULL AS {ddl_type(o.type)})" for o in plan.trees("output"))
    return f"(SELECT {', '.join(nulls)} WHERE FALSE)"


def _require_known(items: Collection[Expr], rel: Rel) -> None:
    """Raises Refused where items of groups read more than keys and calls: Spark takes some keys for
    equal that are written otherwise."""
    known = frozenset(rel.columns)
    for item in items:
        if not item.columns <= known:
            raise refuse(
                Refusal.EXPRESSION, what=f"{item.sql(str)[:60]} is not a key of its GROUP BY"
            )


def _inner(node: SparkNode) -> list[SparkNode]:
    return [n for n in node.walk() if n.kind in ("ScalarSubquery", "Exists")]


def _is_one_row(plan: SparkNode) -> bool:
    while plan.kind in ("Project", "SubqueryAlias", "View", "Sort"):
        plan = plan.child
    return plan.kind == "Aggregate" and not plan.trees("groupingExpressions")


def _members(plan: SparkNode) -> list[SparkNode]:
    found = []
    for child in plan.children:
        found += _members(child) if child.kind == "Union" else [child]
    return found


def _number(plan: SparkNode, field_: str) -> int:
    node = plan.tree(field_)
    if node is None or node.kind != "Literal" or not str(node.fields.get("value")).isdigit():
        raise refuse(Refusal.LIMIT, what="LIMIT of what is computed")
    return int(str(node.fields["value"]))


def _plain(node: SparkNode) -> SparkNode:
    return node.child if node.kind == "Alias" else node


def _computes(plan: SparkNode) -> bool:
    return any(_plain(n).kind != "AttributeReference" for n in plan.trees("projectList"))


_NAMING = frozenset({"SubqueryAlias", "View"})


def _sorted_below(plan: SparkNode) -> bool:
    while plan.kind == "Project" or plan.kind in _NAMING:
        plan = plan.child
    return plan.kind == "Sort"


def _add_calls(rel: Rel, keys: tuple[str, ...], calls: tuple[WindowCall, ...]) -> Rel:
    """Window calls over a relation, beside those that it has of the same partition: rows that tie
    are put in the order of what the query reads, and not of what other calls give."""
    if isinstance(rel, Window) and rel.partition == keys:
        made = {c.id for c in rel.calls}
        if not any(c.reads & made for c in calls):
            return Window(rel.input, keys, (*rel.calls, *calls))
    return Window(rel, keys, calls)


def _takes_order_below(window: SparkNode) -> bool:
    """Whether it numbers sorted rows and names no order."""
    node, calls = window.child, window.trees("windowExpressions")
    if len(calls) != 1 or calls[0].child.child.kind != "RowNumber" or not _sorted_below(node):
        return False
    while (node.kind == "Project" and not _computes(node)) or node.kind in _NAMING:
        node = node.child
    return node.kind == "Sort" and not calls[0].child.children[1].trees("orderSpec")


_PASSES = frozenset({
    "Project", "Filter", "SubqueryAlias", "View", "Join", "Window", "Generate", "GlobalLimit",
    "LocalLimit", "Offset", "CTERelationRef", "WithCTE", "Repartition", "ResolvedHint",
})  # fmt: skip


def _is_ordered(plan: SparkNode) -> bool:
    """Whether Spark gives the rows in an order that the text says."""
    if plan.kind in ("Sort", "RepartitionByExpression"):
        return True
    return plan.kind in _PASSES and any(map(_is_ordered, plan.children))


def _of_each(values: list[Expr], number: str, output: SparkNode) -> Expr:
    """A column of an expansion, by the number of the projection."""
    if len(set(values)) == 1:
        return values[0]
    branches = tuple((Literal(str(i)), v) for i, v in enumerate(values))
    whole = Case(col(number), branches, facts=read_facts(output))
    if any(v.column is not None for v in values):
        return whole
    return Cast(whole, ddl_type(output.type), facts=read_facts(output))


_JOINS: dict[str, Callable[[RelationReader, SparkNode, ReadPlan, ReadPlan], ReadPlan]] = {
    "Inner": RelationReader._inner, "Cross": RelationReader._inner,
    "LeftOuter": RelationReader._outer, "RightOuter": RelationReader._right,
    "FullOuter": RelationReader._full, "LeftSemi": RelationReader._semi,
    "LeftAnti": RelationReader._anti, "ExistenceJoin": RelationReader._existence,
    "LeftSingle": RelationReader._single,
}  # fmt: skip
_RULES: dict[str, Callable[[RelationReader, SparkNode], ReadPlan]] = {
    "SubqueryAlias": RelationReader._below, "View": RelationReader._view,
    "LocalRelation": RelationReader._local, "LogicalRDD": RelationReader._local,
    "OneRowRelation": RelationReader._one_row, "Range": RelationReader._range,
    "WithCTE": RelationReader._common, "CTERelationRef": RelationReader._reference,
    "Filter": RelationReader._filter, "Project": RelationReader._project,
    "Aggregate": RelationReader._aggregate, "Window": RelationReader._window,
    "Distinct": RelationReader._distinct, "Generate": RelationReader._generate,
    "Expand": RelationReader._expand, "Sort": RelationReader._below,
    "GlobalLimit": RelationReader._limit, "LocalLimit": RelationReader._limit,
    "Offset": RelationReader._limit, "Join": RelationReader._join,
    "Union": RelationReader._union, "Intersect": RelationReader._set_operation,
    "Except": RelationReader._set_operation, "ResolvedHint": RelationReader._below,
    "Repartition": RelationReader._below, "RepartitionByExpression": RelationReader._below,
    "Sample": RelationReader._sample, "PipeOperator": RelationReader._below,
    "EventTimeWatermark": RelationReader._below, "UnionLoop": RelationReader._recursive,
}  # fmt: skip
