"""What may happen to what a dynamic table reads, and what its next refresh then does: the values
that `tests/spark/refresh/test_upstream.py` runs and `docs/guide/upstream-changes.md` shows."""
