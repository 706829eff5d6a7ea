"""Which archive of classes Java is told to use, and who writes one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dt_jupyter.spark import class_archive
from dt_jupyter.spark.class_archive import OPTIONS, archive_of, start_writer, with_archive
from dt_jupyter.spark.java import Java


def java(home: Path, release: str = 'JAVA_VERSION="17.0.9"') -> Java:
    home.mkdir(parents=True)
    (home / "release").write_text(release)
    return Java(home, 17)


def test_each_java_and_each_release_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = java(tmp_path / "one")
    kept = archive_of(one)
    others = [archive_of(java(tmp_path / "two")), archive_of(one, tmp_path)]
    (one.home / "release").write_text('JAVA_VERSION="17.0.10"')
    others.append(archive_of(one))
    monkeypatch.setattr(class_archive.importlib.metadata, "version", lambda package: "9.9")
    others.append(archive_of(one))
    assert len({kept, *others}) == 5
    assert kept.parent == others[0].parent


@pytest.mark.parametrize("chosen", [
    "-XX:SharedArchiveFile=/x.jsa", "-Xshare:off", '-Xmx1g "-XX:ArchiveClassesAtExit=/x.jsa"',
])  # fmt: skip
def test_what_the_user_chose_stays(tmp_path: Path, chosen: str) -> None:
    (archive := tmp_path / "a.jsa").touch()
    assert with_archive({OPTIONS: chosen}, archive) == {}
    assert start_writer(tmp_path / "other.jsa", {OPTIONS: chosen}) is None
    assert sorted(tmp_path.iterdir()) == [archive]


def test_an_archive_that_is_there_is_used_beside_other_options(tmp_path: Path) -> None:
    archive = tmp_path / "with a blank" / "a.jsa"
    assert with_archive({}, archive) == {}
    archive.parent.mkdir()
    archive.touch()
    option = f'"-XX:SharedArchiveFile={archive}"'
    assert with_archive({}, archive) == {OPTIONS: option}
    assert with_archive({OPTIONS: "-Xmx1g"}, archive) == {OPTIONS: f"-Xmx1g {option}"}
    assert start_writer(archive, {}) is None


def test_one_process_writes_it_and_another_tries_a_day_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_archive, "_WRITER", "antigravity_that_does_not_exist")
    archive = tmp_path / "cache" / "a.jsa"
    first = start_writer(archive, {})
    assert first is not None
    assert first.wait(60) != 0
    assert start_writer(archive, {}) is None
    long_ago = time.time() - 25 * 3600
    os.utime(archive.with_suffix(".writing"), (long_ago, long_ago))
    again = start_writer(archive, {})
    assert again is not None
    again.wait(60)


def test_a_cache_that_cannot_be_written_keeps_nobody_from_working(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert start_writer(tmp_path / "cache" / "a.jsa", {}) is None
