"""Requests of a browser: what is read, and what is refused with a code and without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dt_jupyter.dispatch.dispatcher import Desk
from dt_jupyter.model import DTError
from dt_jupyter.wire.live_messages import Ask, Request
from dt_jupyter.wire.requests import NEEDS, parse_request

WHOLE: dict[str, Any] = {
    "name": "daily", "replay": "r", "step": 0, "pin": "p", "since": "3", "until": "now",
    "schema_mode": "current", "against": 1, "version": 2, "target_lag": 60, "refresh_seconds": 1.5,
    "interval": 0.5, "concurrency": 3, "text": "%%dt",
}  # fmt: skip


@pytest.mark.parametrize("ask", Ask)
def test_every_ask_is_read(ask: Ask) -> None:
    assert parse_request({"id": 7, "ask": ask.value, **WHOLE}) == Request(7, ask, **WHOLE)
    needed = {key: WHOLE[key] for key in NEEDS.get(ask, ())}
    assert parse_request({"id": 0, "ask": ask.value, **needed}).name == needed.get("name")
    nulls = {key: None for key in WHOLE if key not in needed}
    assert parse_request({"id": 1, "ask": ask.value, **needed, **nulls}).since is None


@pytest.mark.parametrize("ask", NEEDS)
def test_what_an_ask_needs_is_named(ask: Ask) -> None:
    for missing in NEEDS[ask]:
        for empty in ({}, {missing: None}, *([{missing: ""}] if missing != "step" else [])):
            fields = {key: WHOLE[key] for key in NEEDS[ask] if key != missing} | empty
            with pytest.raises(DTError, match=f"{ask} needs {missing}"):
                parse_request({"id": 1, "ask": ask.value, **fields})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "not an object"),
        ([1], "not an object"),
        ({}, "lacks id"),
        ({"id": 1}, "lacks ask"),
        ({"id": 1, "ask": "grahp"}, "Did you mean graph"),
        ({"id": 1, "ask": None}, "ask is not a text"),
        ({"id": "1", "ask": "graph"}, "id is not a whole number"),
        ({"id": True, "ask": "graph"}, "id is not a whole number"),
        ({"id": 2**60, "ask": "graph"}, "id is not a whole number"),
        ({"id": 1, "ask": "graph", "nmae": "x"}, "Did you mean name"),
        ({"id": 1, "ask": "lag", "name": 3}, "name is not a text"),
        ({"id": 1, "ask": "lag", "name": "x" * 5000}, "name is not a text"),
        ({"id": 1, "ask": "lag", "name": {"a": 1}}, "name is not a text"),
        ({"id": 1, "ask": "rows", "replay": "r", "step": 1.5}, "step is not a whole number"),
        ({"id": 1, "ask": "rows", "replay": "r", "step": -1}, "step is negative"),
        (
            {"id": 1, "ask": "simulate", "name": "x", "target_lag": "5"},
            "lag is not a number",
        ),
        ({"id": 1, "ask": "simulate", "name": "x", "target_lag": 0}, "target_lag is not positive"),
        ({"id": 1, "ask": "simulate", "name": "x", "interval": float("inf")}, "interval is no"),
        ({"id": 1, "ask": "simulate", "name": "x", "interval": 1e300}, "too large"),
    ],
)
def test_what_is_no_request_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(DTError, match=problem) as raised:
        parse_request(value)
    assert raised.value.code == "DT-5110"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@settings(max_examples=60)
@given(st.one_of(JSON, st.fixed_dictionaries({}, optional={
    "id": JSON, "ask": st.sampled_from([*(a.value for a in Ask), "x"]) | JSON, "name": JSON,
    "step": JSON, "replay": JSON, "target_lag": JSON, "pin": JSON,
})))  # fmt: skip
def test_whatever_comes_there_is_a_reply(value: Any) -> None:
    reply = Desk(lambda: None).answer_json(value)
    json.dumps(reply, allow_nan=False)
    assert reply["message"]["type"] in ("error", "hello")
    if reply["message"]["type"] == "error":
        assert reply["message"]["code"] in ("DT-5109", "DT-5110")


def test_without_an_engine_only_hello_is_answered() -> None:
    desk = Desk(lambda: None)
    reply = desk.answer(Request(3, Ask.HELLO)).to_json()
    assert reply["id"] == 3
    assert (reply["message"]["type"], reply["message"]["lake"]) == ("hello", None)
    refused = desk.answer(Request(4, Ask.GRAPH)).to_json()["message"]
    assert refused["code"] == "DT-5109"
    assert "%dt connect" in refused["hint"]


def test_what_nobody_foresaw_has_a_code_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        raise ZeroDivisionError("secret=hush by zero")

    message = Desk(broken).answer(Request(1, Ask.GRAPH)).to_json()["message"]
    assert message["code"] == "DT-5111"
    assert "ZeroDivisionError" in message["sentence"]
    assert "hush" not in json.dumps(message)
    assert message["details"] is None
    assert "graph failed" in caplog.text
