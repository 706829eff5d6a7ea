"""Reductions: the seed's example, each strategy, and associativity as a law."""

from __future__ import annotations

import datetime
import json
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dt_jupyter.sinks.binding import Binding
from dt_jupyter.sinks.combine import combine, read_changes, reduce_loaded
from dt_jupyter.sinks.reductions import ReduceRule, Strategy as S, _problem, reduce_values
from tests.unit.sinks.lab import (
    Change,
    D,
    I,
    ListSource,
    MemoryLog,
    PushMemory,
    R,
    RemoteMemory,
    World,
    binding,
    changes_of,
    deliver,
    oracle,
    refused,
    summed,
    table_of,
)

LONG, TEXT = pa.int64(), pa.string()
TEXTS = pa.list_(TEXT)
CHANGED = pa.struct([("add", TEXTS), ("remove", TEXTS), ("intersect", TEXTS)])
DOC = pa.struct([("n", LONG), ("s", TEXT), ("in", pa.struct([("m", LONG), ("t", TEXT)]))])
PICK = pa.struct([("at", LONG), ("who", TEXT)])
PAIRS = pa.map_(TEXT, LONG)

EVERY: dict[str, tuple[pa.DataType, ReduceRule]] = {
    "last": (TEXT, ReduceRule(S.LAST_WRITE_WINS)),
    "first": (TEXT, ReduceRule(S.FIRST_WRITE_WINS)),
    "total": (LONG, ReduceRule(S.SUM)),
    "exact": (pa.decimal128(20, 4), ReduceRule(S.SUM)),
    "least": (LONG, ReduceRule(S.MIN)),
    "most": (TEXT, ReduceRule(S.MAX)),
    "ratio": (pa.float64(), ReduceRule(S.MAX)),
    "earliest": (PICK, ReduceRule(S.MIN, ("at",))),
    "latest": (PICK, ReduceRule(S.MAX, ("at",))),
    "log": (TEXTS, ReduceRule(S.APPEND)),
    "tags": (TEXTS, ReduceRule(S.SET)),
    "members": (CHANGED, ReduceRule(S.SET)),
    "doc": (
        DOC,
        ReduceRule(
            S.MERGE,
            fields={
                "n": ReduceRule(S.SUM),
                "in": ReduceRule(S.MERGE, fields={"m": ReduceRule(S.MAX)}),
            },
        ),
    ),
    "parts": (pa.list_(PICK), ReduceRule(S.MERGE, ("at",))),
    "pairs": (PAIRS, ReduceRule(S.MERGE)),
}
WIDE = binding(
    ("k", LONG),
    ("j", TEXT),
    *((n, t) for n, (t, _) in EVERY.items()),
    rules={n: r for n, (_, r) in EVERY.items() if r.strategy is not S.LAST_WRITE_WINS},
    key=("k", "j"),
)


def random_value(rng: random.Random, name: str) -> Any:
    if rng.random() < 0.15:
        return None
    word, number = rng.choice("abcd"), rng.randint(-5, 5)
    words = [rng.choice("abcd") for _ in range(rng.randint(0, 3))]
    pick = {"at": rng.choice([None, 1, 2, 3]), "who": word}
    narrowing = rng.choice([{"remove": words}, {"intersect": words}, {}])
    values: dict[str, Any] = {
        "last": word,
        "first": word,
        "total": number,
        "exact": Decimal(number).scaleb(-4),
        "least": number,
        "most": word,
        "ratio": rng.choice([float("nan"), -0.5, 1.5, 3.0]),
        "earliest": pick,
        "latest": pick,
        "log": words,
        "tags": words,
        "members": {"add": sorted(set(words)), "remove": None, "intersect": None, **narrowing},
        "doc": {
            "n": rng.choice([None, number]),
            "s": rng.choice([None, word]),
            "in": rng.choice([None, {"m": number, "t": rng.choice([None, word])}]),
        },
        "parts": [{"at": a, "who": word} for a in range(rng.randint(0, 3))],
        "pairs": list(dict.fromkeys(words, number).items()),
    }
    return values[name]


def random_changes(rng: random.Random, count: int) -> list[Change]:
    found: list[Change] = []
    for _ in range(count):
        kind = rng.choices([I, D, R], [8, 2, 1])[0]
        row = {name: random_value(rng, name) for name in EVERY} if kind is not D else {}
        found.append((kind, {"k": rng.randint(0, 2), "j": rng.choice("xy"), **row}))
    return found


def canonical(rows: list[Change]) -> list[str]:
    """The changes as texts: maps have no order, NaN is NaN."""

    def plain(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], tuple):
            return sorted([list(pair) for pair in value])
        return value

    found = [{"kind": k, **{n: plain(v) for n, v in row.items()}} for k, row in rows]
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in found)


def finished(made: Binding, combined: pa.Table) -> list[Change]:
    return changes_of(reduce_loaded(made, combined, made.schema.empty_table()))


@pytest.mark.parametrize("seed", range(40))
def test_combining_parts_is_combining_all(seed: int) -> None:
    rng = random.Random(seed)
    changes = random_changes(rng, 30)
    cuts = sorted(rng.sample(range(31), 3))
    parts = [changes[a:b] for a, b in zip([0, *cuts], [*cuts, 30], strict=True)]
    tables = [read_changes(WIDE, [table_of(WIDE, part)]) for part in parts]
    whole = combine(WIDE, pa.concat_tables(tables))
    by_parts = combine(WIDE, pa.concat_tables([combine(WIDE, t) for t in tables]))
    left = combine(
        WIDE, pa.concat_tables([combine(WIDE, pa.concat_tables(tables[:2])), *tables[2:]])
    )
    right = combine(
        WIDE, pa.concat_tables([*tables[:2], combine(WIDE, pa.concat_tables(tables[2:]))])
    )
    expected = canonical(finished(WIDE, whole))
    for other in (by_parts, left, right):
        assert canonical(finished(WIDE, other)) == expected


@pytest.mark.parametrize("seed", range(40))
def test_columns_reduce_as_values_one_after_another(seed: int) -> None:
    changes = random_changes(random.Random(seed), 25)
    found = finished(WIDE, combine(WIDE, table_of(WIDE, changes)))
    kept = [(I, row) for kind, row in found if kind is not D]
    expected = [(I, row) for row in oracle(WIDE, changes).values()]
    assert canonical(kept) == canonical(expected)


@pytest.mark.parametrize("name", list(EVERY))
def test_reducing_values_is_associative(name: str) -> None:
    rule = EVERY[name][1]
    rng = random.Random(name)
    for _ in range(300):
        a, b, c = (random_value(rng, name) for _ in range(3))
        left = reduce_values(rule, reduce_values(rule, a, b), c)
        right = reduce_values(rule, a, reduce_values(rule, b, c))
        assert canonical([(I, {"v": left})]) == canonical([(I, {"v": right})]), (a, b, c)


def numbers(*values: int) -> list[Change]:
    return [(I, {"k": 1, "v": v, "name": "n"}) for v in values]


def test_the_seeds_example_in_full_and_with_delta_updates() -> None:
    """-1, 3, 2 → 4; then 6, -7, -1 → 2, loaded and reduced; with delta updates 4, then -2."""
    full, delta = World(), World()
    seen = []
    changes = numbers(-1, 3, 2, 6, -7, -1)
    for size in (3, 6):
        source = ListSource(summed(), changes[:size])
        made = World() if size == 3 else full
        (*_, last) = deliver(summed(), source, MemoryLog(), lambda w=made: RemoteMemory(w))
        seen.append((made.rows[1,]["v"], last.loaded))
    assert seen == [(4, 0), (2, 1)]
    source = ListSource(summed(delta=True), changes)
    done = deliver(summed(delta=True), source, MemoryLog(), lambda: PushMemory(delta))
    assert [row["v"] for _, _, row in delta.pushed] == [4, -2]
    assert [each.loaded for each in done] == [0, 0]


def test_a_delete_takes_the_key_and_what_it_summed() -> None:
    changes = [*numbers(5), (D, {"k": 1}), *numbers(2, 3)]
    (found,) = changes_of(combine(summed(), table_of(summed(), changes)))
    assert found == (R, {"k": 1, "v": 5, "name": "n"})
    (gone,) = changes_of(combine(summed(), table_of(summed(), [*numbers(5), (D, {"k": 1})])))
    assert gone == (D, {"k": 1, "v": None, "name": None})


def test_with_delta_updates_a_deleted_key_is_a_tombstone_and_a_replaced_one_both() -> None:
    world = World()
    made = summed(delta=True)
    changes = [*numbers(5), (D, {"k": 1}), *numbers(2), (D, {"k": 2})]
    deliver(made, ListSource(made, changes, 10), MemoryLog(), lambda: PushMemory(world))
    assert [(delete, row["k"]) for _, delete, row in world.pushed] == [
        (True, 1),
        (True, 2),
        (False, 1),
    ]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (LONG, [2**63 - 1, 1]),
        (pa.int8(), [100, 100]),
        (pa.decimal128(3, 1), [Decimal("99.9"), Decimal("0.1")]),
    ],
)
def test_a_sum_that_does_not_fit_is_refused(kind: pa.DataType, values: list[Any]) -> None:
    made = binding(("k", LONG), ("v", kind), rules={"v": ReduceRule(S.SUM)})
    with refused("DT-6133"):
        combine(made, table_of(made, [(I, {"k": 1, "v": v}) for v in values]))


def test_a_sum_that_would_overflow_on_the_way_is_exact() -> None:
    made = binding(("k", LONG), ("v", LONG), rules={"v": ReduceRule(S.SUM)})
    values = [2**63 - 1, 5, -(2**63 - 1)]
    ((_, row),) = changes_of(combine(made, table_of(made, [(I, {"k": 1, "v": v}) for v in values])))
    assert row["v"] == 5


MIRROR = binding(("k", LONG), ("v", TEXT))


def test_a_key_that_is_two_rows_is_told_with_one_of_them() -> None:
    changes = [(I, {"k": n, "v": "x"}) for n in (1, 2, 3, 2)]
    with refused("DT-6130") as problem:
        combine(MIRROR, table_of(MIRROR, changes))
    assert problem[0].facts["example"] == "k = 2"
    update = [(D, {"k": 1, "v": "old"}), (I, {"k": 1, "v": "new"})]
    assert changes_of(combine(MIRROR, table_of(MIRROR, update))) == [(R, {"k": 1, "v": "new"})]


def test_a_null_key_is_refused() -> None:
    with refused("DT-6131"):
        read_changes(MIRROR, [table_of(MIRROR, [(I, {"k": None, "v": "x"})])])


def test_a_source_that_lost_a_column_is_refused() -> None:
    for bad in (pa.table({"k": [1]}), pa.table({"k": ["one"], "v": ["x"]})):
        with refused("DT-6138"):
            read_changes(MIRROR, [bad])


@pytest.mark.parametrize(
    ("column", "kind", "rule"),
    [
        ("v", TEXT, ReduceRule(S.SUM)),
        ("v", TEXT, ReduceRule(S.APPEND)),
        ("v", LONG, ReduceRule(S.SET)),
        ("v", LONG, ReduceRule(S.MERGE)),
        ("v", PICK, ReduceRule(S.MIN)),
        ("v", PICK, ReduceRule(S.MAX, ("nobody",))),
        ("v", DOC, ReduceRule(S.MERGE, fields={"s": ReduceRule(S.SUM)})),
        ("v", DOC, ReduceRule(S.MERGE, fields={"nobody": ReduceRule(S.SUM)})),
        ("k", LONG, ReduceRule(S.SUM)),
        ("nobody", LONG, ReduceRule(S.SUM)),
    ],
)
def test_a_reduction_that_means_nothing_is_refused(
    column: str, kind: pa.DataType, rule: ReduceRule
) -> None:
    with refused("DT-6137"):
        binding(("k", LONG), ("v", kind), rules={column: rule})


@pytest.mark.parametrize(
    ("key", "kind"),
    [((), LONG), (("nobody",), LONG), (("k", "k"), LONG), (("k",), pa.float64()), (("k",), TEXTS)],
)
def test_a_key_that_cannot_be_one_is_refused(key: tuple[str, ...], kind: pa.DataType) -> None:
    with refused("DT-6136"):
        binding(("k", kind), ("v", LONG), key=key)


MAP_IN = pa.struct([("m", PAIRS), ("l", TEXTS), ("s", pa.struct([("m", PAIRS)]))])
DEEP = pa.map_(TEXT, pa.map_(TEXT, LONG))
STRUCT_KEYS = pa.map_(pa.struct([("x", LONG)]), LONG)
MERGED: dict[str, tuple[pa.DataType, list[Any], Any]] = {
    "a map in a struct": (
        MAP_IN,
        [{"m": [("p", 1)]}, {"m": [("q", 2)]}, {"m": [("p", 3)]}],
        {"m": [("p", 3), ("q", 2)], "l": None, "s": None},
    ),
    "an empty map in a struct": (
        MAP_IN, [{"m": [("p", 1)]}, {"m": []}], {"m": [("p", 1)], "l": None, "s": None}
    ),
    "a list in a struct is last write wins": (
        MAP_IN, [{"l": ["a"]}, {"l": ["b"]}, {"l": []}], {"m": None, "l": [], "s": None}
    ),
    "a map in a struct in a struct": (
        MAP_IN,
        [{"s": {"m": [("p", 1)]}}, {"s": {"m": [("q", 2)]}}],
        {"m": None, "l": None, "s": {"m": [("p", 1), ("q", 2)]}},
    ),
    "a map in a map": (
        DEEP,
        [[("a", [("p", 1)])], [("a", [("q", 2)]), ("b", [])]],
        [("a", [("p", 1), ("q", 2)]), ("b", [])],
    ),
    "an empty map": (PAIRS, [[], [("p", 1)], []], [("p", 1)]),
    "NULL in a map": (PAIRS, [[("p", 1)], [("p", None), ("q", None)]], [("p", 1), ("q", None)]),
    "a map with structs as keys": (
        STRUCT_KEYS,
        [[({"x": 1}, 1)], [({"x": 2}, 2), ({"x": 1}, 3)]],
        [({"x": 1}, 3), ({"x": 2}, 2)],
    ),
    "a map with structs as values": (
        pa.map_(TEXT, MAP_IN),
        [[("a", {"m": [("p", 1)]})], [("a", {"m": [("q", 2)]})]],
        [("a", {"m": [("p", 1), ("q", 2)], "l": None, "s": None})],
    ),
    "a map in structs of a list": (
        pa.list_(pa.struct([("id", LONG), ("m", PAIRS)])),
        [[{"id": 1, "m": [("p", 1)]}], [{"id": 1, "m": [("q", 2)]}, {"id": 2, "m": []}]],
        [{"id": 1, "m": [("p", 1), ("q", 2)]}, {"id": 2, "m": []}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(MERGED))
def test_maps_merge_key_by_key_wherever_they_are(name: str) -> None:
    """In one transaction, and into what a store has."""
    kind, values, expected = MERGED[name]
    rule = ReduceRule(S.MERGE, ("id",) if pa.types.is_list(kind) else ())
    made = binding(("k", LONG), ("v", kind), rules={"v": rule})
    changes: list[Change] = [(I, {"k": 1, "v": value}) for value in values]
    for size in (1, len(changes)):
        world = World()
        deliver(made, ListSource(made, changes, size), MemoryLog(), lambda w=world: RemoteMemory(w))
        (found,) = pa.array([row["v"] for row in world.rows.values()], kind).to_pylist()
        assert found == expected, size


KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "long": (LONG, [2, 1]),
    "double": (pa.float64(), [1.5, float("nan")]),
    "decimal": (pa.decimal128(38, 2), [Decimal("1.50"), Decimal("2.00")]),
    "string": (TEXT, ["b", "a"]),
    "binary": (pa.binary(), [b"\xff", b"\x00"]),
    "date": (pa.date32(), [datetime.date(9999, 12, 31), datetime.date(1, 1, 1)]),
    "timestamp": (pa.timestamp("us", "UTC"), [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)]),
    "array": (TEXTS, [["a"], ["a", None], []]),
    "array of structs": (pa.list_(PICK), [[{"at": 1, "who": "a"}], [{"at": 2, "who": "b"}]]),
    "array of arrays": (pa.list_(TEXTS), [[["a"], []], [["a"]]]),
    "map": (PAIRS, [[("p", 1)], [("q", 2)], []]),
    "map of structs": (STRUCT_KEYS, [[({"x": 1}, 1)], [({"x": 2}, 2)]]),
    "struct": (MAP_IN, list(MERGED["a map in a struct"][1])),
    "change of a set": (CHANGED, [{"add": ["a"]}, {"remove": ["a"]}, {"intersect": ["b"]}]),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("strategy", list(S))
def test_a_reduction_of_any_type_is_refused_or_reduces_value_by_value(
    strategy: S, kind: str
) -> None:
    type_, values = KINDS[kind]
    rule = ReduceRule(strategy)
    if _problem(rule, type_):
        with refused("DT-6137"):
            binding(("k", LONG), ("v", type_), rules={"v": rule})
        return
    made = binding(("k", LONG), ("v", type_), rules={"v": rule})
    values = pa.array([*values, None, values[0]], type_).to_pylist()
    changes: list[Change] = [(I, {"k": 1, "v": value}) for value in values]
    results = []
    for size in (1, 2, len(changes)):
        world = World()
        deliver(made, ListSource(made, changes, size), MemoryLog(), lambda w=world: RemoteMemory(w))
        results += pa.array([row["v"] for row in world.rows.values()], type_).to_pylist()
    assert len({repr(result) for result in results}) == 1


def test_a_nested_field_is_nothing_to_compare_by() -> None:
    kind = pa.struct([("at", TEXTS), ("n", LONG)])
    with refused("DT-6137"):
        binding(("k", LONG), ("v", kind), rules={"v": ReduceRule(S.MIN, ("at",))})


def test_a_string_that_is_no_text_is_refused_at_any_depth() -> None:
    """Spark's CAST of a binary value makes such strings; half a surrogate pair is one in UTF-8."""
    for value in (b"\xff", b"\xed\xa0\x80"):
        length = len(value).to_bytes(4, "little")
        text = pa.Array.from_buffers(
            pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0" + length), pa.py_buffer(value)]
        )
        nested = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), text)
        for array in (text, nested, pa.StructArray.from_arrays([nested], ["f"])):
            made = binding(("k", LONG), ("v", array.type))
            rows = pa.table({"k": pa.array([1]), "v": array})
            with refused("DT-6133"):
                read_changes(made, [rows])
