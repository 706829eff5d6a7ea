"""TPC-H's 22 queries as people write them with PySpark's DataFrames: subqueries are joins with
aggregates, semi joins and anti joins, what is asked of a group is `when` in its aggregate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import Window, functions as F
from pyspark.sql.functions import col, lit, when

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def day(text: str) -> Column:
    return lit(text).cast("date")


@dataclass(frozen=True)
class TpchFrames:
    """`fraction` is what Q11 asks for."""

    spark: SparkSession
    fraction: float

    @cached_property
    def customer(self) -> DataFrame:
        return self.spark.table("customer")

    @cached_property
    def lineitem(self) -> DataFrame:
        return self.spark.table("lineitem")

    @cached_property
    def nation(self) -> DataFrame:
        return self.spark.table("nation")

    @cached_property
    def orders(self) -> DataFrame:
        return self.spark.table("orders")

    @cached_property
    def part(self) -> DataFrame:
        return self.spark.table("part")

    @cached_property
    def partsupp(self) -> DataFrame:
        return self.spark.table("partsupp")

    @cached_property
    def region(self) -> DataFrame:
        return self.spark.table("region")

    @cached_property
    def supplier(self) -> DataFrame:
        return self.spark.table("supplier")

    @property
    def revenue(self) -> Column:
        return col("l_extendedprice") * (1 - col("l_discount"))

    def q1(self) -> DataFrame:
        charge = self.revenue * (1 + col("l_tax"))
        return (
            self.lineitem.where(col("l_shipdate") <= F.date_sub(day("1998-12-01"), 90))
            .groupBy("l_returnflag", "l_linestatus")
            .agg(
                F.sum("l_quantity").alias("sum_qty"),
                F.sum("l_extendedprice").alias("sum_base_price"),
                F.sum(self.revenue).alias("sum_disc_price"),
                F.sum(charge).alias("sum_charge"),
                F.avg("l_quantity").alias("avg_qty"),
                F.avg("l_extendedprice").alias("avg_price"),
                F.avg("l_discount").alias("avg_disc"),
                F.count("*").alias("count_order"),
            )
            .orderBy("l_returnflag", "l_linestatus")
        )

    def q2(self) -> DataFrame:
        europe = (
            self.region.where(col("r_name") == "EUROPE")
            .join(self.nation, col("r_regionkey") == col("n_regionkey"))
            .join(self.supplier, col("n_nationkey") == col("s_nationkey"))
            .join(self.partsupp, col("s_suppkey") == col("ps_suppkey"))
        )
        brass = self.part.filter((col("p_size") == 15) & col("p_type").like("%BRASS"))
        offers = brass.join(europe, brass.p_partkey == europe.ps_partkey)
        least = offers.groupBy(offers.p_partkey).agg(F.min("ps_supplycost").alias("least"))
        return (
            offers.join(least, "p_partkey")
            .where(col("ps_supplycost") == col("least"))
            .select(
                "s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone",
                "s_comment",
            )
            .sort(F.desc("s_acctbal"), "n_name", "s_name", "p_partkey")
            .limit(100)
        )  # fmt: skip

    def q3(self) -> DataFrame:
        buyers = self.customer.filter(col("c_mktsegment") == "BUILDING")
        before = self.orders.filter(col("o_orderdate") < day("1995-03-15"))
        after = self.lineitem.filter(self.lineitem.l_shipdate > day("1995-03-15"))
        return (
            buyers.join(before, buyers.c_custkey == before.o_custkey)
            .join(after, before.o_orderkey == after.l_orderkey)
            .groupBy("l_orderkey", "o_orderdate", "o_shippriority")
            .agg(F.sum(self.revenue).alias("revenue"))
            .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
            .orderBy(col("revenue").desc(), "o_orderdate", "l_orderkey")
            .limit(10)
        )

    def q4(self) -> DataFrame:
        late = self.lineitem.where("l_commitdate < l_receiptdate").select("l_orderkey").distinct()
        quarter = self.orders.where(
            col("o_orderdate").between(day("1993-07-01"), day("1993-09-30"))
        )
        return (
            quarter.join(late, quarter.o_orderkey == late.l_orderkey, "left_semi")
            .groupBy("o_orderpriority")
            .agg(F.count(lit(1)).alias("order_count"))
            .orderBy("o_orderpriority")
        )

    def q5(self) -> DataFrame:
        return (
            self.region.where("r_name = 'ASIA'")
            .join(self.nation, col("r_regionkey") == col("n_regionkey"), "inner")
            .join(self.supplier, col("n_nationkey") == col("s_nationkey"), "inner")
            .join(self.lineitem, col("s_suppkey") == col("l_suppkey"), "inner")
            .join(self.orders, col("l_orderkey") == col("o_orderkey"), "inner")
            .join(
                self.customer,
                [col("o_custkey") == col("c_custkey"), col("c_nationkey") == col("s_nationkey")],
            )
            .where(col("o_orderdate") >= day("1994-01-01"))
            .where(col("o_orderdate") < F.add_months(day("1994-01-01"), 12))
            .groupBy("n_name")
            .agg(F.sum(self.revenue).alias("revenue"))
            .orderBy(F.desc("revenue"))
        )

    def q6(self) -> DataFrame:
        return self.lineitem.filter(
            (F.year("l_shipdate") == 1994)
            & col("l_discount").between(0.05, 0.07)
            & (col("l_quantity") < 24)
        ).agg(F.sum(col("l_extendedprice") * col("l_discount")).alias("revenue"))

    def q7(self) -> DataFrame:
        sellers = self.nation.select(
            col("n_nationkey").alias("s_nation"), col("n_name").alias("supp_nation")
        )
        buyers = self.nation.withColumnsRenamed(
            {"n_nationkey": "c_nation", "n_name": "cust_nation"}
        ).drop("n_comment", "n_regionkey")
        pair = ["FRANCE", "GERMANY"]
        return (
            self.supplier.join(sellers, col("s_nationkey") == col("s_nation"))
            .join(self.lineitem, col("s_suppkey") == col("l_suppkey"))
            .join(self.orders, col("l_orderkey") == col("o_orderkey"))
            .join(self.customer, col("o_custkey") == col("c_custkey"))
            .join(buyers, col("c_nationkey") == col("c_nation"))
            .where(col("supp_nation").isin(pair) & col("cust_nation").isin(*pair))
            .where(col("supp_nation") != col("cust_nation"))
            .where(col("l_shipdate").between("1995-01-01", "1996-12-31"))
            .withColumn("l_year", F.year("l_shipdate"))
            .withColumn("volume", self.revenue)
            .groupBy("supp_nation", "cust_nation", "l_year")
            .agg(F.sum("volume").alias("revenue"))
            .orderBy("supp_nation", "cust_nation", "l_year")
        )

    def q8(self) -> DataFrame:
        n1, n2 = self.nation.alias("n1"), self.nation.alias("n2")
        sold = (
            self.part.where(col("p_type") == "ECONOMY ANODIZED STEEL")
            .join(self.lineitem, col("p_partkey") == col("l_partkey"))
            .join(self.supplier, col("l_suppkey") == col("s_suppkey"))
            .join(self.orders, col("l_orderkey") == col("o_orderkey"))
            .join(self.customer, col("o_custkey") == col("c_custkey"))
            .join(n1, col("c_nationkey") == col("n1.n_nationkey"))
            .join(self.region, col("n1.n_regionkey") == col("r_regionkey"))
            .join(n2, col("s_nationkey") == col("n2.n_nationkey"))
            .where((col("r_name") == "AMERICA") & F.year("o_orderdate").isin(1995, 1996))
            .select(
                F.year("o_orderdate").alias("o_year"),
                self.revenue.alias("volume"),
                col("n2.n_name").alias("nation"),
            )
        )
        brazil = F.sum(when(col("nation") == "BRAZIL", col("volume")).otherwise(0))
        return (
            sold.groupBy("o_year")
            .agg((brazil / F.sum("volume")).alias("mkt_share"))
            .orderBy("o_year")
        )

    def q9(self) -> DataFrame:
        amount = self.revenue - col("ps_supplycost") * col("l_quantity")
        line, offer = self.lineitem, self.partsupp
        return (
            self.part.where(col("p_name").contains("green"))
            .join(line, col("p_partkey") == line["l_partkey"])
            .join(
                offer,
                (offer.ps_suppkey == line.l_suppkey) & (offer.ps_partkey == line.l_partkey),
            )
            .join(self.supplier, line.l_suppkey == col("s_suppkey"))
            .join(self.orders, line.l_orderkey == col("o_orderkey"))
            .join(self.nation, col("s_nationkey") == col("n_nationkey"))
            .select(
                col("n_name").alias("nation"),
                F.date_format("o_orderdate", "yyyy").cast("int").alias("o_year"),
                amount.alias("amount"),
            )
            .groupBy("nation", "o_year")
            .sum("amount")
            .withColumnRenamed("sum(amount)", "sum_profit")
            .orderBy(col("nation").asc(), col("o_year").desc())
        )

    def q10(self) -> DataFrame:
        back = (
            self.lineitem.filter(col("l_returnflag") == "R")
            .groupBy("l_orderkey")
            .agg(F.sum(self.revenue).alias("lost"))
        )
        quarter = self.orders.filter(F.date_trunc("quarter", "o_orderdate") == "1993-10-01")
        return (
            self.customer.join(quarter, self.customer.c_custkey == quarter.o_custkey)
            .join(back, quarter.o_orderkey == back.l_orderkey)
            .join(self.nation, col("c_nationkey") == col("n_nationkey"))
            .groupBy(
                "c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"
            )
            .agg(F.sum("lost").alias("revenue"))
            .select(
                "c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone",
                "c_comment",
            )
            .orderBy("revenue", "c_custkey", ascending=[False, True])
            .limit(20)
        )  # fmt: skip

    def q11(self) -> DataFrame:
        germany = self.nation.where(self.nation.n_name == "GERMANY")
        stock = (
            self.partsupp.join(self.supplier, col("ps_suppkey") == col("s_suppkey"))
            .join(F.broadcast(germany), col("s_nationkey") == col("n_nationkey"))
            .select("ps_partkey", (col("ps_supplycost") * col("ps_availqty")).alias("worth"))
        )
        total = stock.agg((F.sum("worth") * self.fraction).alias("least"))
        return (
            stock.groupBy("ps_partkey")
            .agg(F.sum("worth").alias("value"))
            .crossJoin(total)
            .where(col("value") > col("least"))
            .drop("least")
            .orderBy(F.desc("value"))
        )

    def q12(self) -> DataFrame:
        high = col("o_orderpriority").isin("1-URGENT", "2-HIGH")
        return (
            self.orders.join(self.lineitem, self.orders.o_orderkey == self.lineitem.l_orderkey)
            .filter(col("l_shipmode").isin(["MAIL", "SHIP"]))
            .filter("l_commitdate < l_receiptdate and l_shipdate < l_commitdate")
            .filter((col("l_receiptdate") >= "1994-01-01") & (col("l_receiptdate") < "1995-01-01"))
            .groupBy("l_shipmode")
            .agg(
                F.sum(when(high, 1).otherwise(0)).alias("high_line_count"),
                F.sum(when(~high, 1).otherwise(0)).alias("low_line_count"),
            )
            .sort("l_shipmode")
        )

    def q13(self) -> DataFrame:
        asked = self.orders.where(~col("o_comment").rlike("special.*requests"))
        return (
            self.customer.join(asked, self.customer.c_custkey == asked.o_custkey, "left_outer")
            .groupBy("c_custkey")
            .agg(F.count("o_orderkey").alias("c_count"))
            .groupBy("c_count")
            .count()
            .withColumnRenamed("count", "custdist")
            .orderBy(F.desc("custdist"), F.desc("c_count"))
        )

    def q13_on(self) -> DataFrame:
        """Q13 with what the benchmark says in ON."""
        on = (col("c_custkey") == col("o_custkey")) & ~col("o_comment").like("%special%requests%")
        return (
            self.customer.join(self.orders, on, "left")
            .groupBy("c_custkey")
            .agg(F.count("o_orderkey").alias("c_count"))
            .groupBy("c_count")
            .agg(F.count("*").alias("custdist"))
            .orderBy(F.desc("custdist"), F.desc("c_count"))
        )

    def q13_named(self) -> DataFrame:
        """Q13 with the columns of the inner query named by their places."""
        on = [
            self.customer.c_custkey == self.orders.o_custkey,
            ~self.orders.o_comment.like("%special%requests%"),
        ]
        return (
            self.customer.join(self.orders, on, "left")
            .groupBy("c_custkey")
            .agg(F.count("o_orderkey"))
            .toDF("c_custkey", "c_count")
            .groupBy("c_count")
            .agg(F.count(lit(1)).alias("custdist"))
            .orderBy(F.desc("custdist"), F.desc("c_count"))
        )

    def q14(self) -> DataFrame:
        promo = when(col("p_type").startswith("PROMO"), self.revenue).otherwise(lit(0))
        month = col("l_shipdate").between(day("1995-09-01"), F.last_day(day("1995-09-01")))
        return (
            self.lineitem.join(self.part, col("l_partkey") == col("p_partkey"))
            .where(month)
            .agg(F.sum(promo).alias("promo"), F.sum(self.revenue).alias("total"))
            .select((100.00 * col("promo") / col("total")).alias("promo_revenue"))
        )

    def q15(self) -> DataFrame:
        revenue = (
            self.lineitem.where("l_shipdate >= '1996-01-01' AND l_shipdate < '1996-04-01'")
            .groupBy(col("l_suppkey").alias("supplier_no"))
            .agg(F.sum(self.revenue).alias("total_revenue"))
        )
        best = revenue.agg(F.max("total_revenue").alias("total_revenue"))
        return (
            revenue.join(best, "total_revenue")
            .join(self.supplier, col("supplier_no") == col("s_suppkey"))
            .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
            .orderBy("s_suppkey")
        )

    def q16(self) -> DataFrame:
        complained = self.supplier.filter(col("s_comment").like("%Customer%Complaints%"))
        parts = self.part.filter(
            (col("p_brand") != "Brand#45")
            & ~col("p_type").startswith("MEDIUM POLISHED")
            & col("p_size").isin(49, 14, 23, 45, 19, 3, 36, 9)
        )
        return (
            self.partsupp.join(parts, col("ps_partkey") == col("p_partkey"))
            .join(complained, col("ps_suppkey") == col("s_suppkey"), "leftanti")
            .groupBy("p_brand", "p_type", "p_size")
            .agg(F.countDistinct("ps_suppkey").alias("supplier_cnt"))
            .orderBy(F.desc("supplier_cnt"), "p_brand", "p_type", "p_size")
        )

    def q17(self) -> DataFrame:
        boxes = self.part.where((col("p_brand") == "Brand#23") & (col("p_container") == "MED BOX"))
        lines = self.lineitem.join(boxes, self.lineitem.l_partkey == boxes.p_partkey)
        few = lines.groupBy("p_partkey").agg((0.2 * F.avg("l_quantity")).alias("few"))
        return (
            lines.join(few, "p_partkey")
            .filter(lines.l_quantity < few.few)
            .agg((F.sum("l_extendedprice") / 7.0).alias("avg_yearly"))
        )

    def q18(self) -> DataFrame:
        large = (
            self.lineitem.groupBy("l_orderkey")
            .agg(F.sum("l_quantity").alias("quantity"))
            .where("quantity > 300")
            .select(col("l_orderkey").alias("large"))
        )
        return (
            self.orders.join(large, col("o_orderkey") == col("large"), "left_semi")
            .join(self.customer, col("o_custkey") == col("c_custkey"))
            .join(self.lineitem, col("o_orderkey") == col("l_orderkey"))
            .groupBy("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
            .agg(F.sum("l_quantity").alias("sum_quantity"))
            .orderBy(F.desc("o_totalprice"), "o_orderdate", "o_orderkey")
            .limit(100)
        )

    def q19(self) -> DataFrame:
        def wanted(brand: str, size: int, least: int, *containers: str) -> Column:
            return (
                (col("p_brand") == brand)
                & col("p_container").isin(*containers)
                & col("l_quantity").between(least, least + 10)
                & col("p_size").between(1, size)
            )

        return (
            self.lineitem.join(self.part, self.lineitem.l_partkey == self.part.p_partkey)
            .filter(col("l_shipmode").isin("AIR", "AIR REG"))
            .filter(col("l_shipinstruct") == "DELIVER IN PERSON")
            .filter(
                wanted("Brand#12", 5, 1, "SM CASE", "SM BOX", "SM PACK", "SM PKG")
                | wanted("Brand#23", 10, 10, "MED BAG", "MED BOX", "MED PKG", "MED PACK")
                | wanted("Brand#34", 15, 20, "LG CASE", "LG BOX", "LG PACK", "LG PKG")
            )
            .agg(F.sum(self.revenue).alias("revenue"))
        )

    def q20(self) -> DataFrame:
        forest = self.part.where(col("p_name").startswith("forest")).select("p_partkey").distinct()
        shipped = (
            self.lineitem.where(F.year(col("l_shipdate")) == 1994)
            .groupBy("l_partkey", "l_suppkey")
            .agg((0.5 * F.sum("l_quantity")).alias("half"))
        )
        on = (col("ps_partkey") == shipped.l_partkey) & (col("ps_suppkey") == shipped.l_suppkey)
        sellers = (
            self.partsupp.join(forest, self.partsupp.ps_partkey == forest.p_partkey, "semi")
            .join(shipped, on)
            .where(col("ps_availqty") > col("half"))
            .select("ps_suppkey")
            .dropDuplicates()
        )
        return (
            self.supplier.join(sellers, col("s_suppkey") == col("ps_suppkey"))
            .join(self.nation.where("n_name = 'CANADA'"), col("s_nationkey") == col("n_nationkey"))
            .select("s_name", "s_address")
            .orderBy("s_name")
        )

    def q21(self) -> DataFrame:
        late = self.lineitem.where(col("l_receiptdate") > col("l_commitdate"))
        sellers = self.lineitem.groupBy("l_orderkey").agg(F.countDistinct("l_suppkey").alias("all"))
        failed = late.groupBy("l_orderkey").agg(F.countDistinct("l_suppkey").alias("late"))
        return (
            late.join(sellers, "l_orderkey")
            .join(failed, "l_orderkey")
            .where((col("all") > 1) & (col("late") == 1))
            .join(self.orders.where("o_orderstatus = 'F'"), col("l_orderkey") == col("o_orderkey"))
            .join(self.supplier, col("l_suppkey") == col("s_suppkey"))
            .join(self.nation, col("s_nationkey") == col("n_nationkey"))
            .where(col("n_name") == "SAUDI ARABIA")
            .groupBy("s_name")
            .agg(F.count("*").alias("numwait"))
            .orderBy(F.desc("numwait"), "s_name")
            .limit(100)
        )

    def q21_exists(self) -> DataFrame:
        """Q21 with a semi join and an anti join of the table with itself."""
        l1, l2, l3 = (self.lineitem.alias(a) for a in ("l1", "l2", "l3"))
        other = (col("l2.l_orderkey") == col("l1.l_orderkey")) & (
            col("l2.l_suppkey") != col("l1.l_suppkey")
        )
        late = (
            (col("l3.l_orderkey") == col("l1.l_orderkey"))
            & (col("l3.l_suppkey") != col("l1.l_suppkey"))
            & (col("l3.l_receiptdate") > col("l3.l_commitdate"))
        )
        return (
            l1.where(col("l1.l_receiptdate") > col("l1.l_commitdate"))
            .join(l2, other, "left_semi")
            .join(l3, late, "left_anti")
            .join(self.orders, col("o_orderkey") == col("l1.l_orderkey"))
            .join(self.supplier, col("s_suppkey") == col("l1.l_suppkey"))
            .join(self.nation, col("s_nationkey") == col("n_nationkey"))
            .where((col("o_orderstatus") == "F") & (col("n_name") == "SAUDI ARABIA"))
            .groupBy("s_name")
            .agg(F.count("*").alias("numwait"))
        )

    def q22(self) -> DataFrame:
        code = F.substring("c_phone", 1, 2)
        known = self.customer.withColumn("cntrycode", code).filter(
            col("cntrycode").isin("13", "31", "23", "29", "30", "18", "17")
        )
        average = known.where("c_acctbal > 0.00").agg(F.avg("c_acctbal").alias("average"))
        return (
            known.join(average)
            .where(known.c_acctbal > average.average)
            .join(self.orders, known.c_custkey == self.orders.o_custkey, "left_anti")
            .groupBy("cntrycode")
            .agg(F.count("*").alias("numcust"), F.sum("c_acctbal").alias("totacctbal"))
            .orderBy("cntrycode")
        )

    def q2_window(self) -> DataFrame:
        """Q2's cheapest offer of a part by a window."""
        place = F.rank().over(Window.partitionBy("ps_partkey").orderBy("ps_supplycost"))
        return (
            self.partsupp.join(self.supplier, col("ps_suppkey") == col("s_suppkey"))
            .withColumn("place", place)
            .filter(col("place") == 1)
            .join(self.part, col("p_partkey") == col("ps_partkey"), "left")
            .select("p_partkey", "p_mfgr", "s_name", F.round("ps_supplycost", 1).alias("cost"))
        )

    def all(self) -> dict[str, Callable[[], DataFrame]]:
        """By name."""
        names = [n for n in dir(type(self)) if n[0] == "q" and n[1:2].isdigit()]
        return {n: getattr(self, n) for n in names}
