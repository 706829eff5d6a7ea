"""Spark is begun to be started by what loads the extension in a live notebook, and by nothing else.

Java is told to fail at once: what is looked at is whether it was started at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

from tests.notebook.conftest import CHECKOUT, Kernel
from tests.notebook.test_views import FrontEnd

LOAD = "%load_ext dt_jupyter"


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Kernel]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "SPARK_SUBMIT_OPTS": "-XX:+NoSuchOption",
    }
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path), env=environment)
    try:
        yield Kernel(manager, client, tmp_path)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


def test_a_live_notebook_begins_to_start_spark(bare: Kernel) -> None:
    front = FrontEnd(bare)
    bare.run(LOAD).ok  # noqa: B018
    assert begun(bare) == "[]", "no cell of a notebook loaded it"
    bare.run("%unload_ext dt_jupyter").ok  # noqa: B018
    front.run("a", f"import os; os.environ['DT_JUPYTER_STANDBY'] = '0'\n{LOAD}")
    assert begun(bare) == "[]", "it is switched off"
    bare.run("%unload_ext dt_jupyter\ndel os.environ['DT_JUPYTER_STANDBY']").ok  # noqa: B018
    front.run("b", LOAD)
    assert begun(bare) == "[True]"
    bare.run("os.environ['PYSPARK_GATEWAY_PORT'] = '1'").ok  # noqa: B018
    assert begun(bare) == "[False]", "the notebook has a Java of its own"


def begun(kernel: Kernel) -> str:
    """Whether each Java on standby is wanted, once the loop had time to start one."""
    kernel.run("await __import__('asyncio').sleep(2)").ok  # noqa: B018
    return kernel.value(
        "[s._wanted for s in __import__('dt_jupyter.spark.standby', fromlist='_')._of_this_process]"
    )
