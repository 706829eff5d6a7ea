"""Paths with patterns: what a session of Spark Connect can say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.model import Name
from dt_jupyter.sources.file_roots import base_of, has_braced_folders
from dt_jupyter.sources.file_tables import of_path
from dt_jupyter.spark import path_of_text


@pytest.mark.parametrize(
    ("pattern", "braced"),
    [
        ("/x/{a,b}/c*", False), ("/x/{a,b/c}", True), ("/x/{a,{b,c}/d}", True),
        ("/x/{a\\},b/c}", True), ("/x/\\{a/b", False), ("/x/*/{a}/{b}", False),
    ],
)  # fmt: skip
def test_braces_that_hold_a_slash_are_found(pattern: str, braced: bool) -> None:
    assert has_braced_folders(pattern) is braced


def test_over_connect_they_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    name, text = Name("json", "x"), f"{tmp_path}/{{a,b/c}}"
    assert of_path(name, text, "UTC", connect=True) is None
    assert of_path(name, text, "UTC") is not None
    assert of_path(name, f"{tmp_path}/{{a,b}}", "UTC", connect=True) is not None


def test_the_folder_of_a_pattern_is_above_its_first_sign() -> None:
    assert base_of("/x/a b/*/c") == Path("/x/a b")
    assert base_of("/x/a\\*b/c") == Path("/x")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("file:/a%20 b", "/a%20 b"), ("file:///a#b?c", "/a#b?c"), ("/a", "/a"),
        ("s3a://b/c%20", "s3a://b/c%20"), ("file://host/a", "file://host/a"),
    ],
)  # fmt: skip
def test_a_text_of_a_path_is_not_decoded(text: str, path: str) -> None:
    assert path_of_text(text) == path
