"""The file systems that a Spark session reads, by the session's own JVM and credentials."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.errors import StorageFailed
from dt_jupyter.lake.storage.remote_files import RemoteFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GONE = "java.io.FileNotFoundException"


class HadoopStorage:
    """What Hadoop's `FileSystem` has; of classic Spark alone. Threads may share it."""

    def __init__(self, spark: SparkSession) -> None:
        session: Any = spark
        self._session, self._jvm = session._jsparkSession, session._jvm
        self._hadoop = self._jvm.org.apache.hadoop.fs
        self._systems: dict[tuple[str, str], Any] = {}

    def qualify(self, path: str) -> str:
        with _told(path):
            system, at = self._system(path)
            return str(system.makeQualified(at).toString())

    def uri(self, path: str) -> str:
        with _told(path):
            return str(self._hadoop.Path(path).toUri().toString())

    def list(self, folder: str) -> list[RemoteFile]:
        with _told(folder):
            system, at = self._system(folder)
            found = [status for status in system.listStatus(at) if status.isFile()]
            return [_file(str(status.getPath().getName()), status) for status in found]

    def stat(self, path: str) -> RemoteFile | None:
        try:
            with _told(path):
                system, at = self._system(path)
                return _file(path.rpartition("/")[2], system.getFileStatus(at))
        except FileNotFoundError:
            return None

    def fetch(self, path: str, target: Path) -> None:
        with _told(path):
            system, at = self._system(path)
            file = self._jvm.java.io.File(str(target))
            self._hadoop.FileUtil.copy(system, at, file, False, system.getConf())

    def _system(self, path: str) -> tuple[Any, Any]:
        """Hadoop keeps one for each host, as the session's settings were when it was first asked
        for; so does this, as to make the settings takes longer than to look at a file."""
        at, host = self._hadoop.Path(path), path.partition("://")[::2]
        key = host[0], host[1].partition("/")[0]
        system = self._systems.get(key)
        if system is None:
            system = at.getFileSystem(self._session.sessionState().newHadoopConf())
            self._systems[key] = system
        return system, at


def _file(name: str, status: Any) -> RemoteFile:
    return RemoteFile(name, int(status.getLen()), int(status.getModificationTime()))


@contextmanager
def _told(path: str) -> Iterator[None]:
    """What Java raises, as Python has it."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except Py4JJavaError as e:
        raised = e.java_exception
        if raised.getClass().getName() == _GONE:
            raise FileNotFoundError(path) from e
        raise _failed(path, str(raised.toString())) from e
    except PySparkException as e:  # what it knows by class, as an argument that Java refuses
        raise _failed(path, str(e)) from e


def _failed(path: str, problem: str) -> StorageFailed:
    return StorageFailed(f"{path} cannot be read: {problem.strip().splitlines()[0]}", path=path)


__all__ = ["HadoopStorage"]
