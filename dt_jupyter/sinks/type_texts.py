"""Arrow types as texts and back, to know later what a target was made for."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def to_type_text(kind: pa.DataType) -> str:
    """The type as Arrow's own schema message, base64."""
    import pyarrow as pa

    return base64.b64encode(pa.schema([("t", kind)]).serialize().to_pybytes()).decode()


def from_type_text(text: str) -> pa.DataType:
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))).field(0).type
