"""URLs, options, secrets and names: what is refused, and that no secret is ever shown."""

from __future__ import annotations

import sys
import traceback

import pyarrow as pa
import pytest

from dt_jupyter.sinks import open_driver, parse_store_url, shown_option, shown_url
from dt_jupyter.sinks.address import PLAIN_OPTIONS, SECRET_OPTIONS
from dt_jupyter.sinks.secret_references import SecretReference, hide
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import TypeKind, TypeTable, is_wider
from dt_jupyter.sinks.stores import STORES
from dt_jupyter.sinks.type_texts import from_type_text, to_type_text
from tests.unit.sinks.lab import refused


def test_the_parts_of_a_url() -> None:
    found = parse_store_url("postgresql://u%40x@h:5/db%20x?table=s.t&sslmode=require")
    assert (found.user, found.host, found.port, found.path) == ("u@x", "h", 5, "/db x")
    assert found.options == {"table": "s.t", "sslmode": "require"}
    assert str(found) == "postgresql://h:5/db x"


def test_options_win_over_the_query_and_know_no_case() -> None:
    found = parse_store_url("sqlite:///a.db?table=a", {"TABLE": "b", "Adopt": "TRUE"})
    assert found.options == {"table": "b", "adopt": "TRUE"}
    assert found.flag("adopt")


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("postgresql://u:s3cret@h/db", {}),
        ("postgresql://u@h/db?password=s3cret", {}),
        ("postgresql://u@h/db", {"PASSWORD": "s3cret"}),
        ("https://h/x", {"token": "s3cret"}),
        ("https://h/x", {"hmac_key": "s3cret"}),
        ("https://h/", {"path": "/s3cret"}),
        ("https://h/?path=s3cret", {}),
        ("s3cret", {}),
        ("s3cret:/x", {}),
        ("http://[s3cret/", {}),
        ("http://h:s3cret/", {}),
    ],
)
def test_a_secret_in_a_url_is_refused_and_not_repeated(url: str, options: dict[str, str]) -> None:
    with refused("DT-6101") as problem:
        parse_store_url(url, options)
    assert "s3cret" not in "".join(traceback.format_exception_only(problem[0]))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u@h:5/s3cret/x?outbox=/o", "https://h:5/***"),
        ("http://h/", "http://h/"),
        ("https://h", "https://h"),
        ("file:///x/y?format=csv", "file:///x/y"),
    ],
)
def test_the_path_of_a_webhook_is_shown_nowhere(url: str, shown: str) -> None:
    assert str(parse_store_url(url)) == shown
    assert "s3cret" not in shown_url(url)
    assert shown_url(url).partition("?")[2] == url.partition("?")[2]


SECRETS = {
    "postgresql": "postgresql://u%3As3cret:secret%3A%2F%2Fenv%2FX@h/db?sslpassword=s3cret",
    "http": "http://h/s3cret?sig=s3cret",
    "https": "https://h:5/a/s3cret?access_token=s3cret&outbox=/o#s3cret",
    "file": "file:///x?AWS_SECRET=s3cret",
    "unheard-of": "unheard-of://h/s3cret?table=t",
}


OWN_OPTIONS = [scheme for scheme in STORES if scheme != "process"]
"""Drivers that know their options; a program is given all of them."""


@pytest.mark.parametrize("scheme", [*STORES, "unheard-of"])
def test_what_is_not_known_to_be_plain_is_hidden(scheme: str) -> None:
    """For each driver: in the address, in its representation, and in the URL and the options."""
    url = SECRETS.get(scheme, f"{scheme}://u%3As3cret@h/0?sig=s3cret&api_key=s3cret")
    address = parse_store_url(url, {"sasl_password": "s3cret"})
    shown = f"{address} {address!r} {[address]} {shown_url(url)}"
    shown += "".join(shown_option(n, v) for n, v in address.options.items() if n != "outbox")
    assert "s3cret" not in shown
    assert shown_url("http://h:99999999/s3cret") == "***"


@pytest.mark.parametrize("scheme", OWN_OPTIONS)
def test_each_option_of_a_driver_is_plain_or_a_secret(scheme: str) -> None:
    """A driver's options are told by what it says of one that it does not know."""
    with refused("DT-1002") as problem:
        open_driver(parse_store_url(f"{scheme}://h/0", {"nope": "1"}))
    known = str(problem[0].facts["known"]).partition(".")[0].split(", ")
    assert len(known) > 1
    assert set(known) <= PLAIN_OPTIONS | SECRET_OPTIONS
    assert not PLAIN_OPTIONS & SECRET_OPTIONS


def test_a_secret_is_read_when_it_is_needed_and_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = parse_store_url("postgresql://u@h/db?password=secret://env/SINK_SECRET")
    monkeypatch.setenv("SINK_SECRET", "s3cret")
    assert found.secret("password") == "s3cret"
    assert found.secret("token") == ""
    assert "s3cret" not in repr(found) + str(found)
    monkeypatch.setenv("SINK_SECRET", "")
    with refused("DT-6103"):
        found.secret("password")


@pytest.mark.parametrize(
    "text",
    [
        "env/X",
        "secret://",
        "secret://env/",
        "secret://env/a/b",
        "secret://keyring/a",
        "secret://x/a",
    ],
)
def test_a_reference_that_is_none_is_refused(text: str) -> None:
    with refused("DT-6103"):
        SecretReference(text)


def test_a_plain_secret_taken_for_a_reference_is_not_repeated() -> None:
    with refused("DT-6103") as problem:
        SecretReference("hunter2")
    assert "hunter2" not in str(problem[0])


def test_a_secret_of_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring

    kept = {("pg", "me@x"): "s3cret"}
    monkeypatch.setattr(keyring, "get_password", lambda service, user: kept.get((service, user)))
    assert SecretReference("secret://keyring/pg/me%40x").read() == "s3cret"
    with refused("DT-6103") as problem:
        SecretReference("secret://keyring/pg/you").read()
    assert "keyring set pg you" in problem[0].hint


def test_without_a_keyring_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with refused("DT-6102"):
        SecretReference("secret://keyring/pg/me").read()


def test_secrets_are_taken_out_of_what_a_store_says() -> None:
    assert hide("bad p@ss for p%40ss ", "p@ss", "") == "bad *** for ***"


def test_a_scheme_that_nobody_knows_names_the_near_one() -> None:
    with refused("DT-6101") as problem:
        open_driver(parse_store_url("postgres://h/db"))
    assert "postgresql" in problem[0].hint


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with refused("DT-6102") as problem:
        open_driver(parse_store_url("postgresql://h/db"))
    assert "dt-jupyter[sinks]" in problem[0].hint


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("kafka://h:9092/prices", "prices"),
        ("kafkas://h?table=prices", "prices"),
        ("kafka://h", "orders"),
        ("redis://h/0?table=prices", "prices"),
        ("sqlite:///app.db", "orders"),
    ],
)
def test_a_target_is_called_as_the_url_says_or_as_the_source(url: str, target: str) -> None:
    assert parse_store_url(url).target("orders") == target


@pytest.mark.parametrize("value", ["maybe", ""])
def test_a_flag_that_is_neither_is_refused(value: str) -> None:
    with refused("DT-1003"):
        parse_store_url("sqlite:///a.db", {"adopt": value}).flag("adopt")


@pytest.mark.parametrize("value", ["soon", "nan", "-1", "1e9", ""])
def test_a_number_that_is_none_is_refused(value: str) -> None:
    with refused("DT-1003"):
        parse_store_url("sqlite:///a.db", {"timeout": value}).number("timeout", 1, 0, 60)


def test_every_driver_has_a_word_for_each_type_and_refuses_unknown_options() -> None:
    for scheme in OWN_OPTIONS:
        with refused("DT-1002"):
            open_driver(parse_store_url(f"{scheme}://h/x", {"no_such_option": "1"}))


def test_a_table_of_types_says_one_word_for_each() -> None:
    every = dict.fromkeys(TypeKind, "x")
    for types, without in (({}, {}), (every, {TypeKind.MAP: "no"})):
        with pytest.raises(ValueError, match="one word"):
            TypeTable("s", types, without)


WIDER = [
    (pa.int32(), pa.int64(), True),
    (pa.int64(), pa.int32(), False),
    (pa.int64(), pa.float64(), False),
    (pa.int32(), pa.float64(), True),
    (pa.float32(), pa.float64(), True),
    (pa.decimal128(4, 1), pa.decimal128(5, 2), True),
    (pa.decimal128(4, 1), pa.decimal128(4, 2), False),
    (pa.string(), pa.int64(), False),
    (pa.date32(), pa.timestamp("us"), False),
]


@pytest.mark.parametrize(("before", "now", "wider"), WIDER, ids=str)
def test_wider_types(before: pa.DataType, now: pa.DataType, wider: bool) -> None:
    assert is_wider(before, now) is wider


def test_a_type_is_known_again() -> None:
    for kind in (pa.struct([("a", pa.list_(pa.int64()))]), pa.timestamp("us", "UTC"), pa.null()):
        assert from_type_text(to_type_text(kind)) == kind


def test_a_name_counts_in_bytes() -> None:
    rules = NameRules("it", 4, "/")
    rules.require("éé")
    for bad in ("ééa", "", "a/b", "a\0", "a\u2067"):
        with refused("DT-6134"):
            rules.require(bad)
    with refused("DT-6135") as problem:
        rules.require_columns(["ab", "é", "e\u0301"])
    assert "é" in problem[0].facts["names"]
