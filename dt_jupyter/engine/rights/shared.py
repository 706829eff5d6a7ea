"""What a shared engine refuses: all by which a statement leaves the lake, or runs a program."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlparse

from dt_jupyter.model import DTError, error

_CODE = {
    "ScriptTransformation": "TRANSFORM … USING",
    "CallMethodViaReflection": "Calling a method of Java",
    "TryReflect": "Calling a method of Java",
    "AddJarsCommand": "ADD JAR",
    "AddFilesCommand": "ADD FILE",
    "AddArchivesCommand": "ADD ARCHIVE",
    "CreateFunctionCommand": "CREATE FUNCTION of a class",
    "CreateTempViewUsing": "CREATE TEMPORARY VIEW … USING",
    "LoadData": "LOAD DATA",
    "LoadDataCommand": "LOAD DATA",
    "InsertIntoDir": "INSERT OVERWRITE DIRECTORY",
    "InsertIntoDataSourceDirCommand": "INSERT OVERWRITE DIRECTORY",
    "ConvertToDeltaCommand": "CONVERT TO DELTA",
    "CreateVariable": "DECLARE VARIABLE",
}
"""By the class of a node or an expression of the analysed plan, what it is called."""
_PROGRAM = "it runs programs, or reads and writes files, of the service"
OPEN_CONFS = frozenset((
    "spark.sql.ansi.enabled", "spark.sql.session.timezone", "spark.sql.shuffle.partitions",
    "spark.sql.autobroadcastjointhreshold", "spark.sql.adaptive.enabled",
))  # fmt: skip
"""Those that a statement may set; all others are the service's."""
OPEN_OPTIONS = frozenset((
    # of texts and their values
    "allowbackslashescapinganycharacter", "allowcomments", "allownonnumericnumbers",
    "allownumericleadingzeros", "allowsinglequotes", "allowunquotedcontrolchars",
    "allowunquotedfieldnames", "arrayelementname", "attributeprefix", "charset",
    "chartoescapequoteescaping", "columnnameofcorruptrecord", "comment", "dateformat",
    "datetimerebasemode", "declaration", "delimiter", "dropfieldifallnull", "emptyvalue",
    "enabledatetimeparsingfallback", "encoding", "enforceschema", "escape", "escapequotes",
    "excludeattribute", "header", "ignoreleadingwhitespace", "ignorenamespace",
    "ignorenullfields", "ignoresurroundingspaces", "ignoretrailingwhitespace", "inferschema",
    "infertimestamp", "int96rebasemode", "linesep", "locale", "maxcharspercolumn", "maxcolumns",
    "mode", "multiline", "nanvalue", "negativeinf", "nullvalue", "positiveinf", "preferdate",
    "prefersdecimal", "pretty", "primitivesasstring", "quote", "quoteall",
    "roottag", "rowtag", "samplingratio", "sep", "singlevariantcolumn", "timestampformat",
    "timestampntzformat", "timezone", "unescapedquotehandling", "validatename", "valuetag",
    "wholetext", "wildcardcolname",
    # of files and of Delta's versions
    "avroschema", "compression", "endingtimestamp", "endingversion", "extension",
    "ignorecorruptfiles", "ignoremissingfiles", "mergeschema", "modifiedafter", "modifiedbefore",
    "pathglobfilter", "positionalfieldmatching", "readchangedata", "readchangefeed", "recordname",
    "recordnamespace", "recursivefilelookup", "recursivefieldmaxdepth", "split-size",
    "startingtimestamp", "startingversion", "storagelevel", "timestampasof", "versionasof",
    # Spark's own, of what INSERT needs
    "__required_write_privileges__",
))  # fmt: skip
"""Those that functions, relations, tables and writes may be given, in lower case: none of them is a
path, an address or a class. `path` itself is a place, and asked as one."""


@dataclass(frozen=True)
class Shared:
    """How a shared engine is open: `roots` are folders outside of the lake that may be read, and
    that tables may be in, links resolved."""

    roots: tuple[Path, ...] = ()

    @classmethod
    def of(cls, roots: Iterable[str | os.PathLike[str]]) -> Shared:
        return cls(tuple(Path(os.path.realpath(Path(r).expanduser())) for r in roots))

    def holds(self, path: str) -> bool:
        """Whether a path, as it is written, leads into one of the roots."""
        found = real_paths(path)
        return bool(found) and all(any(p.is_relative_to(r) for r in self.roots) for p in found)


def real_paths(path: str) -> tuple[Path, ...]:
    """Where a path leads in the end, `..` and links resolved: as it is written, and as a URI, of
    whose percent signs a reader may or may not think. None for another store, and for what is not a
    whole path."""
    parsed = urlparse(path)
    if parsed.scheme not in ("", "file") or parsed.netloc not in ("", "localhost"):
        return ()
    text = path[path.index("/") :] if parsed.scheme and "/" in path else path
    if parsed.scheme and text.startswith("//"):
        text = text[2:].removeprefix("localhost")
    readings = {text, unquote(text), unquote(unquote(text))}
    if any("\0" in read or not read.startswith("/") for read in readings):
        return ()
    return tuple(Path(os.path.realpath(read)) for read in sorted(readings))


def are_nested(one: str, other: str) -> bool:
    """Whether one of two paths on other storage may be in the other, whatever scheme and host
    they are written with, because these have several names."""
    first, second = (PurePosixPath(_in_store(path)) for path in (one, other))
    return first.is_relative_to(second) or second.is_relative_to(first)


def _in_store(path: str) -> str:
    return posixpath.normpath(f"/{unquote(urlparse(path).path).lstrip('/')}")


def refused_code(classes: frozenset[str]) -> DTError | None:
    """DT-5211 for a plan in which one of these classes is."""
    for name, what in _CODE.items():
        if name in classes:
            return error("DT-5211", what=what, problem=_PROGRAM)
    return None


def refused_conf(key: str | None) -> DTError | None:
    """DT-5211 for a conf that is the service's; None: for all of them."""
    if key is not None and key.lower() in OPEN_CONFS:
        return None
    return error("DT-5211", what=f"SET {key or ''}".strip(), problem="the service sets it")


def refused_option(options: Iterable[str]) -> DTError | None:
    """DT-5211 for an option that is not known to be harmless; "?": one whose name is computed."""
    for option in sorted(options):
        if option.lower() not in OPEN_OPTIONS:
            what = "An option whose name is computed" if option == "?" else f"The option {option}"
            return error("DT-5211", what=what, problem="it may name a file, an address or a class")
    return None


def refused_place(path: str, shared: Shared) -> DTError | None:
    """DT-5211 for a path that is not in one of the roots."""
    if shared.holds(path):
        return None
    return error("DT-5211", what=f"The path {path}", problem="it is outside of the allowed folders")


__all__ = [
    "OPEN_CONFS",
    "OPEN_OPTIONS",
    "Shared",
    "are_nested",
    "real_paths",
    "refused_code",
    "refused_conf",
    "refused_option",
    "refused_place",
]
