"""Who has which right: the one function that decides, over books of grants."""

from __future__ import annotations

import pytest

from dt_jupyter.model import (
    ADMIN,
    CREATE_RIGHTS,
    PUBLIC,
    RIGHTS_ON,
    DTError,
    Grant,
    Name,
    Named,
    Right,
    RightsBook,
    Securable,
    require,
    require_acyclic,
    require_right_on,
)

T = Securable.of(Named.TABLE, Name("s", "t"))
D = Securable.of(Named.DYNAMIC_TABLE, Name("default", "d"))
W = Securable.of(Named.WAREHOUSE, "w")


def role(name: str) -> Securable:
    return Securable.of(Named.ROLE, name)


def book(*grants: tuple[str, Right, Securable]) -> RightsBook:
    return RightsBook(
        frozenset((ADMIN, PUBLIC, "a", "b", "c")), tuple(Grant(*grant) for grant in grants)
    )


def test_a_right_is_held_as_it_was_granted_and_no_further() -> None:
    found = book(("a", Right.SELECT, T))
    assert found.holds("a", Right.SELECT, T)
    assert not found.holds("a", Right.INSERT, T)
    assert not found.holds("b", Right.SELECT, T)
    assert found.sees("a", T)
    assert not found.sees("b", T)
    assert found.holds(ADMIN, Right.OWNERSHIP, T)


def test_names_are_shared_by_what_one_reads() -> None:
    """A grant on a table that is a view by now is one on the view; never on a warehouse."""
    found = book(("a", Right.SELECT, T))
    assert found.holds("a", Right.SELECT, Securable.of(Named.VIEW, Name("S", "T")))
    assert not found.holds("a", Right.SELECT, Securable.of(Named.TASK, Name("s", "t")))


def test_ownership_has_all_rights_and_operate_those_to_monitor() -> None:
    found = book(("a", Right.OWNERSHIP, D), ("b", Right.OPERATE, D), ("c", Right.MONITOR, D))
    assert all(found.holds("a", right, D) for right in RIGHTS_ON[Named.DYNAMIC_TABLE])
    assert found.holds("b", Right.MONITOR, D)
    assert not found.holds("b", Right.SELECT, D)
    assert not found.holds("c", Right.OPERATE, D)
    assert (found.owner(D), found.owner(T)) == ("a", ADMIN)


def test_a_role_has_what_the_roles_have_that_were_granted_to_it() -> None:
    found = book(
        ("a", Right.SELECT, T), ("b", Right.USAGE, role("a")), ("c", Right.USAGE, role("b"))
    )
    assert found.holds("c", Right.SELECT, T)
    assert found.closure("c") == {"a", "b", "c", PUBLIC}
    assert found.closure("a") == {"a", PUBLIC}
    for one, to in (("c", "a"), ("a", "a")):
        with pytest.raises(DTError) as e:
            require_acyclic(found, one, to)
        assert e.value.code == "DT-5205"
    require_acyclic(found, "a", "c")


def test_what_is_granted_to_public_and_on_a_schema() -> None:
    found = book((PUBLIC, Right.USAGE, W), ("a", Right.SELECT, Securable.of(Named.SCHEMA, "s")))
    assert found.holds("b", Right.USAGE, W)
    assert found.holds("a", Right.SELECT, T)
    assert not found.holds("a", Right.SELECT, D)


def test_the_right_to_make_something_in_a_schema_shows_nothing_of_it() -> None:
    s = Securable.of(Named.SCHEMA, "s")
    found = book(("a", Right.CREATE_TABLE, s), ("b", Right.OWNERSHIP, s))
    assert found.holds("a", Right.CREATE_TABLE, s)
    assert not found.holds("a", Right.CREATE_VIEW, s)
    assert not found.sees("a", T)
    assert found.sees("a", s)
    assert all(found.holds("b", right, s) for right in CREATE_RIGHTS.values())
    assert CREATE_RIGHTS.keys() < RIGHTS_ON.keys()


def test_a_role_that_is_gone_has_nothing() -> None:
    found = book(("gone", Right.SELECT, T), ("a", Right.USAGE, role("gone")))
    assert not found.holds("gone", Right.SELECT, T)
    assert not found.holds("a", Right.SELECT, T)


def test_a_missing_right_is_named_with_role_and_object() -> None:
    with pytest.raises(DTError) as e:
        require(book(("b", Right.OWNERSHIP, T)), "a", Right.SELECT, T)
    assert e.value.code == "DT-5201"
    assert "Role a has no SELECT on table s.t." in str(e.value)
    assert "role b" in e.value.hint
    with pytest.raises(DTError) as e:
        require_right_on(Named.TABLE, Right.OPERATE)
    assert e.value.code == "DT-5206"
