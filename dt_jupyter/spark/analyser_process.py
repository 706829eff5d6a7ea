"""The JVM of Spark's analyser on the machine of a client of Spark Connect.

PySpark does not know of it: no `SparkContext`, no variable and no active session of this process
changes. The JVM ends with this process, whose end closes its standard input.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import DTError
from dt_jupyter.spark.compiled_java import compile_java
from dt_jupyter.spark.failures import explain_start
from dt_jupyter.spark.launch import java_variables
from dt_jupyter.spark.path_texts import text_of_path

if TYPE_CHECKING:
    from py4j.clientserver import ClientServer

_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss4m"
"""One collector thread and the quick compiler: it makes small plans, and runs no query. Plans are
trees, which are walked on the stack."""
_MEMORY = "1g"
_SETTINGS = {
    "spark.master": "local[1]",
    "spark.app.name": "dt_jupyter analyser",
    "spark.driver.memory": _MEMORY,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_OF_SPARK = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_")
"""Variables of the user's for the user's sessions, clusters and JVMs."""
_START_SECONDS = 120.0
_NO_JARS = "PySpark is installed on this machine without the JAR files of Spark."
_WHOLE_PACKAGE = "Install the package pyspark rather than pyspark-client."


@dataclass(frozen=True, eq=False)
class AnalyserProcess:
    """`calls` is an object of `AnalyserCalls.java`, `first` the session that others are made
    from, both in the JVM of `gateway`."""

    run: subprocess.Popen[bytes]
    gateway: ClientServer
    calls: Any
    first: Any
    owner: int = field(default_factory=os.getpid)
    """The process that has started it; a fork of it has none of it."""

    def has_ended(self, seconds: float = 1.0) -> bool:
        """Whether the JVM has ended, or does so within that time."""
        try:
            self.run.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> None:
        """At once: all that it has written is in a folder that is removed when Python ends."""
        if os.getpid() == self.owner:
            self.gateway.shutdown()
            client: Any = self.gateway._gateway_client
            client.is_connected = False  # also where Java had ended: Py4J logs what it cannot send
            self.run.kill()
            self.run.wait()


def start_process() -> AnalyserProcess:
    """A new JVM with a session of one core. DT-5104 without Java; DT-5105 where it does not start,
    or has not after two minutes."""
    home = _spark_home()
    scratch = Path(tempfile.mkdtemp(prefix="dt_jupyter-"))
    log = scratch / "spark.log"
    options = f'{_OPTIONS} "-Djava.io.tmpdir={scratch}"'
    run = _run(home, scratch, log, java_variables(scratch, options))
    atexit.register(_clean, run, scratch, os.getpid())
    try:
        gateway = _connect(run, scratch / "gateway")
        calls = compile_java(gateway.jvm, "AnalyserCalls")
        first = calls.start()
        if isinstance(first, str):
            raise RuntimeError(first)
    except BaseException as failure:
        run.kill()
        if not isinstance(failure, Exception):
            raise
        raise explain_start(failure, log.read_text(errors="replace")) from None
    made = AnalyserProcess(run, gateway, calls, first)
    atexit.register(made.end)
    return made


def _clean(run: subprocess.Popen[bytes], scratch: Path, owner: int) -> None:
    """Not in a fork of the process that started it."""
    if os.getpid() == owner:
        run.kill()
        run.wait()
        shutil.rmtree(scratch, ignore_errors=True)


def _spark_home() -> Path:
    import pyspark

    homes = (Path(pyspark.__file__).parent, Path(os.environ.get("SPARK_HOME", "")))
    for home in homes:
        if (home / "jars").is_dir() and (home / "bin").is_dir():
            return home
    raise DTError("DT-5105", {"problem": _NO_JARS, "hint": _WHOLE_PACKAGE})


def _run(
    home: Path, scratch: Path, log: Path, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Spark's gateway for Python, which writes its port into `scratch`. Its settings are these
    alone, and it is out of reach of an interrupt from the keyboard."""
    warehouse = text_of_path(scratch / "warehouse")
    settings = {**_SETTINGS, "spark.local.dir": str(scratch), "spark.sql.warehouse.dir": warehouse}
    program = home / "bin" / ("spark-submit.cmd" if os.name == "nt" else "spark-submit")
    none = scratch / "none.conf"
    none.touch()
    # Spark's own folder of settings stays where it is, since Java's archive of classes holds for
    # one class path, which begins with it; but they are not read.
    command = [str(program), "--properties-file", str(none)]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_OF_SPARK)}
    own = {
        "SPARK_HOME": str(home),
        "PYSPARK_PIN_THREAD": "true",  # one thread of Java for each of Python's
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(scratch / "gateway"),
    }
    with log.open("ab") as sink:
        return subprocess.Popen(
            [*command, "pyspark-shell"], stdin=subprocess.PIPE, stdout=sink, stderr=sink,
            env={**kept, **variables, **own}, cwd=scratch, start_new_session=True,
        )  # fmt: skip


def _connect(run: subprocess.Popen[bytes], told: Path) -> ClientServer:
    """A client of the gateway, as soon as it has written its port and its secret to `told`."""
    from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
    from pyspark.serializers import UTF8Deserializer, read_int

    end = time.monotonic() + _START_SECONDS
    while not told.is_file():
        if run.poll() is not None:
            raise RuntimeError(f"Java has ended with the exit code {run.returncode}.")
        if time.monotonic() > end:
            raise TimeoutError(f"Java did not answer in {_START_SECONDS:.0f} seconds.")
        time.sleep(0.02)
    with told.open("rb") as info:
        port = read_int(info)  # type: ignore[no-untyped-call]
        secret = UTF8Deserializer().loads(info)  # type: ignore[no-untyped-call]
    java = JavaParameters(port=port, auth_token=secret, auto_convert=True)
    return ClientServer(java, PythonParameters(port=0, eager_load=False))
