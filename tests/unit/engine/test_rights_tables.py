"""Each statement and each public method has declared its right; nothing else is open to a role."""

from __future__ import annotations

import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.engine.context import EngineState
from dt_jupyter.engine.execute import HANDLERS
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.methods import METHODS, guarded
from dt_jupyter.engine.rights.needs import STATEMENT_NEEDS, require_statement
from dt_jupyter.engine.rights.shared import Shared, real_paths, refused_conf
from dt_jupyter.model import DTError
from dt_jupyter.sql.grammar import statement_values as S
from tests.unit.catalog_lab import Lab


def test_each_statement_has_declared_its_right() -> None:
    assert set(STATEMENT_NEEDS) == set(HANDLERS)


def test_each_public_method_has_declared_its_right() -> None:
    public = {
        name
        for name, member in vars(Engine).items()
        if not name.startswith("_") and isinstance(member, types.FunctionType)
    }
    assert public == set(METHODS)


@pytest.fixture
def access(tmp_path: Path) -> Access:
    """Of a role without any right."""
    lab = Lab(tmp_path)
    lab.catalog.create_role("guest")
    spark: Any = None
    return Access(spark, lab.catalog, EngineState(role="guest", login="guest"))


def test_what_has_declared_none_is_open_to_admin_alone(access: Access) -> None:
    class NewStatement(S.Statement):
        pass

    @guarded
    class New:
        context = SimpleNamespace(access=access)

        def novelty(self) -> int:
            return 1

    for ask in (lambda: require_statement(access, NewStatement()), New().novelty):
        with pytest.raises(DTError) as e:
            ask()
        assert e.value.code == "DT-5207"
    access.state.role = "admin"
    require_statement(access, NewStatement())
    assert New().novelty() == 1


def test_a_session_has_the_roles_that_it_was_opened_for(access: Access) -> None:
    access.catalog.create_role("part")
    with pytest.raises(DTError) as e:
        access.use("part")
    assert e.value.code == "DT-5204"
    with pytest.raises(DTError) as e:
        access.use("prat")
    assert (e.value.code, e.value.hint) == ("DT-5203", "Did you mean part?")


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("{root}", True),
        ("{root}/a/b.csv", True),
        ("file:{root}/a", True),
        ("file://{root}/a", True),
        ("{root}/../other", False),
        ("{root}x/a", False),
        ("{root}/link/a", False),
        ("{root}/%2e%2e/other", False),
        ("file:{root}/%2e%2e/other", False),
        ("file:{root}/%252e%252e/other", False),
        ("{plain}/a", False),
        ("file:{plain}/a", False),
        ("{root}/a%20b/c?d#e", True),
        ("file:{root}/../other?x", False),
        ("/etc/passwd", False),
        ("a/b", False),
        ("", False),
        ("s3://bucket{root}", False),
        ("file://host{root}", False),
        ("{root}/a\0", False),
    ],
)
def test_where_a_path_leads(tmp_path: Path, path: str, inside: bool) -> None:
    root = tmp_path / "root of all"
    root.mkdir()
    plain = f"{tmp_path}/root%20of%20all"
    (root / "link").symlink_to(tmp_path)
    assert Shared.of([root]).holds(path.format(root=root, plain=plain)) is inside


def test_confs_of_a_shared_engine() -> None:
    assert refused_conf("spark.sql.session.timeZone") is None
    for key in ("spark.sql.warehouse.dir", "spark.databricks.delta.x", "fs.s3a.key", None):
        assert refused_conf(key) is not None
    assert real_paths("relative") == ()
