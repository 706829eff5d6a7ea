"""The operators of Spark's analysed plans as one SQL query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from dt_jupyter.model import quote
from dt_jupyter.plans.expression_reader import ExpressionReader
from dt_jupyter.plans.grouping_sets import grouping_sets
from dt_jupyter.plans.no_form import NoForm, PythonFunction
from dt_jupyter.plans.plan_facts import (
    ONE_SIDED,
    columns_read,
    conditions,
    expanded_keys,
    is_cut,
    plan_columns,
    renamed_column,
)
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.plans.select_text import Item, SelectText, unique_names

Leaf = Callable[[SparkNode], "FromText | None"]
"""What stands after FROM for a leaf of a plan; None where nothing can."""
_JOINS = {
    "Inner": "JOIN", "Cross": "CROSS JOIN", "LeftOuter": "LEFT JOIN", "RightOuter": "RIGHT JOIN",
    "FullOuter": "FULL JOIN", "LeftSemi": "LEFT SEMI JOIN", "LeftAnti": "LEFT ANTI JOIN",
}  # fmt: skip
_SETS = {"Intersect": "INTERSECT", "Except": "EXCEPT"}
_PROGRAMS = {
    "MapInPandas": "mapInPandas", "MapInArrow": "mapInArrow", "PythonMapInArrow": "mapInArrow",
    "FlatMapGroupsInPandas": "applyInPandas", "FlatMapGroupsInArrow": "applyInArrow",
    "FlatMapCoGroupsInPandas": "cogroup", "FlatMapCoGroupsInArrow": "cogroup",
    "SerializeFromObject": "map over objects", "ScriptTransformation": "TRANSFORM",
}  # fmt: skip
_WORDS = {
    "AsOfJoin": "an as-of join", "LateralJoin": "a lateral join",
    "RebalancePartitions": "rebalance", "Unpivot": "unpivot", "Transpose": "transpose",
    "CollectMetrics": "observe", "LogicalRDD": "an RDD",
    "DataSourceV2Relation": "a source of another catalog", "StreamingRelation": "a stream",
    "StreamingRelationV2": "a stream", "TailLimit": "tail",
}  # fmt: skip


@dataclass(frozen=True)
class FromText:
    """A relation in FROM without its alias, and the name that it has anyhow, or may have;
    `bare`: its columns have no names of their own."""

    text: str
    name: str
    bare: bool = False


@dataclass
class QueryWriter:
    """Writes one plan. Where `planned`, as Spark plans it, hints included: of the rows that
    dropDuplicates takes for one it keeps any, which are else told apart by the order of their
    contents. What Spark has no text for, though it means what a text means, is there one of
    `cut`: a relation that is asked for by its operator."""

    leaf: Leaf
    builtins: Collection[str]
    planned: bool = False
    cut: Leaf | None = None
    functions: Collection[str] = ()
    _aliases: Counter[str] = field(default_factory=Counter)
    _outer: Mapping[int, str] = field(default_factory=dict)
    _ctes: dict[int, SparkNode] = field(default_factory=dict)

    def write(self, plan: SparkNode) -> str:
        """The query; its columns have the names that the plan gives them."""
        found = self._select(plan)
        if found.whole:
            return found.whole
        return found.sql(tuple(i.name for i in found.items))

    def _subquery(self, plan: SparkNode, outer: Mapping[int, str]) -> str:
        before, self._outer = self._outer, outer
        try:
            return self._select(plan).sql()
        finally:
            self._outer = before

    def _scope(self, select: SelectText) -> ExpressionReader:
        return ExpressionReader(
            select.columns, self.builtins, self._subquery, self._outer, self.functions
        )

    def _select(self, plan: SparkNode) -> SelectText:
        if self.cut is not None and is_cut(plan):
            return self._member_of(self.cut(plan), plan, plan_columns(plan))
        rule = _RULES.get(plan.kind)
        if rule is not None:
            return rule(self, plan)
        if plan.kind in _PROGRAMS:
            raise PythonFunction(_PROGRAMS[plan.kind])
        raise NoForm(_WORDS.get(plan.kind, f"the operator {plan.kind}"))

    # -- what stands in FROM ----------------------------------------------------------------------

    def _alias(self, name: str) -> str:
        base = name.lower()
        self._aliases[base] += 1
        number = self._aliases[base]
        return name if number == 1 else self._alias(f"{name}_{number}")

    def _leaf(self, plan: SparkNode) -> SelectText:
        return self._member_of(self.leaf(plan), plan, plan_columns(plan))

    def _member_of(
        self, found: FromText | None, plan: SparkNode, columns: tuple[SparkNode, ...]
    ) -> SelectText:
        if found is None:
            raise NoForm(_WORDS.get(plan.kind, f"a source of the kind {plan.kind}"))
        return self._member(found, columns)

    def _member(self, named: FromText, columns: tuple[SparkNode, ...]) -> SelectText:
        alias = quote(self._alias(named.name if named.name.isidentifier() else "rows"))
        listed = f"({', '.join(quote(c.name) for c in columns)})" if named.bare else ""
        source = f"{named.text} AS {alias}{listed}"
        items = tuple(Item(c.id, c.name, f"{alias}.{quote(c.name)}") for c in columns)
        return SelectText(source, items)

    def _view(self, plan: SparkNode) -> SelectText:
        if plan.fields["isTempView"]:
            named = self.leaf(plan)
            return self._member(named, plan_columns(plan)) if named else self._select(plan.child)
        parts = plan.fields["desc"]["identifier"]
        return self._member(catalog_text(parts), plan_columns(plan.child))

    def _closed(self, select: SelectText) -> SelectText:
        """The same as something that stands in FROM."""
        if select.bare:
            return select
        alias = quote(self._alias("q"))
        names = select.names
        items = (
            Item(i.id, i.name, f"{alias}.{quote(n)}")
            for i, n in zip(select.items, names, strict=True)
        )
        return SelectText(f"(\n{select.sql()}\n) AS {alias}", tuple(items))

    def _for(self, select: SelectText, read: Collection[int]) -> SelectText:
        return select if select.takes(read) else self._closed(select)

    def _rows(self, plan: SparkNode) -> SelectText:
        return SelectText("", ())

    def _common(self, plan: SparkNode) -> SelectText:
        """Common tables, each put where it is read."""
        for definition in plan.trees("cteDefs"):
            self._ctes[definition.fields["id"]] = definition.child
        return self._select(plan.tree("plan") or plan.children[0])

    def _reference(self, plan: SparkNode) -> SelectText:
        found = self._closed(self._select(self._ctes[plan.fields["cteId"]]))
        pairs = zip(plan.trees("output"), found.items, strict=True)
        return replace(found, items=tuple(replace(i, id=c.id) for c, i in pairs))

    # -- operators of one input -------------------------------------------------------------------

    def _same(self, plan: SparkNode) -> SelectText:
        return self._select(plan.child)

    def _filter(self, plan: SparkNode) -> SelectText:
        condition = plan.tree("condition")
        assert condition is not None
        below = self._select(plan.child)
        below = self._closed(below) if below.windowed else self._for(below, columns_read(condition))
        scope = self._scope(below)
        return replace(
            below, where=(*below.where, *(map(scope.operand_sql, conditions(condition))))
        )

    def _project(self, plan: SparkNode) -> SelectText:
        below = self._select(plan.child)
        nodes = plan.trees("projectList")
        known = {i.id: i for i in below.items}
        sources = [renamed_column(n) for n in nodes]
        renamed = all(s is not None and s.id in known for s in sources)
        if renamed and (not below.done or below.only_ordered):
            pairs = zip(nodes, sources, strict=True)
            return below.with_items(
                replace(known[s.id], id=n.id, name=n.name) for n, s in pairs if s is not None
            )
        below = self._for(below, {i for n in nodes for i in columns_read(n)})
        return below.with_items(self._items(below, nodes))

    def _items(self, below: SelectText, nodes: tuple[SparkNode, ...]) -> tuple[Item, ...]:
        return self._items_of(self._scope(below), nodes)

    def _items_of(self, scope: ExpressionReader, nodes: tuple[SparkNode, ...]) -> tuple[Item, ...]:
        return tuple(Item(n.id, n.name, scope.sql(n), renamed_column(n) is not None) for n in nodes)

    def _aggregate(self, plan: SparkNode) -> SelectText:
        if plan.child.kind == "Expand":
            return self._sets(plan)
        keys, nodes = plan.trees("groupingExpressions"), plan.trees("aggregateExpressions")
        below = self._select(plan.child)
        read = {i for n in (*keys, *nodes) for i in columns_read(n)}
        below = self._closed(below) if below.windowed else self._for(below, read)
        scope = self._scope(below)
        group = f"GROUP BY {', '.join(scope.constant(k).sql(str) for k in keys)}" if keys else ""
        found = below.with_items(replace(i, plain=False) for i in self._items(below, nodes))
        return replace(found, group=group, grouped=True)

    def _sets(self, plan: SparkNode) -> SelectText:
        expand = plan.child
        below = self._select(expand.child)
        keys = set(expanded_keys(expand, below.columns))
        first = sorted(below.items, key=lambda i: i.id not in keys)
        below = self._closed(below.with_items(first))
        found = grouping_sets(expand, self._scope(below))
        below = replace(below, items=tuple(Item(i, "", t) for i, t in found.columns.items()))
        scope = replace(self._scope(below), keys=found.keys)
        items = self._items_of(scope, plan.trees("aggregateExpressions"))
        return replace(below.with_items(items), group=found.clause, grouped=True)

    def _window(self, plan: SparkNode) -> SelectText:
        below = self._select(plan.child)
        calls = plan.trees("windowExpressions")
        below = self._for(below, {i for n in calls for i in columns_read(n)})
        items = (*below.items, *self._items(below, calls))
        return replace(below.with_items(items), windowed=True)

    def _distinct(self, plan: SparkNode) -> SelectText:
        if plan.child.kind == "Union" and not plan.child.fields.get("byName"):
            return self._set("UNION", plan.child)
        return replace(self._closed(self._select(plan.child)), head="DISTINCT ")

    def _deduplicate(self, plan: SparkNode) -> SelectText:
        keys = {k.id for k in plan.trees("keys")}
        below = self._closed(self._select(plan.child))
        if keys.issuperset(i.id for i in below.items):
            return replace(below, head="DISTINCT ")
        partition = ", ".join(i.text for i in below.items if i.id in keys)
        if self.planned:
            items = (
                i if i.id in keys else replace(i, text=f"first({i.text})") for i in below.items
            )
            made = below.with_items(replace(i, plain=False) for i in items)
            return replace(made, group=f"GROUP BY {partition}", grouped=True)
        return self._first_rows(below, partition, [i.text for i in below.items if i.id not in keys])

    def _first_rows(self, below: SelectText, partition: str, order: list[str]) -> SelectText:
        """One row of each partition: the first by the order of the other columns."""
        number = f"row_number() OVER (PARTITION BY {partition} ORDER BY {', '.join(order)})"
        numbered = below.with_items((*below.items, Item(-1, "row_number", number, plain=False)))
        found = self._closed(replace(numbered, windowed=True))
        *items, last = found.items
        return replace(found, where=(f"{last.text} = 1",)).with_items(items)

    def _expand(self, plan: SparkNode) -> SelectText:
        """Each row once for each projection, as unpivot has it."""
        below = self._closed(self._select(plan.child))
        scope, outputs = self._scope(below), plan.trees("output")
        rows = [[scope.sql(e) for e in row] for row in plan.fields["projections"]]
        fixed = [len({row[i] for row in rows}) == 1 for i in range(len(outputs))]
        made = [row[i] for row in rows for i in range(len(outputs)) if not fixed[i]]
        names = unique_names(o.name for o in outputs)
        shown = [f"{rows[0][i]} AS {quote(n)}" for i, n in enumerate(names) if fixed[i]]
        listed = ", ".join(quote(n) for i, n in enumerate(names) if not fixed[i])
        if not listed:
            pairs = zip(outputs, rows[0], strict=True)
            return below.with_items(Item(o.id, o.name, t, plain=False) for o, t in pairs)
        text = ", ".join([*shown, f"stack({len(rows)}, {', '.join(made)}) AS ({listed})"])
        order = sorted(range(len(names)), key=lambda i: not fixed[i])
        items = tuple(Item(outputs[i].id, names[i], "") for i in order)
        found = self._closed(SelectText("", items, whole=f"SELECT {text}\nFROM {below.source}"))
        known = {i.id: i for i in found.items}
        return replace(found, items=tuple(known[o.id] for o in outputs))

    def _sample(self, plan: SparkNode) -> SelectText:
        """A part of the rows by chance, repeatable."""
        facts = plan.fields
        if facts["withReplacement"] or facts["lowerBound"]:
            raise NoForm("sample with replacement, or randomSplit")
        below = self._select(plan.child)
        share = f"TABLESAMPLE ({facts['upperBound'] * 100} PERCENT) REPEATABLE ({facts['seed']})"
        text = f"(\n{below.sql()}\n) {share}"
        columns = zip(below.items, below.names, strict=True)
        alias = quote(self._alias("sampled"))
        items = (Item(i.id, i.name, f"{alias}.{quote(n)}") for i, n in columns)
        return SelectText(f"{text} AS {alias}", tuple(items))

    def _hint(self, plan: SparkNode) -> SelectText:
        """What says how to compute it, and not what."""
        below = self._select(plan.child)
        if not self.planned:
            return below
        below = self._closed(below.with_items(below.items))
        alias = below.source.rpartition(" AS ")[2]
        return replace(below, head=f"/*+ {self._hint_text(plan, alias, below)} */ ")

    def _hint_text(self, plan: SparkNode, alias: str, below: SelectText) -> str:
        facts = plan.fields
        if plan.kind == "ResolvedHint":
            return f"BROADCAST({alias})"
        if plan.kind == "Repartition":
            return f"{'REPARTITION' if facts['shuffle'] else 'COALESCE'}({facts['numPartitions']})"
        columns = map(self._scope(below).sql, plan.trees("partitionExpressions"))
        number = facts.get("optNumPartitions")
        return f"REPARTITION({', '.join((*([str(number)] if number else []), *columns))})"

    def _sort(self, plan: SparkNode) -> SelectText:
        if not plan.fields["global"]:
            raise NoForm("sortWithinPartitions")
        below = self._select(plan.child)
        below = below if below.bare else self._closed(below)
        terms = ", ".join(map(self._scope(below).sql, plan.trees("order")))
        return replace(below, order=f"ORDER BY {terms}")

    def _limit(self, plan: SparkNode) -> SelectText:
        below = self._select(plan.child)
        below = self._closed(below) if below.limit or below.whole else below
        return replace(below, limit=f"LIMIT {self._number(plan, 'limitExpr')}")

    def _offset(self, plan: SparkNode) -> SelectText:
        below = self._select(plan.child)
        below = self._closed(below) if below.limit or below.offset or below.whole else below
        return replace(below, offset=f"OFFSET {self._number(plan, 'offsetExpr')}")

    def _number(self, plan: SparkNode, field: str) -> str:
        node = plan.tree(field)
        assert node is not None
        return ExpressionReader({}, self.builtins, self._subquery).sql(node)

    def _generate(self, plan: SparkNode) -> SelectText:
        call = plan.tree("generator")
        assert call is not None
        below = self._row_source(self._select(plan.child))
        columns = plan.trees("generatorOutput")
        text = self._scope(below).sql(call)
        if plan.fields["outer"]:
            name, bracket, rest = text.partition("(")
            text = f"{name}_outer{bracket}{rest}"
        own = tuple(Item(c.id, c.name, "") for c in columns)
        names = unique_names(i.name for i in (*below.items, *own))
        made = ", ".join(map(quote, names[len(below.items) :]))
        shown = [f"{i.text} AS {quote(n)}" for i, n in zip(below.items, names, strict=False)]
        listed = ", ".join([*shown, f"{text} AS ({made})" if len(own) > 1 else f"{text} AS {made}"])
        items = (*below.items, *own)
        source = f"\nFROM {below.source}" if below.source else ""
        return self._closed(SelectText("", items, whole=f"SELECT {listed}{source}"))

    def _row_source(self, select: SelectText) -> SelectText:
        """What a generator reads; of rows without columns it is their number that counts."""
        if select.items:
            return self._closed(select)
        if not (select.where or select.done):
            return select
        one = Item(-1, "one", "1", plain=False)
        return replace(self._closed(select.with_items((one,))), items=())

    # -- operators of several ---------------------------------------------------------------------

    def _join(self, plan: SparkNode) -> SelectText:
        kind = plan.word("joinType")
        if kind not in _JOINS:
            raise NoForm(f"a join of the kind {kind}")
        left, right = map(self._joinable, plan.children)
        if right.joined:
            right = self._closed(right.with_items(right.items))
        both = (*left.items, *right.items)
        condition = plan.tree("condition")
        crossed = condition is None and kind == "Inner" and not self.planned
        word = _JOINS["Cross" if crossed else kind]
        text = f"{left.source}\n  {word} {right.source}"
        if condition is not None:
            scope = self._scope(SelectText("", both))
            text += f" ON {' AND '.join(map(scope.operand_sql, conditions(condition)))}"
        return SelectText(text, left.items if kind in ONE_SIDED else both, joined=True)

    def _joinable(self, plan: SparkNode) -> SelectText:
        found = self._closed(self._select(plan))
        if not found.source:
            return self._closed(found.with_items(found.items))
        return found

    def _union(self, plan: SparkNode) -> SelectText:
        if plan.fields.get("byName"):
            raise NoForm("a union by name that Spark did not resolve")
        return self._set("UNION ALL", plan)

    def _set_operation(self, plan: SparkNode) -> SelectText:
        return self._set(_SETS[plan.kind] + (" ALL" if plan.fields["isAll"] else ""), plan)

    def _set(self, word: str, plan: SparkNode) -> SelectText:
        sides = [self._select(c) for c in plan.children]
        texts = [f"(\n{s.sql()}\n)" for s in sides]
        return self._closed(SelectText("", sides[0].items, whole=f"\n{word}\n".join(texts)))


def catalog_text(identifier: Mapping[str, str]) -> FromText:
    """A table or view of the session's catalog."""
    parts = (identifier[p] for p in ("database", "table") if identifier.get(p))
    return FromText(".".join(map(quote, parts)), str(identifier["table"]))


_RULES: dict[str, Callable[[QueryWriter, SparkNode], SelectText]] = {
    "SubqueryAlias": QueryWriter._same, "View": QueryWriter._view,
    "LogicalRelation": QueryWriter._leaf, "LocalRelation": QueryWriter._leaf,
    "LogicalRDD": QueryWriter._leaf, "Range": QueryWriter._leaf,
    "DataSourceV2Relation": QueryWriter._leaf, "HiveTableRelation": QueryWriter._leaf,
    "PipeOperator": QueryWriter._same,
    "OneRowRelation": QueryWriter._rows, "WithCTE": QueryWriter._common,
    "CTERelationRef": QueryWriter._reference, "Filter": QueryWriter._filter,
    "Project": QueryWriter._project, "Aggregate": QueryWriter._aggregate,
    "Window": QueryWriter._window, "Distinct": QueryWriter._distinct,
    "Deduplicate": QueryWriter._deduplicate, "Sort": QueryWriter._sort,
    "GlobalLimit": QueryWriter._limit, "LocalLimit": QueryWriter._same,
    "Offset": QueryWriter._offset, "Generate": QueryWriter._generate, "Join": QueryWriter._join,
    "Union": QueryWriter._union, "Intersect": QueryWriter._set_operation,
    "Except": QueryWriter._set_operation, "EventTimeWatermark": QueryWriter._same,
    "Sample": QueryWriter._sample, "Expand": QueryWriter._expand, "ResolvedHint": QueryWriter._hint,
    "Repartition": QueryWriter._hint, "RepartitionByExpression": QueryWriter._hint,
}  # fmt: skip
