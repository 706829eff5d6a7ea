"""`${name}` in texts, replaced as Spark's ConfigReader does it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.spark import Variables

CONFS = {"x": "one", "y": "${x}!", "loop": "${other}", "other": "<${loop}>", "q": "it's"}
PROCESS = {"HOME": "a_home"}


def variables(confs: dict[str, str] | None = None, **given: Any) -> Variables:
    known = {**CONFS, **(confs or {})}
    system = SimpleNamespace(getenv=PROCESS.get, getProperty={"user.name": "me"}.get)
    jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=system)))
    conf = SimpleNamespace(get=lambda name, default=None: known.get(name, default))
    return Variables(SimpleNamespace(conf=conf, _jvm=jvm), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("'${x}|${nope}|'", "'one||'"),
        ("${y} ${spark:x} ${sparkconf:x} ${hivevar:x} ${hiveconf:y}", "one! one one one one!"),
        ("${env:HOME} ${system:user.name}", "a_home me"),
        ("${env:NOPE} ${system:nope} ${what:x}", "${env:NOPE} ${system:nope} ${what:x}"),
        ("$x {x} ${x ${} ${a b}", "$x {x} ${x ${} ${a b}"),
        ("-- ${q}\nSELECT 1", "-- it's\nSELECT 1"),
    ],
)
def test_references_become_the_values_of_the_session(text: str, wanted: str) -> None:
    assert variables().replace_in(text) == wanted


def test_what_was_replaced_is_noted_once() -> None:
    found = variables()
    found.replace_in("${y} ${y} ${env:NOPE} ${nope}")
    assert found.used == ["${y}", "${x}", "${nope}"]


def test_a_script_knows_what_it_will_have_set() -> None:
    assert variables(known={"x": "two"}).replace_in("${y}") == "two!"


def test_a_session_that_substitutes_nothing_keeps_the_text() -> None:
    assert variables({"spark.sql.variable.substitute": "false"}).replace_in("${x}") == "${x}"


def test_a_value_may_not_hold_its_own_reference() -> None:
    with pytest.raises(DTError) as caught:
        variables().replace_in("${loop}")
    assert caught.value.code == "DT-1154"


@pytest.mark.parametrize("text", ["${env:HOME}", "${system:user.name}", "${env:NOPE}"])
def test_a_shared_engine_tells_nothing_of_its_process(text: str) -> None:
    with pytest.raises(DTError) as caught:
        variables(guarded=True).replace_in(text)
    assert caught.value.code == "DT-1155"
    assert "a_home" not in str(caught.value)
