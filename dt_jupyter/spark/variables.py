"""`${name}` in statements: replaced before anything is parsed, by the values of the session.

Spark does so in its parser (org.apache.spark.sql.internal.VariableSubstitution, over
ConfigReader.substitute). A definition keeps the text with the values, and the sessions that run
kept texts replace nothing: see `REFRESH_CONFS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import error
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.session_confs import SUBSTITUTES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REFERENCE = re.compile(r"\$\{(?:(?P<prefix>\w+?):)?(?P<name>\S+?)\}")
_OF_CONFS = frozenset({"spark", "sparkconf", "hivevar", "hiveconf"})
_OF_PROCESS = frozenset({"env", "system"})


@dataclass
class Variables:
    """The values of a session. `known` are those that a script's SET gives before they are needed;
    with `guarded` the environment and properties of the process are not given.

    `used` are the references that were replaced.
    """

    spark: SparkSession
    known: dict[str, str] = field(default_factory=dict)
    guarded: bool = False
    used: list[str] = field(default_factory=list)

    def replace_in(self, text: str) -> str:
        """The text with the values in the place of the references, those in values included; an
        unset conf is empty, an unset variable of the environment stays as it is written.

        DT-1154 for a reference in its own value, DT-1155 for one whose value is not given.
        """
        if "${" not in text or not self._is_on():
            return text
        return self._replaced(text, ())

    def _is_on(self) -> bool:
        return str(self.spark.conf.get(SUBSTITUTES, "true")).lower() == "true"

    def _replaced(self, text: str, within: tuple[str, ...]) -> str:
        def value(match: re.Match[str]) -> str:
            prefix, name = match["prefix"], match["name"]
            reference = name if prefix is None else f"{prefix}:{name}"
            if reference in within:
                raise error("DT-1154", name=reference)
            found = self._value(prefix, name)
            if found is None:
                return match[0]
            if match[0] not in self.used:
                self.used.append(match[0])
            return self._replaced(found, (*within, reference))

        return _REFERENCE.sub(value, text)

    def _value(self, prefix: str | None, name: str) -> str | None:
        if prefix is None or prefix in _OF_CONFS:
            known = self.known.get(name)
            return known if known is not None else str(self.spark.conf.get(name, ""))
        if prefix not in _OF_PROCESS:
            return None
        if self.guarded or is_connect(self.spark):
            raise error("DT-1155", name=f"{prefix}:{name}")
        session: Any = self.spark
        system = session._jvm.java.lang.System
        found = system.getenv(name) if prefix == "env" else system.getProperty(name)
        return None if found is None else str(found)
