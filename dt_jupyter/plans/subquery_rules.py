"""Spark's own rules that write subqueries as joins, run alone over an analysed plan."""

from __future__ import annotations

from typing import Any

from dt_jupyter.spark import Catalyst


def join_subqueries(catalyst: Catalyst, plan: Any) -> Any:
    """The plan with its common tables in the place of their names, and with joins in the place of
    its subqueries; a scalar one that reads nothing of the query around it stays."""
    with catalyst.call("SubqueryJoins") as rules:
        return rules.of(plan)
