"""From nothing to a graph of one's own three tables, as a new user goes: a fresh environment, `pip
install`, JupyterLab, a notebook, three CSV files as Delta tables, two dynamic tables, `%dt graph`.

`python -m bench.new_user`: the seconds of each step. The wheel of this checkout is built before;
pip finds the others in its own cache, and Spark Delta's JARs, from the second run on.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

ROOT = Path(__file__).parents[1]
CELL_SECONDS, LISTEN_SECONDS = 600, 30
CELLS = {
    "%load_ext dt_jupyter": "%load_ext dt_jupyter",
    "%dt connect": "%dt connect lake",
    "orders.csv, 100,000 rows": "%dt load orders.csv",
    "items.csv, 1,000 rows": "%dt load items.csv",
    "shops.csv, 50 rows": "%dt load shops.csv",
    "first dynamic table": (
        "%%dynamic_table sales --target-lag '1 minute'\n"
        "SELECT shop, kind, count(*) AS orders, sum(price) AS price\n"
        "FROM orders JOIN items USING (item) GROUP BY shop, kind"
    ),
    "second dynamic table": (
        "%%dynamic_table by_city --target-lag '1 minute'\n"
        "SELECT city, sum(price) AS price FROM sales JOIN shops USING (shop) GROUP BY city"
    ),
    "%dt graph": "%dt graph",
}


def main() -> None:
    argparse.ArgumentParser(prog="bench.new_user", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_wheel(folder / "wheel")
        work = folder / "work"
        work.mkdir()
        write_files(work)
        load = os.getloadavg()[0]
        took = walk(folder, wheel, work)
    print(f"load of the machine before: {load:.1f}, {os.cpu_count()} cores\n")
    print("| step | seconds |\n| --- | --- |")
    for step, seconds in {**took, "from python -m venv to the graph": sum(took.values())}.items():
        print(f"| {step} | {seconds:.1f} |")


def walk(folder: Path, wheel: Path, work: Path) -> dict[str, float]:
    """The seconds of each step."""
    took: dict[str, float] = {}
    python = folder / "venv" / "bin" / "python"
    took["python -m venv"] = timed(lambda: run(sys.executable, "-m", "venv", folder / "venv"))
    took["pip install"] = timed(lambda: run(python, "-m", "pip", "install", "--quiet", wheel))
    lab = Lab(python, work)
    try:
        took["JupyterLab"] = timed(lab.start)
        took["the notebook's kernel"] = timed(lab.start_kernel)
        for step, source in CELLS.items():
            took[step] = timed(lambda source=source: lab.run(source))
    finally:
        lab.stop()
    return took


class Lab:
    """A JupyterLab of that Python with one kernel, spoken to as its page does."""

    def __init__(self, python: Path, folder: Path) -> None:
        self._python, self._folder = python, folder
        self._token = secrets.token_hex(16)
        self._runtime = folder / "runtime"

    def start(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._address = f"http://127.0.0.1:{port}"
        options = [
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            f"--IdentityProvider.token={self._token}",
        ]
        self._process = subprocess.Popen(
            [self._python, "-m", "jupyterlab", "--no-browser", "--allow-root", *options],
            cwd=self._folder,
            env={**environment(), "JUPYTER_RUNTIME_DIR": str(self._runtime)},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stderr is not None
        if not any("is running at" in line for line in self._process.stderr):
            raise SystemExit("JupyterLab did not start.")
        self._ask_until_it_listens("/api")

    def _ask_until_it_listens(self, path: str, data: bytes | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"token {self._token}"}
        asked = urllib.request.Request(f"{self._address}{path}", data=data, headers=headers)
        ends = time.monotonic() + LISTEN_SECONDS
        while True:
            try:
                with urllib.request.urlopen(asked) as answer:
                    found: dict[str, Any] = json.load(answer)
                    return found
            except urllib.error.URLError as e:
                if not isinstance(e.reason, ConnectionRefusedError) or time.monotonic() > ends:
                    raise
                time.sleep(0.05)

    def start_kernel(self) -> None:
        kernel = self._ask_until_it_listens("/api/kernels", b"{}")["id"]
        self._client = BlockingKernelClient()
        self._client.load_connection_file(str(self._runtime / f"kernel-{kernel}.json"))
        self._client.start_channels(hb=False)  # it does not beat before it has started
        self._client.wait_for_ready(timeout=60)

    def run(self, source: str) -> None:
        """Runs a cell to its end; an error ends the walk."""
        message = self._client.session.msg("execute_request", content=asked_of(source))
        message["metadata"]["cellId"] = secrets.token_hex(4)
        self._client.shell_channel.send(message)
        while True:
            reply = self._client.get_shell_msg(timeout=CELL_SECONDS)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                break
        if reply["content"]["status"] != "ok":
            raise SystemExit("\n".join(reply["content"]["traceback"]))

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


def asked_of(source: str) -> dict[str, Any]:
    return {
        "code": source,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }


def write_files(folder: Path) -> None:
    orders = (f"{n},{n % 1000},{n % 50},{n % 97}.5" for n in range(100_000))
    write_csv(folder / "orders.csv", "id,item,shop,price", orders)
    write_csv(folder / "items.csv", "item,kind", (f"{n},kind {n % 7}" for n in range(1000)))
    write_csv(folder / "shops.csv", "shop,city", (f"{n},city {n % 5}" for n in range(50)))


def write_csv(path: Path, header: str, rows: Iterable[str]) -> None:
    path.write_text("\n".join([header, *rows, ""]), "utf-8")


def build_wheel(folder: Path) -> Path:
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    return next(folder.glob("dt_jupyter-*.whl"))


def timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, env=environment())


def environment() -> dict[str, str]:
    """Without what would lead a new user's Python elsewhere."""
    others = ("PYTHONPATH", "VIRTUAL_ENV", "SPARK_HOME", "PYSPARK_PYTHON")
    return {name: value for name, value in os.environ.items() if name not in others}


if __name__ == "__main__":
    main()
