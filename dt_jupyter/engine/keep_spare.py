"""Keeps a spare Spark for the next process: started, with the usual statements run in it, so that
its classes are loaded and compiled. It reads what is ordered from its standard input.

    python -m dt_jupyter.engine.keep_spare
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from dt_jupyter.spark import SpareOrder, serve_spare

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

_USUAL = "dt_jupyter.engine.load_classes"
_USUAL_SECONDS = 300.0


def load_in(gateway: JavaGateway) -> None:
    """In another process, whose memory is free again when the spare waits."""
    parameters = gateway.gateway_parameters
    told = {
        "PYSPARK_GATEWAY_PORT": str(parameters.port),
        "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
    }
    subprocess.run(
        [sys.executable, "-m", _USUAL],
        env={**os.environ, **told},
        stdin=subprocess.DEVNULL,
        timeout=_USUAL_SECONDS,
        check=True,
    )


if __name__ == "__main__":
    told = json.load(sys.stdin)
    serve_spare(SpareOrder.of_text(told["order"]), told["key"], told["wait"], load_in)
    os._exit(0)  # without a message to the JVM, which belongs to another process now
