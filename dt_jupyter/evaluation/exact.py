"""Functions of rows that DuckDB has not as Spark has them: of rounded decimals, hashes, texts.

Each takes Arrow arrays and returns one; what has no result raises ArithmeticError, and the
statement is then Spark's. Sources: Spark's `Decimal`, `XXH64`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from inspect import Parameter, Signature
from typing import TYPE_CHECKING

from dt_jupyter.evaluation.kinds import MOST_DIGITS, ValueKind

if TYPE_CHECKING:
    import pyarrow as pa

    Function = Callable[..., pa.Array]

_SEED = 42
_LONGS = 64
_EXACT = Context(prec=4 * MOST_DIGITS)
_MULTIPLIED_DIGITS = MOST_DIGITS + 1
"""Spark rounds a product to so many before it rounds it to its scale."""


def arithmetic(operator: str, one: ValueKind, other: ValueKind, result: ValueKind) -> Function:
    """`+`, `-`, `*`, `/` or `DIV` of decimals, rounded half up to the scale of the result."""
    compute = {"+": _plus, "-": _minus, "*": _times, "/": _over, "DIV": _whole}[operator]

    def evaluate(left: pa.Array, right: pa.Array) -> pa.Array:
        import pyarrow as pa

        pairs = zip(_unscaled(left), _unscaled(right), strict=True)
        values = [
            None if a is None or b is None else compute(a, one.scale, b, other.scale, result.scale)
            for a, b in pairs
        ]
        if not result.is_decimal:
            return pa.array(values, result.arrow)
        limit = 10**result.precision
        if any(v is not None and abs(v) >= limit for v in values):
            raise ArithmeticError(f"more than {result.precision} digits")
        scaled = [None if v is None else Decimal(v).scaleb(-result.scale, _EXACT) for v in values]
        return pa.array(scaled, result.arrow)

    return _of_arity(evaluate, 2)


def _of_arity(function: Function, arity: int) -> Function:
    """With a signature as DuckDB looks it up: so many arguments, and no types."""
    names = (f"a{i}" for i in range(arity))
    signature = Signature([Parameter(n, Parameter.POSITIONAL_ONLY) for n in names])
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {}
    return function


def _unscaled(values: pa.Array) -> list[int | None]:
    """The digits of each decimal, without its point."""
    scale = values.type.scale
    return [None if v is None else int(v.scaleb(scale, _EXACT)) for v in values.to_pylist()]


def _rounded(value: int, divisor: int) -> int:
    """Half away from zero."""
    whole, rest = divmod(abs(value), divisor)
    whole += 2 * rest >= divisor
    return whole if value >= 0 else -whole


def _moved(value: int, scale: int, wanted: int) -> int:
    """The digits at another scale."""
    if wanted >= scale:
        return value * int(10 ** (wanted - scale))
    return _rounded(value, 10 ** (scale - wanted))


def _plus(a: int, a_scale: int, b: int, b_scale: int, scale: int) -> int:
    both = max(a_scale, b_scale)
    return _moved(_moved(a, a_scale, both) + _moved(b, b_scale, both), both, scale)


def _minus(a: int, a_scale: int, b: int, b_scale: int, scale: int) -> int:
    return _plus(a, a_scale, -b, b_scale, scale)


def _times(a: int, a_scale: int, b: int, b_scale: int, scale: int) -> int:
    product, product_scale = a * b, a_scale + b_scale
    over = len(str(abs(product))) - _MULTIPLIED_DIGITS
    if over > 0:
        product, product_scale = _rounded(product, 10**over), product_scale - over
    return _moved(product, product_scale, scale)


def _over(a: int, a_scale: int, b: int, b_scale: int, scale: int) -> int:
    """Spark divides to 38 digits behind the point and rounds those again."""
    if b == 0:
        raise ArithmeticError("a division by zero")
    numerator, divisor = a * 10 ** (MOST_DIGITS + b_scale), b * 10**a_scale
    if divisor < 0:
        numerator, divisor = -numerator, -divisor
    return _moved(_rounded(numerator, divisor), MOST_DIGITS, scale)


def _whole(a: int, a_scale: int, b: int, b_scale: int, scale: int) -> int:
    if b == 0:
        raise ArithmeticError("a division by zero")
    a, b = a * 10**b_scale, b * 10**a_scale
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def rounded(one: ValueKind, result: ValueKind) -> Function:
    """Decimals rounded half up to the scale of the result."""

    def evaluate(values: pa.Array) -> pa.Array:
        import pyarrow as pa

        found = [
            None if v is None else Decimal(_moved(v, one.scale, result.scale))
            for v in _unscaled(values)
        ]
        scaled = [None if v is None else v.scaleb(-result.scale, _EXACT) for v in found]
        return pa.array(scaled, result.arrow)

    return _of_arity(evaluate, 1)


def _to_double(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.array([None if v is None else float(v) for v in values.to_pylist()], pa.float64())


def _zero_text(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    texts = [None if v is None else str(v) for v in values.to_pylist()]
    if any(t not in (None, "0.0", "-0.0") for t in texts):
        raise ArithmeticError("the text of a float")
    return pa.array(texts, pa.string())


_CASED = 0x180
"""The end of the letters whose cases no release of Unicode changes: Latin, with Extended-A."""
_OTHER_CASES = frozenset("\u0130\u0149")


def in_case(*, upper: bool) -> Function:
    """Texts in upper or lower case, of letters whose cases depend on nothing else."""

    def evaluate(values: pa.Array) -> pa.Array:
        import pyarrow as pa

        texts = values.to_pylist()
        for text in texts:
            if text is not None and not text.isascii():
                letters = set(text)
                if letters & _OTHER_CASES or any(ord(c) >= _CASED for c in letters):
                    raise ArithmeticError("the case of another letter")
        made = [None if t is None else t.upper() if upper else t.lower() for t in texts]
        return pa.array(made, pa.string())

    return _of_arity(evaluate, 1)


def row_hash(kinds: Sequence[ValueKind]) -> Function:
    """XXHASH64 of values of these kinds; a NULL leaves the hash as it is."""

    def evaluate(*columns: pa.Array) -> pa.Array:
        import pyarrow as pa
        from xxhash import xxh64_intdigest

        digests = [_SEED] * len(columns[0])
        for kind, column in zip(kinds, columns, strict=True):
            for i, value in enumerate(_hashed_bytes(kind, column)):
                if value is not None:
                    digests[i] = xxh64_intdigest(value, digests[i])
        signed = [d - (1 << _LONGS) if d >> (_LONGS - 1) else d for d in digests]
        return pa.array(signed, pa.int64())

    return _of_arity(evaluate, len(kinds))


def _hashed_bytes(kind: ValueKind, column: pa.Array) -> list[bytes | None]:
    """What Spark hashes of each value."""
    import pyarrow as pa

    if kind.name in ("string", "binary"):
        return list(column.cast(pa.binary()).to_pylist())
    if kind.is_decimal:
        values = _unscaled(column)
        if kind.precision <= 18:
            return [None if v is None else _little(v, 8) for v in values]
        return [None if v is None else v.to_bytes(_length(v), "big", signed=True) for v in values]
    if kind.name in ("float", "double"):
        return _float_bytes(column)
    width = 8 if kind.name in ("bigint", "timestamp", "timestamp_ntz") else 4
    target = pa.int64() if width == 8 else pa.int32()
    values = column.cast(target).to_pylist()
    return [None if v is None else _little(v, width) for v in values]


def _float_bytes(column: pa.Array) -> list[bytes | None]:
    """The bits of each, of one NaN and one zero."""
    import numpy as np

    numbers = column.fill_null(0.0).to_numpy(zero_copy_only=False)
    plain = np.where(np.isnan(numbers), numbers.dtype.type("nan"), numbers + 0.0)
    width = numbers.dtype.itemsize
    bits = plain.astype(numbers.dtype.newbyteorder("<")).tobytes()
    found = (bits[i : i + width] for i in range(0, len(bits), width))
    return [
        b if valid else None for b, valid in zip(found, column.is_valid().to_pylist(), strict=True)
    ]


def _little(value: int, width: int) -> bytes:
    return value.to_bytes(width, "little", signed=True)


def _length(value: int) -> int:
    """The bytes of Java's `BigInteger.toByteArray`."""
    return (value if value >= 0 else ~value).bit_length() // 8 + 1


to_double = _of_arity(_to_double, 1)
"""Each decimal as the double that is nearest to it."""
zero_text = _of_arity(_zero_text, 1)
"""The texts of 0.0 and −0.0: those of other doubles differ by Java's release."""
