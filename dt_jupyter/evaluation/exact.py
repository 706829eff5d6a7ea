"""Functions of rows that DuckDB has not as Spark has them: of rounded decimals, hashes, texts.

Each takes Arrow arrays and returns one; what has no result raises ArithmeticError, and the
statement is then Spark's. Sources: Spark's `Decimal`, `XXH64`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING

from dt_jupyter.evaluation.kinds import MOST_DIGITS, ValueKind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Words = npt.NDArray[np.uint64]
    Function = Callable[..., pa.Array]

_SEED = 42
_LONGS = 64
_LONG_DIGITS = 18
"""Decimals of no more are hashed as longs."""
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
        return _decimals(values, result) if result.is_decimal else pa.array(values, result.arrow)

    return _of_arity(evaluate, 2)


def _of_arity(function: Function, arity: int) -> Function:
    """With a signature as DuckDB looks it up: so many arguments, and no types."""
    names = (f"a{i}" for i in range(arity))
    signature = Signature([Parameter(n, Parameter.POSITIONAL_ONLY) for n in names])
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {}
    return function


def _one_array(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _unscaled(values: pa.Array) -> list[int | None]:
    """The digits of each decimal, without its point."""
    import numpy as np

    column = _one_array(values)
    if column.null_count == len(column):
        return [None] * len(column)
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
    halves = halves[column.offset : column.offset + len(column)]
    lower, upper = halves[:, 0].view(np.uint64).tolist(), halves[:, 1].tolist()
    valid = column.is_valid().to_pylist()
    found = zip(upper, lower, valid, strict=True)
    return [h << _LONGS | n if is_valid else None for h, n, is_valid in found]


def _decimals(digits: Sequence[int | None], kind: ValueKind) -> pa.Array:
    """Decimals of these digits; ArithmeticError where some have more than the type."""
    import numpy as np
    import pyarrow as pa

    limit, low = 10**kind.precision, (1 << _LONGS) - 1
    if any(v is not None and abs(v) >= limit for v in digits):
        raise ArithmeticError(f"more than {kind.precision} digits")
    halves = np.empty((len(digits), 2), np.int64)
    plain = [0 if v is None else v for v in digits]
    halves[:, 0] = np.array([v & low for v in plain], np.uint64).view(np.int64)
    halves[:, 1] = [v >> _LONGS for v in plain]
    valid = pa.array([v is not None for v in digits], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(kind.arrow, len(digits), [valid, pa.py_buffer(halves)])


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
        digits = _unscaled(values)
        moved = [None if v is None else _moved(v, one.scale, result.scale) for v in digits]
        return _decimals(moved, result)

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
        import numpy as np

        return row_hashes(kinds, columns, np.full((1, len(columns[0])), _SEED, np.uint64))[0]

    return _of_arity(evaluate, len(kinds))


def row_hashes(
    kinds: Sequence[ValueKind], columns: Iterable[pa.Array], begun: Words
) -> list[pa.Array]:
    """Hashes that go on with these columns, for each row of the ones that are begun, (hashes,
    rows)."""
    import numpy as np
    import pyarrow as pa

    for kind, column in zip(kinds, columns, strict=True):
        begun = _hashed_on(begun, kind, _one_array(column))
    return [pa.array(digests.view(np.int64), pa.int64()) for digests in begun]


def begin_hashes(literals: Sequence[str | None], rows: int) -> Words:
    """Hashes of so many rows after a first argument, or of none."""
    import numpy as np
    from xxhash import xxh64_intdigest

    begun = [_SEED if t is None else xxh64_intdigest(t.encode(), _SEED) for t in literals]
    return np.repeat(np.array(begun, np.uint64)[:, None], rows, axis=1)


def _hashed_on(digests: Words, kind: ValueKind, column: pa.Array) -> Words:
    """The hashes with one more column in each."""
    import numpy as np
    from xxhash import xxh64_intdigest

    bits = _fixed_bits(kind, column)
    if bits is not None:
        found = _xxh64(bits, digests)
        if not column.null_count:
            return found
        return np.where(column.is_valid().to_numpy(zero_copy_only=False), found, digests)
    values = _hashed_bytes(kind, column)
    return np.array(
        [
            [d if v is None else xxh64_intdigest(v, d) for v, d in zip(values, row, strict=True)]
            for row in digests.tolist()
        ],
        np.uint64,
    ).reshape(digests.shape)


def _fixed_bits(kind: ValueKind, column: pa.Array) -> Words | None:
    """What Spark hashes of values of four or eight bytes, anything for NULL; None of others."""
    import numpy as np
    import pyarrow as pa

    if kind.name in ("string", "binary"):
        return None
    if kind.is_decimal:
        return _low_words(column) if kind.precision <= _LONG_DIGITS else None
    if kind.is_float:
        return _float_bits(column)
    eight = kind.name in ("bigint", "timestamp", "timestamp_ntz")
    plain = column.cast(pa.int64() if eight else pa.int32()).fill_null(0)
    bits: Words = plain.to_numpy(zero_copy_only=False).view(np.uint64 if eight else np.uint32)
    return bits


def _low_words(column: pa.Array) -> Words:
    """The lower halves of decimals' digits, which they fit."""
    import numpy as np

    if column.null_count == len(column):
        return np.zeros(len(column), np.uint64)
    words = np.frombuffer(column.buffers()[1], np.uint64)
    return words[2 * column.offset : 2 * (column.offset + len(column)) : 2]


def _float_bits(column: pa.Array) -> Words:
    """The bits of each, of one NaN and one zero."""
    import numpy as np

    numbers = column.fill_null(0.0).to_numpy(zero_copy_only=False)
    plain = np.where(np.isnan(numbers), numbers.dtype.type("nan"), numbers + 0.0)
    bits: Words = plain.view(np.uint64 if plain.dtype.itemsize == _EIGHT else np.uint32)
    return bits


_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)  # fmt: skip
_EIGHT = 8


def _xxh64(bits: Words, seeds: Words) -> Words:
    """XXH64 of four or eight bytes each, as its specification has it."""
    import numpy as np

    p1, p2, p3, p4, p5 = map(np.uint64, (_P1, _P2, _P3, _P4, _P5))
    width, words = bits.dtype.itemsize, bits.astype(np.uint64)
    found = seeds + p5 + np.uint64(width)
    if width == _EIGHT:
        found = _rotated(found ^ (_rotated(words * p2, 31) * p1), 27) * p1 + p4
    else:
        found = _rotated(found ^ (words * p1), 23) * p2 + p3
    found = (found ^ (found >> np.uint64(33))) * p2
    found = (found ^ (found >> np.uint64(29))) * p3
    return found ^ (found >> np.uint64(32))


def _rotated(words: Words, bits: int) -> Words:
    import numpy as np

    return (words << np.uint64(bits)) | (words >> np.uint64(_LONGS - bits))


def _hashed_bytes(kind: ValueKind, column: pa.Array) -> list[bytes | None]:
    """What Spark hashes of texts and of long decimals."""
    import pyarrow as pa

    if not kind.is_decimal:
        return list(column.cast(pa.binary()).to_pylist())
    digits = _unscaled(column)
    return [None if v is None else v.to_bytes(_length(v), "big", signed=True) for v in digits]


def _length(value: int) -> int:
    """The bytes of Java's `BigInteger.toByteArray`."""
    return (value if value >= 0 else ~value).bit_length() // 8 + 1


to_double = _of_arity(_to_double, 1)
"""Each decimal as the double that is nearest to it."""
zero_text = _of_arity(_zero_text, 1)
"""The texts of 0.0 and −0.0: those of other doubles differ by Java's release."""
