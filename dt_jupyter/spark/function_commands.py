"""What a statement does to a function, by its analysed plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dt_jupyter.model import quote
from dt_jupyter.spark.analysed import Analysed

_CREATES = frozenset({"CreateSQLFunctionCommand", "CreateFunctionCommand"})
_CHANGES = frozenset({"DropFunctionCommand", "RefreshFunctionCommand"})


@dataclass(frozen=True)
class FunctionCommand:
    """CREATE or DROP FUNCTION: `schema` is "" for a temporary one, `quiet` with IF [NOT] EXISTS;
    `body` is a query of what it returns over NULLs as its arguments, "" where Spark has none."""

    schema: str
    name: str
    creates: bool
    replaces: bool = False
    quiet: bool = False
    body: str = ""


def function_command(found: Analysed) -> FunctionCommand | None:
    """None for a plan that is about no function, or does nothing to one."""
    root, plan = found.facts.root, found.plan
    if root not in _CREATES | _CHANGES:
        return None
    identifier = plan.name() if root == "CreateSQLFunctionCommand" else plan.identifier()
    schema = identifier.database()
    return FunctionCommand(
        str(schema.get()).lower() if schema.isDefined() else "",
        str(identifier.funcName()).lower(),
        root in _CREATES,
        root in _CREATES and bool(plan.replace()),
        _is_quiet(root, plan),
        _body(plan, str(identifier.funcName())) if root == "CreateSQLFunctionCommand" else "",
    )


def described_function(found: Analysed) -> FunctionCommand | None:
    """The function that DESCRIBE FUNCTION is about; None where that is one of Spark's own."""
    info = found.plan.info()
    if str(info.getSource()) == "built-in":
        return None
    return FunctionCommand(str(info.getDb() or "").lower(), str(info.getName()).lower(), False)


def _is_quiet(root: str, plan: Any) -> bool:
    if root == "RefreshFunctionCommand":
        return False
    return bool(plan.ignoreIfExists() if root in _CREATES else plan.ifExists())


def _body(plan: Any, name: str) -> str:
    expression, query = _text(plan.exprText()), _text(plan.queryText())
    parameters = _parameters(_text(plan.inputParamText()))
    if plan.isTableFunc():
        called = f"(SELECT {parameters}) AS {quote(name)}, LATERAL " if parameters else ""
        return f"SELECT * FROM {called}(\n{query}\n)"
    given = f" FROM (SELECT {parameters}) AS {quote(name)}" if parameters else ""
    return f"SELECT (\n{expression or query}\n){given}"


def _parameters(text: str) -> str:
    from pyspark.sql.types import StructType

    made = StructType.fromDDL(text) if text else StructType()
    fields = made.fields if isinstance(made, StructType) else []
    return ", ".join(
        f"CAST(NULL AS {f.dataType.simpleString()}) AS {quote(f.name)}" for f in fields
    )


def _text(value: Any) -> str:
    return str(value.get()) if value.isDefined() else ""


__all__ = ["FunctionCommand", "described_function", "function_command"]
