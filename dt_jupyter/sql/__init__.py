"""The dialect: Spark SQL and the statements about dynamic tables."""
