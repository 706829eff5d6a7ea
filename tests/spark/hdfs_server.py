"""HDFS on loopback: a NameNode and a DataNode, each a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pyspark

from dt_jupyter.spark.java import find_java
from tests.maven_jars import HADOOP_CLIENT, Jars, hadoop_version
from tests.sinks.servers import SECONDS, Server, free_port

_MEMORY = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_SITE = "<configuration>\n{}</configuration>\n"
_PROPERTY = "<property><name>{}</name><value>{}</value></property>\n"


def _jars() -> Jars:
    """Of the version whose client Spark has, without what Spark has too."""
    version = hadoop_version()
    return Jars(
        f"hdfs-{version}",
        [f"org.apache.hadoop:hadoop-client-minicluster:{version}"],
        ["org.apache.hadoop.util.VersionInfo"],
        HADOOP_CLIENT,
    )


class HdfsServer:
    """Empty at first; files are at `url`. What `serves` can be stopped and started, as a NameNode
    that restarts. With the `confs` a session finds there what has no scheme, as on a cluster."""

    def __init__(self) -> None:
        jars = _jars().find()
        self.folder = folder = Path(tempfile.mkdtemp(prefix="dt-hdfs-"))
        port, data, web, ipc, http = (free_port() for _ in range(5))
        self.url = f"hdfs://127.0.0.1:{port}"
        self.confs = {"spark.hadoop.fs.defaultFS": self.url}
        conf = {
            "fs.defaultFS": self.url,
            "dfs.namenode.name.dir": (folder / "names").as_uri(),
            "dfs.datanode.data.dir": (folder / "data").as_uri(),
            "dfs.namenode.http-address": f"127.0.0.1:{web}",
            "dfs.datanode.address": f"127.0.0.1:{data}",
            "dfs.datanode.http.address": f"127.0.0.1:{http}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{ipc}",
            "dfs.replication": "1",
            "dfs.permissions.enabled": "false",
            "dfs.namenode.safemode.extension": "0",
            "dfs.heartbeat.interval": "1",
            "hadoop.tmp.dir": str(folder),
        }
        site = _SITE.format("".join(_PROPERTY.format(k, v) for k, v in conf.items()))
        for name in ("core-site.xml", "hdfs-site.xml"):
            (folder / name).write_text(site)
        spark = Path(pyspark.__file__).parent / "jars"
        java = [str(find_java(os.environ).program), *_MEMORY, "-cp", f"{folder}:{jars}/*:{spark}/*"]
        self.serves = Server([*java, _NAMENODE], port, folder / "names.log", None)
        self.data = Server([*java, _DATANODE], data, folder / "data.log", None)
        try:
            format_ = [*java, _NAMENODE, "-format", "-nonInteractive"]
            subprocess.run(format_, check=True, capture_output=True, timeout=SECONDS)
            self.serves.start()
            self.data.start()
            self._await_data()
        except BaseException:
            self.end()
            raise

    def _await_data(self) -> None:
        """Until the NameNode knows the DataNode, and lets files be written."""
        end = time.monotonic() + SECONDS
        log = self.folder / "names.log"
        block = self.folder / "data" / "current"
        while not any(block.glob("BP-*/current/VERSION")):
            if time.monotonic() > end:
                raise RuntimeError(log.read_text("utf-8", "replace")[-2000:])
            time.sleep(0.05)

    def end(self) -> None:
        self.data.end()
        self.serves.end()
        shutil.rmtree(self.folder, ignore_errors=True)
