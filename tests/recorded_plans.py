"""Spark's plans for tests without a JVM: documents that Spark wrote once, stored beside the tests.

`python3 dev.py record` runs the tests that ask for them on one Spark session and writes the stores.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.ivm import Rel
from dt_jupyter.model import quote
from dt_jupyter.plans.plan_document import digest_document, read_document
from dt_jupyter.plans.plan_relation import read_query_document, relation_of_plan
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.spark import Catalyst, builtin_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent
FOLDER = TESTS / "recorded"
"""A store for each file of tests, and the names of Spark's functions."""
RECORDING = os.environ.get("DT_TEST_RECORD", "")
"""`all`: of all tests of the files that run, whose stores lose what none of them asks for; `more`:
of some; "": none."""
_FUNCTIONS = FOLDER / "functions.txt"
_COLUMN = re.compile(r"\s*(`(?:[^`]|``)+`|\w+)\s*:?\s*([^,(<]+(?:\([^)]*\)|<.*?>(?=,|\Z))?)\s*,?")
_STORES: dict[Path, RecordedPlans] = {}


@dataclass(frozen=True)
class RecordedPlan:
    """The document of a text over temporary views without rows: `tables` by name, each with the DDL
    of its columns, and `views` by name, each with its query."""

    text: str
    tables: Mapping[str, str]
    views: Mapping[str, str]
    document: str = ""

    @property
    def key(self) -> str:
        """A digest of what Spark is asked."""
        asked = json.dumps([self.text, dict(self.tables), list(self.views.items())], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()


@dataclass
class RecordedPlans:
    """Those of one file of tests."""

    path: Path
    asked: dict[str, RecordedPlan] = field(default_factory=dict)

    @classmethod
    def of(cls, file: str) -> RecordedPlans:
        """Those of the file of tests of this path."""
        name = "-".join(Path(file).relative_to(TESTS).with_suffix("").parts)
        path = FOLDER / f"{name}.xz"
        return _STORES.setdefault(path, cls(path))

    @cached_property
    def plans(self) -> dict[str, RecordedPlan]:
        """What is stored, by key."""
        return read_store(self.path) if self.path.exists() else {}

    def document(
        self, text: str, tables: Mapping[str, str], views: Mapping[str, str] | None = None
    ) -> str:
        """The document of a query. AssertionError where it is not recorded."""
        wanted = RecordedPlan(text, tables, views or {})
        key = wanted.key
        if RECORDING and key not in self.asked:
            self.asked[key] = self._recorded(key, recorder().record(wanted))
        found = (self.asked if RECORDING else self.plans).get(key)
        if found is None:
            shown = text if len(text) < 300 else f"{text[:300]} …"
            raise AssertionError(f"Run `python3 dev.py record`: no plan is recorded of {shown}")
        return found.document

    def relation(
        self, text: str, tables: Mapping[str, str], views: Mapping[str, str] | None = None
    ) -> Rel:
        """The relation of a query; Refused where the reader refuses it."""
        known = {name: PlanSource(name, column_names(ddl)) for name, ddl in tables.items()}
        return relation_of_plan(
            read_document(self.document(text, tables, views)), known, spark_functions()
        )

    def write(self, *, passed: bool) -> None:
        """Writes what was asked for, and with it what is stored unless all tests have passed."""
        whole = passed and RECORDING == "all"
        kept = dict(self.asked) if whole else {**self.plans, **self.asked}
        if kept != self.plans:
            write_store(self.path, kept)

    def _recorded(self, key: str, made: RecordedPlan) -> RecordedPlan:
        """The plan that is stored, if that is no other one: its bytes do not change."""
        before = self.plans.get(key)
        if before is None or digest_document(before.document) != digest_document(made.document):
            return made
        return before


def read_store(path: Path) -> dict[str, RecordedPlan]:
    """The plans of a store, by key."""
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    plans = (RecordedPlan(**json.loads(line)) for line in lines)
    return {plan.key: plan for plan in plans}


def write_store(path: Path, plans: Mapping[str, RecordedPlan]) -> None:
    """One line of JSON for each, in the order of their texts; equal plans are equal bytes."""
    FOLDER.mkdir(exist_ok=True)
    ordered = sorted(plans.values(), key=lambda p: (p.text, p.key))
    lines = (json.dumps(vars(plan), ensure_ascii=False, default=dict) for plan in ordered)
    path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9))


def write_stores(*, passed: bool) -> None:
    """Ends a recording: writes the stores of all files that asked, and the names of functions."""
    for plans in _STORES.values():
        plans.write(passed=passed)
    names = "\n".join(recorder().functions())
    _FUNCTIONS.write_text(f"{names}\n", "utf-8")


@cache
def spark_functions() -> frozenset[str]:
    """The names of Spark's own functions, in lower case."""
    if RECORDING:
        return frozenset(recorder().functions())
    return frozenset(_FUNCTIONS.read_text("utf-8").split())


def column_names(ddl: str) -> tuple[str, ...]:
    """Those of the columns of a DDL."""
    found = _COLUMN.findall(ddl)
    return tuple(n[1:-1].replace("``", "`") if n[0] == "`" else n for n, _ in found)


@dataclass
class Recorder:
    """Asks a Spark session for the documents of texts."""

    spark: SparkSession
    _views: Any = None
    _session: SparkSession | None = None

    def record(self, plan: RecordedPlan) -> RecordedPlan:
        """The same with the document that Spark gives now."""
        catalyst = Catalyst.of(self._with_views(plan.tables, plan.views))
        return replace(plan, document=read_query_document(catalyst, plan.text))

    def functions(self) -> list[str]:
        return sorted(builtin_functions(self.spark))

    def _with_views(self, tables: Mapping[str, str], views: Mapping[str, str]) -> SparkSession:
        """A session in which plans are what they are on any machine, with temporary views without
        rows for tables, and views over them."""
        wanted = dict(tables), dict(views)
        if self._session is not None and self._views == wanted:
            return self._session
        made = self.spark.newSession()
        made.conf.set("spark.sql.session.timeZone", "UTC")
        for name, ddl in tables.items():
            made.createDataFrame([], ddl).createOrReplaceTempView(quote(name))
        for name, text in views.items():
            made.sql(f"CREATE TEMPORARY VIEW {quote(name)} AS {text}")
        self._views, self._session = wanted, made
        return made


@cache
def recorder() -> Recorder:
    """That of a recording, on a session of its own."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    made = builder.master("local[1]").appName("record").config("spark.ui.enabled", "false")
    return Recorder(made.getOrCreate())
