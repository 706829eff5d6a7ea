"""The kinds of file systems."""

from __future__ import annotations

import os
from pathlib import Path

REMOTE_KINDS = frozenset(
    (
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "lustre",
        "fuse.sshfs",
        "fuse.s3fs",
        "fuse.gcsfuse",
        "glusterfs",
        "fuse.glusterfs",
    )
)
"""Of other machines: what is locked or mapped there may change under this one."""


def file_system_of(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The type of the file system that holds `path`; "" where the system does not show it."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return ""
    where = os.path.realpath(path)
    found = ("", "")
    for line in lines:
        _, mount, kind, *_ = line.split(" ")
        mount = mount.encode().decode("unicode_escape")  # a space is written \040
        inside = where == mount or where.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(found[0]):
            found = (mount, kind)
    return found[1]
