"""TPC-DS' queries in Spark SQL: those that Spark itself is tested with, from Maven's repository by
Ivy, which Spark brings along. What was fetched once is kept in the user's cache folder."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import platformdirs
import pyspark
import pytest
from filelock import FileLock

from dt_jupyter.spark.java import find_java, launch_environment

FETCH_SECONDS = 300
MODULE = "spark-sql_2.13"
_FOLDER = "tpcds/"
_WANTED = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="dt" module="texts"/><configurations><conf name="default"/></configurations>
<dependencies><dependency org="org.apache.spark" name="{module}" rev="{version}" transitive="false"
conf="default->*"><artifact name="{module}" type="test-jar" ext="jar" m:classifier="tests"
conf="default"/></dependency></dependencies></ivy-module>"""
_FROM = """<ivysettings><caches defaultCacheDir="{folder}"/><settings defaultResolver="maven"/>
<resolvers><ibiblio name="maven" m2compatible="true"/></resolvers></ivysettings>"""


def tpcds_texts() -> Mapping[str, str]:
    """The query of each name, in order, as `q14a`; a skip where they cannot be had."""
    kept = Path(platformdirs.user_cache_dir("dt_jupyter-tests")) / f"tpcds-{pyspark.__version__}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(kept.with_name(f"{kept.name}.lock")):
        if not kept.exists():
            _fetch(kept)
    return {f.stem: _plain(f.read_text("utf-8")) for f in sorted(kept.glob("*.sql"))}


def _plain(text: str) -> str:
    """Without comments and the semicolon."""
    return re.sub(r";\s*\Z", "", re.sub(r"--.*", "", text).strip())


def _fetch(kept: Path) -> None:
    """Whole or not at all."""
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        folder = Path(scratch)
        (folder / "ivy.xml").write_text(_WANTED.format(module=MODULE, version=pyspark.__version__))
        (folder / "settings.xml").write_text(_FROM.format(folder=folder / "cache"))
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                _command(folder), capture_output=True, timeout=FETCH_SECONDS, check=False,
                env={**os.environ, **launch_environment(find_java(os.environ), os.environ, folder)},
            )  # fmt: skip
        if not (jar := folder / f"{MODULE}.jar").is_file():
            pytest.skip(f"TPC-DS SKIPPED: the tests of {MODULE} could not be fetched")
        texts = folder / "texts"
        texts.mkdir()
        with zipfile.ZipFile(jar) as packed:
            for name in packed.namelist():
                if name.startswith(_FOLDER) and name.endswith(".sql"):
                    (texts / Path(name).name).write_bytes(packed.read(name))
        texts.rename(kept)


def _command(folder: Path) -> list[str | Path]:
    (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    java = find_java(os.environ).home / "bin" / "java"
    words = ["-settings", folder / "settings.xml", "-ivy", folder / "ivy.xml"]
    return [java, "-jar", ivy, *words, "-retrieve", folder / "[artifact].[ext]"]
