"""What the folders `key=value` of a file's path say, as Spark reads them with columns of known
types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from urllib.parse import unquote

from dt_jupyter.lake.errors import LakeError

_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"-?[0-9]{1,19}\Z")
_DATE = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})\Z")
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


class WrongValue(LakeError):
    """A folder whose value does not have its column's type."""


def partition_names(path: str) -> tuple[str, ...]:
    """The columns that the folders of a file's path give values of, as they are written."""
    return tuple(unquote(part.partition("=")[0]) for part in path.split("/")[:-1] if "=" in part)


def partition_values(path: str, types: Mapping[str, str]) -> dict[str, str | None]:
    """The value of each partition column of a file, NULL as None, by the columns' types; one value
    is always written in one way. Raises LakeError where its folders are not those of the columns,
    WrongValue where Spark has no such value of a column's type.
    """
    parts = [part.partition("=") for part in path.split("/")[:-1]]
    named = [unquote(name).lower() for name, equals, _ in parts if equals]
    if named != [c.lower() for c in types] or len(named) != len(parts):
        wanted = "/".join(f"{c}=…" for c in types) or "no folders"
        raise LakeError(f"{path} is not in the folders {wanted}", file=path)
    folders = zip(types.items(), parts, strict=True)
    return {name: _value(kind, value, path) for (name, kind), (_, _, value) in folders}


def _value(kind: str, written: str, path: str) -> str | None:
    if written == _NULL:
        return None
    read = _READ.get(kind, _whole)(kind, written)
    if read is None:
        shown = f"'{unquote(written)}'" if written else "nothing"
        raise WrongValue(f"{path} has {shown} where there is {kind.upper()}", file=path)
    return read


def _text(_: str, written: str) -> str | None:
    return unquote(written) or None


def _whole(kind: str, written: str) -> str | None:
    if not _WHOLE.match(written):
        return None
    number, most = int(written), 1 << (_BITS[kind] - 1)
    return str(number) if -most <= number < most else None


def _date(_: str, written: str) -> str | None:
    found = _DATE.match(written)
    try:
        return date(*map(int, found.groups())).isoformat() if found else None
    except ValueError:
        return None


def _boolean(_: str, written: str) -> str | None:
    return written.lower() if written.lower() in ("true", "false") else None


_READ: dict[str, Callable[[str, str], str | None]] = {
    "string": _text, "date": _date, "boolean": _boolean,
}  # fmt: skip
PARTITION_TYPES = frozenset((*_READ, *_BITS))
"""Those whose values in names of folders have one reading."""


__all__ = ["PARTITION_TYPES", "WrongValue", "partition_names", "partition_values"]
