"""The file systems that a Spark session knows, by the session's own JVM and credentials."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.errors import StorageFailed
from dt_jupyter.lake.storage.remote_files import RemoteFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GONE = "java.io.FileNotFoundException"
_S3 = ("s3", "s3a", "s3n")
_BUFFER = 1 << 16
_TAKEN = "FileAlreadyExistsException"


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

    def list(self, folder: str) -> Sequence[RemoteFile]:
        with _told(folder):
            found = [status for status in self._list(folder) if status.isFile()]
            return [_file(str(status.getPath().getName()), status) for status in found]

    def _list(self, folder: str) -> Iterable[Any]:
        """FileNotFoundError, which takes 40 ms to hear of where Java raises it."""
        system, at = self._system(folder)
        if not system.exists(at):
            raise FileNotFoundError(folder)
        found: Iterable[Any] = system.listStatus(at)
        return found

    def list_all(self, folder: str) -> Sequence[RemoteFile]:
        found = []
        try:
            with _told(folder):
                system, at = self._system(folder)
                start = len(str(system.makeQualified(at).toString())) + 1
                files = system.listFiles(at, True)
                while files.hasNext():
                    status = files.next()
                    found.append(_file(str(status.getPath().toString())[start:], status))
        except FileNotFoundError:
            return []
        return found

    def list_folders(self, folder: str) -> Sequence[RemoteFile]:
        try:
            with _told(folder):
                found = [status for status in self._list(folder) if status.isDirectory()]
                return [_file(str(status.getPath().getName()), status) for status in found]
        except FileNotFoundError:
            return []

    def stat(self, path: str) -> RemoteFile | None:
        try:
            with _told(path):
                system, at = self._system(path)
                if not system.exists(at):  # what Java raises takes 40 ms to hear of
                    return None
                return _file(path.rpartition("/")[2], system.getFileStatus(at))
        except FileNotFoundError:
            return None

    def fetch(self, path: str, target: Path) -> None:
        with _told(path):
            system, at = self._system(path)
            file = self._jvm.java.io.File(str(target))
            self._hadoop.FileUtil.copy(system, at, file, False, system.getConf())

    def fetch_end(self, path: str, start: int, target: Path) -> None:
        """From one stream of Java's to another: none of the bytes pass through Python."""
        java = self._jvm.java.io
        with _told(path):
            system, at = self._system(path)
            source = system.open(at)
            try:
                source.seek(start)
                file = java.RandomAccessFile(str(target), "rw")
                file.seek(start)
                copy = self._jvm.org.apache.hadoop.io.IOUtils.copyBytes
                copy(source, java.FileOutputStream(file.getFD()), _BUFFER, True)
            finally:
                source.close()

    def put(self, source: Path, path: str) -> None:
        folder, _, name = path.rpartition("/")
        draft = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        with _told(path):
            system, at = self._system(draft)
            file = self._jvm.java.io.File(str(source))
            self._hadoop.FileUtil.copy(file, system, at, False, system.getConf())
            self._rename(system, at, self._hadoop.Path(path), "OVERWRITE")

    def put_commit(self, path: str, text: str) -> None:
        """By Delta's own log store, as the session has it for the storage: what separates Spark's
        commits separates these from them."""
        try:
            self._put_commit(path, text)
        except FileNotFoundError:
            self.make_folder(path.rpartition("/")[0])
            self._put_commit(path, text)

    def _put_commit(self, path: str, text: str) -> None:
        with _told(path):
            system, at = self._system(path)
            one = self._jvm.java.util.ArrayList()
            one.add(text.removesuffix("\n"))
            lines = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(one.iterator())
            self._log_store.write(at, lines, False, system.getConf())

    @cached_property
    def _log_store(self) -> Any:
        with _told("a Delta log"):
            return self._jvm.org.apache.spark.sql.delta.storage.LogStore.apply(self._session)

    def keeps_apart(self, folder: str) -> bool:
        """Delta's own log store for S3 only knows the writers of its process; one that the
        session is given is taken to know of all."""
        scheme = folder.partition(":")[0].lower()
        conf = self._session.sparkContext().conf()
        given = (f"spark.delta.logStore.{scheme}.impl", "spark.delta.logStore.class")
        return scheme not in _S3 or any(conf.contains(name) for name in given)

    def copy(self, source: str, target: str) -> None:
        with _told(source):
            (of, at), (to, there) = self._system(source), self._system(target)
            self._hadoop.FileUtil.copy(of, at, to, there, False, False, to.getConf())

    def make_folder(self, folder: str) -> None:
        with _told(folder):
            system, at = self._system(folder)
            system.mkdirs(at)

    def move(self, source: str, target: str) -> None:
        with _told(source):
            (system, at), there = self._system(source), self._hadoop.Path(target)
            system.mkdirs(there.getParent())
            self._rename(system, at, there, "NONE")

    def _rename(self, system: Any, source: Any, target: Any, how: str) -> None:
        options = self._jvm.java.lang.reflect.Array.newInstance(self._rename_option.getClass(), 1)
        kinds = self._hadoop.Options.Rename
        options[0] = kinds.valueOf(how)
        context = self._hadoop.FileContext.getFileContext(system.getUri(), system.getConf())
        context.rename(source, target, options)

    @cached_property
    def _rename_option(self) -> Any:
        return self._hadoop.Options.Rename.valueOf("NONE")

    def delete(self, path: str) -> None:
        with _told(path):
            system, at = self._system(path)
            system.delete(at, True)

    def _system(self, path: str) -> tuple[Any, Any]:
        """Hadoop keeps one for each host, as the session's settings were when it was first asked
        for; so does this, as to make the settings takes longer than to check a file."""
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
        kind = str(raised.getClass().getName())
        if kind == _GONE:
            raise FileNotFoundError(path) from e
        if kind.endswith(_TAKEN):
            raise FileExistsError(path) from e
        raise _failed(path, str(raised.toString())) from e
    except PySparkException as e:  # what it knows by class, as an argument that Java refuses
        raise _failed(path, str(e)) from e


def _failed(path: str, problem: str) -> StorageFailed:
    return StorageFailed(f"{path} cannot be read: {problem.strip().splitlines()[0]}", path=path)


__all__ = ["HadoopStorage"]
