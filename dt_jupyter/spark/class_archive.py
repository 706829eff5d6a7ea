"""Java's archive of the classes that a Spark session loads: with one, a session is there and has
made its first tables in four fifths of the time. One is written for each Java and each release of
Spark, into the user's cache folder.

Source: https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path

from dt_jupyter.spark.java import Java

OPTIONS = "SPARK_SUBMIT_OPTS"
_SHARING = ("SharedArchiveFile", "-Xshare", "ArchiveClassesAtExit")
_PACKAGES = ("pyspark", "delta-spark")
_WRITER = "dt_jupyter.engine.load_classes"
_AGAIN_SECONDS = 24 * 3600


def archive_of(java: Java, folder: Path | None = None) -> Path:
    """Where the archive for this Java and the installed packages is, or is to be: in `folder`
    (None: the user's cache folder). Another Java, or another release, has another."""
    digest = hashlib.sha256(str(java.home).encode())
    digest.update((java.home / "release").read_bytes())
    for package in _PACKAGES:
        digest.update(f"{package} {importlib.metadata.version(package)}".encode())
    name = f"spark-classes-{digest.hexdigest()[:16]}.jsa"
    return (folder or user_cache_path("dt_jupyter")) / name


def chooses_sharing(environ: Mapping[str, str]) -> bool:
    """Whether Java's options say already which archive to use, or that none is."""
    return any(word in environ.get(OPTIONS, "") for word in _SHARING)


def with_archive(environ: Mapping[str, str], archive: Path) -> dict[str, str]:
    """The variables that make Java use the archive; none where there is no archive, or where its
    options choose one. One that does not fit is passed over by Java."""
    if chooses_sharing(environ) or not archive.is_file():
        return {}
    return {OPTIONS: f'{environ.get(OPTIONS, "")} "-XX:SharedArchiveFile={archive}"'.strip()}


def start_writer(archive: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """Another process that writes the archive, at the lowest priority, and outlives this one;
    None where there is an archive, one is being written, or Java's options choose."""
    if chooses_sharing(environ) or archive.is_file() or not _claim(archive):
        return None
    nice = ["nice", "-n", "19"] if shutil.which("nice") else []
    return subprocess.Popen(
        [*nice, sys.executable, "-m", _WRITER, str(archive)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _claim(archive: Path) -> bool:
    """Whether this process is to write the archive: one writer is enough, and after a failed
    attempt another one is not made at each start."""
    mark = archive.with_suffix(".writing")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if time.time() - mark.stat().st_mtime > _AGAIN_SECONDS:
                mark.unlink()
        mark.open("x").close()
    except OSError:  # a cache that cannot be written, or another's claim
        return False
    return True
