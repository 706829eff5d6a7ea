"""Table functions in FROM that make their rows of constants, and samples of relations."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from dt_jupyter.ivm import Filter, Ids, Refusal, Rel, Rows, refuse, sample_condition
from dt_jupyter.sql.binding.generators import column_names
from dt_jupyter.sql.binding.limit_clause import limited_to
from dt_jupyter.sql.binding.scalars import check_scalar, function_name
from dt_jupyter.sql.binding.scope import NamedRelation
from dt_jupyter.sql.dialect import WholeSpark

_RANGE = ("id",)


def table_rows(table: exp.Table, builtins: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """The call as a relation's text, and the names of its columns: those of its alias, or its
    own. Refused but for functions of constants whose rows are always the same."""
    call = table.this
    name = function_name(call)
    if any(isinstance(n, exp.Query) for n in call.walk()) or call.find(exp.Column):
        raise refuse(Refusal.TABLE_FUNCTION, what=f"{name}() of other rows")
    alias = table.args.get("alias")
    given = tuple(c.name for c in alias.args.get("columns") or ()) if alias else ()
    made = _RANGE if name == "range" else column_names(call, len(given))
    if made is None or (not made and not given):
        raise refuse(Refusal.TABLE_FUNCTION, what=f"{name}()")
    for argument in call.iter_expressions():
        check_scalar(argument, builtins)
    return str(call.sql(dialect=WholeSpark)), made or given


def made_rows(text: str, names: tuple[str, ...], ids: Ids) -> NamedRelation:
    return NamedRelation(Rows(text, tuple(ids.new(n) for n in names)), names)


def sampled(rel: Rel, sample: exp.TableSample) -> Rel:
    """TABLESAMPLE. So many ROWS are a LIMIT, as in Spark. A share of the rows is taken by a hash
    of each row's contents and the seed: whichever rows there are besides, and however they are
    stored, a row is in the sample or it is not."""
    if size := sample.args.get("size"):
        return limited_to(rel, _count(size))
    seed = sample.args.get("seed")
    if seed is None:
        raise refuse(Refusal.SAMPLE)
    return Filter(rel, (sample_condition(rel.columns, _count(seed), _share(sample)),))


def _share(sample: exp.TableSample) -> Decimal:
    if percent := sample.args.get("percent"):
        return _decimal(percent) / 100
    top, bottom = sample.args.get("bucket_numerator"), sample.args.get("bucket_denominator")
    if top is None or bottom is None or sample.args.get("bucket_field"):
        raise refuse(Refusal.EXPRESSION, what=f"the sample {sample.sql(dialect=WholeSpark)[:60]}")
    return _decimal(top) / _decimal(bottom)


def _count(node: exp.Expr) -> int:
    if not isinstance(node, exp.Literal) or not str(node.this).isdigit():
        raise refuse(Refusal.EXPRESSION, what=f"a sample by {node.sql(dialect=WholeSpark)[:40]}")
    return int(node.this)


def _decimal(node: exp.Expr) -> Decimal:
    if not isinstance(node, exp.Literal) or node.is_string:
        raise refuse(Refusal.EXPRESSION, what=f"a sample by {node.sql(dialect=WholeSpark)[:40]}")
    return Decimal(node.this)
