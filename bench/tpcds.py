"""The tables of TPC-DS, as `bench.plans` and tests make them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

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


@cache
def columns(table: str) -> Mapping[str, str]:
    """The Spark type of each column of a table, in order."""
    prefix, *words = TABLES[table].split()
    parts = (w.partition(":") for w in words)
    return {prefix + name: _TYPES[kind] for name, _, kind in parts}
