"""Snapshots read as Arrow tables or by Spark."""
