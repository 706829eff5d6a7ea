"""What is a path of this machine, and what is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dt_jupyter.lake import NotSupported
from dt_jupyter.lake.paths import local
from dt_jupyter.spark import storage_of

HERE = {
    "/a/b": "/a/b",
    "/a/../b": "/b",
    "file:/a/b": "/a/b",
    "file:///a/b%20c": "/a/b c",
    "FILE://localhost/a": "/a",
    "/a/s3a:/b": "/a/s3a:/b",
    "/a b/c%20d": "/a b/c%20d",
}
ELSEWHERE = ("s3a://bucket/a", "s3a:/a", "HDFS://name:8020/a", "viewfs:///a", "abfss://c@a/b")


@pytest.mark.parametrize(("text", "path"), HERE.items())
def test_a_path_of_this_machine(text: str, path: str) -> None:
    assert (local(text), storage_of(text)) == (Path(path), None)


def test_a_relative_path_is_of_the_working_folder() -> None:
    for text in ("a/b", "a:b", "C:x"):
        assert local(text) == Path(os.path.abspath(text))


@pytest.mark.parametrize("text", ELSEWHERE)
def test_what_other_storage_holds_is_no_path(text: str) -> None:
    assert storage_of(text) == text.partition(":")[0].lower()
    with pytest.raises(NotSupported, match="is not on a local disk"):
        local(text)


def test_a_file_of_another_machine_is_no_path() -> None:
    with pytest.raises(NotSupported, match="on another machine"):
        local("file://host/a")
