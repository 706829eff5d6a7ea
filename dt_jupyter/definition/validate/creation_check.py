"""The check at creation: what was bound and derived, against the text itself, on small data.

Sources are filled with rows, split into an old and a new state; the stages are initialised on
the old one, moved by their own statements, and compared with the user's text on the new one.
What is wrong anywhere between the parser and the merge shows as a difference.

Its work is bounded three times: by the operators of a statement, by the rows that it may come to,
counted before it is run, and by the clock.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, types as T

from dt_jupyter.definition.change_size import affected
from dt_jupyter.definition.validate.bag_diff import difference
from dt_jupyter.definition.validate.check_plan import Rung, joined_columns, rounds, rungs
from dt_jupyter.definition.validate.generated_rows import NoValues, sample_rows
from dt_jupyter.definition.validate.row_bound import TooManyRows
from dt_jupyter.definition.validate.sandbox import (
    Mismatch,
    RowColumns,
    Sandbox,
    move_stage,
    put_split,
)
from dt_jupyter.ivm import End, Rel, Scan, Sizes, Stage, arranged
from dt_jupyter.lake import LocalViews, NotSupported
from dt_jupyter.model import DEFAULTS, count_of
from dt_jupyter.spark import cancel, check_cancelled, job_group
from dt_jupyter.sql import BagSql, GroupSql

_ROWS = 40
"""What each source is taken to have where joins are put in order."""

ROUNDS_SECONDS = 3.0
"""After these no round is begun."""

_INTERPRETED = {
    # Compiling a plan costs a hundred times what a few rows do.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # What many equal columns imply of each other is their square, and nothing to a few rows.
    "spark.sql.constraintPropagation.enabled": "false",
}


@dataclass(frozen=True)
class Verdict:
    """What the check found: None in `mismatch` is agreement; `checked` says on what."""

    mismatch: str | None
    checked: str


Original = Callable[[Mapping[str, str]], str]
"""The user's text with each source (by id) replaced by a relation."""


@dataclass(frozen=True)
class Subject:
    """What is checked: the stages with their statements, the schemas of the sources by id, the
    text, and the text over other relations."""

    stages: tuple[tuple[Stage, GroupSql | BagSql], ...]
    sources: Mapping[str, T.StructType]
    query: str
    original: Original

    @property
    def bare(self) -> tuple[Stage, ...]:
        return tuple(stage for stage, _ in self.stages)

    @property
    def sizes(self) -> Sizes:
        """What a refresh knows about its sources, for joins in the order that it takes."""
        types = {
            (s, f.name.lower()): f.dataType.simpleString()
            for s, schema in self.sources.items()
            for f in schema
        }
        return Sizes(lambda s: _ROWS, {}, lambda s, column: types.get((s, column.lower())))

    @cached_property
    def moved(self) -> tuple[Rel, ...]:
        """The inputs of the stages as a refresh moves them."""
        return tuple(arranged(stage.input, self.sizes) for stage in self.bare)


def check(
    views: LocalViews,
    stages: tuple[tuple[Stage, GroupSql | BagSql], ...],
    sources: Mapping[str, T.StructType],
    real: Mapping[str, list[dict[str, Any]]],
    query: str,
    original: Original,
    rng: random.Random,
    *,
    rounds_seconds: float = ROUNDS_SECONDS,
    most_seconds: float = DEFAULTS.check_seconds,
) -> Verdict:
    """Runs the check on generated rows and on a sample of real ones (`real`, by source id), which
    are `views` without Spark where statements over so few rows are run without it.

    `most_seconds` after its begin Spark's jobs are cancelled; what was left out is reported.
    """
    spark = views.spark
    for conf, value in _INTERPRETED.items():
        spark.conf.set(conf, value)
    subject = Subject(stages, sources, query, original)
    until = time.monotonic() + rounds_seconds
    with _cancelled_after(spark, most_seconds) as out_of_time:
        for generated in (True, False) if any(real.values()) else (True,):
            run = _Run(views, subject, real, generated, rng)
            try:
                return run.check(until)
            except (PySparkException, Py4JJavaError, NotSupported, NoValues) as e:
                # Rows that make the text itself fail, and types that cannot be generated, say
                # nothing of the derivative; what was checked is reported.
                if out_of_time():
                    done = run.told if run.changed else "no rows"
                    return Verdict(None, f"{done}; stopped after {most_seconds:g} s")
                if _was_cancelled(e):
                    raise
                if run.changed:
                    return Verdict(None, run.told)
    return Verdict(None, "no rows: the query fails on all rows that were tried")


@contextmanager
def _cancelled_after(spark: SparkSession, seconds: float) -> Iterator[Callable[[], bool]]:
    """Cancels jobs of the block after `seconds`; yields whether it did."""
    group = f"check:{uuid.uuid4().hex}"
    late = threading.Event()

    def stop() -> None:
        late.set()
        cancel(spark, group)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    with job_group(spark, group, "check at creation"):
        timer.start()
        try:
            yield late.is_set
        finally:
            timer.cancel()


def _was_cancelled(e: Exception) -> bool:
    return "SPARK_JOB_CANCELLED" in str(e)


@dataclass
class _Run:
    """Rounds of the check on one kind of rows; `changed` are the sources whose changes agreed."""

    views: LocalViews
    subject: Subject
    real: Mapping[str, list[dict[str, Any]]]
    generated: bool
    rng: random.Random
    data: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def check(self, until: float) -> Verdict:
        """Round after round, until that time; on the first rung whose rows are few enough."""
        try:
            return self._rounds(Sandbox(self.views), until)
        finally:
            self.views.drop()

    def _rounds(self, box: Sandbox, until: float) -> Verdict:
        subject = self.subject
        pending = list(rungs(subject.bare))
        for some in chain(rounds(subject.bare, subject.sources, self.rng), (frozenset[str](),)):
            if (self.data and not some) or (self.changed and time.monotonic() > until):
                break
            check_cancelled()
            while pending:
                self.data = self.data or self._made(pending[0])
                try:
                    mismatch = _round(box, subject, self.data, some, self.rng)
                    break
                except TooManyRows:
                    pending, self.data = pending[1:], {}
            else:
                return Verdict(None, "no rows: even a few rows of each source are too many")
            if mismatch:
                return Verdict(f"{mismatch}, on {self._rows}", self._rows)
            self.changed |= some
        return Verdict(None, self.told)

    def _made(self, rung: Rung) -> dict[str, list[dict[str, Any]]]:
        joined = joined_columns(self.subject.bare)
        found: dict[str, list[dict[str, Any]]] = {}
        for source, schema in self.subject.sources.items():
            keys = {n for s, n in joined if s == source}
            count = rung.made if self.generated else 0
            made = sample_rows(schema, self.subject.query, count, self.rng, keys, rung.drift)
            found[source] = made + list(self.real.get(source, ()))[: rung.real]
        return found

    @property
    def told(self) -> str:
        """What was checked, and what of it was left out."""
        sources = len(self.subject.sources)
        if len(self.changed) == sources:
            return self._rows
        return f"{self._rows}; changes of {len(self.changed)} of {count_of(sources, 'source')}"

    @property
    def _rows(self) -> str:
        kind = "test" if self.generated else "sampled"
        return count_of(sum(map(len, self.data.values())), f"{kind} row")


def _round(
    box: Sandbox,
    subject: Subject,
    data: Mapping[str, list[dict[str, Any]]],
    changed: frozenset[str],
    rng: random.Random,
) -> str | None:
    """The stages moved where some sources change; how they differ from the text."""
    for source, schema in subject.sources.items():
        columns = RowColumns(schema)
        if source in changed:
            put_split(box, source, columns, data[source], _share(len(changed)), rng)
        else:
            box.put(source, (End.OLD, End.NEW), data[source], columns)
    moving = affected(subject.bare, changed)
    try:
        for (stage, sql), moved in zip(subject.stages, subject.moved, strict=True):
            public = move_stage(box, stage, sql, moved, moving, subject.sizes)
    except Mismatch as e:
        return str(e)
    places = {s: box.place(Scan(s, ())) for s in subject.sources}
    wanted, _ = box.rows_by_spark(subject.original(places))
    names = [n for n, _ in subject.bare[-1].outputs]
    return difference(
        [tuple(r[n] for n in names) for r in public],
        [tuple(r.values()) for r in wanted],
        tolerance=1e-9,
    )


def _share(changed: int) -> float:
    """How much of a source stays: a row of a join of many has to find all its partners."""
    return max(1 / 3, 1 - 2.5 / changed)
