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
            found = system.listStatus(at)
            return [_file(status) for status in found if status.isFile()]

    def stat(self, path: str) -> RemoteFile | None:
        try:
            with _told(path):
                system, at = self._system(path)
                return _file(system.getFileStatus(at))
        except FileNotFoundError:
            return None

    def fetch(self, path: str, target: Path) -> None:
        with _told(path):
            system, at = self._system(path)
            file = self._jvm.java.io.File(str(target))
            self._hadoop.FileUtil.copy(system, at, file, False, self._conf())

    def _system(self, path: str) -> tuple[Any, Any]:
        """Hadoop keeps one for each authority."""
        at = self._hadoop.Path(path)
        return at.getFileSystem(self._conf()), at

    def _conf(self) -> Any:
        return self._session.sessionState().newHadoopConf()


def _file(status: Any) -> RemoteFile:
    return RemoteFile(
        str(status.getPath().getName()), int(status.getLen()), int(status.getModificationTime())
    )


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
