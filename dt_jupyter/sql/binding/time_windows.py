"""`window(ts, '10 minutes', '5 minutes')`: the windows of time that a row falls into."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import exp

from dt_jupyter.ivm import Call, Expr, Generate, Refusal, col, expr, refuse
from dt_jupyter.sql.binding.scalars import function_name
from dt_jupyter.sql.binding.scope import Scope
from dt_jupyter.sql.dialect import WholeSpark
from dt_jupyter.sql.text.literals import literal

_NAME = "window"
_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = r"\s*(-?\d+)\s*(" + "|".join(_MICROSECONDS) + r")s?\s*"
_INTERVAL = re.compile(rf"\s*(?:interval\s)?(?:{_PART})+\Z", re.IGNORECASE)
_MOST = 60
"""Windows that a row falls into: each is an operator."""


def is_time_window(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and function_name(node) == _NAME


def name_time_windows(tree: exp.Expr, taken: frozenset[str]) -> None:
    """A SELECT with a window of time sees it as the column `window`, as Spark does: that becomes
    the call again, before names are resolved. The tree is changed in place; `taken` are tables
    that have a column of that name."""
    for select in list(tree.find_all(exp.Select)):
        calls = _calls([select])
        if not calls:
            continue
        read = [c for c in _own(select) if isinstance(c, exp.Column) and _reads_window(c)]
        if read and _has_other(select, tree, taken):
            raise refuse(Refusal.TIME_WINDOW, what="window() beside another column `window`")
        for column in read:
            inside: exp.Expr = calls[0].copy()
            if column.table:
                inside = exp.Dot(this=inside, expression=column.this)
            column.replace(inside)
        for item in select.expressions:
            if is_time_window(item) or _is_field(item):
                name = _NAME if is_time_window(item) else item.expression.name
                item.replace(exp.alias_(item.copy(), name))


def _own(node: exp.Expr) -> list[exp.Expr]:
    """The text of a SELECT without its subqueries."""
    return list(node.walk(prune=lambda n: isinstance(n, exp.Query) and n is not node))


def _is_field(node: exp.Expr) -> bool:
    return isinstance(node, exp.Dot) and is_time_window(node.this)


def _reads_window(column: exp.Column) -> bool:
    """Whether it is `window` or a field of it, and no argument of the call."""
    named = column.table if column.table else column.name
    return str(named).lower() == _NAME and not column.args.get("db") and not _within(column)


def _has_other(select: exp.Select, tree: exp.Expr, taken: frozenset[str]) -> bool:
    """Whether what a SELECT reads may have that name or a column of it; yes when in doubt."""
    from_ = select.args.get("from_") or select.args.get("from")
    below = [n for n in (from_, *(select.args.get("joins") or ())) if n is not None]
    common = {c.alias: c for c in tree.find_all(exp.CTE)}
    read = {t.name for n in below for t in n.find_all(exp.Table)}
    seen = [*below, *(common.values() if read & common.keys() else ())]
    return any(_names_window(n, taken) for part in seen for n in part.walk())


def _names_window(node: exp.Expr, taken: frozenset[str]) -> bool:
    if isinstance(node, exp.Alias | exp.Table | exp.Subquery):
        return node.alias_or_name.lower() == _NAME or node.name in taken
    return is_time_window(node)


def _within(node: exp.Expr) -> bool:
    ancestor = node.find_ancestor(exp.Anonymous)
    return ancestor is not None and is_time_window(ancestor)


def _calls(nodes: Iterable[exp.Expr]) -> list[exp.Expr]:
    """The windows of time in texts, each once."""
    found: dict[exp.Expr, None] = {}
    for node in nodes:
        found.update(dict.fromkeys(n for n in _own(node) if is_time_window(n)))
    return list(found)


def bind_time_windows(scope: Scope, nodes: Iterable[exp.Expr]) -> None:
    """Computes the window of time of a SELECT, which has one at most: rows without a time fall
    into none, and with a slide a row falls into several."""
    calls = _calls(nodes)
    if len(calls) > 1:
        raise refuse(Refusal.TIME_WINDOW, what="window() twice, of different times")
    for call in calls:
        time, *lengths = call.expressions
        duration, slide, start = _lengths(lengths)
        ts = scope.scalar(time)
        scope.filter([expr("({t}) IS NOT NULL", t=ts)])
        if duration % slide:
            raise refuse(Refusal.TIME_WINDOW, what="window() with a slide that does not divide it")
        if duration // slide > _MOST:
            raise refuse(Refusal.TIME_WINDOW, what=f"window() of more than {_MOST} slides")
        starts = range(start, start + duration, slide)
        made = [scope.column(_window(ts, duration, s), "window") for s in starts]
        scope.known[call] = made[0] if len(made) == 1 else _each(scope, made)


def _each(scope: Scope, windows: list[str]) -> str:
    """A row for each of these columns."""
    array = Call("ARRAY", tuple(map(col, windows)))
    made = scope.ids.new("window")
    scope.rel = Generate(scope.rel, Call("EXPLODE", (array,)), (made,))
    return made


def _window(ts: Expr, duration: int, start: int) -> Expr:
    """Windows that follow each other, of which a row is in one."""
    length, offset = (literal(f"{n} microseconds") for n in (duration, start))
    return expr("WINDOW({t}, " + f"{length}, {length}, {offset})", t=ts)


def _lengths(nodes: list[exp.Expr]) -> tuple[int, int, int]:
    """Duration, slide and start in microseconds."""
    if not 1 <= len(nodes) <= 3:
        raise refuse(Refusal.TIME_WINDOW, what=f"window() with {1 + len(nodes)} arguments")
    duration, *more = map(_microseconds, nodes)
    slide = more[0] if more else duration
    if slide <= 0 or duration <= 0:
        raise refuse(Refusal.TIME_WINDOW, what="window() of no length")
    return duration, slide, more[1] if len(more) > 1 else 0


def _microseconds(node: exp.Expr) -> int:
    text = str(node.this) if isinstance(node, exp.Literal) and node.is_string else ""
    if not _INTERVAL.match(text):
        what = f"window() with the length {node.sql(dialect=WholeSpark)[:40]}"
        raise refuse(Refusal.TIME_WINDOW, what=what)
    parts = re.findall(_PART, text, re.IGNORECASE)
    return sum(int(n) * _MICROSECONDS[unit.lower()] for n, unit in parts)
