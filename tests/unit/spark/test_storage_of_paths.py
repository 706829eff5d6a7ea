"""Which paths are on a disk of this machine."""

from __future__ import annotations

import pytest

from dt_jupyter.spark import storage_of


@pytest.mark.parametrize(
    ("path", "storage"),
    [
        ("s3a://bucket/lake", "s3a"),
        ("S3A://bucket", "s3a"),
        ("s3a:/bucket", "s3a"),  # as a Path writes it
        ("hdfs:/lake", "hdfs"),
        ("abfss://c@account.dfs.core.windows.net/l", "abfss"),
        ("dbfs:/lake", "dbfs"),
        ("/lake", None),
        ("lake", None),
        ("./s3a:/x", None),
        ("/a/b:/c", None),
        ("file:/lake", None),
        ("FILE:///lake", None),
        ("C:/lake", None),
        ("a:b", None),
        ("", None),
    ],
)
def test_the_storage_of_a_path(path: str, storage: str | None) -> None:
    assert storage_of(path) == storage
