"""Reductions of two values of a column: what each strategy means, value by value.

Every one is associative, so that a transaction may be combined in parts and then into what the
store has (a law of the tests). NULL is neutral, but to the writes that win.
Source: Flow documentation, "Reductions" and "Strategies"; `combine` has the columnar forms.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import error

if TYPE_CHECKING:
    import pyarrow as pa


class Strategy(StrEnum):
    LAST_WRITE_WINS = "LAST_WRITE_WINS"
    FIRST_WRITE_WINS = "FIRST_WRITE_WINS"
    SUM = "SUM"
    MIN = "MIN"
    MAX = "MAX"
    APPEND = "APPEND"
    SET = "SET"
    MERGE = "MERGE"


@dataclass(frozen=True)
class ReduceRule:
    """A strategy and what it goes by.

    `key` names fields: MIN and MAX compare structs by them and keep the whole (minimize and
    maximize by key); SET and MERGE find elements of a list by them. `fields` are the rules of a
    struct's fields under MERGE; without one a struct merges, a list and a plain value is last
    write wins.
    """

    strategy: Strategy
    key: tuple[str, ...] = ()
    fields: Mapping[str, ReduceRule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))

    @property
    def repeatable(self) -> bool:
        """Whether reducing the same rows twice leaves what reducing them once does."""
        if self.strategy in (Strategy.SUM, Strategy.APPEND):
            return False
        return all(rule.repeatable for rule in self.fields.values())


SET_FIELDS = frozenset({"add", "remove", "intersect"})
"""Fields of a struct that changes a set; `remove` and `intersect` exclude each other."""


def reduce_values(rule: ReduceRule, left: Any, right: Any, kind: pa.DataType | None = None) -> Any:
    """What a column of a type holds after `left` and then `right`: lists, dicts, plain values, and
    maps as lists of pairs. Without the type an empty list is not known as a map."""
    if rule.strategy is Strategy.LAST_WRITE_WINS:
        return right
    if rule.strategy is Strategy.FIRST_WRITE_WINS:
        return left
    if left is None or right is None:
        return right if left is None else left
    if rule.strategy is Strategy.MERGE:
        return _merge(rule, left, right, kind)
    return _REDUCERS[rule.strategy](rule, left, right)


def _sum(rule: ReduceRule, left: Any, right: Any) -> Any:
    return left + right


def _min(rule: ReduceRule, left: Any, right: Any) -> Any:
    return right if _rank(rule, right) < _rank(rule, left) else left


def _max(rule: ReduceRule, left: Any, right: Any) -> Any:
    return right if _rank(rule, right) > _rank(rule, left) else left


def _rank(rule: ReduceRule, value: Any) -> tuple[Any, ...]:
    """What MIN and MAX compare: NULL is least, NaN greater than any number, as in Spark."""
    parts = [value[name] for name in rule.key] if rule.key else [value]
    return tuple((0, 0) if p is None else (2, 0) if _nan(p) else (1, p) for p in parts)


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _append(rule: ReduceRule, left: Any, right: Any) -> Any:
    return [*left, *right]


def _set(rule: ReduceRule, left: Any, right: Any) -> Any:
    if isinstance(left, list):
        return _union(rule, left, right)
    return _set_change(rule, left, right)


def _set_change(
    rule: ReduceRule, left: Mapping[str, Any], right: Mapping[str, Any]
) -> dict[str, Any]:
    """Changes of a set compose: x ↦ (x − remove) ∪ add, and x ↦ (x ∩ intersect) ∪ add."""
    add, remove, keep = right["add"] or [], right.get("remove"), right.get("intersect")
    if remove is not None and keep is not None:
        raise error("DT-6137", reduction="SET", column="?", problem="remove and intersect at once")
    before = left["add"] or []
    narrowed, removed = left.get("intersect"), left.get("remove")
    if keep is not None:
        narrowed = _minus(rule, keep, removed or []) if narrowed is None else narrowed
        narrowed, removed = _both(rule, narrowed, keep), None
        before = _both(rule, before, keep)
    elif remove is not None:
        before = _minus(rule, before, remove)
        if narrowed is not None:
            narrowed = _minus(rule, narrowed, remove)
        else:
            removed = _union(rule, removed or [], remove)
    found = {"add": _union(rule, before, add), "remove": removed, "intersect": narrowed}
    return {name: found[name] for name in left}


def finish_value(rule: ReduceRule, value: Any) -> Any:
    """A value as a store holds it, with nothing before it: a set only has what was added."""
    if rule.strategy is not Strategy.SET or value is None:
        return value
    if isinstance(value, Mapping):
        return dict.fromkeys(value) | {"add": _union(rule, [], value["add"] or [])}
    return _union(rule, [], value)


def _union(rule: ReduceRule, left: Iterable[Any], right: Iterable[Any]) -> list[Any]:
    """In the order of the elements' keys; of two with one key the later."""
    found = {_identity(rule, e): e for e in (*left, *right)}
    return [found[k] for k in sorted(found)]


def _minus(rule: ReduceRule, left: Iterable[Any], right: Iterable[Any]) -> list[Any]:
    gone = {_identity(rule, e) for e in right}
    return [e for e in left if _identity(rule, e) not in gone]


def _both(rule: ReduceRule, left: Iterable[Any], right: Iterable[Any]) -> list[Any]:
    kept = {_identity(rule, e) for e in right}
    return [e for e in left if _identity(rule, e) in kept]


def _identity(rule: ReduceRule, element: Any) -> str:
    """A text that is equal for elements that are one, by the key's fields if there are some."""
    if rule.key and isinstance(element, Mapping):
        element = [element[name] for name in rule.key]
    return json.dumps(element, sort_keys=True, default=str)


def _merge(rule: ReduceRule, left: Any, right: Any, kind: pa.DataType | None) -> Any:
    """Structs field by field, maps key by key, lists by the elements' keys."""
    if isinstance(left, Mapping):
        names = [*left, *(n for n in right if n not in left)]
        return {n: _merge_field(rule, n, left.get(n), right.get(n), _part(kind, n)) for n in names}
    if _is_map(kind, left, right):
        pairs = {_identity(rule, key): (key, value) for key, value in left}
        for key, value in right:
            at = _identity(rule, key)
            before = pairs[at][1] if at in pairs else None
            pairs[at] = key, _merge_parts(rule, before, value, _part(kind, "item"))
        return list(pairs.values())
    found = {_identity(rule, e): e for e in left}
    for element in right:
        at = _identity(rule, element)
        before = found.get(at)
        found[at] = _merge_parts(rule, before, element, _part(kind, "element"))
    return [found[k] for k in sorted(found)]


def _merge_field(
    rule: ReduceRule, name: str, left: Any, right: Any, kind: pa.DataType | None
) -> Any:
    if name in rule.fields:
        return reduce_values(rule.fields[name], left, right, kind)
    return _merge_parts(ReduceRule(Strategy.MERGE), left, right, kind)


def _merge_parts(rule: ReduceRule, left: Any, right: Any, kind: pa.DataType | None) -> Any:
    """Parts of nested values: structs and maps merge, of a list and of a plain value the last
    write wins. NULL is neutral."""
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, Mapping) or _is_map(kind, left, right):
        return _merge(rule, left, right, kind)
    return right


def _part(kind: pa.DataType | None, name: str) -> pa.DataType | None:
    """The type of a struct's field, a map's item, or a list's element."""
    import pyarrow.types as t

    if kind is None:
        return None
    if t.is_struct(kind):
        return kind.field(name).type
    return kind.item_type if t.is_map(kind) else kind.value_type


def _is_map(kind: pa.DataType | None, *values: Any) -> bool:
    """Arrow gives a map as a list of pairs; without its type an empty one is a list."""
    import pyarrow.types as t

    if kind is not None:
        return bool(t.is_map(kind))
    return any(isinstance(v, list) and v and isinstance(v[0], tuple) for v in values)


_REDUCERS: Mapping[Strategy, Callable[[ReduceRule, Any, Any], Any]] = MappingProxyType(
    {
        Strategy.SUM: _sum,
        Strategy.MIN: _min,
        Strategy.MAX: _max,
        Strategy.APPEND: _append,
        Strategy.SET: _set,
    }
)


def require_applicable(column: str, rule: ReduceRule, kind: pa.DataType) -> None:
    """DT-6137 for a strategy that means nothing for the column's type."""
    problem = _problem(rule, kind)
    if problem:
        raise error("DT-6137", reduction=rule.strategy, column=column, problem=problem)


def _problem(rule: ReduceRule, kind: pa.DataType) -> str:
    import pyarrow.types as t

    fields = {f.name for f in kind} if t.is_struct(kind) else set[str]()
    match rule.strategy:
        case Strategy.SUM if not (t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind)):
            return f"{kind} is not a number"
        case Strategy.MIN | Strategy.MAX if t.is_nested(kind) and not rule.key:
            return f"{kind} has no order: name the fields to compare by"
        case Strategy.MIN | Strategy.MAX if not set(rule.key) <= fields:
            return f"it has no field {', '.join(sorted(set(rule.key) - fields))}"
        case Strategy.MIN | Strategy.MAX if unordered := _nested_fields(kind, rule.key):
            return f"its field {unordered[0]} has no order"
        case Strategy.APPEND if not t.is_list(kind):
            return f"{kind} is not an array"
        case Strategy.SET if not (t.is_list(kind) or ("add" in fields and fields <= SET_FIELDS)):
            return f"{kind} is neither an array nor a struct of add, remove, intersect"
        case Strategy.MERGE if not t.is_nested(kind):
            return f"{kind} is not a struct, map or array"
        case Strategy.MERGE:
            return _problem_of_fields(rule, kind)
    return ""


def _nested_fields(kind: pa.DataType, names: Iterable[str]) -> list[str]:
    import pyarrow.types as t

    return [name for name in names if t.is_nested(kind.field(name).type)]


def _problem_of_fields(rule: ReduceRule, kind: pa.DataType) -> str:
    import pyarrow.types as t

    if rule.fields and not t.is_struct(kind):
        return f"{kind} has no fields"
    for name, inner in rule.fields.items():
        at = kind.get_field_index(name)
        if at < 0:
            return f"it has no field {name}"
        if found := _problem(inner, kind.field(at).type):
            return f"{name}: {found}"
    return ""
