"""What a class file says of itself: its flags, its name, and what it extends and implements.

Source: The Java Virtual Machine Specification, chapter 4.
"""

from __future__ import annotations

import struct

_SIZES = {3: 5, 4: 5, 5: 9, 6: 9, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 17: 5, 18: 5}
ABSTRACT = 0x0600
"""The flags of an interface and of an abstract class."""


def class_header(data: bytes) -> tuple[int, str, list[str]]:
    """(flags, name, parents), with names as paths."""
    (count,) = struct.unpack_from(">H", data, 8)
    at, number = 10, 1
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    while number < count:
        tag = data[at]
        if tag == 1:
            (length,) = struct.unpack_from(">H", data, at + 1)
            texts[number] = data[at + 3 : at + 3 + length].decode("utf-8", "replace")
            at += 3 + length
        else:
            if tag == 7:
                (classes[number],) = struct.unpack_from(">H", data, at + 1)
            at += _SIZES.get(tag, 3)
        number += 2 if tag in (5, 6) else 1
    flags, this, parent, many = struct.unpack_from(">4H", data, at)
    parents = (parent, *struct.unpack_from(f">{many}H", data, at + 8))
    return flags, texts[classes[this]], [texts[classes[p]] for p in parents if p]
