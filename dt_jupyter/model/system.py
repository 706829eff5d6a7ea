"""What the operating system refuses, in the catalogue's words."""

from __future__ import annotations

import errno

from dt_jupyter.model.errors import DTError, error

_CODES = {
    errno.ENOSPC: "DT-5121",
    errno.EDQUOT: "DT-5121",
    errno.EFBIG: "DT-5121",
    errno.EACCES: "DT-5122",
    errno.EPERM: "DT-5122",
    errno.EROFS: "DT-5122",
    errno.EMFILE: "DT-5123",
    errno.ENFILE: "DT-5123",
}


def system_error(failure: BaseException) -> DTError | None:
    """DT-5121 for a full disk, DT-5122 for no permission, DT-5123 for too many open files; None
    for anything else."""
    if not isinstance(failure, OSError) or failure.errno not in _CODES:
        return None
    where = f" ({failure.filename})" if isinstance(failure.filename, str) else ""
    return error(_CODES[failure.errno], problem=f"{failure.strerror}{where}")
