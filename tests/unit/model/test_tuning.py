"""The thresholds that a user may pass: what is refused, and that each is read somewhere."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import dt_jupyter
from dt_jupyter.model import DEFAULTS, DTError, Tuning

PRODUCT = Path(dt_jupyter.__file__).parent


def test_it_is_found_where_connect_is() -> None:
    assert dt_jupyter.Tuning is Tuning
    assert Tuning() == DEFAULTS


@pytest.mark.parametrize("knob", fields(Tuning), ids=lambda knob: knob.name)
def test_each_is_documented_and_read(knob: Any) -> None:
    assert knob.metadata["unit"]
    assert knob.metadata["meaning"].endswith(".")
    sources = (p.read_text("utf-8") for p in PRODUCT.rglob("*.py") if p.name != "tuning.py")
    assert any(re.search(rf"\b(tuning|DEFAULTS)\.{knob.name}\b", text) for text in sources)


@pytest.mark.parametrize("knob", fields(Tuning), ids=lambda knob: knob.name)
@pytest.mark.parametrize("value", [0, -1, "7", None, True, float("nan"), float("inf")])
def test_what_is_no_number_above_zero_is_refused(knob: Any, value: object) -> None:
    with pytest.raises(DTError, match=knob.name) as e:
        Tuning(**{knob.name: value})
    assert e.value.code == "DT-1031"


def test_a_count_is_whole() -> None:
    assert Tuning(check_seconds=1).check_seconds == 1
    with pytest.raises(DTError, match="whole number of rows"):
        Tuning(driver_rows=1.5)  # type: ignore[arg-type]


def test_what_is_no_threshold_is_an_error_of_python() -> None:
    with pytest.raises(TypeError, match="unknown"):
        Tuning(unknown=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="Tunings"):
        _ = dt_jupyter.Tunings
