"""Relations, and the statements that maintain state, as Spark SQL."""
