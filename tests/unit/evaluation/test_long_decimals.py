"""The state of sums of long decimals is computed in this process too."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from dt_jupyter.evaluation import Evaluator, LocalRows, arrow_value_kind
from dt_jupyter.ivm import AggregateCall, col, expr
from dt_jupyter.ivm.aggregates import initial, keep, weighted
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sql import Table
from tests.queries import select


@pytest.mark.parametrize(("precision", "scale"), [(38, 0), (38, 18), (32, 4), (38, 27), (28, 2)])
def test_values_that_do_not_fit_are_counted(precision: int, scale: int) -> None:
    unit, whole = Decimal(1).scaleb(-scale), "9" * precision
    most = [Decimal(f"{sign}{whole}e-{scale}") for sign in ("", "-")]
    values = [unit, 2 * unit, *most, None]
    table = pa.table(
        {
            "x": pa.array(values, pa.decimal128(precision, scale)),
            WEIGHT: pa.array([1, -1, 1, 1, 1], pa.int64()),
        }
    )
    kinds = tuple((f.name, arrow_value_kind(f.type)) for f in table.schema)
    type_ = f"decimal({precision},{scale})"
    call = AggregateCall("sum", (col("x"),), expr("sum({x})", x=col("x")))
    kept = keep(call, "s", f"decimal(38,{scale})", (type_,))
    assert kept is not None
    assert kept.outside
    for make, total in ((initial, 3 * unit), (weighted, -unit)):
        query = select(Table("t"), **{s.id: make(s) for s in kept.state})
        found = Evaluator(10)(query, {"t": LocalRows(table, kinds)}, is_utc=True)
        assert found is not None, "it is Spark's"
        sums, counted, outside = found.to_pylist()[0].values()
        assert (sums, outside) == (total, 2)
        assert counted == (4 if make is initial else 2)
