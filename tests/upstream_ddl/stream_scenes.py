"""Cases of what happens below streams, played in a lake: what each stream then gives is the
difference of the rows that were there and that are there, or it says that it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import ArrayType, DataType, StructType

from dt_jupyter.model import DTError
from tests.spark.engine_lab import Lab
from tests.upstream_ddl.stream_cases import STALE, StreamCase
from tests.upstream_ddl.worlds import GOES_ON

_ROWS = (
    "INSERT INTO {t} VALUES"
    " (1, 10, 'a', named_struct('a', 1, 'b', 1), array(named_struct('x', 1, 'k', 2))),"
    " (2, 20, 'b', NULL, NULL), (3, 30, NULL, named_struct('a', 3, 'b', NULL), array())"
)
_PENDING = (
    "INSERT INTO {t} (id, v, s) VALUES (5, 50, named_struct('a', 5, 'b', 5));"
    " UPDATE {t} SET v = 11 WHERE id = 1"
)
_CHANGE = ("$ACTION", "$ISUPDATE", "$ROW_ID")


@dataclass
class StreamScene:
    """A case in a lake, over a table with a declared key or with row tracking."""

    lab: Lab
    case: StreamCase
    number: int
    keyed: bool
    problems: list[str] = field(default_factory=list)
    before: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    shown: Mapping[str, Row] = field(default_factory=dict)

    @property
    def names(self) -> Mapping[str, str]:
        p = f"s{self.number}"
        folder = str(self.lab.context.layout.tables)
        key = ", 'dt.primaryKey' = 'id'" if self.keyed else ""
        return {"dir": folder, "key": key, "n": p, **{n: f"{p}_{n}" for n in "tuwx"}}

    @property
    def sources(self) -> dict[str, str]:
        """Those of the case, with what it says of a stream on them."""
        said = {self.names["t"]: self.case.table, self.names["w"]: self.case.view}
        return {name: outcome for name, outcome in said.items() if outcome}

    def make(self) -> None:
        self.run(self.case.made.replace("{t}", "{u}"))
        self.run(f"{self.case.made}; {_ROWS}; {self.case.over}")
        over = "DYNAMIC TABLE" if "DYNAMIC TABLE" in self.case.over else "VIEW"
        for name in self.sources:
            kind = "TABLE" if name.endswith("_t") else over
            on = f"ON {kind} {name}"
            self.run(f"CREATE STREAM {name}_s {on}; CREATE STREAM {name}_a {on} APPEND_ONLY = TRUE")
            self.run(f"CREATE STREAM {name}_i {on} SHOW_INITIAL_ROWS = TRUE")
            self.before[name] = [r.asDict() for r in self.lab.spark.table(name).collect()]
        self.run(_PENDING)

    def show(self) -> None:
        shown = self.lab.engine.sql(f"SHOW STREAMS LIKE '{self.names['n']}%'").collect()
        self.shown = {r["NAME"]: r for r in shown}

    def run(self, script: str) -> None:
        for part in filter(None, map(str.strip, script.split(";"))):
            if part.startswith("> "):
                word, _, rest = part[2:].partition(" ")
                _ACTIONS[word](self, rest)
            else:
                self.lab.sql(part.format(**self.names))

    def play(self) -> None:
        self.make()
        self.run(f"{self.case.ddl}; {self.case.rows}")
        self.read()
        if self.case.mend:
            self.run(self.case.mend)
            self.show()
            for name in self.sources:
                self._told(f"{name}_s", GOES_ON, partial(self._difference, name))

    def read(self) -> None:
        self.show()
        for name, said in self.sources.items():
            self._told(f"{name}_s", said, partial(self._difference, name))
            appended = STALE if self.case.unfed and self.keyed else said
            self._told(f"{name}_a", appended, self._inserted)
            whole = GOES_ON if self.case.same else said
            self._told(f"{name}_i", whole, partial(self._whole, name))

    def _told(self, stream: str, said: str, wrong: Callable[[Any], str | None]) -> None:
        """What a stream gives, compared with what the case says."""
        shown = self.shown[stream]
        try:
            frame = self.lab.engine.sql(f"SELECT * FROM {stream}")
            found, problem = GOES_ON, wrong(frame)
        except DTError as e:
            found, problem = e.code, None
        if found != said:
            problem = f"{found}, not {said}: {shown['INVALID_REASON']}"
        elif bool(shown["STALE"]) != (said != GOES_ON):
            problem = f"{said}, and STALE is {shown['STALE']}: {shown['INVALID_REASON']}"
        elif (
            found == STALE and not self.lab.sql(f"SELECT SYSTEM$STREAM_HAS_DATA('{stream}')")[0][0]
        ):
            problem = f"{said}, and has no data"
        if problem:
            self.problems.append(f"{self.case.what} (keyed {self.keyed}), {stream}: {problem}")

    def _difference(self, name: str, frame: Any) -> str | None:
        rows = frame.collect()
        columns = [f for f in frame.schema.fields if f.name not in _CHANGE]
        renamed = {new: old for old, new in self.case.renamed.items()}
        then = [
            {f.name: r.get(renamed.get(f.name, f.name)) for f in columns} for r in self.before[name]
        ]
        net: Counter[Any] = Counter()
        for r in rows:
            net[_row(r.asDict(), columns)] += 1 if r["$ACTION"] == "INSERT" else -1
        want = Counter(_row(r.asDict(), columns) for r in self.lab.spark.table(name).collect())
        want.subtract(_row(r, columns, renamed) for r in then)
        if _left(net) != _left(want):
            return f"gives {_left(net)}, not {_left(want)}"
        twice = Counter((r["$ROW_ID"], r["$ACTION"]) for r in rows)
        return "an id comes twice" if any(n > 1 for n in twice.values()) else None

    def _inserted(self, frame: Any) -> str | None:
        found = tuple(sorted(r["id"] for r in frame.collect()))
        said = self.case.inserted
        return None if said in (None, found) else f"gives {found}, not {said}"

    def _whole(self, name: str, frame: Any) -> str | None:
        columns = [f for f in frame.schema.fields if f.name not in _CHANGE]
        found = Counter(_row(r.asDict(), columns) for r in frame.collect())
        want = Counter(_row(r.asDict(), columns) for r in self.lab.spark.table(name).collect())
        return None if found == want else f"gives {found}, not {want}"


def _row(
    values: Mapping[str, Any],
    fields: Sequence[Any],
    before: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Any, ...]:
    return tuple(_value(values[f.name], f.dataType, before) for f in fields)


def _value(value: Any, type_: DataType, before: Mapping[str, str]) -> Any:
    """As the type of now has it: a field that came later is NULL, `before` are earlier names."""
    if value is None:
        return None
    if isinstance(type_, StructType):
        known = value.asDict() if isinstance(value, Row) else value
        old = {new: known.get(name) for new, name in before.items()}
        return tuple(
            _value(known.get(f.name, old.get(f.name)), f.dataType, before) for f in type_.fields
        )
    if isinstance(type_, ArrayType):
        return tuple(_value(v, type_.elementType, before) for v in value)
    return value


def _left(net: Counter[Any]) -> dict[Any, int]:
    return {row: n for row, n in net.items() if n}


def _location(scene: StreamScene) -> str:
    rows = scene.lab.spark.sql(f"DESCRIBE EXTENDED {scene.names['t']}").collect()
    return str(next(r[1] for r in rows if r[0] == "Location"))


def _overwritten(scene: StreamScene, columns: str, partition: tuple[str, ...] = ()) -> None:
    frame = scene.lab.spark.sql(f"SELECT {columns} FROM {scene.names['t']}")
    writer = frame.write.mode("overwrite").option("overwriteSchema", "true").format("delta")
    writer.partitionBy(*partition).save(_location(scene))


def _restored(scene: StreamScene, rest: str) -> None:
    scene.lab.sql(f"RESTORE TABLE {scene.names['t']} TO VERSION AS OF 1")


def _refreshed(scene: StreamScene, rest: str) -> None:
    scene.lab.refresh(scene.names["w"])


_ACTIONS: Mapping[str, Callable[[StreamScene, str], None]] = {
    "overwrite": _overwritten,
    "repartition": lambda scene, rest: _overwritten(scene, "*", ("w",)),
    "restore": _restored,
    "refresh": _refreshed,
}


def streams_played(lab: Lab, cases: Sequence[tuple[StreamCase, bool]]) -> list[str]:
    """What is not as the cases say, of all of them in one lake; each with a declared key or not."""
    problems = []
    for i, (case, keyed) in enumerate(cases):
        scene = StreamScene(lab, case, i, keyed)
        try:
            scene.play()
        except Exception as e:
            problems.append(f"{case.what} (keyed {keyed}): {e!r}")
            print(problems[-1], flush=True)
        problems += scene.problems
        print(case.what, scene.problems, flush=True)
    return problems
