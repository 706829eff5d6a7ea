"""JARs of servers for the tests, from Maven's repository by the Ivy that Spark brings along.

What was fetched once is kept in the user's cache folder.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pyspark
import pytest
from filelock import FileLock

from dt_jupyter.spark.java import find_java, launch_environment

_SECONDS = 300
HADOOP_CLIENT = [f"org.apache.hadoop:hadoop-client-{part}" for part in ("api", "runtime")]
"""What Spark has of Hadoop itself."""


def hadoop_version() -> str:
    """That of the client that Spark has."""
    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return client.stem.removeprefix("hadoop-client-api-")


@dataclass(frozen=True)
class Jars:
    """Those of `packages`, kept as `name`, without what `excluded` packages bring; `asked` is a
    class of theirs, with its arguments, that ends by itself."""

    name: str
    packages: Sequence[str]
    asked: Sequence[str]
    excluded: Sequence[str] = ()

    def find(self) -> Path:
        """Their folder, fetched if it is not there; else a skip."""
        kept = Path(platformdirs.user_cache_dir("dt_jupyter-tests")) / self.name
        kept.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(kept.with_name(f"{kept.name}.lock")):
            if not kept.exists():
                self._fetch(kept)
        return kept

    def _fetch(self, kept: Path) -> None:
        """Whole or not at all."""
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            java = launch_environment(find_java(os.environ), os.environ, Path(scratch))
            submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
            command = [
                submit, "--conf", f"spark.jars.ivy={scratch}/ivy",
                "--packages", ",".join(self.packages),
                *(("--exclude-packages", ",".join(self.excluded)) if self.excluded else ()),
                "--class", self.asked[0], "spark-internal", *self.asked[1:],
            ]  # fmt: skip
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    command, env={**os.environ, **java}, capture_output=True, timeout=_SECONDS,
                    check=False,
                )  # fmt: skip
            jars = Path(scratch) / "ivy" / "jars"
            for package in self.packages:
                group, artifact, version = package.split(":")
                if not (jars / f"{group}_{artifact}-{version}.jar").exists():
                    pytest.skip(f"TESTS SKIPPED: {package} could not be fetched")
            jars.rename(kept)
