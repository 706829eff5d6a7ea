"""A function kept by its text, and made again of that text alone."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dt_jupyter.functions import checked_function_name, keep_function, make_function
from dt_jupyter.model import DTError, FunctionKind

FACTOR = 3
LOCK = threading.Lock()


def helper(x: int) -> int:
    return x * FACTOR


def kept(fn: Callable[..., Any], kind: FunctionKind = FunctionKind.PYTHON) -> Any:
    return keep_function("f", fn, "int", kind, immutable=True)


def again(fn: Callable[..., Any]) -> Callable[..., Any]:
    return make_function(kept(fn))


def test_names_around_it_are_kept_as_imports_literals_and_texts() -> None:
    near = (1, "a", 2.5)

    def f(x: SomeType, y: int = FACTOR) -> OtherType:  # type: ignore[name-defined]  # noqa: F821
        """Comments and text stay."""
        return json.dumps([int(np.sum([helper(x), y])), near[1]])

    made = kept(f)
    assert {c.name: c.kind.value for c in made.captured} == {
        "json": "MODULE",
        "np": "MODULE",
        "helper": "FUNCTION",
        "near": "VALUE",
        "FACTOR": "VALUE",
    }
    assert "Comments and text stay." in made.source
    assert dict(made.packages)["numpy"] == np.__version__
    assert make_function(made)(2) == f(2) == '[9, "a"]'
    assert not set(make_function(made).__globals__) & {"pytest", "LOCK"}


def test_lambdas_recursion_members_and_built_in_functions() -> None:
    def count(n: int) -> int:
        return 0 if n == 0 else 1 + count(n - 1)

    assert again(count)(5) == 5
    assert again(lambda x: x + FACTOR)(1) == 4
    assert kept(math.sqrt).place == "math:sqrt"
    assert again(math.sqrt)(9) == 3
    assert kept(json.dumps).place == "json:dumps"


def test_the_open_of_a_notebook_is_the_one_of_python() -> None:
    """IPython puts one around it into the names of its user."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    try:
        shell.run_cell("def reads(path):\n    with open(path) as file:\n        return file.read()")
        assert again(shell.user_ns["reads"])(__file__).startswith('"""')
    finally:
        InteractiveShell.clear_instance()


def test_what_cannot_be_kept_is_refused_by_its_name() -> None:
    def locked(x: int) -> int:
        with LOCK:
            return x

    def writes(x: int) -> int:
        global FACTOR  # noqa: PLW0603
        FACTOR = x
        return x

    def missing(x: int) -> int:
        return nowhere(x)  # type: ignore[name-defined,no-any-return]  # noqa: F821

    def gives(x: int) -> Any:
        yield x

    total = 0

    def counts(x: int) -> int:
        nonlocal total
        total += x
        return total

    class Callme:
        def __call__(self, x: int) -> int:
            return x

    for fn, word in (
        (locked, "LOCK, a value of type lock"),
        (writes, "changes FACTOR"),
        (missing, "nowhere, which is not defined"),
        (gives, "does not return"),
        (counts, "changes total"),
        (str.upper, "method_descriptor"),
        (Callme(), "Callme"),
        (compile_lambda(), "source text cannot be found"),
        ((lambda x: x, lambda x: x)[0], "its line has 2 lambdas"),
    ):
        with pytest.raises(DTError) as problem:
            kept(fn)
        assert problem.value.code == "DT-1131"
        assert word in str(problem.value)


def compile_lambda() -> Callable[..., Any]:
    made: Callable[..., Any] = eval("lambda x: x")
    return made


def test_another_text_constant_helper_or_flag_is_another_function() -> None:
    def f(x: int) -> int:
        return helper(x)

    one = kept(f)
    assert kept(f).digest == one.digest
    assert replace(one, packages=(("python", "3.99"),)).digest == one.digest
    (text, constant) = one.captured
    changes: list[dict[str, Any]] = [
        {"source": one.source + " "},
        {"immutable": False},
        {"returns": "bigint"},
        {"kind": FunctionKind.PANDAS},
        {"captured": (replace(text, text=text.text + " "), constant)},
        {"captured": (text, replace(constant, text="4"))},
    ]
    digests = {replace(one, **c).digest for c in changes}
    assert len(digests | {one.digest}) == len(changes) + 1
    placed = replace(one, place="numpy:add", packages=(("numpy", "1"),))
    assert replace(placed, packages=(("numpy", "2"),)).digest != placed.digest


def test_a_module_that_is_missing_is_told() -> None:
    made = kept(lambda x: int(np.abs(x)))
    gone = replace(made, captured=(replace(made.captured[0], text="no_such_module"),))
    with pytest.raises(DTError, match=r"DT-1132.*f cannot be called here.*no_such_module"):
        make_function(gone)
    for text in ("import os", "f = 1; g = 2", "f(", "f"):
        with pytest.raises(DTError, match="DT-1132"):
            make_function(replace(made, source=text))


def test_names_of_functions() -> None:
    builtins = frozenset({"upper", "if", "date_diff"})
    for name in ("Embed_2", "strpos", "len"):
        assert checked_function_name(name, builtins) == name.lower()
    for name in ("upper", "UPPER", "a b", "", "2x", "a`b", "é", "x" * 129, "__dt_x", "select",
                 "over", "if", "a.b", "x;y", "date_diff", "\u212a"):  # fmt: skip
        with pytest.raises(DTError, match="DT-1130"):
            checked_function_name(name, builtins)
