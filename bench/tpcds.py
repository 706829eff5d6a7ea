"""How many of TPC-DS' queries are kept incrementally: `python -m bench.tpcds FOLDER`.

The query texts are the benchmark's and are not kept here: FOLDER has them in Spark SQL, one to a
file. Nothing is run; the types are reckoned from those of the columns.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlglot import exp, parse_one

from dt_jupyter.ivm import (
    SUPPORTED,
    Aggregate,
    Generate,
    Project,
    Refused,
    Rel,
    Rows,
    Scan,
    Union,
    Window,
    compile_stages,
)
from dt_jupyter.model import DTError, quote
from dt_jupyter.sql.binding.binder import Table, bind

TABLES: Mapping[str, str] = {
    "catalog_sales": "cs_ sold_date_sk sold_time_sk ship_date_sk bill_customer_sk "
    "bill_cdemo_sk bill_hdemo_sk bill_addr_sk ship_customer_sk ship_cdemo_sk ship_hdemo_sk "
    "ship_addr_sk call_center_sk catalog_page_sk ship_mode_sk warehouse_sk item_sk promo_sk "
    "order_number:l quantity wholesale_cost:n list_price:n sales_price:n ext_discount_amt:n "
    "ext_sales_price:n ext_wholesale_cost:n ext_list_price:n ext_tax:n coupon_amt:n "
    "ext_ship_cost:n net_paid:n net_paid_inc_tax:n net_paid_inc_ship:n net_paid_inc_ship_tax:n "
    "net_profit:n",
    "catalog_returns": "cr_ returned_date_sk returned_time_sk item_sk refunded_customer_sk "
    "refunded_cdemo_sk refunded_hdemo_sk refunded_addr_sk returning_customer_sk "
    "returning_cdemo_sk returning_hdemo_sk returning_addr_sk call_center_sk catalog_page_sk "
    "ship_mode_sk warehouse_sk reason_sk order_number:l return_quantity return_amount:n "
    "return_tax:n return_amt_inc_tax:n fee:n return_ship_cost:n refunded_cash:n "
    "reversed_charge:n store_credit:n net_loss:n",
    "inventory": "inv_ date_sk item_sk warehouse_sk quantity_on_hand",
    "store_sales": "ss_ sold_date_sk sold_time_sk item_sk customer_sk cdemo_sk hdemo_sk "
    "addr_sk store_sk promo_sk ticket_number:l quantity wholesale_cost:n list_price:n "
    "sales_price:n ext_discount_amt:n ext_sales_price:n ext_wholesale_cost:n ext_list_price:n "
    "ext_tax:n coupon_amt:n net_paid:n net_paid_inc_tax:n net_profit:n",
    "store_returns": "sr_ returned_date_sk return_time_sk item_sk customer_sk cdemo_sk "
    "hdemo_sk addr_sk store_sk reason_sk ticket_number:l return_quantity return_amt:n "
    "return_tax:n return_amt_inc_tax:n fee:n return_ship_cost:n refunded_cash:n "
    "reversed_charge:n store_credit:n net_loss:n",
    "web_sales": "ws_ sold_date_sk sold_time_sk ship_date_sk item_sk bill_customer_sk "
    "bill_cdemo_sk bill_hdemo_sk bill_addr_sk ship_customer_sk ship_cdemo_sk ship_hdemo_sk "
    "ship_addr_sk web_page_sk web_site_sk ship_mode_sk warehouse_sk promo_sk order_number:l "
    "quantity wholesale_cost:n list_price:n sales_price:n ext_discount_amt:n ext_sales_price:n "
    "ext_wholesale_cost:n ext_list_price:n ext_tax:n coupon_amt:n ext_ship_cost:n net_paid:n "
    "net_paid_inc_tax:n net_paid_inc_ship:n net_paid_inc_ship_tax:n net_profit:n",
    "web_returns": "wr_ returned_date_sk returned_time_sk item_sk refunded_customer_sk "
    "refunded_cdemo_sk refunded_hdemo_sk refunded_addr_sk returning_customer_sk "
    "returning_cdemo_sk returning_hdemo_sk returning_addr_sk web_page_sk reason_sk "
    "order_number:l return_quantity return_amt:n return_tax:n return_amt_inc_tax:n fee:n "
    "return_ship_cost:n refunded_cash:n reversed_charge:n account_credit:n net_loss:n",
    "call_center": "cc_ call_center_sk call_center_id:s rec_start_date:d rec_end_date:d "
    "closed_date_sk open_date_sk name:s class:s employees sq_ft hours:s manager:s mkt_id "
    "mkt_class:s mkt_desc:s market_manager:s division division_name:s company company_name:s "
    "street_number:s street_name:s street_type:s suite_number:s city:s county:s state:s zip:s "
    "country:s gmt_offset:n5 tax_percentage:n5",
    "catalog_page": "cp_ catalog_page_sk catalog_page_id:s start_date_sk end_date_sk "
    "department:s catalog_number catalog_page_number description:s type:s",
    "customer": "c_ customer_sk customer_id:s current_cdemo_sk current_hdemo_sk "
    "current_addr_sk first_shipto_date_sk first_sales_date_sk salutation:s first_name:s "
    "last_name:s preferred_cust_flag:s birth_day birth_month birth_year birth_country:s login:s "
    "email_address:s last_review_date:s",
    "customer_address": "ca_ address_sk address_id:s street_number:s street_name:s "
    "street_type:s suite_number:s city:s county:s state:s zip:s country:s gmt_offset:n5 "
    "location_type:s",
    "customer_demographics": "cd_ demo_sk gender:s marital_status:s education_status:s "
    "purchase_estimate credit_rating:s dep_count dep_employed_count dep_college_count",
    "date_dim": "d_ date_sk date_id:s date:d month_seq week_seq quarter_seq year dow moy dom "
    "qoy fy_year fy_quarter_seq fy_week_seq day_name:s quarter_name:s holiday:s weekend:s "
    "following_holiday:s first_dom last_dom same_day_ly same_day_lq current_day:s "
    "current_week:s current_month:s current_quarter:s current_year:s",
    "household_demographics": "hd_ demo_sk income_band_sk buy_potential:s dep_count vehicle_count",
    "income_band": "ib_ income_band_sk lower_bound upper_bound",
    "item": "i_ item_sk item_id:s rec_start_date:d rec_end_date:d item_desc:s current_price:n "
    "wholesale_cost:n brand_id brand:s class_id class:s category_id category:s manufact_id "
    "manufact:s size:s formulation:s color:s units:s container:s manager_id product_name:s",
    "promotion": "p_ promo_sk promo_id:s start_date_sk end_date_sk item_sk cost:n15 "
    "response_target promo_name:s channel_dmail:s channel_email:s channel_catalog:s "
    "channel_tv:s channel_radio:s channel_press:s channel_event:s channel_demo:s "
    "channel_details:s purpose:s discount_active:s",
    "reason": "r_ reason_sk reason_id:s reason_desc:s",
    "ship_mode": "sm_ ship_mode_sk ship_mode_id:s type:s code:s carrier:s contract:s",
    "store": "s_ store_sk store_id:s rec_start_date:d rec_end_date:d closed_date_sk "
    "store_name:s number_employees floor_space hours:s manager:s market_id geography_class:s "
    "market_desc:s market_manager:s division_id division_name:s company_id company_name:s "
    "street_number:s street_name:s street_type:s suite_number:s city:s county:s state:s zip:s "
    "country:s gmt_offset:n5 tax_precentage:n5",
    "time_dim": "t_ time_sk time_id:s time hour minute second am_pm:s shift:s sub_shift:s "
    "meal_time:s",
    "warehouse": "w_ warehouse_sk warehouse_id:s warehouse_name:s warehouse_sq_ft "
    "street_number:s street_name:s street_type:s suite_number:s city:s county:s state:s zip:s "
    "country:s gmt_offset:n5",
    "web_page": "wp_ web_page_sk web_page_id:s rec_start_date:d rec_end_date:d "
    "creation_date_sk access_date_sk autogen_flag:s customer_sk url:s type:s char_count "
    "link_count image_count max_ad_count",
    "web_site": "web_ site_sk site_id:s rec_start_date:d rec_end_date:d name:s open_date_sk "
    "close_date_sk class:s manager:s mkt_id mkt_class:s mkt_desc:s market_manager:s company_id "
    "company_name:s street_number:s street_name:s street_type:s suite_number:s city:s county:s "
    "state:s zip:s country:s gmt_offset:n5 tax_percentage:n5",
}
"""Each table's columns behind their prefix: INT, or after a colon l BIGINT, s STRING, d DATE,
n DECIMAL(7, 2), n5 and n15 of that precision."""

_TYPES = {
    "": "int",
    "l": "bigint",
    "s": "string",
    "d": "date",
    "n": "decimal(7,2)",
    "n5": "decimal(5,2)",
    "n15": "decimal(15,2)",
}
_BUILTINS = SUPPORTED | {"upper", "lower", "substring", "substr", "concat", "round", "abs"}


@cache
def columns(table: str) -> Mapping[str, str]:
    """The Spark type of each column of a table, in order."""
    prefix, *words = TABLES[table].split()
    parts = (w.partition(":") for w in words)
    return {prefix + name: _TYPES[kind] for name, _, kind in parts}


# -- types ----------------------------------------------------------------------------------------

_WIDER = ("string", "date", "boolean", "int", "bigint", "decimal", "double")
_KEEPS = (
    exp.Paren, exp.Neg, exp.Coalesce, exp.Least, exp.Greatest, exp.Min, exp.Max, exp.Abs,
    exp.Round, exp.Nullif, exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Filter, exp.Window, exp.Distinct,
    exp.IgnoreNulls, exp.Lag, exp.Lead,
)  # fmt: skip
_DOUBLES = (exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.Sqrt, exp.Exp, exp.Ln)
_WHOLE = (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RowNumber, exp.Rank, exp.DenseRank)


def types(rel: Rel) -> dict[str, str]:
    """A type for each column of a relation: exact numbers are exact, and floating ones floating."""
    below = [types(i) for i in rel.inputs]
    known = {c: t for b in below for c, t in b.items()}
    if isinstance(rel, Scan):
        source = columns(rel.source)
        return {i: source[c] for i, c in rel.reads}
    if isinstance(rel, Rows):
        return dict.fromkeys(rel.ids, "int")
    if isinstance(rel, Union):
        rows = [list(b.values()) for b in below]
        return {c: _widest(r[i] for r in rows) for i, c in enumerate(rel.ids)}
    made: dict[str, str] = {}
    if isinstance(rel, Project):
        return {i: _type_of(e.sql(quote), known) for i, e in rel.items}
    if isinstance(rel, Aggregate):
        made = {i: _type_of(c.text.sql(quote), known) for i, c in rel.calls}
    elif isinstance(rel, Window):
        made = {c.id: _type_of(c.function.sql(quote), known) for c in rel.calls}
    elif isinstance(rel, Generate):
        made = dict.fromkeys(rel.ids, "bigint")
    return {c: made.get(c) or known[c] for c in rel.columns}


def _type_of(text: str, known: Mapping[str, str]) -> str:
    return _type(parse_one(text, read="spark"), known)


def _type(node: exp.Expr, known: Mapping[str, str]) -> str:
    if isinstance(node, exp.Column):
        return known[node.name]
    if isinstance(node, exp.Literal):
        if node.is_string:
            return "string"
        return "int" if str(node.this).isdigit() else "decimal(38,6)"
    if isinstance(node, exp.Cast):
        return str(node.to.sql(dialect="spark").lower().replace(" ", ""))
    if isinstance(node, exp.Predicate | exp.Connector | exp.Not):
        return "boolean"
    if isinstance(node, _DOUBLES):
        return "double"
    if isinstance(node, _WHOLE):
        return "bigint"
    return _computed(node, known)


def _computed(node: exp.Expr, known: Mapping[str, str]) -> str:
    if isinstance(node, exp.Case):
        values = [i.args["true"] for i in node.args["ifs"]]
        values += [node.args["default"]] if node.args.get("default") else []
        return _widest(_type(v, known) for v in values if not isinstance(v, exp.Null))
    if isinstance(node, exp.If):
        return _widest(_type(node.args[k], known) for k in ("true", "false") if node.args.get(k))
    operands = [
        n for n in node.iter_expressions() if not isinstance(n, exp.Interval | exp.Null | exp.Order)
    ]
    inside = [_type(n, known) for n in operands]
    if isinstance(node, exp.Window):
        return inside[0]
    if isinstance(node, exp.Avg | exp.Div):
        return "decimal(38,6)" if _widest(inside).startswith("decimal") else "double"
    if isinstance(node, exp.Sum):
        return {"int": "bigint", "decimal": "decimal(38,2)"}.get(_family(inside[0]), inside[0])
    return _widest(inside) if isinstance(node, _KEEPS) else "string"


def _family(type_: str) -> str:
    return type_.partition("(")[0]


def _widest(found: Iterable[str]) -> str:
    """The type of values of several: exact numbers stay exact."""
    kinds = list(found)
    if not kinds:
        return "int"
    best = max(kinds, key=lambda t: _WIDER.index(_family(t)) if _family(t) in _WIDER else 0)
    several = len({k for k in kinds if _family(k) == "decimal"}) > 1
    return "decimal(38,6)" if several and _family(best) == "decimal" else best


# -- the report -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What became of one query: its stages, or the code and the sentence of its refusal."""

    query: str
    seconds: float
    stages: int = 0
    code: str = ""
    sentence: str = ""

    def __str__(self) -> str:
        said = (
            f"{self.code}: {self.sentence}" if self.code else f"incremental, {self.stages} stages"
        )
        return f"{self.query:8} {self.seconds * 1000:6.0f} ms  {said}"


def _resolve(parts: tuple[str, ...]) -> Table:
    name = parts[-1].lower()
    return Table(name, tuple(columns(name)))


def answer(name: str, text: str) -> Answer:
    """Binds one query and cuts it into stages."""
    start = time.perf_counter()
    query = re.sub(r";\s*\Z", "", re.sub(r"--.*", "", text).strip())
    try:
        rel = bind(query, _resolve, _BUILTINS)
        stages = compile_stages(rel, tuple(f"c{i}" for i in range(len(rel.columns))), types)
    except Refused as e:
        reason = e.reason
        return Answer(name, time.perf_counter() - start, 0, reason.code, reason.sentence)
    except DTError as e:
        return Answer(name, time.perf_counter() - start, 0, e.code, str(e))
    return Answer(name, time.perf_counter() - start, len(stages))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.tpcds")
    parser.add_argument("folder", type=Path, help="the query texts, one to a .sql file")
    folder: Path = parser.parse_args().folder
    files = sorted(folder.glob("*.sql"), key=lambda f: [int(d) for d in re.findall(r"\d+", f.stem)])
    answers = [answer(f.stem, f.read_text("utf-8")) for f in files]
    for found in answers:
        print(found)
    kept = [a for a in answers if not a.code]
    print(f"\n{len(kept)} of {len(answers)} incremental, {sum(a.stages for a in kept)} stages")
    for code, count in Counter(a.code for a in answers if a.code).most_common():
        print(f"{count:4} {code}")


if __name__ == "__main__":
    main()
