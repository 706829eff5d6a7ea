"""The public Python API from signatures and docstrings, and the packages from theirs."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import dt_jupyter
from docs.reference_pages.markdown import block, code, paragraphs, table
from dt_jupyter.engine import Engine
from dt_jupyter.model import Tuning

_WORD = re.compile(r"[A-Za-z_]\w*")
_WIDTH = 100
_LINKED = re.compile(r"(?<![`\w])(DT-\d+xx|DT-\d+)(?![`\w])")


_INTERNAL = frozenset({"ivm", "lake", "sql", "spark"})
_MACHINERY = frozenset({
    "Comparison", "Defined", "HeldTable", "Owner", "Points", "StageName", "Transaction", "TreeNode",
})  # fmt: skip
"""Values within values whose names no user needs."""
_PLUMBING = frozenset({"connect", "declare", "nudge", "points", "statement_done"})
"""Of the engine: shown above, or public for its own parts alone."""


def python_page() -> str:
    values = _values(Engine)
    return paragraphs(
        "# Python API",
        "What is returned is a frozen dataclass or a DataFrame. All methods raise `DTError` alone "
        "(`dt_jupyter.model.DTError`: `code`, `sqlstate`, `sentence`, `hint`, `facts`, `query`, "
        "`span`, `details`); see [errors](errors.md).",
        "## dt_jupyter.connect",
        _function(dt_jupyter.connect, "dt_jupyter.connect"),
        _function(Engine.connect, "Engine.connect"),
        "## Engine",
        _text(Engine),
        *_members(Engine, skip=_PLUMBING),
        "## Values",
        "What methods return, and what those values hold.",
        *(_value(kind) for kind in values),
    )


def tuning_page() -> str:
    example = """import dt_jupyter

dt = dt_jupyter.connect("lake", tuning=dt_jupyter.Tuning(driver_rows=20_000, lease_seconds=120))"""
    rows = [
        (code(knob.name), f"{knob.default:,}", knob.metadata["unit"], knob.metadata["meaning"])
        for knob in dataclasses.fields(Tuning)
    ]
    return paragraphs(
        "# Thresholds",
        "None changes what a table holds, only which way leads there and when. The defaults are "
        "for a laptop; on a cluster with a large driver `driver_rows`, `snapshot_bytes` "
        "and `cache_bytes` are the ones to raise.",
        block(example, "python"),
        table(("threshold", "default", "unit", "meaning"), rows),
    )


def _values(owner: type) -> list[type]:
    """The classes of ours that the public methods of a class return, and those in their fields;
    not what is deeper down."""
    first = set(_returned(owner))
    below = {k for kind in first if dataclasses.is_dataclass(kind) for k in _in_fields(kind)}
    kinds = {kind for kind in first | below if kind.__name__ not in _MACHINERY}
    return sorted(kinds, key=lambda kind: (kind.__name__, inspect.getdoc(kind) or ""))


def _in_fields(kind: type) -> Iterator[type]:
    for field in dataclasses.fields(kind):
        if _is_public(field.name):
            yield from _classes(str(field.type), kind.__module__)


def _returned(owner: type) -> Iterator[type]:
    for _, member in _public(owner):
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        annotation = getattr(inspect.unwrap(function), "__annotations__", {}).get("return", "")
        yield from _classes(str(annotation), owner.__module__)


def _classes(annotation: str, module: str) -> Iterator[type]:
    """The values that an annotation names: what people are given, and no part of the machinery."""
    names = vars(sys.modules[module])
    for word in _WORD.findall(annotation):
        kind = names.get(word)
        if not isinstance(kind, type) or kind is Engine or not inspect.getdoc(kind):
            continue
        package = kind.__module__.removeprefix("dt_jupyter.").partition(".")[0]
        if kind.__module__.startswith("dt_jupyter.") and package not in _INTERNAL:
            yield kind


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _public(owner: type) -> list[tuple[str, Any]]:
    """Methods and properties with a docstring, in the order of the class' text."""
    fields = (
        {f.name for f in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
    )
    return [
        (name, member)
        for name, member in vars(owner).items()
        if _is_public(name)
        and name not in fields
        and inspect.getdoc(_callable(member))
        and (callable(member) or isinstance(member, property | classmethod | staticmethod))
    ]


def _callable(member: Any) -> Any:
    return getattr(member, "__func__", member)


def _members(owner: type, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    for name, member in _public(owner):
        if name in skip:
            continue
        yield f"### {name}"
        if isinstance(member, property):
            kind = member.fget.__annotations__.get("return", "")
            yield paragraphs(block(f"{name}: {kind}", "python"), _text(member))
        else:
            yield _function(_callable(member), name)


def _function(function: Any, name: str) -> str:
    return paragraphs(block(_signature(function, name), "python"), _text(function))


def _signature(function: Any, name: str) -> str:
    """In one line where it fits, else with an argument in each."""
    signature = inspect.signature(function)
    parts: list[str] = []
    for parameter in signature.parameters.values():
        keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if keyword and "*" not in parts and not any(p.startswith("*") for p in parts):
            parts.append("*")
        if parameter.name not in ("self", "cls"):
            parts.append(_parameter(parameter))
    returns = f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) <= _WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = f"{stars.get(parameter.kind, '')}{parameter.name}: {parameter.annotation}"
    given = parameter.default is not inspect.Parameter.empty
    return f"{text} = {parameter.default!r}" if given else text


def _text(thing: Any) -> str:
    doc = inspect.getdoc(thing) or ""
    return _LINKED.sub(lambda match: code(match[0]), doc)


def _value(kind: type) -> str:
    fields = members = ""
    if dataclasses.is_dataclass(kind):
        rows = [
            (code(f.name), code(f.type)) for f in dataclasses.fields(kind) if _is_public(f.name)
        ]
        fields = table(("field", "type"), rows) if rows else ""
    if issubclass(kind, Enum):
        fields = ", ".join(code(member.value) for member in kind) + "."
    else:
        members = "\n".join(
            f"- {code(name if isinstance(member, property) else name + _short(member))}: "
            + " ".join(_text(_callable(member)).split())
            for name, member in _public(kind)
        )
    own = _text(kind) if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(") else ""
    module = f"Of `{kind.__module__}`."
    return paragraphs(f"### {kind.__name__}", own or module, fields, members)


def _short(member: Any) -> str:
    names = [p for p in inspect.signature(_callable(member)).parameters if p not in ("self", "cls")]
    return f"({', '.join(names)})"


# -- packages -------------------------------------------------------------------------------------


def packages_page() -> str:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    rows = [
        (code(name), _promise(name))
        for layer in layers
        for name in _WORD.findall(layer)
        if _exists(name)
    ]
    return paragraphs(
        "# Packages",
        "From top to bottom: a package imports only those below it, which `python3 dev.py lint` "
        "holds. Each says in its `__init__` what it promises.",
        table(("package", "promises"), rows),
    )


def _exists(name: str) -> bool:
    root = Path(dt_jupyter.__file__).parent
    return (root / name).is_dir() or (root / f"{name}.py").is_file()


def _promise(name: str) -> str:
    return (import_module(f"dt_jupyter.{name}").__doc__ or "").strip().replace("\n\n", " ")
