"""A standalone cluster of Spark on loopback: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import pyspark

from dt_jupyter.spark.java import find_java

_LOOPBACK = "127.0.0.1"
_DEPLOY = "org.apache.spark.deploy"
_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile("(Successfully registered with master)")
_SECONDS = 60
_EXECUTOR = "CoarseGrainedExecutorBackend"


def _hiding(folder: Path) -> list[str]:
    """What runs a command in a namespace in which a folder is empty; nothing where that is not
    allowed, as it mostly is to root alone."""
    hide = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none "{folder}" && exec "$@"', "sh"]
    try:
        done = subprocess.run([*hide, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return []
    return hide if done.returncode == 0 else []


class StandaloneCluster:
    """`workers` processes of a core and 1 GB each, that take executors of one core. Ends with
    `end`: the processes are this one's own, and no other's are touched. To workers the folder
    `hidden` is empty, as a disk of another machine is, where the system lets it be hidden."""

    def __init__(self, folder: Path, *, workers: int, hidden: Path | None = None) -> None:
        self._folder = folder
        self._hiding = _hiding(hidden) if hidden is not None else []
        self._home = Path(pyspark.__file__).parent
        folder.mkdir(parents=True, exist_ok=True)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        try:
            master = [f"{_DEPLOY}.master.Master", "--port", "0", "--webui-port", "0"]
            self._start("master", master)
            self.master = self._find("master", _STARTED)
            for n in range(workers):
                self.workers.append(self.add_worker(f"worker-{n}"))
        except BaseException:
            self.end()
            raise

    @property
    def confs(self) -> Mapping[str, str]:
        """What a session of the cluster is made with."""
        return {
            "spark.master": self.master,
            "spark.executor.cores": "1",
            "spark.executor.memory": "1g",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        }

    @property
    def _variables(self) -> Mapping[str, str]:
        (core,) = (self._home / "jars").glob("spark-core_*.jar")
        scala = core.name.removeprefix("spark-core_").partition("-")[0]
        told = {"SPARK_HOME": str(self._home), "SPARK_SCALA_VERSION": scala}
        return {**told, "SPARK_LOCAL_IP": _LOOPBACK}

    def add_worker(self, name: str) -> subprocess.Popen[bytes]:
        """One more worker, which the master knows."""
        options = ["--cores", "1", "--memory", "1500m", "--webui-port", "0"]
        options += ["--work-dir", str(self._folder / name)]
        arguments = [f"{_DEPLOY}.worker.Worker", *options, self.master]
        process = self._start(name, arguments, self._hiding)
        self._find(name, _REGISTERED)
        return process

    def kill_executors(self, worker: subprocess.Popen[bytes]) -> list[int]:
        """The processes in which a worker runs tasks, without a word; it starts others. Their
        ids."""
        found = psutil.Process(worker.pid).children(recursive=True)
        executors = [p for p in found if any(_EXECUTOR in word for word in p.cmdline())]
        for executor in executors:
            executor.kill()
        psutil.wait_procs(executors, timeout=30)
        return [executor.pid for executor in executors]

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """A master, or a worker with its executors, without a word."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)

    def end(self) -> None:
        """Every process of the cluster is gone."""
        for process in reversed(self._processes):
            self.kill(process)

    def _start(
        self, name: str, arguments: list[str], before: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        java = find_java(os.environ)
        log = self._folder / f"{name}.log"
        with log.open("wb") as said:
            process = subprocess.Popen(
                [*before, java.program, "-XX:+UseSerialGC", "-Xmx256m", "-XX:TieredStopAtLevel=1",
                 "-cp", f"{self._home / 'jars'}/*", arguments[0], "--host", _LOOPBACK,
                 *arguments[1:]],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                env={**os.environ, **self._variables}, start_new_session=True,
            )  # fmt: skip
        self._processes.append(process)
        return process

    def _find(self, name: str, wanted: re.Pattern[str]) -> str:
        """What the log of a process says sooner or later."""
        log = self._folder / f"{name}.log"
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            if found := wanted.search(log.read_text(errors="replace")):
                return found[1]
            time.sleep(0.1)
        raise AssertionError(f"{name} did not start:\n{log.read_text(errors='replace')[-2000:]}")
