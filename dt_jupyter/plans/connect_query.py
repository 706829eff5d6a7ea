"""A DataFrame of Spark Connect as SQL: from its plan, whose names the server has yet to resolve."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pyspark.errors import AnalysisException

from dt_jupyter.model import quote
from dt_jupyter.plans.connect_expression import ConnectExpressions
from dt_jupyter.plans.local_rows_sql import MOST_LOCAL_ROWS, values_sql
from dt_jupyter.plans.no_form import (
    FILES_READ_OTHERWISE,
    ManyRows,
    NoForm,
    NotTheSame,
    PythonFunction,
)
from dt_jupyter.spark import FILE_FORMATS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_JOINS = {1: "JOIN", 2: "FULL JOIN", 3: "LEFT JOIN", 4: "RIGHT JOIN", 5: "LEFT ANTI JOIN",
          6: "LEFT SEMI JOIN", 7: "CROSS JOIN"}  # fmt: skip
_SETS = {1: "INTERSECT", 2: "UNION", 3: "EXCEPT"}
_CROSS = 7
_ORDINARY, _ROLLUP, _CUBE = 1, 2, 3
_FIELDS = "spark.sql.debug.maxToStringFields"
_OPTIMIZED = re.compile(r"== Optimized Logical Plan ==\n(.*?)\n\n?== ", re.DOTALL)
_CUT = " more fields"
_QUOTED = re.compile(r"`[^`]+`")
_NUMBER = re.compile(r"#\d+L?")


@dataclass(frozen=True)
class ConnectText:
    """A SELECT that is being written: what stands after FROM, and each clause; `aliases` are the
    names in FROM of the plans that can be told there."""

    source: str
    aliases: Mapping[int, str]
    where: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    group: str = ""
    order: str = ""
    limit: str = ""
    head: str = ""

    @property
    def open(self) -> bool:
        """Whether conditions and items can still be put into it."""
        return not (self.items or self.group or self.order or self.limit or self.head)

    def sql(self) -> str:
        clauses = [f"SELECT {self.head}{', '.join(self.items) or '*'}", f"FROM {self.source}"]
        if self.where:
            clauses.append(f"WHERE {' AND '.join(self.where)}")
        return "\n".join((*clauses, *filter(None, (self.group, self.order, self.limit))))


@dataclass
class ConnectWriter:
    """Writes one plan; `columns` asks the server for the columns of a relation."""

    schema: Callable[[Any], Any]
    functions: Collection[str] = ()
    _aliases: Counter[str] = field(default_factory=Counter)

    def write(self, relation: Any) -> str:
        return self._text(relation).sql()

    def _text(self, relation: Any) -> ConnectText:
        kind = relation.WhichOneof("rel_type")
        rule = _RULES.get(kind)
        if rule is None:
            if kind in ("map_partitions", "group_map", "co_group_map"):
                raise PythonFunction(kind)
            raise NoForm(f"the operator {kind}")
        made: ConnectText = rule(self, getattr(relation, kind), relation)
        known = set(filter(None, made.aliases.values()))
        own = next(iter(known)) if made.open and len(known) == 1 else ""
        return replace(made, aliases={**made.aliases, relation.common.plan_id: own})

    def _alias(self, name: str) -> str:
        self._aliases[name.lower()] += 1
        number = self._aliases[name.lower()]
        return quote(name if number == 1 else f"{name}_{number}")

    def _closed(self, text: ConnectText) -> ConnectText:
        alias = self._alias("q")
        return ConnectText(f"(\n{text.sql()}\n) AS {alias}", dict.fromkeys(text.aliases, alias))

    def _opened(self, relation: Any) -> ConnectText:
        text = self._text(relation)
        return text if text.open else self._closed(text)

    def _bare(self, relation: Any) -> ConnectText:
        text = self._opened(relation)
        return self._closed(text) if text.where else text

    def _names(self, relation: Any) -> list[str]:
        return [f.name for f in self.schema(relation).fields]

    # -- leaves -----------------------------------------------------------------------------------

    def _read(self, node: Any, relation: Any) -> ConnectText:
        number = relation.common.plan_id
        if node.is_streaming:
            raise NoForm("a streaming source")
        if node.WhichOneof("read_type") == "named_table":
            if node.named_table.options:
                raise NoForm("a table that is read with options")
            name = node.named_table.unparsed_identifier
            return self._named(name, name.rpartition(".")[2].strip("`"), number)
        found = node.data_source
        kind = found.format.lower() or "delta"
        if kind != "delta" and kind not in FILE_FORMATS:
            raise NoForm("files that are no table")
        if found.options or found.schema or len(found.paths) != 1:
            raise NoForm(FILES_READ_OTHERWISE)
        return self._named(f"{kind}.{quote(found.paths[0])}", "rows", number)

    def _named(self, text: str, name: str, number: int) -> ConnectText:
        alias = self._alias(name)
        return ConnectText(f"{text} AS {alias}", {number: alias})

    def _sql(self, node: Any, relation: Any) -> ConnectText:
        if node.args or node.pos_args or node.named_arguments or node.pos_arguments:
            raise NoForm("a query with parameters")
        alias = self._alias("q")
        return ConnectText(f"(\n{node.query}\n) AS {alias}", {relation.common.plan_id: alias})

    def _rows(self, node: Any, relation: Any) -> ConnectText:
        import pyarrow as pa

        schema = self.schema(relation)
        with pa.ipc.open_stream(node.data) as stream:
            rows = stream.read_all().to_pylist()
        if len(rows) > MOST_LOCAL_ROWS:
            raise ManyRows(f"more than {MOST_LOCAL_ROWS:,} rows")
        alias = self._alias("rows")
        names = ", ".join(map(quote, schema.names))
        text = f"{values_sql(rows, schema)} AS {alias}({names})"
        return ConnectText(text, {relation.common.plan_id: alias})

    def _range(self, node: Any, relation: Any) -> ConnectText:
        text = f"range({node.start}, {node.end}, {node.step})"
        return self._named(text, "range", relation.common.plan_id)

    # -- operators --------------------------------------------------------------------------------

    def _same(self, node: Any, relation: Any) -> ConnectText:
        return self._text(node.input)

    def _named_again(self, node: Any, relation: Any) -> ConnectText:
        below = self._closed(self._text(node.input))
        source = below.source.rpartition(" AS ")[0]
        alias = quote(node.alias)
        return ConnectText(f"{source} AS {alias}", dict.fromkeys(below.aliases, alias))

    def _filter(self, node: Any, relation: Any) -> ConnectText:
        below = self._opened(node.input)
        return replace(
            below, where=(*below.where, f"({self._sql_of(below, node.condition, node.input)})")
        )

    def _sql_of(self, text: ConnectText, node: Any, below: Any = None) -> str:
        return self._writer(text, below).sql(node)

    def _writer(self, text: ConnectText, below: Any) -> ConnectExpressions:
        """Of expressions over a text; over that of a single input `below`, types are known."""
        kind_of = partial(self._kind, below) if below is not None else None
        return ConnectExpressions(text.aliases, self.functions, kind_of)

    def _kind(self, below: Any, node: Any) -> Any:
        """The type of an expression over a relation. NoForm where the server does not tell it, as
        of a lambda's variable."""
        made = type(below)()
        made.project.input.CopyFrom(below)
        made.project.expressions.append(node)
        try:
            return self.schema(made).fields[0].dataType
        except AnalysisException as e:
            raise NoForm("withField and dropFields where the type is not told") from e

    def _project(self, node: Any, relation: Any) -> ConnectText:
        below = self._opened(node.input)
        items = (self._items(below, e, node.input) for e in node.expressions)
        return replace(below, items=tuple(text for texts in items for text in texts))

    def _items(self, text: ConnectText, node: Any, below: Any) -> list[str]:
        """One, or those of `colRegex`."""
        if node.WhichOneof("expr_type") != "unresolved_regex":
            return [self._sql_of(text, node, below)]
        pattern = node.unresolved_regex.col_name
        if not _QUOTED.fullmatch(pattern):
            raise NoForm("colRegex without backquotes around all of it")
        matching = re.compile(pattern[1:-1], re.IGNORECASE)
        return [quote(n) for n in self._names(below) if matching.fullmatch(n)]

    def _with_columns(self, node: Any, relation: Any) -> ConnectText:
        below = self._opened(node.input)
        new = {a.name[0].lower(): a for a in node.aliases}
        items = [
            f"{self._sql_of(below, new.pop(n.lower()).expr, node.input)} AS {quote(n)}"
            if n.lower() in new
            else quote(n)
            for n in self._names(node.input)
        ]
        items += [
            f"{self._sql_of(below, a.expr, node.input)} AS {quote(a.name[0])}" for a in new.values()
        ]
        return replace(below, items=tuple(items))

    def _renamed(self, node: Any, relation: Any) -> ConnectText:
        return self._renaming(node.input, self._names(relation))

    def _to_names(self, node: Any, relation: Any) -> ConnectText:
        return self._renaming(node.input, list(node.column_names))

    def _renaming(self, below: Any, names: list[str]) -> ConnectText:
        pairs = zip(self._names(below), names, strict=True)
        items = tuple(f"{quote(a)} AS {quote(b)}" for a, b in pairs)
        return replace(self._opened(below), items=items)

    def _drop(self, node: Any, relation: Any) -> ConnectText:
        return replace(self._opened(node.input), items=tuple(map(quote, self._names(relation))))

    def _aggregate(self, node: Any, relation: Any) -> ConnectText:
        below = self._opened(node.input)
        if node.group_type not in (_ORDINARY, _ROLLUP, _CUBE):
            raise NoForm("pivot, or grouping sets")
        keys = [self._sql_of(below, e, node.input) for e in node.grouping_expressions]
        bare = [re.sub(r" AS `[^`]*`\Z", "", k) for k in keys]
        calls = [self._sql_of(below, e, node.input) for e in node.aggregate_expressions]
        word = {_ORDINARY: "({})", _ROLLUP: "ROLLUP ({})", _CUBE: "CUBE ({})"}[node.group_type]
        listed = word.format(", ".join(bare)) if node.group_type != _ORDINARY else ", ".join(bare)
        return replace(below, items=(*keys, *calls), group=f"GROUP BY {listed}" if keys else "")

    def _join(self, node: Any, relation: Any) -> ConnectText:
        left, right = self._bare(node.left), self._bare(node.right)
        if " JOIN " in right.source:
            right = self._closed(right)
        aliases = {**left.aliases, **right.aliases}
        free = not (node.using_columns or node.HasField("join_condition"))
        word = _JOINS[_CROSS if free and node.join_type == 1 else node.join_type]
        text = f"{left.source} {word} {right.source}"
        both = ConnectText(text, aliases)
        if node.using_columns:
            listed = ", ".join(map(quote, node.using_columns))
            return replace(both, source=f"{text} USING ({listed})")
        if node.HasField("join_condition"):
            return replace(both, source=f"{text} ON {self._sql_of(both, node.join_condition)}")
        return both

    def _set(self, node: Any, relation: Any) -> ConnectText:
        if node.by_name:
            raise NoForm("unionByName, or give the columns in the same order")
        word = _SETS[node.set_op_type] + (" ALL" if node.is_all else "")
        sides = (self._text(node.left_input).sql(), self._text(node.right_input).sql())
        text = f"\n{word}\n".join(f"(\n{s}\n)" for s in sides)
        alias = self._alias("q")
        return ConnectText(f"(\n{text}\n) AS {alias}", {relation.common.plan_id: alias})

    def _sort(self, node: Any, relation: Any) -> ConnectText:
        if not node.is_global:
            raise NoForm("sortWithinPartitions")
        below = self._opened(node.input)
        terms = ", ".join(map(self._writer(below, node.input).order, node.order))
        return replace(below, order=f"ORDER BY {terms}")

    def _limit(self, node: Any, relation: Any) -> ConnectText:
        below = self._text(node.input)
        return replace(self._closed(below) if below.limit else below, limit=f"LIMIT {node.limit}")

    def _distinct(self, node: Any, relation: Any) -> ConnectText:
        if not node.all_columns_as_keys:
            raise NoForm("dropDuplicates of some columns")
        return replace(self._opened(node.input), head="DISTINCT ")


def connect_query(spark: SparkSession, frame: DataFrame, functions: Collection[str] = ()) -> str:
    """The query of a DataFrame of Connect; NoForm where it has none.

    That the server optimizes the text to the same plan is seen by what EXPLAIN prints of both.
    """
    from pyspark.sql.connect.proto import Plan

    client = cast("Any", spark)._client
    root = cast("Any", frame)._plan.to_proto(client).root

    def schema(relation: Any) -> Any:
        return client.schema(Plan(root=relation))

    text = ConnectWriter(schema, functions).write(root)
    made = _read_again(spark, text)
    if frame.schema.simpleString() != made.schema.simpleString():
        raise NotTheSame("types of the columns of its SQL")
    if _optimized(spark, frame) != _optimized(spark, made):
        raise NotTheSame("what Spark makes of its SQL")
    return text


def _read_again(spark: SparkSession, text: str) -> DataFrame:
    try:
        made = spark.sql(text)
        made.schema  # noqa: B018  (it is analysed here)
    except AnalysisException as e:
        problem = str(e).strip().splitlines()[0]
        raise NoForm(f"something that Spark does not read again ({problem})") from e
    return made


def _optimized(spark: SparkSession, frame: Any) -> str:
    """The optimized plan as EXPLAIN prints it, whole, its columns numbered as they come."""
    before = spark.conf.get(_FIELDS, None)
    spark.conf.set(_FIELDS, "100000")
    try:
        text = frame._explain_string(extended=True)
    finally:
        spark.conf.set(_FIELDS, before) if before is not None else spark.conf.unset(_FIELDS)
    found = _OPTIMIZED.search(text)
    if found is None or _CUT in found[1]:
        raise NotTheSame("a plan that EXPLAIN does not print whole")
    numbers: dict[str, str] = {}
    return _NUMBER.sub(
        lambda m: numbers.setdefault(m[0].rstrip("L"), f"#{len(numbers)}"),
        found[1],
    )


_RULES: Mapping[str, Callable[[ConnectWriter, Any, Any], ConnectText]] = {
    "read": ConnectWriter._read,
    "sql": ConnectWriter._sql,
    "local_relation": ConnectWriter._rows,
    "range": ConnectWriter._range,
    "subquery_alias": ConnectWriter._named_again,
    "filter": ConnectWriter._filter,
    "project": ConnectWriter._project,
    "with_columns": ConnectWriter._with_columns,
    "with_columns_renamed": ConnectWriter._renamed,
    "to_df": ConnectWriter._to_names,
    "drop": ConnectWriter._drop,
    "aggregate": ConnectWriter._aggregate,
    "join": ConnectWriter._join,
    "set_op": ConnectWriter._set,
    "sort": ConnectWriter._sort,
    "limit": ConnectWriter._limit,
    "deduplicate": ConnectWriter._distinct,
    "with_watermark": ConnectWriter._same,
}
