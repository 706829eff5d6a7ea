"""Paths as the catalog stores them: inside of the lake relative to it, outside absolute."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.model import Definition, Name, Source, SourceKind, ViewSource

ROOT, ELSEWHERE = LakeRoot("/data/My Läke"), LakeRoot("/elsewhere")


@pytest.mark.parametrize(
    ("path", "moved"),
    [
        ("/data/My Läke/tables/t", "/elsewhere/tables/t"),
        ("/data/My Läke/_dt/dynamic/1/public", "/elsewhere/_dt/dynamic/1/public"),
        ("file:/data/My%20L%C3%A4ke/tables/t", "/elsewhere/tables/t"),
        ("file:///data/My%20L%C3%A4ke/tables/t", "/elsewhere/tables/t"),
        ("/data/My Läke 2/tables/t", "/data/My Läke 2/tables/t"),
        ("/data/My Läke", "/data/My Läke"),
        ("s3://bucket/t", "s3://bucket/t"),
        ("", ""),
    ],
)
def test_a_path_moves_with_its_lake_or_stays(path: str, moved: str) -> None:
    assert ELSEWHERE.found(ROOT.stored(path)) == moved
    assert ROOT.stored(ROOT.found(ROOT.stored(path))) == ROOT.stored(path)


def test_a_link_into_the_lake_is_the_lake(tmp_path: Path) -> None:
    lake, link = tmp_path / "lake", tmp_path / "link"
    lake.mkdir()
    link.symlink_to(lake)
    for root in (LakeRoot.of(lake), LakeRoot.of(link)):
        assert root.stored(f"{link}/tables/t") == root.stored(f"{lake}/tables/t") == "./tables/t"
        assert root.canonical(f"{link}/tables/t") == f"{lake}/tables/t"
        assert root.holds(f"{link}/tables/t")
        assert not root.holds(f"{link}2/tables/t")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM delta.`/data/My Läke/tables/t` JOIN delta.`/data/outside`",
        "SELECT * FROM DELTA.`file:/data/My Läke/tables/t`, delta.`file:///data/My Läke/u`",
        "SELECT '/data/My Läke/tables/t' AS `a path`, `x``/data/My Läke/`",
        "SELECT 1",
    ],
)
def test_a_text_names_the_tables_of_its_lake(text: str) -> None:
    stored = ROOT.stored_text(text)
    assert "/data/My Läke/tables/t`" not in stored
    assert ROOT.stored_text(ROOT.found_text(stored)) == stored
    plain = text.replace("`file:///", "`/").replace("`file:/", "`/")
    assert ROOT.found_text(stored) == plain
    assert ELSEWHERE.found_text(stored) == plain.replace("`/data/My Läke/", "`/elsewhere/")


def test_a_definition_moves_as_a_whole() -> None:
    path = "/data/My Läke/tables/T"
    made = Definition(
        f"SELECT * FROM delta.`{path}`",
        {},
        (("a", "INT", None),),
        (
            Source(Name("delta", path), SourceKind.DELTA, "1", path),
            Source(Name("default", "o"), SourceKind.DELTA, "2", "/outside/o"),
            Source(Name("default", "f"), SourceKind.FOREIGN, "f", None),
        ),
        (ViewSource(Name("default", "v"), f"SELECT a FROM delta.`{path}`"),),
    )
    assert ROOT.found_definition(ROOT.stored_definition(made)) == made
    moved = ELSEWHERE.found_definition(ROOT.stored_definition(made))
    assert moved.query == "SELECT * FROM delta.`/elsewhere/tables/T`"
    assert moved.sources[0].path == "/elsewhere/tables/T"
    assert moved.sources[0].name == Name("delta", "/elsewhere/tables/T")
    assert moved.sources[1:] == made.sources[1:]
    assert moved.views[0].text == "SELECT a FROM delta.`/elsewhere/tables/T`"
