"""Cases of what happens upstream, played in a lake: what the next refresh does, and that its
contents are the query's or, where it failed, what they were."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dt_jupyter.model import RefreshRecord
from tests.spark.engine_lab import Lab
from tests.upstream_ddl.worlds import ANEW, GOES_ON, MOVED, ROWS, Case

DONE = "done"


@dataclass
class Scene:
    """A case in a lake: the names of its tables, and its dynamic tables, one over named columns and
    one over `*`, with one above each where it is `deep`."""

    lab: Lab
    case: Case
    number: int
    between: bool
    deep: bool
    problems: list[str] = field(default_factory=list)
    kept: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)

    @property
    def names(self) -> Mapping[str, str]:
        p = f"c{self.number}"
        folder = str(self.lab.context.layout.tables)
        return {"dir": folder, "d": f"{p}_named", **{n: f"{p}_{n}" for n in "tuwx"}}

    @property
    def tables(self) -> tuple[tuple[str, str], ...]:
        """Each dynamic table with what the case says of it; those above come after both."""
        p = f"c{self.number}"
        return ((f"{p}_named", self.case.named), (f"{p}_star", self.case.star))

    def make(self) -> None:
        world = self.case.world
        self.run(f"{world.made}; {ROWS}; {world.before}")
        reads = world.reads.format(**self.names)
        (named, _), (star, _) = self.tables
        self.lab.dynamic_table(named, f"SELECT {world.named} FROM {reads} WHERE id > 0")
        self.lab.dynamic_table(star, f"SELECT * FROM {reads}")
        if self.deep:
            self.lab.dynamic_table(f"{named}_2", f"SELECT v, count(*) AS n FROM {named} GROUP BY v")
            self.lab.dynamic_table(f"{star}_2", f"SELECT * FROM {star}")

    def run(self, script: str) -> None:
        for part in filter(None, map(str.strip, script.split(";"))):
            if part.startswith("> "):
                word, _, rest = part[2:].partition(" ")
                ACTIONS[word](self, rest)
            else:
                self.lab.sql(part.format(**self.names))

    def happen(self) -> None:
        self.run(self.case.ddl)
        if self.between:
            self.run(self.case.rows)

    def refreshed(self, outcome: Callable[[str], str]) -> None:
        """Each table refreshed, and what came of it compared with what the case says."""
        for name, said in self.tables:
            if self.deep:
                self._refreshed_two(name, outcome(said))
            else:
                self._told(name, outcome(said), self._record(name))

    def _refreshed_two(self, name: str, said: str) -> None:
        above = self._record(f"{name}_2")
        below = next((r for r in above.upstream if str(r.name) == name), None)
        if below is None:
            self.problems.append(f"{self.case.what}: {name} was not refreshed: {above}")
            return
        self._told(name, said, below)
        self._told(f"{name}_2", _above(said), above)

    def _record(self, name: str) -> RefreshRecord:
        self.kept[name] = self.lab.rows(name)
        if self.deep:
            self.kept[name.removesuffix("_2")] = self.lab.rows(name.removesuffix("_2"))
        return self.lab.record(name)

    def _told(self, name: str, said: str, record: RefreshRecord) -> None:
        found = record.error_code or str(record.action)
        if said == DONE:
            ok = record.error is None
        else:
            allowed = {GOES_ON: MOVED if self.between else "NO_DATA"}.get(said, said).split("|")
            ok = found in allowed
        if not ok:
            why = record.error or f"{record.reason}"
            self._wrong(f"{name} is {found}, not {said}: {why}")
        if record.error is not None:
            if self.lab.rows(name) != self.kept[name]:
                self._wrong(f"{name} failed, and its contents are others")
        elif found != "NO_DATA" and (wrong := self.lab.wrong(name)):
            self._wrong(wrong)

    def _wrong(self, what: str) -> None:
        between = "with" if self.between else "without"
        self.problems.append(f"{self.case.what} ({between} rows): {what}")

    def location(self, name: str) -> Path:
        rows = self.lab.spark.sql(f"DESCRIBE EXTENDED {name}").collect()
        return Path(next(r[1] for r in rows if r[0] == "Location").removeprefix("file:"))


def _above(said: str) -> str:
    """What comes of a table that reads one of which this comes."""
    if said.startswith("DT-"):
        return "DT-2110"
    if said in (GOES_ON, DONE):
        return said
    return f"{MOVED}|{ANEW}|NO_DATA"


def _moved(scene: Scene, rest: str) -> None:
    name = scene.names["t"]
    old = scene.location(name)
    shutil.move(old, f"{old}_moved")
    scene.lab.sql(f"DROP TABLE {name}")
    scene.lab.sql(f"CREATE TABLE {name} USING delta LOCATION '{old}_moved'")


def _overwritten(scene: Scene, columns: str) -> None:
    name = scene.names["t"]
    frame = scene.lab.spark.sql(f"SELECT id, {columns} FROM {name}")
    frame.write.mode("overwrite").option("overwriteSchema", "true").format("delta").save(
        str(scene.location(name))
    )


def _widened(scene: Scene, rest: str) -> None:
    rows = scene.lab.spark.sql("SELECT 9 AS id, 90 AS v, 'z' AS w, 900 AS x")
    writer = rows.write.mode("append").option("mergeSchema", "true").format("delta")
    writer.save(str(scene.location(scene.names["t"])))


def _repartitioned(scene: Scene, rest: str) -> None:
    name = scene.names["t"]
    writer = scene.lab.spark.table(name).write.mode("overwrite").partitionBy("w")
    writer.option("overwriteSchema", "true").format("delta").save(str(scene.location(name)))


def _deleted(scene: Scene, rest: str) -> None:
    shutil.rmtree(scene.location(scene.names["t"]))


def _refreshed(scene: Scene, rest: str) -> None:
    for name, _ in scene.tables:
        scene.lab.record(name)


def _sunk(scene: Scene, rest: str) -> None:
    path = scene.lab.folder / f"{scene.names['t']}.sqlite"
    source = scene.names["t"]
    scene.lab.sql(f"CREATE SINK {source}_s FROM TABLE {source} INTO 'sqlite://{path}' KEY (id)")


ACTIONS: Mapping[str, Callable[[Scene, str], None]] = {
    "move": _moved,
    "overwrite": _overwritten,
    "widen": _widened,
    "repartition": _repartitioned,
    "delete": _deleted,
    "refresh": _refreshed,
    "sink": _sunk,
}


def played(
    lab: Lab, cases: Sequence[Case], *, between: bool, deep: bool, restart: bool
) -> list[str]:
    """What is not as the cases say, of all of them in one lake."""
    told = [c for c in cases if (c.rows or not between) and (c.lasts or not restart)]
    scenes = [Scene(lab, case, i, between, deep) for i, case in enumerate(told)]
    for scene in scenes:
        scene.make()
    for scene in scenes:
        scene.happen()
    if restart:
        lab.reopen()
    for scene in scenes:
        scene.refreshed(lambda said: said)
    for scene in scenes:
        if scene.case.mend:
            scene.run(scene.case.mend)
            scene.refreshed(lambda said: DONE)
    for scene in scenes:
        if scene.case.rows and deep:
            scene.between = True
            scene.run(scene.case.rows)
            scene.refreshed(lambda said: DONE)
    return [p for scene in scenes for p in scene.problems]


@pytest.fixture(autouse=True)
def without_schemas(quick_lab: Lab) -> Iterator[None]:
    """Schemas that cases make are gone afterwards: the session is that of all tests."""
    yield
    for (name,) in quick_lab.spark.sql("SHOW SCHEMAS").collect():
        if re.match(r"c\d+_", name):
            quick_lab.spark.sql(f"DROP SCHEMA {name} CASCADE")
