"""S3 on loopback: moto's server, in an environment of its own, kept in the user's cache folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

from tests.maven_jars import HADOOP_CLIENT, Jars, hadoop_version
from tests.sinks.servers import Server, free_port

MOTO = "moto[server,s3]==5.1.14"
SDK = "2.35.4"
"""The version that Hadoop's own build names."""
_SDK_PARTS = ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client",
              "url-connection-client")  # fmt: skip
_PROGRAM = """
import sys, threading, boto3
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", int(sys.argv[1]))
server.start()
url = f"http://127.0.0.1:{sys.argv[1]}"
keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys)
client.create_bucket(Bucket=sys.argv[2])
print("ready", flush=True)
threading.Event().wait()
"""


def _jars() -> Jars:
    """Hadoop's S3A, with the parts of Amazon's SDK that it calls in place of all of it."""
    version = hadoop_version()
    parts = [f"software.amazon.awssdk:{part}:{SDK}" for part in _SDK_PARTS]
    return Jars(
        f"s3a-{version}",
        [f"org.apache.hadoop:hadoop-aws:{version}", *parts],
        ["org.apache.hadoop.util.VersionInfo"],
        ["software.amazon.awssdk:bundle", *HADOOP_CLIENT],
    )  # fmt: skip


def _python() -> Path:
    """That of the environment that has moto, made if it is not there; else a skip."""
    name = MOTO.partition("==")[2]
    kept = Path(platformdirs.user_cache_dir("dt_jupyter-tests")) / f"moto-{name}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    python = kept / "bin" / "python"
    with FileLock(kept.with_name(f"{kept.name}.lock")):
        if not (kept / "ready").exists():
            shutil.rmtree(kept, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", kept], check=True, capture_output=True)
            pip = [python, "-m", "pip", "install", "--quiet", MOTO]
            if subprocess.run(pip, capture_output=True, check=False).returncode:
                pytest.skip(f"TESTS SKIPPED: {MOTO} could not be installed")
            (kept / "ready").touch()
    return python


class S3Server:
    """With one empty bucket at `url`; a session that is to read it has the `confs`. What `serves`
    forgets everything when it is stopped."""

    bucket = "tables"

    def __init__(self) -> None:
        port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="dt-s3-"))
        self.url = f"s3a://{self.bucket}"
        self._jars = _jars().find()
        self._endpoint = f"http://127.0.0.1:{port}"
        command = [str(_python()), "-c", _PROGRAM, str(port), self.bucket]
        self.serves = Server(command, port, self.folder / "log", None)
        self.serves.start()

    @property
    def confs(self) -> Mapping[str, str]:
        jars = sorted(str(p) for p in self._jars.glob("*.jar"))
        return {
            "spark.jars": ",".join(jars),
            "spark.hadoop.fs.s3a.endpoint": self._endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.hadoop.fs.s3a.access.key": "key",
            "spark.hadoop.fs.s3a.secret.key": "secret",
        }

    def end(self) -> None:
        self.serves.end()
        shutil.rmtree(self.folder, ignore_errors=True)
