"""What Spark's analyser says about a query: asked once, and stored with the dynamic table.

Only answers are stored. All that is derived from them is computed again, so that a stored answer is
as good as a new one for as long as the question and the session are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.catalog import StoredPlan
from dt_jupyter.plans import digest_document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_QUERY = "query"
NO_PLAN, OTHER_QUERY = "no plan is stored", "the query, its columns or functions have changed"
OTHER_SESSION, MORE = "the session or Spark has changed", "more is asked"


@dataclass(frozen=True)
class AnswerKeys:
    """Digests of what answers depend on: the query with its columns, and the session."""

    query: str
    session: str


@dataclass
class SparkAnswers:
    """Answers about one query, by question. `load` reads the stored ones; None: they are not to be
    stored. With `any_session` those of another session are taken too. `problem` says why Spark was
    asked; "" where it was not."""

    load: Callable[[], StoredPlan | None] | None = None
    any_session: bool = False
    problem: str = field(default="", init=False)
    _keys: AnswerKeys | None = field(default=None, init=False)
    _stored: dict[str, str] = field(default_factory=dict, init=False)
    _given: dict[str, str] = field(default_factory=dict, init=False)
    _missing: str = field(default=NO_PLAN, init=False)

    def use_keys(self, keys: Callable[[], AnswerKeys]) -> None:
        """Answers with what is stored under these keys, and forgets what was of others."""
        if self.load is None:
            return
        made = keys()
        if made == self._keys:
            return
        self._keys, self._given, self.problem = made, {}, ""
        stored = self.load()
        self._missing = self._compare(stored, made)
        usable = stored is not None and self._missing == MORE
        self._stored = dict(stored.answers) if stored is not None and usable else {}

    def _compare(self, stored: StoredPlan | None, keys: AnswerKeys) -> str:
        if stored is None:
            return NO_PLAN
        if stored.query_key != keys.query:
            return OTHER_QUERY
        return MORE if self.any_session or stored.session_key == keys.session else OTHER_SESSION

    def document(self, ask: Callable[[], str]) -> str:
        """The document of the query's plan."""
        return self._answer(_QUERY, ask)

    def document_of(self, text: str, ask: Callable[[], str]) -> str:
        """The document of the plan of another text."""
        return self._answer(f"document {digest_text(text)}", ask)

    def schema(self, spark: SparkSession, text: str) -> StructType:
        """The columns of a text. A schema that its JSON does not give back is requested again, as
        collations in a column without a name, which PySpark loses."""
        question = f"schema {digest_text(text)}"
        known = self._find(question)
        if known is not None:
            return _parse_schema(known)
        found = spark.sql(text).schema
        said = found.json()
        if _parse_schema(said) == found:
            self._keep(question, said)
        return found

    def to_stored(self) -> StoredPlan | None:
        """What is to be stored; None where Spark has no plan of the query."""
        document = self._given.get(_QUERY)
        if self._keys is None or document is None:
            return None
        keys, digest = self._keys, digest_document(document)
        return StoredPlan(keys.query, keys.session, digest, dict(self._given))

    def _answer(self, question: str, ask: Callable[[], str]) -> str:
        """Stores nothing where `ask` raises."""
        found = self._find(question)
        return found if found is not None else self._keep(question, ask())

    def _find(self, question: str) -> str | None:
        found = self._given.get(question) or self._stored.get(question)
        if found is not None:
            self._given[question] = found
        return found

    def _keep(self, question: str, answer: str) -> str:
        self.problem = self.problem or self._missing
        self._given[question] = answer
        return answer


def _parse_schema(text: str) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(text))


def digest_text(text: str) -> str:
    """SHA-256, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
